// What a thread must have finished before it exits.

#include "collectives.h"
#include "tensor_memory.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

bool has_uncommitted_wgmma(const Thread& thread) {
  const uint32_t groups = thread.groups_committed;
  return thread.wgmmas > (groups == 0 ? 0 : thread.group->group_ends[groups - 1]);
}

bool has_unwaited_moves(Thread& thread) {
  if (thread.tensor == nullptr) return false;
  const TensorThread& warp = warp_state(thread);
  return warp.loads.count > thread.tensor->loads.waited.size() ||
         warp.stores.count > thread.tensor->stores.waited.size();
}

}  // namespace

void Cluster::check_exit(Thread& thread) {
  if (thread.bulk.last_group() > thread.bulk.read_waited) {
    report(
        ReportKind::exit_with_pending_work, &thread,
        text("exits while ",
             plural(static_cast<long long>(thread.bulk.last_group() - thread.bulk.read_waited), "bulk group"),
             " may still be reading shared memory: a cp.async.bulk.wait_group.read is missing"));
  } else if (thread.copies.last_group() > thread.copies.covered) {
    report(ReportKind::exit_with_pending_work, &thread,
           "exits with cp.async copies that it has not waited for");
  } else if (thread.groups_waited < thread.groups_committed || has_uncommitted_wgmma(thread)) {
    report(ReportKind::exit_with_pending_work, &thread, "exits with wgmmas that it has not waited for");
  } else if (has_unwaited_moves(thread)) {
    report(ReportKind::exit_with_pending_work, &thread,
           "exits with a tcgen05.ld or tcgen05.st that it has not waited for");
  }
  if (thread.log_position != thread.group->log.size()) {
    const auto missed = static_cast<Op>(thread.group->log[thread.log_position] & 0xFF);
    report(ReportKind::non_uniform, &thread,
           text("exits without ", name_of(missed), ", which other threads of its warpgroup have executed"));
  }
  check_warp_index_at_exit(thread);
  for (const WarpMeeting& meeting : thread.warp->meetings) {
    if ((meeting.mask >> thread.lane & 1) == 0) continue;
    report(ReportKind::non_uniform, &thread,
           text("exits while lanes ", Hex{meeting.arrived}, " of its warp wait for it at ",
                name_of(meeting.op)));
  }
  if (thread.group->met != 0) {
    report(ReportKind::non_uniform, &thread,
           text("exits while ", plural(thread.group->met, "thread"), " of its warpgroup wait for it at ",
                name_of(thread.group->meeting)));
  }
  const NamedBarrier& block = thread.cta->named[0];
  if (!block.waiters.empty() && block.threads == launch.threads_per_cta) {
    report(ReportKind::non_uniform, &thread,
           text("exits while ", plural(static_cast<long long>(block.waiters.size()), "thread"),
                " of its block wait at a block barrier"));
  }
}

}  // namespace tilewright::emulator
