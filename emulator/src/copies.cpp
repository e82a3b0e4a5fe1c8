// What all bulk copies share: destinations, barriers, groups; how the one-dimensional ones execute.
#include "copies.h"

#include <cstring>

#include "reduction.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

// What a copy or a reduction does to its destination.
void move_elements(const AsyncOperation& operation, std::byte* destination, const std::byte* source) {
  if (operation.reduce) {
    reduce_elements(operation.spec.type, destination, source, operation.bytes, operation.reduction);
  } else {
    std::memmove(destination, source, operation.bytes);
  }
}

}  // namespace

void trace_copy(Cluster& cluster, const AsyncOperation& operation, const char* name, bool load) {
  Trace* trace = cluster.launch.trace();
  if (trace == nullptr) return;
  trace->add({name,
              load ? Trace::Kind::load : Trace::Kind::store,
              operation.issuer->cta->number,
              load ? Trace::Unit::loads : Trace::Unit::stores,
              0,
              operation.begin,
              cluster.timeline(),
              cluster.place_at(*operation.cta, operation.shared),
              {},
              operation.bytes});
}

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

bool check_beside(Thread& thread, SharedPlace place, SharedPlace barrier, const char* what) {
  if (place.cta == barrier.cta) return true;
  thread.cluster->report(ReportKind::invalid_argument, &thread,
                         text(what, " to CTA ", place.cta->rank, " with an mbarrier of CTA ",
                              barrier.cta->rank, ": it must be that of the destination"));
  return false;
}

std::optional<Access> land(Thread& thread, SharedPlace place, SharedPlace barrier, uint32_t destinations,
                           uint32_t bytes, const char* what, Landing landing) {
  Cluster& cluster = *thread.cluster;
  std::optional<Access> completion;
  for (Cta& cta : cluster.ctas) {
    if ((destinations >> cta.rank & 1) == 0) continue;
    Barrier* target = cluster.usable_barrier(thread, {&cta, barrier.offset}, what, true);
    if (target == nullptr) return std::nullopt;
    Access access = cluster.issue_copy(thread, *target, bytes);
    const bool reduces = landing == Landing::reduction || landing == Landing::bulk_reduction;
    if (reduces) access.kind = AccessKind::copy_reduction;
    const bool bulk = landing != Landing::store && landing != Landing::reduction;
    const Actor actor{cluster.clock_of(thread), access, bulk, landing == Landing::response};
    const SharedPlace at{&cta, place.offset};
    if (reduces && !cluster.check_shared(thread, at, bytes, false, actor, what)) return std::nullopt;
    if (!cluster.check_shared(thread, at, bytes, true, actor, what)) return std::nullopt;
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
      move_elements(operation, operation.global, operation.data.data());
    }
    --group.unfinished;
    cluster.launch.result.statistics.bytes_stored += operation.bytes;
    trace_copy(cluster, operation, operation.reduce ? "reduce" : "store", false);
  }
  if (issuer.wait == Wait::bulk_group && issuer.bulk.done(issuer.wait_value, issuer.wait_read_only)) {
    cluster.wake(issuer);
  }
  return last_step;
}

void execute_bulk_load(Cluster& cluster, AsyncOperation& operation) {
  trace_copy(cluster, operation, "bulk load", true);
  for (Cta& cta : cluster.ctas) {
    if ((operation.destinations >> cta.rank & 1) == 0) continue;
    std::memcpy(cta.window + operation.shared, operation.global, operation.bytes);
    deliver(cluster, operation, cta, operation.bytes);
  }
}

void execute_bulk_to_cluster(Cluster& cluster, AsyncOperation& operation) {
  move_elements(operation, operation.cta->window + operation.shared,
                operation.issuer->cta->window + operation.source);
  deliver(cluster, operation, *operation.cta, operation.bytes);
}

void execute_store_async(Cluster& cluster, AsyncOperation& operation) {
  move_elements(operation, operation.cta->window + operation.shared, operation.value.data());
  deliver(cluster, operation, *operation.cta, operation.bytes);
}

}  // namespace tilewright::emulator
