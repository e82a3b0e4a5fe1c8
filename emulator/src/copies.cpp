// What all bulk copies share: destinations, barriers, groups; the one-dimensional copies.
#include "copies.h"

#include <algorithm>
#include <cstring>

#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kBulkAlignment = 16;

bool check_bulk(Thread& thread, uint32_t shared, const void* global, uint32_t bytes, const char* what) {
  if (shared % kBulkAlignment == 0 && reinterpret_cast<uintptr_t>(global) % kBulkAlignment == 0 &&
      bytes % kBulkAlignment == 0) {
    return true;
  }
  thread.cluster->report(ReportKind::misaligned, &thread,
                         text(what, " of ", bytes, " bytes at shared address ", Hex{shared & 0xFFFFFF},
                              ": addresses and size must be multiples of ", kBulkAlignment));
  return false;
}

void trace_copy(Cluster& cluster, const AsyncOperation& operation, const char* name, uint32_t track,
                uint32_t bytes) {
  Trace* trace = cluster.launch.trace();
  if (trace == nullptr) return;
  const NamedRegion* region = cluster.region_at(*operation.cta, operation.shared);
  trace->add({name, operation.issuer->cta->number, track, operation.issue_step, cluster.launch.step + 1,
              region != nullptr ? region->name : nullptr, region != nullptr ? region->stage : -1, bytes});
}

}  // namespace

uint32_t destinations_of(Thread& thread, SharedPlace place, uint16_t multicast_mask) {
  if (multicast_mask == 0) return 1u << place.cta->rank;
  const auto size = static_cast<uint32_t>(thread.cluster->ctas.size());
  const uint32_t legal = (1u << size) - 1;
  if ((multicast_mask & ~legal) != 0) {
    thread.cluster->report(ReportKind::multicast_mask, &thread,
                           text("multicast mask ", Hex{multicast_mask}, " names a CTA that a cluster of ",
                                size, " does not have"));
  }
  return multicast_mask & legal;
}

std::optional<Access> land(Thread& thread, SharedPlace place, SharedPlace barrier, uint32_t destinations,
                           uint32_t bytes, const char* what) {
  Cluster& cluster = *thread.cluster;
  std::optional<Access> completion;
  for (Cta& cta : cluster.ctas) {
    if ((destinations >> cta.rank & 1) == 0) continue;
    Barrier* target = cluster.usable_barrier(thread, {&cta, barrier.offset}, what, true);
    if (target == nullptr) return std::nullopt;
    const Access access = cluster.issue_copy(thread, *target, bytes);
    if (!cluster.check_shared(thread, {&cta, place.offset}, bytes, true, {cluster.clock_of(thread), access},
                              what)) {
      return std::nullopt;
    }
    if (!completion) completion = access;
  }
  return completion;
}

void deliver(Cluster& cluster, const AsyncOperation& operation, Cta& cta, uint32_t bytes) {
  cluster.launch.result.statistics.bytes_loaded += bytes;
  Barrier* barrier = cluster.barrier_at({&cta, operation.barrier});
  if (cta.exited || barrier == nullptr || !barrier->live) {
    cluster.report(
        ReportKind::exit_before_peer, operation.issuer,
        text("an asynchronous copy lands in CTA ", cta.rank,
             cta.exited ? ", which has already exited" : ", where its mbarrier is not live any more"));
    return;
  }
  cluster.complete_bytes(*barrier, bytes);
}

void join_bulk_group(Thread& thread, AsyncOperation& operation) {
  GroupedOperations& bulk = thread.bulk;
  if (bulk.agent == kNoAgent) {
    bulk.agent = thread.cluster->new_agent(thread.agent);
    bulk.read_agent = thread.cluster->new_agent(thread.agent);
  }
  GroupedOperations::Group& group = bulk.open_group();
  ++group.unread;
  ++group.unfinished;
  operation.group = bulk.last_group();
}

bool execute_store_step(Cluster& cluster, AsyncOperation& operation) {
  Thread& issuer = *operation.issuer;
  GroupedOperations::Group& group = issuer.bulk.groups[operation.group - 1];
  const bool last_step = operation.source_read;
  if (!last_step) {
    if (operation.kind == AsyncKind::tensor_store) {
      read_tensor_box(*operation.cta, operation);
    } else {
      const std::byte* source = operation.cta->window + operation.shared;
      operation.data.assign(source, source + operation.bytes);
    }
    operation.source_read = true;
    --group.unread;
  } else {
    if (operation.kind == AsyncKind::tensor_store) {
      write_tensor_box(operation);
    } else {
      std::memcpy(operation.global, operation.data.data(), operation.bytes);
    }
    --group.unfinished;
    cluster.launch.result.statistics.bytes_stored += operation.bytes;
    trace_copy(cluster, operation, operation.reduce ? "reduce" : "store", Trace::kStores, operation.bytes);
  }
  if (issuer.wait == Wait::bulk_group && issuer.bulk.done(issuer.wait_value, issuer.wait_read_only)) {
    cluster.wake(issuer);
  }
  return last_step;
}

void execute_bulk_load(Cluster& cluster, AsyncOperation& operation) {
  trace_copy(cluster, operation, "bulk load", Trace::kLoads, operation.bytes);
  for (Cta& cta : cluster.ctas) {
    if ((operation.destinations >> cta.rank & 1) == 0) continue;
    std::memcpy(cta.window + operation.shared, operation.global, operation.bytes);
    deliver(cluster, operation, cta, operation.bytes);
  }
}

void execute_bulk_to_cluster(Cluster& cluster, AsyncOperation& operation) {
  std::memmove(operation.cta->window + operation.shared, operation.issuer->cta->window + operation.source,
               operation.bytes);
  deliver(cluster, operation, *operation.cta, operation.bytes);
}

