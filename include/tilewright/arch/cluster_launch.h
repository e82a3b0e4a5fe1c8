// Cluster launch control (PTX `clusterlaunchcontrol`, sm_100): a running cluster takes over the work of a
// cluster of its grid that has not started yet, which then never starts.
//
// The grid has one cluster for each piece of work. A cluster does its own, asks for another, and does that of
// the cluster whose launch was cancelled, until a request fails: then there is none left, or the chip wants
// the multiprocessor for something else. Who has read that a request failed must not make another one.
//
// A response is 16 bytes of shared memory, written through the async proxy like a TMA load: the request's
// thread arms the barrier with 16 bytes (mbarrier_arrive_expect_tx), readers wait for the phase. Before the
// next request into the same place every reader of the old response has made a proxy fence
// (fence_proxy_async_shared) and told the thread that asks.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// The answer to a request, as load_shared reads it. Opaque but for the functions below.
struct alignas(16) ClusterLaunchResponse {
  uint64_t words[2];
};

/// Asks for a cluster that has not started. The answer goes to `response` (16 bytes, 16-aligned) and 16 bytes
/// are counted on `bar`, both in this block. One thread. PTX
/// `clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128`.
TILEWRIGHT_DEVICE void cluster_launch_try_cancel(uint32_t response, uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cluster_launch_try_cancel(response, bar, false);
#else
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
          response),
      "r"(bar)
      : "memory");
#endif
}

/// The same, answered at the same offsets of every block of the cluster: each arms its own barrier. No block
/// of the cluster may have exited. One thread of the cluster. PTX
/// `...complete_tx::bytes.multicast::cluster::all`. sm_100a.
TILEWRIGHT_DEVICE void cluster_launch_try_cancel_multicast(uint32_t response, uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cluster_launch_try_cancel(response, bar, true);
#else
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all"
      ".b128 [%0], [%1];" ::"r"(response),
      "r"(bar)
      : "memory");
#endif
}

/// Whether the request was granted. PTX `clusterlaunchcontrol.query_cancel.is_canceled`. Any thread.
TILEWRIGHT_DEVICE bool cluster_launch_is_canceled(const ClusterLaunchResponse& response) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::cluster_launch_is_canceled(&response);
#else
  uint32_t canceled;
  asm("{\n .reg .b128 response;\n .reg .pred p;\n mov.b128 response, {%1, %2};\n"
      " clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response;\n selp.u32 %0, 1, 0, p;\n}"
      : "=r"(canceled)
      : "l"(response.words[0]), "l"(response.words[1]));
  return canceled != 0;
#endif
}

/// Index along x of the first block of the cluster whose work was taken over; of a granted request only. PTX
/// `clusterlaunchcontrol.query_cancel.get_first_ctaid::x`. Any thread.
TILEWRIGHT_DEVICE uint32_t cluster_launch_first_block_x(const ClusterLaunchResponse& response) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::cluster_launch_first_block(&response).x;
#else
  uint32_t x;
  asm("{\n .reg .b128 response;\n mov.b128 response, {%1, %2};\n"
      " clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, response;\n}"
      : "=r"(x)
      : "l"(response.words[0]), "l"(response.words[1]));
  return x;
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
