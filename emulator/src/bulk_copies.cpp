// One-dimensional bulk copies and reductions, st.async and red.async: what is checked when they are issued.
#include <algorithm>
#include <cstring>

#include "copies.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kBulkAlignment = 16;

// shared: the first of the addresses given; others: the rest of them.
bool check_bulk(Thread& thread, uint32_t shared, uint32_t others, const void* global, uint32_t bytes,
                const char* what) {
  if ((shared | others) % kBulkAlignment == 0 && reinterpret_cast<uintptr_t>(global) % kBulkAlignment == 0 &&
      bytes % kBulkAlignment == 0) {
    return true;
  }
  Cluster& cluster = *thread.cluster;
  const SharedPlace place = cluster.locate(thread, shared);
  if (place.cta == nullptr) return false;
  cluster.report_at(ReportKind::misaligned, thread, place,
                    text(what, " of ", bytes, " bytes at ", cluster.describe(*place.cta, place.offset),
                         ": addresses and size must be multiples of ", kBulkAlignment));
  return false;
}

struct Arithmetic {
  TmaType type;
  Reduction op;
};

void make_reduction(AsyncOperation& operation, TmaType type, Reduction op) {
  operation.reduce = true;
  operation.reduction = op;
  operation.spec.type = type;
}

// A bulk store, or a bulk reduction when there is an arithmetic.
void issue_bulk_store(Op op, void* dst, uint32_t src, uint32_t bytes, std::optional<Arithmetic> arithmetic) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, op, src);
  if (skipped(fault)) return;
  change(fault, bytes);
  const char* what = arithmetic ? "a bulk reduction" : "a bulk store";
  if (!check_bulk(*thread, src, 0, dst, bytes, what)) return;
  const SharedPlace place = cluster.locate(*thread, src, Space::cta, what);
  if (place.cta == nullptr) return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::bulk_store, *thread);
  join_bulk_group(*thread, operation);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.global = static_cast<std::byte*>(dst);
  operation.bytes = bytes;
  if (arithmetic) make_reduction(operation, arithmetic->type, arithmetic->op);
  const uint32_t* clock = cluster.clock_of(*thread);
  const Access read{thread->bulk.read_agent, operation.group, cluster.id(), AccessKind::bulk_read};
  const Access write{thread->bulk.agent, operation.group, cluster.id(),
                     arithmetic ? AccessKind::reduction : AccessKind::bulk_write};
  const bool good =
      cluster.check_shared(*thread, place, bytes, false, {clock, read, true}, what) &&
      (!arithmetic || cluster.check_global(*thread, dst, bytes, false, {clock, write, true}, what)) &&
      cluster.check_global(*thread, dst, bytes, true, {clock, write, true}, what);
  if (!good) {
    --thread->bulk.groups.back().unread;
    --thread->bulk.groups.back().unfinished;
    return;
  }
  cluster.submit(operation);
}

// A bulk copy or reduction from the own CTA to one of the cluster.
void issue_to_cluster(Op op, uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar,
                      std::optional<Arithmetic> arithmetic) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, op, dst, bar);
  if (skipped(fault)) return;
  change(fault, bar, bytes);
  const char* what = arithmetic ? "a bulk reduction within the cluster" : "a bulk copy within the cluster";
  if (!check_bulk(*thread, dst, src, nullptr, bytes, what)) return;
  const SharedPlace place = cluster.locate(*thread, dst), source = cluster.locate(*thread, src);
  const SharedPlace barrier = cluster.locate(*thread, bar);
  if (place.cta == nullptr || source.cta == nullptr || barrier.cta == nullptr) return;
  if (source.cta != thread->cta || barrier.cta != place.cta) {
    cluster.report(ReportKind::invalid_argument, thread,
                   text(what, ": its source must be in the own CTA and its barrier beside its destination"));
    return;
  }
  const std::optional<Access> access = land(*thread, place, barrier, 1u << place.cta->rank, bytes, what,
                                            arithmetic ? Landing::bulk_reduction : Landing::bulk_copy);
  if (!access) return;
  if (!cluster.check_shared(*thread, source, bytes, false, {cluster.clock_of(*thread), *access, true}, what))
    return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::bulk_to_cluster, *thread);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.source = source.offset;
  operation.destinations = 1u << place.cta->rank;
  operation.barrier = barrier.offset;
  operation.bytes = bytes;
  if (arithmetic) make_reduction(operation, arithmetic->type, arithmetic->op);
  cluster.submit(operation);
}

