// Execution of asynchronous copies, called by the scheduler.
#pragma once

#include "async.h"
#include "cluster.h"

namespace tilewright::emulator {

void execute_tensor_load(Cluster& cluster, AsyncOperation& operation);
void execute_bulk_load(Cluster& cluster, AsyncOperation& operation);
void execute_bulk_to_cluster(Cluster& cluster, AsyncOperation& operation);
void execute_store_async(Cluster& cluster, AsyncOperation& operation);
void execute_cp_async(Cluster& cluster, AsyncOperation& operation);
void execute_cp_async_arrive(Cluster& cluster, AsyncOperation& operation);
void execute_cancel_launch(Cluster& cluster, AsyncOperation& operation);
/// First reads shared memory, then (the next time) writes global memory; true when both are done.
bool execute_store_step(Cluster& cluster, AsyncOperation& operation);

/// The copy goes on the timeline, on the track of loads or of stores of its issuer's CTA.
void trace_copy(Cluster& cluster, const AsyncOperation& operation, const char* name, bool load);
/// The source and destination of a tensor store.
void read_tensor_box(const Cta& cta, AsyncOperation& operation);
void write_tensor_box(AsyncOperation& operation);

/// Delivers `bytes` to the operation's barrier in a destination.
void deliver(Cluster& cluster, const AsyncOperation& operation, Cta& cta, uint32_t bytes);

/// The destination CTAs of a load by rank mask, after the checks of a multicast mask.
uint32_t destinations_of(Thread& thread, SharedPlace place, uint16_t multicast_mask);
/// Whether the mbarrier of a load is in the CTA of its destination; false after a report.
bool check_beside(Thread& thread, SharedPlace place, SharedPlace barrier, const char* what);
/// Checks and records the landing of `bytes` at `place` in each destination, and arms the barriers. The event
/// that completes the copy in the first destination, or nothing after a report that makes the copy
/// impossible. Bulk operations go through the async proxy, st.async and red.async do not. A reduction reads
/// its destination too. The response of a launch request wants the reads of the one before fenced.
enum class Landing : uint8_t { store, reduction, bulk_copy, bulk_reduction, response };
std::optional<Access> land(Thread& thread, SharedPlace place, SharedPlace barrier, uint32_t destinations,
                           uint32_t bytes, const char* what, Landing landing);
/// The CTA whose barrier counts what a tensor load brings to `destination`: that one, or for a load of a pair
/// (home_parity >= 0) the CTA of its pair with that rank parity.
Cta& home_of(Cluster& cluster, int home_parity, Cta& destination);
/// As `land`, for tensor loads: of `operation`, whose barriers are those of home_of and count its signalled
/// bytes.
std::optional<Access> land_tensor(Thread& thread, const AsyncOperation& operation, const char* what);
/// Opens a bulk group of the thread with one more store in it.
void join_bulk_group(Thread& thread, AsyncOperation& operation);

}  // namespace tilewright::emulator
