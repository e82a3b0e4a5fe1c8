// Questions about a descriptor.
#pragma once

#include "tilewright/pipeline/descriptor/resolve.h"

namespace tilewright::blas {
namespace detail {

template <class D>
using Plain = std::remove_cvref_t<D>;

}  // namespace detail

/// Whether T is a descriptor, and whether it has all that a pipeline needs: Size, Precision and SM.
template <class T>
inline constexpr bool is_blas_v = AnyDescription<T>;
template <AnyDescription D>
inline constexpr bool is_complete_blas_v =
    facts_of_v<D>.has_size&& facts_of_v<D>.has_precision&& facts_of_v<D>.has_sm;

/// Whether T is a descriptor with Block(), and whether it has all besides that a product needs.
template <class T>
inline constexpr bool is_blas_execution_v = false;
template <AnyDescription D>
inline constexpr bool is_blas_execution_v<D> =
    detail::Plain<D>::template has<detail::OperatorKind::execution>;
template <class T>
inline constexpr bool is_complete_blas_execution_v = false;
template <AnyDescription D>
inline constexpr bool is_complete_blas_execution_v<D> = is_blas_execution_v<D>&& is_complete_blas_v<D>;

/// Extents of the tile, in elements.
template <AnyDescription D>
struct size_of {
  static constexpr int m = facts_of_v<D>.m, n = facts_of_v<D>.n, k = facts_of_v<D>.k;
};
template <AnyDescription D>
inline constexpr unsigned size_of_v_m = static_cast<unsigned>(facts_of_v<D>.m);
template <AnyDescription D>
inline constexpr unsigned size_of_v_n = static_cast<unsigned>(facts_of_v<D>.n);
template <AnyDescription D>
inline constexpr unsigned size_of_v_k = static_cast<unsigned>(facts_of_v<D>.k);

/// precision_of<D>::a_type, b_type, c_type: the types that Precision names.
template <AnyDescription D>
using precision_of = typename detail::Plain<D>::precision_operator;

/// What Type and Function name; without them, real and MM.
template <AnyDescription D>
inline constexpr type type_of_v = detail::Plain<D>::type_operator::value;
template <AnyDescription D>
inline constexpr function function_of_v = detail::Plain<D>::function_operator::value;

/// arrangement_of<D>::a, b, c: the order of elements of A, B and C in memory; without Arrangement, row_major,
/// col_major and row_major.
template <AnyDescription D>
using arrangement_of = typename detail::Plain<D>::arrangement_operator;
template <AnyDescription D>
inline constexpr arrangement arrangement_of_v_a = facts_of_v<D>.a_arrangement;
template <AnyDescription D>
inline constexpr arrangement arrangement_of_v_b = facts_of_v<D>.b_arrangement;
template <AnyDescription D>
inline constexpr arrangement arrangement_of_v_c = facts_of_v<D>.c_arrangement;

/// In bytes; without Alignment, the size of an element.
template <AnyDescription D>
inline constexpr int alignment_of_v_a = facts_of_v<D>.a_alignment;
template <AnyDescription D>
inline constexpr int alignment_of_v_b = facts_of_v<D>.b_alignment;
template <AnyDescription D>
inline constexpr int alignment_of_v_c = facts_of_v<D>.c_alignment;

/// Of A, B and C in shared memory without a pipeline: what LeadingDimension names, or that of packed tiles.
template <AnyDescription D>
struct leading_dimension_of {
 private:
  using Given = typename detail::Plain<D>::template find<detail::OperatorKind::leading_dimension>;
  static constexpr int given(int packed, int operand) {
    if constexpr (std::is_void_v<Given>) {
      return packed;
    } else {
      return operand == 0 ? Given::a : operand == 1 ? Given::b : Given::c;
    }
  }
  static constexpr Facts f = facts_of_v<D>;

