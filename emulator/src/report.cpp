// Sentences about what went wrong.
#include "tilewright/emulator/report.h"

#include <array>

#include "cluster.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr auto kKindNames = std::to_array<const char*>({
    "deadlock",
    "livelock",
    "register_budget",
    "read_before_ready",
    "overwrite_in_use",
    "unordered_writes",
    "uninitialised_read",
    "missing_proxy_fence",
    "narrow_scope",
    "global_race",
    "dependency_not_waited",
    "tensor_map_changed",
    "accumulator_in_flight",
    "operand_register_in_flight",
    "missing_wgmma_fence",
    "missing_tcgen05_fence",
    "tensor_memory",
    "barrier_not_initialised",
    "barrier_init_not_visible",
    "barrier_reinitialised",
    "barrier_overwritten",
    "over_arrival",
    "byte_count",
    "parity_alias",
    "remote_wait",
    "non_uniform",
    "named_barrier",
    "cluster_barrier",
    "multicast_mask",
    "launch_control",
    "misaligned",
    "descriptor",
    "out_of_bounds",
    "read_only_write",
    "exit_with_pending_work",
    "exit_before_peer",
    "api_misuse",
    "invalid_argument",
});
static_assert(kKindNames.size() == static_cast<size_t>(ReportKind::invalid_argument) + 1);

ReportKind kind_of(Conflict::Kind kind) {
  switch (kind) {
    case Conflict::Kind::uninitialised:
      return ReportKind::uninitialised_read;
    case Conflict::Kind::read_before_ready:
      return ReportKind::read_before_ready;
    case Conflict::Kind::overwrite_in_use:
      return ReportKind::overwrite_in_use;
    case Conflict::Kind::proxy_after_write:
    case Conflict::Kind::proxy_after_read:
    case Conflict::Kind::tensor_map_fence:
      return ReportKind::missing_proxy_fence;
    case Conflict::Kind::scope:
      return ReportKind::narrow_scope;
    default:
      return ReportKind::unordered_writes;
  }
}

}  // namespace

