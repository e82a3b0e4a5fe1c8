// What a kernel gets of a pipeline: a value, passed as `const TILEWRIGHT_GRID_CONSTANT`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/arch/grid_dependency.h"
#include "tilewright/arch/index.h"
#include "tilewright/config.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/path_plan.h"
#include "tilewright/pipeline/pipeline_binding.h"
#include "tilewright/pipeline/tile_pipeline.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {

template <class Handle>
class Pipeline;

namespace impl {

/// Of the machine that this is compiled for.
constexpr detail::EncodeFunction encoder() {
#if defined(TILEWRIGHT_EMULATE)
  return encode_for_emulator;
#else
  return encode_for_gpu;
#endif
}

}  // namespace impl

/// The device's side of a pipeline of a descriptor. One handle serves a whole grid, and any number of
/// launches. What a path is made of: impl::PathPlan.
template <class D, int Depth, class Tag, path P = path_of_v<D>>
class DevicePipeline {
  using Plan = impl::PathPlan<D, P>;

 public:
  using descriptor = D;
  using Loop = typename Plan::template Loop<Depth>;
  using Config = typename Loop::Config;
  using tile_type = TilePipeline<DevicePipeline>;
  /// What its pipeline owns on the host.
  using Operands = typename Plan::Operands;

  static constexpr int depth = Depth;
  /// Matrices B, and accumulators that the epilogue gets.
  static constexpr uint32_t products = facts_of_v<D>.products;
  static constexpr bool has_internal_accumulator = std::is_same_v<Tag, internal_accumulator>;
  /// Whether blocks form clusters, and whether what they have in common is multicast: an operand whose split
  /// would leave less than whole swizzle patterns, or among a number of blocks that is no power of two, is
  /// loaded by each block for itself. Other paths than wgmma ignore BlocksPerCluster.
  static constexpr bool uses_cluster = uses_blocks_per_cluster_v<D> && P == path::wgmma;
  /// Cluster, stages and the K tiles of a promotion group are numbers of the pipeline (Pipeline::tune).
  static constexpr bool is_tunable = Config::kTunable;
  static constexpr bool uses_multicast = Config::kMulticast;
  static constexpr bool uses_multicast_a = Config::kLayoutA.shares > 1;
  static constexpr bool uses_multicast_b = Config::kLayoutB.shares > 1;
  /// The tile of one block.
  static constexpr Shape<D::size_operator::m, D::size_operator::n> block_shape{};
  /// Threads to launch: those that compute, and the warpgroup that brings operands.
  static constexpr uint32_t max_threads_per_block = D::max_threads_per_block + arch::warpgroup_size;

  static_assert(
      Config::kPlan.live_registers <=
          (has_internal_accumulator ? Config::kPlan.register_limit : Config::kPlan.shared_register_limit),
      "the accumulators of a reusable_accumulator live beside the producer's registers, which leaves "
      "them 192 registers a thread with BlockDim<128>, 128 with BlockDim<256>, 32 with BlockDim<512>: "
      "use a smaller tile, or execute(functor) with internal_accumulator");

  static_assert(
      Depth >= 2 || !facts_of_v<D>.scaled_promotion,
      "ScaledPromotion needs a depth of 2 or more: the scales of a K tile arrive while the one before "
      "it is multiplied");
  static_assert(Depth >= 2 || !is_tunable,
                "Tunable needs a depth of 2 or more, the fewest stages of a Tuning");
  static_assert(has_internal_accumulator || products == 1,
                "a reusable_accumulator holds one product: use execute(functor) with Products<2>");
  static_assert(has_internal_accumulator || !facts_of_v<D>.is_split() ||
                    facts_of_v<D>.split_into != Element::f16,
                "a reusable_accumulator cannot add products of SplitInto<f16>, whose scales differ from tile "
                "to tile: use SplitInto<tf32>, or execute(functor) with internal_accumulator");

  /// Bytes of shared memory that get_tile() takes: the stages and their barriers. `stages`: of a tunable
  /// pipeline.
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t buffer_size(uint32_t stages = Depth) {
    return stages * (Config::kPlan.stage_bytes + tiles::kStageBarrierBytes + scale_bytes());
  }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t buffer_alignment() { return tiles::kStageAlignment; }
  static constexpr Extent3 get_block_dim() { return {max_threads_per_block, 1, 1}; }
  /// Blocks of a cluster: (M, N, 1), so that blockIdx.x % M is a block's place along M.
  static constexpr Extent3 get_cluster_dim() requires(!is_tunable) {
    return uses_cluster ? Extent3{blocks_per_cluster_of_v_m<D>, blocks_per_cluster_of_v_n<D>, 1} : Extent3{};
  }
  Extent3 get_cluster_dim() const requires(is_tunable) { return {params_.cluster_m, params_.cluster_n, 1}; }

