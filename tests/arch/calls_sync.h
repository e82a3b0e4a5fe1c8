// Every call of index.h, warp.h, mbarrier.h, fence.h, cluster.h, grid_dependency.h, named_barrier.h and
// registers.h.
#include "tilewright/arch/cluster.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/grid_dependency.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/registers.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/warp.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) index_calls(uint32_t* out) {
  const arch::Index3 sum[] = {arch::thread_index(), arch::block_index(), arch::block_dim(),
                              arch::grid_dim(),     arch::cluster_dim(), arch::cluster_block_index()};
  for (const arch::Index3& i : sum) *out++ = i.x + i.y + i.z;
  *out++ = arch::cluster_rank() + arch::linear_thread_index() + arch::lane_index() + arch::warp_index();
  arch::name_role("caller");
  arch::name_barrier(0, "barrier", 1);
  arch::name_shared(0, 16, "span");
}

struct Wide {
  double a;
  float b;
  uint16_t c;
};

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) warp_calls(uint32_t* out, Wide* wide, uint8_t byte) {
  if (arch::elect_one()) *out++ = 1;
  arch::sync_warp();
  *wide = arch::shuffle(*wide, 3);
  *out++ = arch::shuffle(byte, 1) + arch::shuffle_xor(1.5f, 16) +
           static_cast<float>(arch::shuffle(uint64_t{7}, 0));
  *out++ = arch::ballot(byte > 3) + (arch::any(byte > 4) ? 1u : 0u) + (arch::all(byte > 5) ? 1u : 0u);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) mbarrier_calls(uint32_t* out) {
  const uint32_t bar = arch::shared_address(arch::dynamic_shared_memory());
  arch::mbarrier_init(bar, 3);
  arch::fence_mbarrier_init();
  arch::mbarrier_arrive(bar);
  arch::mbarrier_arrive(bar, 2);
  arch::mbarrier_arrive_cluster(arch::map_shared(bar, 1));
  arch::mbarrier_arrive_release_cluster(arch::map_shared(bar, 1));
  arch::mbarrier_arrive_drop(bar);
  arch::mbarrier_expect_tx(bar, 128);
  arch::mbarrier_arrive_expect_tx(bar, 128);
  arch::mbarrier_arrive_expect_tx_cluster(arch::map_shared(bar, 1), 128);
  *out++ = arch::mbarrier_test_wait_parity(bar, 0);
  *out++ = arch::mbarrier_try_wait_parity(bar, 0);
  arch::mbarrier_wait_parity(bar, 0);
  arch::mbarrier_wait_parity_cluster(bar, 1);
  arch::mbarrier_invalidate(bar);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) fence_calls(const TensorMap* map) {
  arch::fence_proxy_async_shared();
  arch::fence_proxy_async_shared_cluster();
  arch::fence_proxy_async_global();
  arch::fence_proxy_async();
  arch::fence_acq_rel_block();
  arch::fence_acq_rel_cluster();
  arch::fence_acq_rel_gpu();
  arch::fence_tensor_map_release();
  arch::fence_tensor_map_acquire(map);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(384) barrier_calls() {
  arch::grid_dependency_wait();
  arch::sync_threads();
  arch::cluster_sync();
  arch::cluster_arrive_relaxed();
  arch::cluster_wait();
  if (arch::warp_index() < 4) {
    arch::setmaxnreg_dec<24>();
    arch::NamedBarrier<1, 384>::arrive();
    arch::named_barrier_arrive(2, 384);
  } else {
    arch::setmaxnreg_inc<240>();
    arch::NamedBarrier<1, 384>::sync();
    arch::named_barrier_sync(2, 384);
  }
  arch::launch_dependents();
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
