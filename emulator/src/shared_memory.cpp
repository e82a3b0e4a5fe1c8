// Shared memory: addresses, bounds, names and ordinary accesses.
#include <algorithm>
#include <cstring>

#include "cluster.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kOffsetMask = 0xFFFFFF;
constexpr uint32_t kRankShift = 24;

}  // namespace

SharedPlace Cluster::locate(const Thread& thread, uint32_t address) {
  const uint32_t window = address >> kRankShift;
  if (window == 0) return {thread.cta, address};
  if (window <= ctas.size()) return {&ctas[window - 1], address & kOffsetMask};
  report(ReportKind::out_of_bounds, &thread,
         text("shared address ", Hex{address}, " belongs to no CTA of the cluster, which has ", ctas.size()));
  return {};
}

SharedPlace Cluster::locate(const Thread& thread, uint32_t address, Space space, const char* what) {
  const SharedPlace place = locate(thread, address);
  if (space == Space::cluster || place.cta == nullptr || place.cta == thread.cta) return place;
  report_at(ReportKind::out_of_bounds, thread, place,
            text(what, " takes addresses of the own CTA (shared::cta), but ", Hex{address},
                 " belongs to CTA ", place.cta->rank, " of the cluster"));
  return {};
}

SharedPlace Cluster::locate_pointer(const void* pointer) {
  const uintptr_t distance = reinterpret_cast<uintptr_t>(pointer) - window_base_;
  return {&ctas[distance / kWindowStride], static_cast<uint32_t>(distance % kWindowStride)};
}

bool Cluster::reach_peer(const Thread& thread, const Cta& cta, const char* what) {
  if (&cta == thread.cta || !cta.exited) return true;
  report(ReportKind::exit_before_peer, &thread,
         text(what, " reaches into CTA ", cta.rank, " of the cluster, which has already exited"));
  return false;
}

bool Cluster::touch_peer(const Thread& thread, Cta& cta, const char* what) {
  if (&cta == thread.cta) return true;
  if (!reach_peer(thread, cta, what)) return false;
  if (cta.peer_access.empty()) cta.peer_access.assign(threads.size(), 0);
  cta.peer_access[thread.agent] = epoch_of(thread);
  return true;
}

const NamedRegion* Cluster::region_at(const Cta& cta, uint32_t offset) const {
  for (const NamedRegion& region : cta.regions) {
    if (offset >= region.begin && offset < region.end) return &region;
  }
  return nullptr;
}

bool Cluster::check_shared(Thread& thread, SharedPlace place, uint32_t bytes, bool write, const char* what) {
  if (!touch_peer(thread, *place.cta, what)) return false;
  return check_shared(thread, place, bytes, write, Actor{clock_of(thread), access_by(thread)}, what);
}

bool Cluster::check_shared(const Thread& thread, SharedPlace place, uint32_t bytes, bool write, Actor actor,
                           const char* what) {
  Cta& cta = *place.cta;
  actor.memory = &cta;
  if (place.offset < kReservedShared || place.offset > cta.shared_end ||
      bytes > cta.shared_end - place.offset) {
    report(ReportKind::out_of_bounds, &thread,
           text(what, write ? " writes " : " reads ", plural(bytes, "byte"), " at shared address ",
                Hex{place.offset}, " of CTA ", cta.rank, "; its dynamic shared memory is [",
                Hex{kReservedShared}, ", ", Hex{cta.shared_end}, ")"));
    return false;
  }
  if (write && place.offset < cta.barriers_end && place.offset + bytes > cta.barriers_begin) {
    for (uint32_t slot = place.offset / 8; slot * 8 < place.offset + bytes; ++slot) {
      const int32_t index = cta.barrier_at[slot];
      if (index < 0 || !barriers[static_cast<size_t>(index)]->live) continue;
      const Barrier& barrier = *barriers[static_cast<size_t>(index)];
      report(ReportKind::barrier_overwritten, &thread,
             text(what, " writes over the live ", describe(barrier)), barrier.name, barrier.stage);
      return false;
    }
  }
  const Conflict conflict = write ? cta.shadow.write(*this, place.offset, place.offset + bytes, actor)
                                  : cta.shadow.read(*this, place.offset, place.offset + bytes, actor);
  if (conflict) {
    const auto at = static_cast<uint32_t>(conflict.offset);
    const NamedRegion* region = region_at(cta, at);
    report_conflict(thread, conflict, describe(cta, at), write, what,
                    region != nullptr ? region->name : nullptr, region != nullptr ? region->stage : -1);
  }
  return true;
}

