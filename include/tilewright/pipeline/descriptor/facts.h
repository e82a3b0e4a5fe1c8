// A descriptor as plain numbers: what rules look at.
#pragma once

#include <cstdint>

#include "tilewright/mainloop/mma_sync_plan.h"
#include "tilewright/mainloop/simt_block_plan.h"
#include "tilewright/mainloop/simt_tile_plan.h"
#include "tilewright/mainloop/wgmma_tile_plan.h"
#include "tilewright/numeric/block_format.h"
#include "tilewright/pipeline/descriptor/description.h"

namespace tilewright::blas {

constexpr bool is_float8(Element e) { return e == Element::e4m3 || e == Element::e5m2; }
constexpr bool is_float16(Element e) { return e == Element::f16 || e == Element::bf16; }
constexpr bool is_int8(Element e) { return e == Element::s8 || e == Element::u8; }

struct Facts {
  bool has_size = false, has_precision = false, has_sm = false;
  int m = 1, n = 1, k = 1;
  Element a = Element::none, b = Element::none, c = Element::none;
  bool is_complex = false;
  arrangement a_arrangement = row_major, b_arrangement = col_major, c_arrangement = row_major;
  int a_alignment = 1, b_alignment = 1, c_alignment = 1;  // bytes
  int threads = 128;                                      // that compute
  bool with_pipeline = false, input_streaming = false;
  int sm = 0;
  sm_modifier modifier = generic;
  int batches = 1;  // of a block, without a pipeline
  bool copied_input = false, tunable = false, scaled_promotion = false;
  bool has_cluster = false;
  int cluster_m = 1, cluster_n = 1;  // if tunable, at most
  bool require_multicast = false;
  bool has_accumulation = false;
  int interval = 0;  // MMAs between promotions; 0: fast
  int mantissa_bits = 0;
  Element split_into = Element::tf32;  // with mantissa_bits
  int products = 1;                    // matrices B
  int scale_vector = 0;                // elements that share a scale; 0: no BlockScale
  Element scale = Element::none;
  path required = path::none;
  uint32_t allowed = (1u << path_count) - 1;

  constexpr bool is_scaled() const { return scale_vector != 0; }
  /// What only kernels of wgmma have.
  constexpr bool is_wgmma_only() const { return copied_input || tunable || scaled_promotion; }
  /// With BlockScale: the format of A or B by its element.
  constexpr BlockFormat block_format(Element e) const {
    if (e == Element::e2m1) return scale_vector == 16 ? BlockFormat::nvfp4 : BlockFormat::mxfp4;
    return e == Element::e5m2 ? BlockFormat::mxfp8_e5m2 : BlockFormat::mxfp8;
  }
  /// The K tile of two formats: 128 bytes as it lies in shared memory, where only FP4 x FP4 is packed.
  constexpr int scaled_tile_k() const { return a == Element::e2m1 && b == Element::e2m1 ? 256 : 128; }

  /// K is the contiguous index of A, of B.
  constexpr bool k_major_a() const { return a_arrangement == row_major; }
  constexpr bool k_major_b() const { return b_arrangement == col_major; }

  /// FP32 as sums of shorter numbers, which tensor cores multiply: RequiredMantissaBits.
  constexpr bool is_split() const {
    return mantissa_bits != 0 && a == Element::f32 && b == Element::f32 && c == Element::f32;
  }
  /// Numbers for one element: 11 significant bits each.
  constexpr int split_parts() const { return is_split() && mantissa_bits > 10 ? 2 : 1; }
  /// Bytes of an element of A, or of a part of it, in a stage.
  constexpr int stage_bytes_a() const { return bytes_of(is_split() ? split_into : a); }
  constexpr int stage_bytes_b() const { return bytes_of(is_split() ? split_into : b); }

