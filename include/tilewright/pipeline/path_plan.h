// What each path makes of a descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/mainloop/tcgen05_block_scaled_params.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/pipeline_binding.h"
#include "tilewright/pipeline/split_loop.h"
#include "tilewright/pipeline/split_operands.h"
#include "tilewright/pipeline/tile_loop.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// Of a path:
///   max_depth       stages that fit
///   Loop<Depth>     its main loop (tile_loop.h)
///   Params          what its kernels know of A and B
///   Operands        what its pipeline owns on the host (GivenOperands: nothing)
///   describe(a, b, params)  host: what bind_operands has not filled in
template <class D, path P = path_of_v<D>>
struct PathPlan;

/// The accumulator registers that wgmma wants for a descriptor's accumulator type.
template <class C>
using WgmmaRegister = std::conditional_t<element_of_v<C> == Element::f16, uint32_t, canonical_t<C>>;

/// Kernels read the tensors that the caller gave.
struct GivenOperands {
  static constexpr bool kOwns = false;
};

/// A and B as they were given, for kernels that read them by ordinary loads.
template <class D>
void describe_strided(const detail::OperandView& a, const detail::OperandView& b,
                      detail::SimtPipelineParams& p) {
  constexpr Facts f = facts_of_v<D>;
  p.k = static_cast<uint32_t>(a.columns);
  p.a = static_cast<const float*>(a.data);
  p.b = static_cast<const float*>(b.data);
  // The contiguous index steps by one, whatever the stride of a matrix with a single row or column says.
  p.a_row_stride = f.k_major_a() ? a.row_stride : 1;
  p.a_k_stride = f.k_major_a() ? 1 : a.column_stride;
  p.b_row_stride = f.k_major_b() ? b.column_stride : 1;
  p.b_k_stride = f.k_major_b() ? 1 : b.row_stride;
  p.a_batch_stride = p.a_batch_step != 0 ? a.batch_stride : 0;
  p.b_batch_stride = p.b_batch_step != 0 ? b.batch_stride : 0;
}

template <class D>
requires(!facts_of_v<D>.is_split()) struct PathPlan<D, path::wgmma> {
  static constexpr int max_depth = detail::plan_of(facts_of_v<D>).max_depth;
  template <int Depth>
  using Loop = WgmmaTileLoop<
      mainloop::WgmmaTileConfig<canonical_t<typename D::a_value_type>, canonical_t<typename D::b_value_type>,
                                WgmmaRegister<typename D::c_value_type>, facts_of_v<D>.wgmma_shape(), Depth>>;
  using Params =
      std::conditional_t<facts_of_v<D>.is_wgmma_only(), detail::TunedPipelineParams, detail::PipelineParams>;
  using Operands = GivenOperands;

  static void describe([[maybe_unused]] const detail::OperandView& a,
                       [[maybe_unused]] const detail::OperandView& b, [[maybe_unused]] Params& p) {
    if constexpr (facts_of_v<D>.copied_input) {
      constexpr int kBytes = facts_of_v<D>.stage_bytes_a();
      p.k_bytes = static_cast<uint32_t>(kBytes * a.columns);
      p.a = static_cast<const uint8_t*>(a.data);
      p.b = static_cast<const uint8_t*>(b.data);
      p.a_ld = kBytes * a.row_stride;
      p.b_ld = kBytes * b.column_stride;
      p.a_batch_stride = p.a_batch_step != 0 ? kBytes * a.batch_stride : 0;
      p.b_batch_stride = p.b_batch_step != 0 ? kBytes * b.batch_stride : 0;
    }
  }
};

/// FP32 on tensor cores: what TMA brings was split into shorter numbers before.
template <class D>
requires(facts_of_v<D>.is_split()) struct PathPlan<D, path::wgmma> {
  static constexpr int max_depth = detail::plan_of(facts_of_v<D>).max_depth;
  using Part = SplitPart<D>;
  static constexpr bool scaled = mainloop::SplitQuad<Part>::kScaled;
  template <int Depth>
  using Loop = SplitTileLoop<
      WgmmaTileLoop<mainloop::WgmmaTileConfig<Part, Part, float, facts_of_v<D>.wgmma_shape(), Depth>>,
      scaled>;
  using Params = detail::SplitPipelineParams;
  using Operands = SplitOperands<D>;

  static void describe(const detail::OperandView& a, const detail::OperandView& b, Params& p) {
    describe_strided<D>(a, b, p);
  }
};

template <class D>
struct PathPlan<D, path::simt> {
  static constexpr int max_depth = tiles::simt_tile_plan(facts_of_v<D>.simt_shape(), 0).max_depth;
  template <int Depth>
  using Loop = SimtTileLoop<mainloop::SimtTileConfig<facts_of_v<D>.simt_shape(), Depth>>;
  using Params = detail::SimtPipelineParams;
  using Operands = GivenOperands;

  static void describe(const detail::OperandView& a, const detail::OperandView& b, Params& p) {
    describe_strided<D>(a, b, p);
    if constexpr (facts_of_v<D>.is_complex) count_parts(p);
  }

 private:
  /// Strides in floats, K in parts of numbers; parts of a number are neighbours.
  static void count_parts(Params& p) {
    constexpr Facts f = facts_of_v<D>;
    p.k *= 2;
    p.a_row_stride *= 2;
    p.b_row_stride *= 2;
    if constexpr (!f.k_major_a()) p.a_k_stride *= 2;
    if constexpr (!f.k_major_b()) p.b_k_stride *= 2;
    p.a_batch_stride *= 2;
    p.b_batch_stride *= 2;
  }
};

/// The accumulator registers that mma.sync wants for a descriptor's accumulator type.
template <class D>
using MmaSyncRegister = WgmmaRegister<typename D::precision_operator::c_type>;

template <class D>
struct PathPlan<D, path::mma_sync> {
  static constexpr int max_depth = tiles::mma_sync_plan(facts_of_v<D>.mma_sync_shape()).max_depth;
  template <int Depth>
  using Loop =
      MmaSyncTileLoop<mainloop::MmaSyncConfig<canonical_t<typename D::precision_operator::a_type>,
                                              canonical_t<typename D::precision_operator::b_type>,
                                              MmaSyncRegister<D>, facts_of_v<D>.mma_sync_shape(), Depth>>;
  using Params = detail::MmaSyncPipelineParams;
  using Operands = GivenOperands;

  static void describe(const detail::OperandView& a, const detail::OperandView& b, Params& p) {
    constexpr Facts f = facts_of_v<D>;
    constexpr int64_t kBytes = f.mma_sync_shape().element_bytes();
    p.k = static_cast<uint32_t>(a.columns);
    p.a = static_cast<const std::byte*>(a.data);
    p.b = static_cast<const std::byte*>(b.data);
    p.a_ld = kBytes * (f.k_major_a() ? a.row_stride : a.column_stride);
    p.b_ld = kBytes * (f.k_major_b() ? b.column_stride : b.row_stride);
    p.a_batch_stride = p.a_batch_step != 0 ? kBytes * a.batch_stride : 0;
    p.b_batch_stride = p.b_batch_step != 0 ? kBytes * b.batch_stride : 0;
  }
};

/// Elements with scales: its pipeline stands in block_scaled_pipeline.h. What is left of shared memory beside
/// so many stages is enough for slabs of f32.
template <class D>
struct PathPlan<D, path::tcgen05> {
  static constexpr int max_depth = kernels::block_scaled_stages;
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