// ---- hooks

std::byte* dynamic_shared_memory() {
  return current_thread == nullptr ? nullptr : current_thread->cta->window + kReservedShared;
}

uint32_t shared_address(const void* pointer) {
  Thread* thread = current_thread;
  if (thread == nullptr) return 0;
  Cluster& cluster = *thread->cluster;
  if (!cluster.in_windows(reinterpret_cast<uintptr_t>(pointer))) {
    cluster.report(ReportKind::out_of_bounds, thread,
                   "a pointer that is not into shared memory is taken for one");
    return 0;
  }
  const SharedPlace place = cluster.locate_pointer(pointer);
  return place.cta == thread->cta ? place.offset : (1 + place.cta->rank) << kRankShift | place.offset;
}

void* shared_pointer(uint32_t address) {
  Thread* thread = current_thread;
  if (thread == nullptr) return nullptr;
  const SharedPlace place = thread->cluster->locate(*thread, address);
  return place.cta == nullptr ? nullptr : place.cta->window + place.offset;
}

uint32_t map_shared(uint32_t address, uint32_t rank) {
  Thread* thread = current_thread;
  if (thread == nullptr) return 0;
  const auto size = static_cast<uint32_t>(thread->cluster->ctas.size());
  if (rank >= size) {
    thread->cluster->report(ReportKind::invalid_argument, thread,
                            text("a shared address is mapped to rank ", rank, " of a cluster of ", size));
    return address;
  }
  return (1 + rank) << kRankShift | (address & kOffsetMask);
}

void name_shared(uint32_t address, uint32_t bytes, const char* name, int stage) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const SharedPlace place = cluster.locate(*thread, address);
  if (place.cta == nullptr) return;
  std::vector<NamedRegion>& regions = place.cta->regions;
  const NamedRegion region{place.offset, place.offset + bytes, cluster.launch.intern(name), stage};
  const auto old = std::find_if(regions.begin(), regions.end(), [&](const NamedRegion& other) {
    return other.begin < region.end && region.begin < other.end;
  });
  if (old != regions.end()) {
    *old = region;
  } else {
    regions.push_back(region);
  }
}

void load_shared(uint32_t address, void* out, uint32_t bytes, Space space) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::load_shared, address);
  if (skipped(fault)) return;
  change(fault, address);
  const SharedPlace place = cluster.locate(*thread, address, space, "a load");
  if (place.cta == nullptr) return;
  if (place.offset % bytes != 0) {
    cluster.report_at(ReportKind::misaligned, *thread, place,
                      text("a load of ", bytes, " bytes from ", cluster.describe(*place.cta, place.offset),
                           " is not aligned"));
  }
  const bool inside = cluster.check_shared(*thread, place, bytes, false, "a load");
  if (cluster.launch.stopped) cluster.leave(*thread);  // before it acts on a wrong value
  if (!inside) return;
  cluster.charge_shared(*thread, bytes);
  std::memcpy(out, place.cta->window + place.offset, bytes);
}

void store_shared(uint32_t address, const void* value, uint32_t bytes, Space space) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::store_shared, address);
  if (skipped(fault)) return;
  change(fault, address);
  const SharedPlace place = cluster.locate(*thread, address, space, "a store");
  if (place.cta == nullptr) return;
  if (place.offset % bytes != 0) {
    cluster.report_at(ReportKind::misaligned, *thread, place,
                      text("a store of ", bytes, " bytes to ", cluster.describe(*place.cta, place.offset),
                           " is not aligned"));
  }
  if (!cluster.check_shared(*thread, place, bytes, true, "a store")) return;
  cluster.charge_shared(*thread, bytes);
  std::memcpy(place.cta->window + place.offset, value, bytes);
}

}  // namespace tilewright::emulator
