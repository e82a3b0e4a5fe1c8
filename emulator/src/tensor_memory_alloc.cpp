// tcgen05.alloc, dealloc and relinquish_alloc_permit.
#include <algorithm>
#include <cstring>

#include "collectives.h"
#include "tensor_memory.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kLeastColumns = 32;
constexpr uint32_t kAllLanes = ~0u;

bool legal_columns(uint32_t columns) {
  return columns >= kLeastColumns && columns <= kTensorColumns && (columns & (columns - 1)) == 0;
}

bool check_columns(Thread& thread, uint32_t columns, const char* what) {
  if (legal_columns(columns)) return true;
  thread.cluster->report(ReportKind::invalid_argument, &thread,
                         text(what, " of ", columns, " columns; it takes a power of two from ", kLeastColumns,
                              " to ", kTensorColumns));
  return false;
}

// The first free columns, or kTensorColumns.
uint32_t first_free(const TensorMemory& memory, uint32_t columns) {
  for (uint32_t first = 0; first + columns <= kTensorColumns; first += kLeastColumns) {
    const bool taken = std::any_of(
        memory.allocations.begin(), memory.allocations.end(),
        [&](const TensorAllocation& a) { return a.first < first + columns && first < a.first + a.count; });
    if (!taken) return first;
  }
  return kTensorColumns;
}

void allocate(Thread& thread, uint32_t destination, uint32_t columns, int cta_group) {
  Cluster& cluster = *thread.cluster;
  TensorMemory& memory = tensor_memory(*thread.cta);
  constexpr const char* kWhat = "tcgen05.alloc";
  if (!check_columns(thread, columns, kWhat) || tensor_group(thread, cta_group, kWhat).empty()) return;
  if (memory.relinquished) {
    cluster.report(ReportKind::tensor_memory, &thread,
                   "tcgen05.alloc after tcgen05.relinquish_alloc_permit of the same CTA");
    return;
  }
  if (!memory.allocations.empty() && memory.allocations.back().count < columns) {
    cluster.report(ReportKind::tensor_memory, &thread,
                   text("tcgen05.alloc of ", columns, " columns after one of ",
                        memory.allocations.back().count, ": successive allocations of a CTA must not grow"));
  }
  const uint32_t first = first_free(memory, columns);
  if (first == kTensorColumns) {
    cluster.report(
        ReportKind::tensor_memory, &thread,
        text("tcgen05.alloc of ", columns, " columns waits for ever: the CTA itself holds the others"));
    return;
  }
  const SharedPlace place = cluster.locate(thread, destination);
  if (place.cta == nullptr || !cluster.check_shared(thread, place, 4, true, kWhat)) return;
  std::memcpy(place.cta->window + place.offset, &first, 4);
  memory.allocations.push_back({first, columns, cta_group, cluster.access_by(thread), nullptr});
  cluster.tick(thread);
}

void deallocate(Thread& thread, uint32_t address, uint32_t columns, int cta_group) {
  Cluster& cluster = *thread.cluster;
  constexpr const char* kWhat = "tcgen05.dealloc";
  TensorMemory& memory = tensor_memory(*thread.cta);
  TensorAllocation* allocation = memory.find(address, columns);
  if (allocation == nullptr || allocation->first != address || allocation->count != columns ||
      allocation->cta_group != cta_group) {
    cluster.report(ReportKind::tensor_memory, &thread,
                   text("tcgen05.dealloc of ", columns, " columns from ", address, " with cta_group ",
                        cta_group, ": no tcgen05.alloc of the CTA gave exactly these"));
    return;
  }
  // A peer that has deallocated may have exited.
  std::vector<Cta*> group{thread.cta};
  if (cta_group == 2) group.push_back(&cluster.ctas[thread.cta->rank ^ 1]);
  const bool first_of_pair = allocation->freed == nullptr;
  allocation->freed = nullptr;
  for (Cta* cta : group) {
    TensorAllocation* part = tensor_memory(*cta).find(address, columns);
    if (part == nullptr || part->freed != nullptr || cta->exited) continue;
    // The two CTAs of a pair both deallocate, in any order.
    const Actor actor{dealloc_clock(thread), cluster.access_by(thread, AccessKind::atomic)};
    check_tensor(thread, *cta, {0, kTensorLanes, address, columns}, true, actor, kWhat);
    if (first_of_pair && cta != thread.cta) part->freed = &thread;
  }
  memory.allocations.erase(memory.allocations.begin() +
                           (memory.find(address, columns) - memory.allocations.data()));
  cluster.tick(thread);
}

// Calls work() once for the warp; the lanes must agree on `argument`.
template <class Work>
void as_warp(Thread& thread, Op op, uint64_t argument, const Work& work) {
  thread.exchange.value = argument;
  if (!meet_warp(thread, op, kAllLanes)) return;
  bool same = true;
  for_each_lane(thread, kAllLanes, [&](Thread& lane) { same = same && lane.exchange.value == argument; });
  if (!same || thread.warp->lanes != kAllLanes) {
    thread.cluster->report(ReportKind::non_uniform, &thread,
                           text(name_of(op), " needs 32 lanes with the same operands"));
  } else {
    thread.cluster->launch.count(op);
    work();
  }
  part_warp(thread, kAllLanes);
}

}  // namespace

// ---- hooks

void tcgen05_alloc(uint32_t shared_destination, uint32_t columns, int cta_group) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  const FaultSpec* fault = thread->cluster->begin(*thread, Op::tcgen05_alloc);
  if (skipped(fault)) return;
  change(fault, columns);
  as_warp(*thread, Op::tcgen05_alloc, uint64_t{columns} << 32 | shared_destination,
          [&] { allocate(*thread, shared_destination, columns, cta_group); });
}

void tcgen05_dealloc(uint32_t address, uint32_t columns, int cta_group) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  const FaultSpec* fault = thread->cluster->begin(*thread, Op::tcgen05_dealloc);
  if (skipped(fault)) return;
  change(fault, columns);
  as_warp(*thread, Op::tcgen05_dealloc, uint64_t{columns} << 32 | address,
          [&] { deallocate(*thread, address, columns, cta_group); });
}

void tcgen05_relinquish(int cta_group) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (skipped(thread->cluster->begin(*thread, Op::tcgen05_relinquish))) return;
  as_warp(*thread, Op::tcgen05_relinquish, static_cast<uint64_t>(cta_group),
          [&] { tensor_memory(*thread->cta).relinquished = true; });
}

}  // namespace tilewright::emulator