  /// The block's pipeline, pointed at the tile (row, column) of C. `shared`: buffer_size() bytes of shared
  /// memory aligned to buffer_alignment(). All threads of the block, once in a kernel: the barriers in
  /// `shared` stay alive to its end.
  TILEWRIGHT_DEVICE tile_type get_tile(std::byte* shared, uint32_t row, uint32_t column) const {
    return tile_type(*this, shared, Coord{row, 0}, Coord{column, 0});
  }
  /// The same with a batch: a is (row tile, batch) in A, b is (column tile, batch) in B.
  TILEWRIGHT_DEVICE tile_type get_tile(std::byte* shared, Coord a, Coord b) const {
    return tile_type(*this, shared, a, b);
  }

  /// Points a block's pipeline at another tile. Nothing is waited for. All threads of the block.
  TILEWRIGHT_DEVICE void reset_tile(tile_type& tile, uint32_t row, uint32_t column) const {
    reset_tile(tile, Coord{row, 0}, Coord{column, 0});
  }
  TILEWRIGHT_DEVICE void reset_tile(tile_type& tile, Coord a, Coord b) const {
    tile.a_ = a;
    tile.b_ = b;
  }

  /// get_tile and TilePipeline::run: the whole work of a block. `shared`: as for get_tile, with the
  /// epilogue's scratch from scratch_offset() on. All threads of all blocks. It waits for the kernel that it
  /// depends on before it reads, and lets the next one begin (arch/grid_dependency.h): at once if each block
  /// has one tile, behind the last MMAs if it has several, and not before its end if it has many, so that
  /// blocks of the next kernel take their places on the chip in order.
  template <class Schedule, class Epilogue>
  TILEWRIGHT_DEVICE void run(std::byte* shared, const Schedule& schedule, const Epilogue& epilogue) const {
    tile_type tile(*this, shared, Coord{}, Coord{});
    if (!tile.template lets_dependents_wait<Epilogue>(schedule)) arch::launch_dependents();
    arch::grid_dependency_wait();
    tile.run(schedule, epilogue, shared + scratch_offset(stages()));
  }
  /// The same at the start of the block's dynamic shared memory.
  template <class Schedule, class Epilogue>
  TILEWRIGHT_DEVICE void run(const Schedule& schedule, const Epilogue& epilogue) const {
    run(arch::dynamic_shared_memory(), schedule, epilogue);
  }
  /// Where the scratch of an epilogue begins: aligned like the buffer.
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t scratch_offset(uint32_t stages = Depth) {
    return (buffer_size(stages) + buffer_alignment() - 1) / buffer_alignment() * buffer_alignment();
  }

  TILEWRIGHT_HOST_DEVICE uint32_t stages() const {
    if constexpr (is_tunable) return params_.stages;
    return static_cast<uint32_t>(Depth);
  }
  /// K tiles of a promotion group.
  TILEWRIGHT_HOST_DEVICE uint32_t group_tiles() const requires(is_tunable) { return params_.group_tiles; }
  /// Whether the block has others in its cluster.
  TILEWRIGHT_HOST_DEVICE bool in_cluster() const {
    if constexpr (is_tunable) return params_.cluster_m * params_.cluster_n > 1;
    return uses_cluster;
  }
  /// Number of a block's cluster along the grid's x, or how many there are.
  TILEWRIGHT_DEVICE uint32_t clusters_of(uint32_t blocks) const {
    if constexpr (is_tunable) return blocks >> params_.log2_cluster_m;
    return blocks / Config::kClusterM;
  }

  /// Extents of the product.
  TILEWRIGHT_HOST_DEVICE uint32_t rows() const { return params_.m; }
  TILEWRIGHT_HOST_DEVICE uint32_t columns() const { return params_.n; }
  /// K of A and B, up to whole K tiles; zero where the product is empty.
  TILEWRIGHT_HOST_DEVICE uint32_t depth_of_k() const {
    return params_.k_tiles * static_cast<uint32_t>(facts_of_v<D>.k);
  }

 private:
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t scale_bytes() {
    if constexpr (facts_of_v<D>.scaled_promotion) return Config::kPlan.scale_bytes;
    return 0;
  }

  template <class Handle>
  friend class TilePipeline;
  template <class Handle>
  friend class Pipeline;

