// Memory and proxy fences (PTX `fence`).
#pragma once

#include "tilewright/config.h"
#include "tilewright/tensor_map.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Makes this thread's mbarrier_init calls visible to the cluster and to the async proxy. PTX
/// `fence.mbarrier_init.release.cluster`. The initialising thread, before the block (cluster) barrier.
/// Before sm_90, which has neither, nothing.
TILEWRIGHT_DEVICE void fence_mbarrier_init() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_mbarrier_init();
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// Orders this thread's ordinary accesses to the block's shared memory before later accesses to it by the
/// async proxy (TMA, wgmma). PTX `fence.proxy.async.shared::cta`. Every writing thread, before the barrier
/// that tells the issuer.
TILEWRIGHT_DEVICE void fence_proxy_async_shared() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_proxy_async(emulator::ProxyFence::shared_cta);
#else
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// As fence_proxy_async_shared, for the shared memory of the whole cluster. PTX
/// `fence.proxy.async.shared::cluster`.
TILEWRIGHT_DEVICE void fence_proxy_async_shared_cluster() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_proxy_async(emulator::ProxyFence::shared_cluster);
#else
  asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
#endif
}

/// As fence_proxy_async_shared, for global memory. PTX `fence.proxy.async.global`.
TILEWRIGHT_DEVICE void fence_proxy_async_global() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_proxy_async(emulator::ProxyFence::global);
#else
  asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
}

/// As fence_proxy_async_shared, for every state space. PTX `fence.proxy.async`.
TILEWRIGHT_DEVICE void fence_proxy_async() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_proxy_async(emulator::ProxyFence::all);
#else
  asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

/// Orders this thread's accesses before the fence with those after it, as seen by its block. PTX
/// `fence.acq_rel.cta`.
TILEWRIGHT_DEVICE void fence_acq_rel_block() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_acq_rel(emulator::Scope::cta);
#else
  asm volatile("fence.acq_rel.cta;" ::: "memory");
#endif
}

/// As fence_acq_rel_block, as seen by the cluster. PTX `fence.acq_rel.cluster`.
TILEWRIGHT_DEVICE void fence_acq_rel_cluster() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_acq_rel(emulator::Scope::cluster);
#else
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
#endif
}

/// As fence_acq_rel_block, as seen by the whole device. PTX `fence.acq_rel.gpu`.
TILEWRIGHT_DEVICE void fence_acq_rel_gpu() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_acq_rel(emulator::Scope::gpu);
#else
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

/// Before this thread uses a tensor map in global memory that was rewritten on the device. PTX
/// `fence.proxy.tensormap::generic.acquire.gpu`. The issuing thread.
TILEWRIGHT_DEVICE void fence_tensor_map_acquire(const TensorMap* map) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_tensor_map_acquire(map);
#else
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
#endif
}

/// After this thread rewrote a tensor map in global memory. PTX `fence.proxy.tensormap::generic.release.gpu`.
/// The writing thread.
TILEWRIGHT_DEVICE void fence_tensor_map_release() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::fence_tensor_map_release();
#else
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