// st.async, or red.async when there is an arithmetic.
void issue_store_async(Op op, uint32_t address, const void* value, uint32_t bytes, uint32_t bar,
                       std::optional<Arithmetic> arithmetic) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, op, address, bar);
  if (skipped(fault)) return;
  change(fault, bar, address);
  const char* what = arithmetic ? "red.async" : "st.async";
  const SharedPlace place = cluster.locate(*thread, address), barrier = cluster.locate(*thread, bar);
  if (place.cta == nullptr || barrier.cta == nullptr) return;
  if (barrier.cta != place.cta || bytes > 16 || place.offset % std::max(bytes, 1u) != 0) {
    cluster.report_at(ReportKind::invalid_argument, *thread, place,
                      text(what, " of ", bytes, " bytes to ", cluster.describe(*place.cta, place.offset),
                           ": it must be aligned, of at most 16 bytes, and have its barrier beside its "
                           "destination"));
    return;
  }
  const Landing landing = arithmetic ? Landing::reduction : Landing::store;
  if (!land(*thread, place, barrier, 1u << place.cta->rank, bytes, what, landing)) return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::store_async, *thread);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.destinations = 1u << place.cta->rank;
  operation.barrier = barrier.offset;
  operation.bytes = bytes;
  std::memcpy(operation.value.data(), value, bytes);
  if (arithmetic) make_reduction(operation, arithmetic->type, arithmetic->op);
  cluster.submit(operation);
}

}  // namespace

void bulk_load(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar, uint16_t multicast_mask) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::bulk_load, dst, bar);
  if (skipped(fault)) return;
  fault != nullptr && fault->on_mask ? change(fault, multicast_mask) : change(fault, bar, bytes);
  if (!check_bulk(*thread, dst, 0, src, bytes, "a bulk load")) return;
  const SharedPlace place = cluster.locate(*thread, dst), barrier = cluster.locate(*thread, bar);
  if (place.cta == nullptr || barrier.cta == nullptr) return;
  if (!check_beside(*thread, place, barrier, "a bulk load")) return;
  const uint32_t destinations = destinations_of(*thread, place, multicast_mask);
  const std::optional<Access> access =
      land(*thread, place, barrier, destinations, bytes, "a bulk load", Landing::bulk_copy);
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
  issue_bulk_store(Op::bulk_store, dst, src, bytes, std::nullopt);
}

void bulk_reduce(void* dst, uint32_t src, uint32_t bytes, TmaType type, Reduction op) {
  issue_bulk_store(Op::bulk_reduce, dst, src, bytes, Arithmetic{type, op});
}

void bulk_copy_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar) {
  issue_to_cluster(Op::bulk_copy_to_cluster, dst, src, bytes, bar, std::nullopt);
}

void bulk_reduce_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar, TmaType type,
                            Reduction op) {
  issue_to_cluster(Op::bulk_reduce_to_cluster, dst, src, bytes, bar, Arithmetic{type, op});
}

void store_async(uint32_t address, const void* value, uint32_t bytes, uint32_t bar) {
  issue_store_async(Op::store_async, address, value, bytes, bar, std::nullopt);
}

void reduce_async(uint32_t address, const void* value, TmaType type, Reduction op, uint32_t bar) {
  issue_store_async(Op::reduce_async, address, value, bytes_of(type), bar, Arithmetic{type, op});
}

void check_cache_fraction(float fraction) {
  Thread* thread = current_thread;
  if (thread == nullptr || (fraction > 0 && fraction <= 1)) return;
  thread->cluster->report(ReportKind::invalid_argument, thread,
                          text("createpolicy with a fraction of ", fraction, "; the legal range is (0, 1]"));
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