  /// Host: points the handle at A and B. Errors: as bind_operands; the handle is then as it was.
  pipeline_status bind(const detail::OperandView& a, const detail::OperandView& b, Operands& owned,
                       void* stream, [[maybe_unused]] const Tuning& tuning = {}) {
    const Facts& f = facts_of_v<D>;
    detail::OperandRules rules_a{"A",          f.a,         f.a_arrangement, f.a_alignment, Config::kLayoutA,
                                 Loop::kBulkA, f.is_complex};
    detail::OperandRules rules_b{"B",          f.b,         f.b_arrangement, f.b_alignment, Config::kLayoutB,
                                 Loop::kBulkB, f.is_complex};
    typename Plan::Params params;
    if constexpr (is_tunable) {
      tiles::WgmmaTileShape shape = f.wgmma_shape();
      const pipeline_status tuned = detail::tune(tuning, Depth, shape, params);
      if (!tuned) return tuned;
      rules_a.layout = tiles::wgmma_layout_a(shape);
      rules_b.layout = tiles::wgmma_layout_b(shape);
    }
    if constexpr (Operands::kOwns) {
      const pipeline_status checked = detail::check_operands(a, rules_a, b, rules_b);
      if (!checked) return checked;
      const pipeline_status reserved = owned.reserve(a, b, stream);
      if (!reserved) return reserved;
      const pipeline_status bound = bind_maps(owned.a(a), parts_of(rules_a, row_major), owned.b(b),
                                              parts_of(rules_b, col_major), params);
      if (!bound) return bound;
      const pipeline_status split = owned.split(stream);
      if (!split) return split;
      owned.describe(params);
    } else {
      const pipeline_status status = bind_maps(a, rules_a, b, rules_b, params);
      if (!status) return status;
    }
    if constexpr (facts_of_v<D>.copied_input) {
      const pipeline_status copied = detail::check_copied_lines(a, rules_a);
      if (!copied) return copied;
    }
    if constexpr (facts_of_v<D>.scaled_promotion) {
      params.a_scales = params_.a_scales;
      params.b_scales = params_.b_scales;
    }
    if constexpr (is_tunable) {
      const pipeline_status grouped = detail::check_groups(f.wgmma_shape(), params);
      if (!grouped) return grouped;
    }
    Plan::describe(a, b, params);
    params_ = params;
#if defined(TILEWRIGHT_EMULATE)
    batches_a_ = batches_of(a);
    batches_b_ = batches_of(b);
#endif
    return {};
  }

  pipeline_status set_scales(const tiles::ScaleLines& a, const tiles::ScaleLines& b) {
    typename Plan::Params params = params_;
    params.a_scales = a;
    params.b_scales = b;
    if constexpr (is_tunable) {
      const pipeline_status grouped = detail::check_groups(facts_of_v<D>.wgmma_shape(), params);
      if (!grouped) return grouped;
    }
    params_ = params;
    return {};
  }

  /// Host: the second matrix B, after bind. Errors: as bind_second_operand.
  pipeline_status bind_second(const detail::OperandView& b, const detail::OperandView& b2) {
    const Facts& f = facts_of_v<D>;
    const detail::OperandRules rules{
        "B", f.b, f.b_arrangement, f.b_alignment, Config::kLayoutB, Loop::kBulkB, f.is_complex};
    return detail::bind_second_operand(b, b2, rules, impl::encoder(), params_);
  }

  static detail::OperandRules parts_of(detail::OperandRules rules, arrangement order) {
    rules.element = facts_of_v<D>.split_into;
    rules.order = order;
    rules.alignment = 16;
    return rules;
  }

  static pipeline_status bind_maps(const detail::OperandView& a, const detail::OperandRules& rules_a,
                                   const detail::OperandView& b, const detail::OperandRules& rules_b,
                                   typename Plan::Params& params) {
    const auto tile_k = static_cast<uint32_t>(facts_of_v<D>.k * facts_of_v<D>.split_parts());
    return detail::bind_operands(a, rules_a, b, rules_b, tile_k, impl::encoder(), params);
  }

  typename Plan::Params params_;
#if defined(TILEWRIGHT_EMULATE)
  // Batch coordinates that exist: any where an operand is one matrix for all.
  uint32_t batches_a_ = 0, batches_b_ = 0;

  static uint32_t batches_of(const detail::OperandView& v) {
    return v.batched && v.batch_stride != 0 ? static_cast<uint32_t>(v.batches) : ~0u;
  }
#endif
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
