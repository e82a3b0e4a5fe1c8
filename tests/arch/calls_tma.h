// Every call of tma.h, at every rank, and of launch.h.
#include "tilewright/arch/launch.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

#define TILEWRIGHT_CALL_RANK(RANK, ...)                                                             \
  arch::tma_load_##RANK##d(shared, &map, bar, __VA_ARGS__);                                         \
  arch::tma_load_##RANK##d(shared, &map, bar, __VA_ARGS__, arch::CachePolicy::evict_last);          \
  arch::tma_load_multicast_##RANK##d(shared, &map, bar, 3, __VA_ARGS__);                            \
  arch::tma_load_multicast_##RANK##d(shared, &map, bar, 3, __VA_ARGS__, arch::CachePolicy::normal); \
  arch::tma_store_##RANK##d(&map, shared, __VA_ARGS__);                                             \
  arch::tma_store_##RANK##d(&map, shared, __VA_ARGS__, arch::CachePolicy::evict_first);             \
  arch::tma_reduce_add_##RANK##d(&map, shared, __VA_ARGS__);                                        \
  arch::tma_reduce_min_##RANK##d(&map, shared, __VA_ARGS__);                                        \
  arch::tma_reduce_max_##RANK##d(&map, shared, __VA_ARGS__);                                        \
  arch::tma_prefetch_##RANK##d(&map, __VA_ARGS__)

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128)
    tma_calls(const TILEWRIGHT_GRID_CONSTANT TensorMap map, int32_t c, char* global) {
  const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory()), bar = shared + 1024;
  arch::prefetch_tensor_map(&map);
  TILEWRIGHT_CALL_RANK(1, c);
  TILEWRIGHT_CALL_RANK(2, c, 2);
  TILEWRIGHT_CALL_RANK(3, c, 2, 3);
  TILEWRIGHT_CALL_RANK(4, c, 2, 3, 4);
  TILEWRIGHT_CALL_RANK(5, c, 2, 3, 4, 5);
  arch::tma_commit();
  arch::tma_wait_read<1>();
  arch::tma_wait<0>();
  arch::bulk_load(shared, global, 16, bar);
  arch::bulk_load_multicast(shared, global, 16, bar, 3);
  arch::bulk_store(global, shared, 16);
  arch::bulk_copy_to_cluster(arch::map_shared(shared, 1), shared, 16, arch::map_shared(bar, 1));
  arch::bulk_prefetch(global, 16);
}
#undef TILEWRIGHT_CALL_RANK

Status launch_tma_calls(const TensorMap& map, char* global, void* stream) {
  arch::LaunchConfig config;
  config.grid = {2, 1, 1};
  config.block = {128, 1, 1};
  config.cluster = {2, 1, 1};
  config.shared_bytes = 2048;
  config.stream = stream;
  config.dependent_launch = true;
  config.name = "tma_calls";
  return arch::launch(tma_calls, config, map, 1, global);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