const char* name_of(ReportKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

void Cluster::report(ReportKind kind, const Thread* thread, std::string message, const char* place,
                     int stage) {
  Report report{kind, {}, {}, -1, -1, -1, {}, place != nullptr ? place : "", stage};
  if (thread != nullptr) {
    report.block = thread->cta->block;
    report.cta_rank = static_cast<int>(thread->cta->rank);
    report.warp = static_cast<int>(thread->index / kWarpLanes);
    report.lane = static_cast<int>(thread->lane);
    if (thread->role != nullptr) report.role = thread->role;
    report.message = text(describe(*thread), ": ", message);
  } else {
    report.block = ctas[0].block;
    report.message = std::move(message);
  }
  launch.file(std::move(report));
}

void Cluster::report_at(ReportKind kind, const Thread& thread, SharedPlace place, std::string message) {
  const NamedRegion* region = region_at(*place.cta, place.offset);
  report(kind, &thread, std::move(message), region != nullptr ? region->name : nullptr,
         region != nullptr ? region->stage : -1);
}

std::string Cluster::describe(const Thread& thread) const {
  const Index3& block = thread.cta->block;
  std::string who = text("CTA ", thread.cta->rank, " (block ", block.x, ',', block.y, ',', block.z, ") warp ",
                         thread.index / kWarpLanes, " lane ", thread.lane);
  if (thread.role != nullptr) who += text(" [", thread.role, ']');
  return who;
}

std::string Cluster::describe(const Barrier& barrier) const {
  std::string name = barrier.name != nullptr ? text("barrier ", barrier.name)
                                             : text("the mbarrier at shared address ", Hex{barrier.offset});
  if (barrier.name != nullptr && barrier.stage >= 0) name += text('[', barrier.stage, ']');
  if (ctas.size() > 1) name += text(" of CTA ", barrier.cta->rank);
  return name;
}

std::string Cluster::describe(const Cta& cta, uint32_t offset) const {
  std::string where = text("shared address ", Hex{offset});
  if (const NamedRegion* region = region_at(cta, offset); region != nullptr) {
    where = text(region->name, region->stage >= 0 ? text('[', region->stage, ']') : std::string(), " + ",
                 offset - region->begin, " (", where, ')');
  }
  if (ctas.size() > 1) where += text(" of CTA ", cta.rank);
  return where;
}

std::string Cluster::describe(const Access& access) const {
  if (access.cluster != id_) return text("a thread of cluster ", access.cluster);
  switch (access.kind) {
    case AccessKind::none:
      return "the host";
    case AccessKind::generic:
    case AccessKind::atomic:
      return describe(threads[access.agent]);
    case AccessKind::cp_async:
      return text("cp.async group ", access.epoch, " of ", describe(threads[owner_of(access.agent)]));
    case AccessKind::copy:
    case AccessKind::copy_reduction: {
      const Barrier& barrier = *barriers[owner_of(access.agent)];
      return text("an asynchronous copy that completes phase ", access.epoch - 1, " of ", describe(barrier));
    }
    case AccessKind::mma: {
      const Warpgroup& group = groups[access.agent - threads.size()];
      return text(
          "wgmma group ", access.epoch, " of warps ", group.index * 4, "-", group.index * 4 + 3, " of CTA ",
          group.cta->rank,
          group.threads[0]->role != nullptr ? text(" [", group.threads[0]->role, ']') : std::string());
    }
    case AccessKind::tensor:
      return text("tcgen05 operation ", access.epoch, " of ", describe(threads[owner_of(access.agent)]));
    case AccessKind::tensor_load:
      return text("tcgen05.ld ", access.epoch, " of the warp of ", describe(threads[owner_of(access.agent)]));
    case AccessKind::tensor_store:
      return text("tcgen05.st ", access.epoch, " of the warp of ", describe(threads[owner_of(access.agent)]));
    case AccessKind::bulk_read:
    case AccessKind::bulk_write:
    case AccessKind::reduction:
      return text("bulk store group ", access.epoch, " of ", describe(threads[owner_of(access.agent)]));
  }
  return {};
}

void Cluster::report_conflict(const Thread& thread, const Conflict& conflict, const std::string& where,
                              bool write, const char* what, const char* place, int stage) {
  ReportKind kind = kind_of(conflict.kind);
  const bool foreign = conflict.other.kind != AccessKind::none && conflict.other.cluster != id_;
  if (foreign && kind != ReportKind::missing_proxy_fence) kind = ReportKind::global_race;
  std::string message = text(what, write ? " writes " : " reads ", where);
  switch (conflict.kind) {
    case Conflict::Kind::uninitialised:
      message += ", which nobody has written";
      break;
    case Conflict::Kind::read_before_ready:
      message += text(" before the write by ", describe(conflict.other), " is known to be complete");
      break;
    case Conflict::Kind::overwrite_in_use:
      message += text(" while the read by ", describe(conflict.other), " may still be in progress");
      break;
    case Conflict::Kind::proxy_after_write:
    case Conflict::Kind::proxy_after_read:
      message += text(" through the async proxy; ", describe(conflict.other),
                      conflict.kind == Conflict::Kind::proxy_after_read ? " read" : " wrote",
                      " it without a fence.proxy.async of its own before it signalled");
      break;
    case Conflict::Kind::tensor_map_fence:
      message +=
          text(" as a tensor map; ", describe(conflict.other),
               " wrote it, without a fence.proxy.tensormap release of its own and an acquire after it");
      break;
    case Conflict::Kind::scope:
      message +=
          text(", which ", describe(conflict.other),
               " wrote; the arrival or the wait that orders the two has the scope of a CTA, and orders "
               "nothing between CTAs: it needs release.cluster and acquire.cluster");
      break;
    default:
      message += text(", not ordered after the write by ", describe(conflict.other));
      break;
  }
  report(kind, &thread, std::move(message), place, stage);
}

}  // namespace tilewright::emulator
