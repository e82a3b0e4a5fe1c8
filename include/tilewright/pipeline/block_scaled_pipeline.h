// DevicePipeline of the path tcgen05 with BlockScale: a whole persistent loop on pairs of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/pipeline/block_scaled_binding.h"
#include "tilewright/pipeline/block_scaled_roles.h"
#include "tilewright/pipeline/pipeline_handle.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {

/// A and B are elements with scales; their tile of 256 x 256 is computed by a pair of blocks, 128 rows each.
/// There is no get_tile() or execute(): the roles part for the whole loop.
template <class D, int Depth, class Tag>
class DevicePipeline<D, Depth, Tag, path::tcgen05> {
 public:
  using descriptor = D;
  static constexpr BlockFormat a_format = facts_of_v<D>.block_format(facts_of_v<D>.a),
                               b_format = facts_of_v<D>.block_format(facts_of_v<D>.b);
  static constexpr bool overlaps = !std::is_same_v<Tag, single_accumulator>;
  using Config = mainloop::BlockScaledConfig<a_format, b_format, overlaps, Depth>;
  using accumulator_type = TensorMemoryAccumulator<Config>;
  using Operands = impl::GivenOperands;

  static constexpr int depth = Depth;
  static constexpr uint32_t products = 1;
  static constexpr bool uses_cluster = true, is_tunable = false;
  /// The scales of B go to both blocks; of the elements each block loads what it multiplies.
  static constexpr bool uses_multicast = true, uses_multicast_a = false, uses_multicast_b = false;
  static constexpr uint32_t max_threads_per_block = kernels::block_scaled_threads;
  /// The tile of one block, for get_tile(tensor, block_shape, tile.m, tile.n) in an epilogue.
  static constexpr Shape<kernels::block_scaled_cta_rows, kernels::block_scaled_tile> block_shape{};

  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t buffer_size() {
    constexpr uint32_t bytes = Config::kShared.total;
    return bytes;
  }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t buffer_alignment() { return 1024; }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t scratch_offset() {
    constexpr uint32_t offset = kernels::block_scaled_scratch_offset(Config::kShared);
    return offset;
  }
  static constexpr Extent3 get_block_dim() { return {max_threads_per_block, 1, 1}; }
  static constexpr Extent3 get_cluster_dim() { return {2, 1, 1}; }

  DevicePipeline() = default;
  /// Host: a handle to operands that were bound elsewhere.
  explicit DevicePipeline(const kernels::BlockScaledOperandParams& params) : params_(params) {}

  /// The whole work of a block. `tiles`: p->make_schedule(), or with cluster launch control
  /// p->make_controlled_schedule(). `epilogue`: epilogue(accumulator, tile) on the threads of the four warps
  /// that read tensor memory, tile being that of the block (128 rows); or one with a state
  /// (BoundTileEpilogue). `shared`: dynamic shared memory, with the epilogue's scratch from scratch_offset()
  /// on. All threads of all blocks.
  template <class Schedule, class Epilogue>
  TILEWRIGHT_DEVICE void run([[maybe_unused]] std::byte* shared, [[maybe_unused]] const Schedule& tiles,
                             [[maybe_unused]] const Epilogue& epilogue) const {
#if TILEWRIGHT_HAS_TCGEN05
    const impl::ScheduleView view(tiles);
    impl::BlockScaledRoles<Config>(params_, view, arch::shared_address(shared))
        .run(epilogue, shared + scratch_offset());
#endif
  }
  /// The same at the start of the block's dynamic shared memory.
  template <class Schedule, class Epilogue>
  TILEWRIGHT_DEVICE void run(const Schedule& tiles, const Epilogue& epilogue) const {
    run(arch::dynamic_shared_memory(), tiles, epilogue);
  }

  TILEWRIGHT_HOST_DEVICE uint32_t rows() const { return params_.m; }
  TILEWRIGHT_HOST_DEVICE uint32_t columns() const { return params_.n; }

 private:
  template <class Handle>
  friend class Pipeline;

  /// Host. Errors: as bind_block_scaled_operands; the handle is then as it was.
  pipeline_status bind(const detail::ScaledOperandView& a, const detail::ScaledOperandView& b) {
    kernels::BlockScaledOperandParams params;
    const pipeline_status bound = detail::bind_block_scaled_operands(a, b, impl::encoder(), params);
    if (bound) params_ = params;
    return bound;
  }

  kernels::BlockScaledOperandParams params_;
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