  /// Split operands lie K-major in the workspace, whatever the arrangement they are read in.
  constexpr tiles::WgmmaTileShape wgmma_shape() const {
    return {m,
            n,
            k,
            threads,
            stage_bytes_a(),
            stage_bytes_b(),
            a == Element::s8 || a == Element::u8,
            c == Element::f16,
            interval,
            !k_major_a() && !is_split(),
            !k_major_b() && !is_split(),
            cluster_m,
            cluster_n,
            split_parts(),
            products,
            tunable,
            copied_input,
            scaled_promotion};
  }
  /// TMA brings real operands whose rows of M or N are contiguous and aligned to 16 bytes.
  constexpr tiles::SimtTileShape simt_shape() const {
    return {m,
            n,
            is_complex ? 2 * k : k,
            threads,
            !k_major_a() && a_alignment == 16 && !is_complex,
            !k_major_b() && b_alignment == 16 && !is_complex,
            is_complex};
  }
  /// Without a pipeline: what the ordinary cores compute of a block's FP32 product.
  constexpr tiles::SimtBlockShape simt_block_shape() const { return {m, n, k, threads, is_complex}; }
  /// FP8 on sm_90 is multiplied as f16, and sums of an MMA are added in FP32 (arch/mma_sync.h). Without a
  /// pipeline extents are those of whole MMAs.
  constexpr tiles::MmaSyncShape mma_sync_shape() const {
    const bool as_f16 = is_float8(a) && sm == 900;
    const tiles::MmaSyncShape shape{m,
                                    n,
                                    k,
                                    threads,
                                    bytes_of(a),
                                    is_complex,
                                    c == Element::f16,
                                    as_f16,
                                    interval != 0 && !as_f16,
                                    !k_major_a(),
                                    !k_major_b(),
                                    a_alignment,
                                    b_alignment,
                                    sm,
                                    with_pipeline};
    return with_pipeline ? shape : tiles::mma_sync_padded(shape);
  }
};

namespace detail {

template <class D>
constexpr Facts make_facts() {
  using K = OperatorKind;
  Facts f;
  f.has_size = D::template has<K::size>;
  f.has_precision = D::template has<K::precision>;
  f.has_sm = D::template has<K::sm>;
  f.m = D::size_operator::m;
  f.n = D::size_operator::n;
  f.k = D::size_operator::k;
  if constexpr (D::template has<K::precision>) {
    f.a = element_of_v<typename D::precision_operator::a_type>;
    f.b = element_of_v<typename D::precision_operator::b_type>;
    f.c = element_of_v<typename D::precision_operator::c_type>;
  }
  f.is_complex = D::type_operator::value == type::complex;
  f.a_arrangement = D::arrangement_operator::a;
  f.b_arrangement = D::arrangement_operator::b;
  f.c_arrangement = D::arrangement_operator::c;
  const int parts = f.is_complex ? 2 : 1;
  f.a_alignment = parts * bytes_of(f.a);
  f.b_alignment = parts * bytes_of(f.b);
  f.c_alignment = parts * bytes_of(f.c);
  if constexpr (D::template has<K::alignment>) {
    using Given = typename D::template find<K::alignment>;
    f.a_alignment = Given::a;
    f.b_alignment = Given::b;
    f.c_alignment = Given::c;
  }
  f.threads = static_cast<int>(D::max_threads_per_block);
  f.with_pipeline = D::template has<K::with_pipeline>;
  f.input_streaming = D::template has<K::input_streaming>;
  if constexpr (D::template has<K::sm>) {
    f.sm = D::template find<K::sm>::architecture;
    f.modifier = D::template find<K::sm>::modifier;
  }
  f.batches = static_cast<int>(D::batches_per_block);
  f.cluster_m = D::cluster_operator::m;
  f.cluster_n = D::cluster_operator::n;
  f.has_cluster = D::template has<K::cluster>;
  f.copied_input = D::template has<K::copied_input>;
  f.scaled_promotion = D::template has<K::scaled_promotion>;
  if constexpr (D::template has<K::tunable>) {
    f.tunable = true;
    f.cluster_m = D::template find<K::tunable>::m;
    f.cluster_n = D::template find<K::tunable>::n;
  }
  f.require_multicast = D::template has<K::require_multicast>;
  f.has_accumulation = D::template has<K::accumulation>;
  if constexpr (D::template has<K::mantissa_bits>)
    f.mantissa_bits = D::template find<K::mantissa_bits>::value;
  if constexpr (D::template has<K::split_into>) f.split_into = D::template find<K::split_into>::element;
  if constexpr (D::template has<K::products>) f.products = D::template find<K::products>::value;
  if constexpr (D::template has<K::block_scale>) {
    using Given = typename D::template find<K::block_scale>;
    f.scale_vector = Given::vector;
    f.scale = element_of_v<typename Given::scale_type>;
  }
  if constexpr (D::template has<K::accumulation>) {
    f.interval = D::template find<K::accumulation>::interval;
  } else if (f.is_split()) {
    // Every 4 MMAs, or as near as whole groups of a K tile come to that.
    const int mmas = f.k * f.stage_bytes_a() / 32;
    for (f.interval = mmas < 4 ? mmas : 4; f.interval > 1 && mmas % f.interval != 0;) --f.interval;
  } else if (is_float8(f.a) && is_float8(f.b) && f.c == Element::f32 && !f.is_scaled()) {
    f.interval = 4;
  }
  if constexpr (D::template has<K::require_path>) f.required = D::template find<K::require_path>::value;
  if constexpr (D::template has<K::allow_paths>) f.allowed = D::template find<K::allow_paths>::mask;
  return f;
}

}  // namespace detail

/// The numbers of a descriptor, complete or not.
template <AnyDescription D>
inline constexpr Facts facts_of_v = detail::make_facts<std::remove_cvref_t<D>>();

}  // namespace tilewright::blas