 public:
  static constexpr int a = given(f.a_arrangement == row_major ? f.k : f.m, 0),
                       b = given(f.b_arrangement == row_major ? f.n : f.k, 1),
                       c = given(f.c_arrangement == row_major ? f.n : f.m, 2);
};
template <AnyDescription D>
inline constexpr int leading_dimension_of_v_a = leading_dimension_of<D>::a;
template <AnyDescription D>
inline constexpr int leading_dimension_of_v_b = leading_dimension_of<D>::b;
template <AnyDescription D>
inline constexpr int leading_dimension_of_v_c = leading_dimension_of<D>::c;

/// The older spelling of arrangement_of_v_a and _b.
template <AnyDescription D>
inline constexpr transpose_mode transpose_mode_of_a =
    arrangement_of_v_a<D> == col_major ? transpose_mode::non_transposed : transpose_mode::transposed;
template <AnyDescription D>
inline constexpr transpose_mode transpose_mode_of_b =
    arrangement_of_v_b<D> == col_major ? transpose_mode::non_transposed : transpose_mode::transposed;

/// alignment_of<D>::a, b, c.
template <AnyDescription D>
struct alignment_of {
  static constexpr int a = alignment_of_v_a<D>, b = alignment_of_v_b<D>, c = alignment_of_v_c<D>;
};

/// The threads that compute (a pipeline may launch more): those of BlockDim; without it, 128.
template <AnyDescription D>
inline constexpr Extent3 block_dim_of_v = detail::Plain<D>::block_dim;
/// Whether the operator StaticBlockDim is there.
template <AnyDescription D>
inline constexpr bool has_static_block_dim_v =
    detail::Plain<D>::template has<detail::OperatorKind::static_block_dim>;
/// Products that a block computes at once, without a pipeline; without BatchesPerBlock, 1.
template <AnyDescription D>
inline constexpr unsigned batches_per_block_of_v = detail::Plain<D>::batches_per_block;
/// Whether the operators WithPipeline and EnableInputStreaming are there.
template <AnyDescription D>
inline constexpr bool is_with_pipeline_v = facts_of_v<D>.with_pipeline;
template <AnyDescription D>
inline constexpr bool is_input_streaming_enabled_v = facts_of_v<D>.input_streaming;
/// The architecture that SM names, as 100 times the compute capability (900 is sm_90), and its modifier.
template <AnyDescription D>
inline constexpr unsigned sm_of_v = static_cast<unsigned>(facts_of_v<D>.sm);
template <AnyDescription D>
inline constexpr sm_modifier sm_modifier_of_v = facts_of_v<D>.modifier;

/// MMAs between promotions; 0: the tensor core's accumulator all along K.
template <AnyDescription D>
inline constexpr int promotion_interval_of_v = facts_of_v<D>.interval;
/// Bits of RequiredMantissaBits; without it, 0.
template <AnyDescription D>
inline constexpr int required_mantissa_bits_of_v = facts_of_v<D>.mantissa_bits;

/// BlockScale: whether it is there, the elements that share a scale (0 without) and the type of scales
/// (void).
template <AnyDescription D>
inline constexpr bool has_block_scale_v = facts_of_v<D>.is_scaled();
template <AnyDescription D>
inline constexpr int scale_vector_of_v = facts_of_v<D>.scale_vector;
namespace detail {
struct NoBlockScale {
  using scale_type = void;
};
}  // namespace detail
template <AnyDescription D>
using scale_type_of = typename detail::Plain<D>::template find<detail::OperatorKind::block_scale,
                                                               detail::NoBlockScale>::scale_type;

/// Whether the operator is there, and whether it means anything: not for one block, nor without a pipeline.
/// Paths other than wgmma and tcgen05 ignore it: DevicePipeline::uses_cluster.
template <AnyDescription D>
inline constexpr bool has_blocks_per_cluster_v =
    detail::Plain<D>::template has<detail::OperatorKind::cluster>;
template <AnyDescription D>
inline constexpr bool uses_blocks_per_cluster_v =
    facts_of_v<D>.with_pipeline&& facts_of_v<D>.cluster_m* facts_of_v<D>.cluster_n > 1;
/// Blocks of a cluster; with Tunable those of the largest one (Pipeline::get_cluster_dim() has the tuned
/// one).
template <AnyDescription D>
inline constexpr unsigned blocks_per_cluster_of_v_m = static_cast<unsigned>(facts_of_v<D>.cluster_m);
template <AnyDescription D>
inline constexpr unsigned blocks_per_cluster_of_v_n = static_cast<unsigned>(facts_of_v<D>.cluster_n);
template <AnyDescription D>
inline constexpr unsigned blocks_per_cluster_of_v_k = 1;

}  // namespace tilewright::blas
