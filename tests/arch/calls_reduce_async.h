// Every call of cache_policy.h and of reduce_async.h, with every operation and type.
#include "tilewright/arch/cache_policy.h"
#include "tilewright/arch/reduce_async.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using arch::ReduceOp;

template <ReduceOp Op, class T>
TILEWRIGHT_DEVICE void reduce_each(T* global, uint32_t shared, uint32_t peer) {
  if constexpr (arch::detail::is_reduction<Op, T>(true)) arch::bulk_reduce<Op>(global, shared, 16);
  if constexpr (arch::detail::is_reduction<Op, T>(false)) {
    arch::reduce_async<Op>(peer, *global, peer + 64);
    arch::bulk_reduce_to_cluster<Op, T>(peer, shared, 16, peer + 64);
  }
}

template <class T>
TILEWRIGHT_DEVICE void reduce_all(T* global, uint32_t shared, uint32_t peer) {
  reduce_each<ReduceOp::add>(global, shared, peer);
  reduce_each<ReduceOp::min>(global, shared, peer);
  reduce_each<ReduceOp::max>(global, shared, peer);
  reduce_each<ReduceOp::inc>(global, shared, peer);
  reduce_each<ReduceOp::dec>(global, shared, peer);
  reduce_each<ReduceOp::bit_and>(global, shared, peer);
  reduce_each<ReduceOp::bit_or>(global, shared, peer);
  reduce_each<ReduceOp::bit_xor>(global, shared, peer);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) reduce_calls(char* global) {
  const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory());
  const uint32_t peer = arch::map_shared(shared, 1);
  reduce_all(reinterpret_cast<uint32_t*>(global), shared, peer);
  reduce_all(reinterpret_cast<int32_t*>(global), shared, peer);
  reduce_all(reinterpret_cast<uint64_t*>(global), shared, peer);
  reduce_all(reinterpret_cast<int64_t*>(global), shared, peer);
  reduce_all(reinterpret_cast<f16*>(global), shared, peer);
  reduce_all(reinterpret_cast<bf16*>(global), shared, peer);
  reduce_all(reinterpret_cast<float*>(global), shared, peer);
  reduce_all(reinterpret_cast<double*>(global), shared, peer);
  arch::tma_commit();
  arch::tma_wait<0>();
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128)
    policy_calls(const TILEWRIGHT_GRID_CONSTANT TensorMap map, float fraction) {
  const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory()), bar = shared + 1024;
  arch::tma_load_2d(shared, &map, bar, 0, 0, arch::make_evict_first_policy());
  arch::tma_load_2d(shared, &map, bar, 0, 0, arch::make_evict_last_policy(fraction));
  arch::tma_load_2d(shared, &map, bar, 0, 0, arch::make_evict_normal_policy(0.5f));
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