void execute_store_async(Cluster& cluster, AsyncOperation& operation) {
  std::memcpy(operation.cta->window + operation.shared, operation.value.data(), operation.bytes);
  deliver(cluster, operation, *operation.cta, operation.bytes);
}

// ---- hooks

void bulk_load(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar, uint16_t multicast_mask) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::bulk_load, dst, bar);
  if (skipped(fault)) return;
  fault != nullptr && fault->on_mask ? change(fault, multicast_mask) : change(fault, bytes);
  if (!check_bulk(*thread, dst, src, bytes, "a bulk load")) return;
  const SharedPlace place = cluster.locate(*thread, dst), barrier = cluster.locate(*thread, bar);
  if (place.cta == nullptr || barrier.cta == nullptr) return;
  const uint32_t destinations = destinations_of(*thread, place, multicast_mask);
  const std::optional<Access> access = land(*thread, place, barrier, destinations, bytes, "a bulk load");
  if (!access) return;
  if (!cluster.check_global(*thread, src, bytes, false, {cluster.clock_of(*thread), *access, true},
                            "a bulk load")) {
    return;
  }
  AsyncOperation& operation = cluster.new_operation(AsyncKind::bulk_load, *thread);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.destinations = destinations;
  operation.barrier = barrier.offset;
  operation.global = static_cast<std::byte*>(const_cast<void*>(src));
  operation.bytes = bytes;
  cluster.submit(operation);
}

void bulk_store(void* dst, uint32_t src, uint32_t bytes) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::bulk_store, src);
  if (skipped(fault)) return;
  change(fault, bytes);
  if (!check_bulk(*thread, src, dst, bytes, "a bulk store")) return;
  const SharedPlace place = cluster.locate(*thread, src);
  if (place.cta == nullptr) return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::bulk_store, *thread);
  join_bulk_group(*thread, operation);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.global = static_cast<std::byte*>(dst);
  operation.bytes = bytes;
  const uint32_t* clock = cluster.clock_of(*thread);
  const Access read{thread->bulk.read_agent, operation.group, cluster.id(), AccessKind::bulk_read};
  const Access write{thread->bulk.agent, operation.group, cluster.id(), AccessKind::bulk_write};
  if (!cluster.check_shared(*thread, place, bytes, false, {clock, read, true}, "a bulk store") ||
      !cluster.check_global(*thread, dst, bytes, true, {clock, write}, "a bulk store")) {
    return;
  }
  cluster.submit(operation);
}

void bulk_copy_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::bulk_copy_to_cluster, dst, bar);
  if (skipped(fault)) return;
  change(fault, bytes);
  constexpr const char* kWhat = "a bulk copy within the cluster";
  if (!check_bulk(*thread, dst | src, nullptr, bytes, kWhat)) return;
  const SharedPlace place = cluster.locate(*thread, dst), source = cluster.locate(*thread, src);
  const SharedPlace barrier = cluster.locate(*thread, bar);
  if (place.cta == nullptr || source.cta == nullptr || barrier.cta == nullptr) return;
  if (source.cta != thread->cta || barrier.cta != place.cta) {
    cluster.report(ReportKind::invalid_argument, thread,
                   text(kWhat, ": its source must be in the own CTA and its barrier beside its destination"));
    return;
  }
  const std::optional<Access> access = land(*thread, place, barrier, 1u << place.cta->rank, bytes, kWhat);
  if (!access) return;
  if (!cluster.check_shared(*thread, source, bytes, false, {cluster.clock_of(*thread), *access, true}, kWhat))
    return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::bulk_to_cluster, *thread);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.source = source.offset;
  operation.destinations = 1u << place.cta->rank;
  operation.barrier = barrier.offset;
  operation.bytes = bytes;
  cluster.submit(operation);
}

void store_async(uint32_t address, const void* value, uint32_t bytes, uint32_t bar) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::store_async, address, bar);
  if (skipped(fault)) return;
  change(fault, address);
  const SharedPlace place = cluster.locate(*thread, address), barrier = cluster.locate(*thread, bar);
  if (place.cta == nullptr || barrier.cta == nullptr) return;
  if (barrier.cta != place.cta || bytes > 16 || place.offset % std::max(bytes, 1u) != 0) {
    cluster.report(
        ReportKind::invalid_argument, thread,
        text("st.async of ", bytes, " bytes to shared address ", Hex{place.offset},
             ": it must be aligned, of at most 16 bytes, and have its barrier beside its destination"));
    return;
  }
  if (!land(*thread, place, barrier, 1u << place.cta->rank, bytes, "st.async")) return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::store_async, *thread);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.destinations = 1u << place.cta->rank;
  operation.barrier = barrier.offset;
  operation.bytes = bytes;
  std::memcpy(operation.value.data(), value, bytes);
  cluster.submit(operation);
}

void bulk_commit() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (skipped(thread->cluster->begin(*thread, Op::bulk_commit))) return;
  thread->bulk.commit();
}

void bulk_wait(int pending, bool read_only) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::bulk_wait);
  if (skipped(fault)) return;
  change(fault, pending);
  GroupedOperations& bulk = thread->bulk;
  const uint32_t target = bulk.target(pending);
  if (target == 0) return;
  if (!bulk.done(target, read_only)) {
    thread->wait_value = target;
    thread->wait_read_only = read_only;
    cluster.block(*thread, Wait::bulk_group);
  }
  bulk.read_waited = std::max(bulk.read_waited, target);
  if (!read_only) bulk.waited = std::max(bulk.waited, target);
  if (bulk.agent == kNoAgent) return;  // only empty groups
  cluster.learn(*thread, bulk.read_agent, target);
  if (!read_only) cluster.learn(*thread, bulk.agent, target);
}

}  // namespace tilewright::emulator
