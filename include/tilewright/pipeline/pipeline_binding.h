// Binding tensors to a pipeline: the rules, and the encoding of TMA descriptors. Host, mode-neutral.
#pragma once

#include <cstdint>

#include "tilewright/error.h"
#include "tilewright/layout/tensor.h"
#include "tilewright/mainloop/wgmma_tile_layout.h"
#include "tilewright/pipeline/descriptor/elements.h"
#include "tilewright/pipeline/pipeline_error.h"
#include "tilewright/pipeline/pipeline_params.h"

namespace tilewright::blas {

/// What a pipeline with Tunable is told when it is made.
struct Tuning {
  uint32_t cluster_m = 1, cluster_n = 1;  // blocks, powers of two
  uint32_t stages = 0;                    // 2 to Depth; 0: as many as fit beside the scratch
  uint32_t scratch = 0;                   // bytes of shared memory of the epilogue
  /// K tiles of a promotion group: 1 where sums have scales. Where parts share the temporary, 1 or, unless
  /// the tile is a large one (tiles::wgmma_begins_in_temporary), at least those of the product.
  uint32_t group_tiles = 1;
};

namespace detail {

/// A or B as it was given: a matrix, or a batch of them.
struct OperandView {
  const void* data = nullptr;
  int64_t rows = 0, columns = 0;              // elements
  int64_t row_stride = 1, column_stride = 1;  // elements
  int64_t batches = 1, batch_stride = 0;
  bool batched = false;
};

/// What the descriptor says about an operand.
struct OperandRules {
  const char* name = "A";
  Element element = Element::none;
  arrangement order = row_major;
  int alignment = 16;           // promised, bytes
  tiles::OperandLayout layout;  // of its stage
  bool bulk = true;             // brought by TMA: needs a tensor map
  bool is_complex = false;

  constexpr int element_bytes() const { return bytes_of(element) * (is_complex ? 2 : 1); }
};

/// Checks a tuning of a tile whose shape names the largest cluster, sets the tuned one in it and fills in
/// `params`. depth: the most stages, 2 or more, which fit in shared memory. Errors: invalid_tuning.
pipeline_status tune(const Tuning& tuning, uint32_t depth, tiles::WgmmaTileShape& shape,
                     TunedPipelineParams& params);
/// What the groups of a tuning owe to the product's K, after bind_operands. Errors: invalid_tuning.
pipeline_status check_groups(const tiles::WgmmaTileShape& shape, const TunedPipelineParams& params);

using EncodeFunction = Expected<TensorMap> (*)(const TensorMapSpec&);

/// Checks A (M x K) and B (K x N): each by itself, and that they belong together.
pipeline_status check_operands(const OperandView& a, const OperandRules& a_rules, const OperandView& b,
                               const OperandRules& b_rules);

/// Checks A and B and fills in `params`. tile_k: elements of K in a stage. No allocation, no
/// GPU work.
pipeline_status bind_operands(const OperandView& a, const OperandRules& a_rules, const OperandView& b,
                              const OperandRules& b_rules, uint32_t tile_k, EncodeFunction encode,
                              PipelineParams& params);

/// What CopiedInput asks of the lines of K of A, which are those of B, after bind_operands: their bytes are
/// counted in 32 bits, up to whole K tiles. Errors: extent_out_of_range.
pipeline_status check_copied_lines(const OperandView& a, const OperandRules& rules);

/// The map of a second matrix B, which must have the first one's extents. Errors: as check_operands;
/// incompatible_n, incompatible_k, incompatible_batches.
pipeline_status bind_second_operand(const OperandView& b, const OperandView& b2, const OperandRules& rules,
                                    EncodeFunction encode, PipelineParams& params);

/// Whether A and B have scales of groups: both or, where they may lack them, neither. Errors: scale_mismatch.
pipeline_status check_group_scales(bool of_a, bool of_b, bool required);

/// The error of a tile grid that is not made of whole clusters.
pipeline_status cluster_grid_error(uint32_t tiles_m, uint32_t tiles_n, uint32_t cluster_m,
                                   uint32_t cluster_n);

/// What A and B may be.
template <class T>
concept AnyOperand = AnyTensor<T> || MdspanLike<T>;

template <AnyTensor T>
OperandView operand_view(const T& t) {
  return {t.data(),          t.rows(),    t.columns(),      t.row_stride(),
          t.column_stride(), t.batches(), t.batch_stride(), T::rank() == 3};
}
template <MdspanLike T>
OperandView operand_view(const T& t) {
  const auto extent = [&](size_t i) { return static_cast<int64_t>(t.extent(i)); };
  const auto stride = [&](size_t i) { return static_cast<int64_t>(t.stride(i)); };
  constexpr bool batched = T::rank() == 3;
  return {t.data_handle(),
          extent(0),
          extent(1),
          stride(0),
          stride(1),
          batched ? extent(T::rank() - 1) : 1,
          batched ? stride(T::rank() - 1) : 0,
          batched};
}

/// Element and arrangement of a tensor; an mdspan's arrangement is found at run time.
template <class T>
struct OperandTraits;
template <AnyTensor T>
struct OperandTraits<T> {
  using value_type = typename T::value_type;
  static constexpr int64_t static_ld = T::static_leading_dimension;
  static constexpr bool fits(arrangement order) { return T::order == order; }
};
template <MdspanLike T>
struct OperandTraits<T> {
  using value_type = std::remove_cv_t<
      std::remove_pointer_t<std::remove_cvref_t<decltype(std::declval<const T&>().data_handle())>>>;
  static constexpr int64_t static_ld = 0;
  static constexpr bool fits(arrangement) { return true; }
};

}  // namespace detail
}  // namespace tilewright::blas
