// The block-scaled formats: which elements, which scales, how many elements share one; and how a block of
// floats becomes one of them. One rule for all formats, on the host, on the GPU and in constant expressions.
//
// With amax the largest magnitude of a block, t the tensor's scale and max the element type's largest value:
//   * e8m0 scales: the least power of two s with amax / s <= max, at least 2^-127. No element saturates.
//   * e4m3 scales: amax / (max t) rounded to nearest even, at most 448 and at least 2^-9. So that of
//     finite data is never NaN and never zero. Elements beyond 6 s t become 6 s t.
//   * A block of zeros has the scale 2^-124 of e8m0, 1 of e4m3 (see zero_block_scale).
//   * A block with an Inf or a NaN has the NaN scale and zero elements: all of it reads back as NaN.
//   * An element is x / (s t) in FP32, rounded to nearest even. Zeros keep their sign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "tilewright/error.h"
#include "tilewright/numeric/dtype.h"

namespace tilewright {

enum class BlockFormat : uint8_t { mxfp8, mxfp8_e5m2, mxfp4, nvfp4 };

/// The types of a format; `vector` elements along K share a scale.
template <BlockFormat kFormat>
struct BlockTraits {
  using Element = std::conditional_t<kFormat == BlockFormat::mxfp8, e4m3,
                                     std::conditional_t<kFormat == BlockFormat::mxfp8_e5m2, e5m2, e2m1>>;
  using Scale = std::conditional_t<kFormat == BlockFormat::nvfp4, e4m3, e8m0>;
  static constexpr int vector = kFormat == BlockFormat::nvfp4 ? 16 : 32;
};

/// Calls f with a std::integral_constant of the format and returns what it returns.
template <class F>
constexpr decltype(auto) with_format(BlockFormat format, F&& f) {
  switch (format) {
    case BlockFormat::mxfp8_e5m2:
      return f(std::integral_constant<BlockFormat, BlockFormat::mxfp8_e5m2>{});
    case BlockFormat::mxfp4:
      return f(std::integral_constant<BlockFormat, BlockFormat::mxfp4>{});
    case BlockFormat::nvfp4:
      return f(std::integral_constant<BlockFormat, BlockFormat::nvfp4>{});
    default:
      return f(std::integral_constant<BlockFormat, BlockFormat::mxfp8>{});
  }
}

constexpr DType element_type(BlockFormat format) {
  return with_format(format, [](auto f) { return dtype_of<typename BlockTraits<f>::Element>; });
}
constexpr DType scale_type(BlockFormat format) {
  return with_format(format, [](auto f) { return dtype_of<typename BlockTraits<f>::Scale>; });
}
constexpr int scale_vector(BlockFormat format) { return format == BlockFormat::nvfp4 ? 16 : 32; }
constexpr bool is_fp4(BlockFormat format) { return element_type(format) == DType::e2m1; }

constexpr const char* name_of(BlockFormat format) {
  constexpr const char* names[] = {"mxfp8", "mxfp8_e5m2", "mxfp4", "nvfp4"};
  return names[static_cast<int>(format)];
}
/// Error: the list of names.
inline Expected<BlockFormat> parse_block_format(std::string_view text) {
  for (BlockFormat f :
       {BlockFormat::mxfp8, BlockFormat::mxfp8_e5m2, BlockFormat::mxfp4, BlockFormat::nvfp4}) {
    if (text == name_of(f)) return f;
  }
  return Error{ErrorCode::invalid_argument, "block_format.name",
               "'" + std::string(text) +
                   "' is not a block-scaled format; known are mxfp8, mxfp4, nvfp4 and, "
                   "to quantise only, mxfp8_e5m2"};
}

/// The scale of a block of zeros, and of padding. Results depend on it: sm_100 aligns sums of FP4 products by
/// the product of both scales of every group, of zeros too, and cuts what lies 35 binades below the greatest.
///   e8m0  2^-124: the least that needs no shift where blocks are dequantised to bf16
///         (kernels::exact_exponents). Opposite a scale of 2^100, zeros still count as 2^-24.
///   e4m3  1: cuts nothing. With any other scale it is below 2^9, and all products are multiples of 2^-20.
template <class Scale>
TILEWRIGHT_HOST_DEVICE constexpr Scale zero_block_scale() {
  static_assert(std::is_same_v<Scale, e8m0> || std::is_same_v<Scale, e4m3>, "block scales are e8m0 or e4m3");
  return Scale::from_bits(std::is_same_v<Scale, e8m0> ? 127 - 124 : 0x38);
}

/// Largest magnitude of `count` values `stride` apart. NaN if there is a NaN, else infinity if there is one.
TILEWRIGHT_HOST_DEVICE constexpr float block_amax(const float* values, int count, int64_t stride = 1) {
  uint32_t greatest = 0;  // magnitudes order like their bits, NaNs last
  for (int i = 0; i < count; ++i) {
    const uint32_t magnitude = detail::float_bits(values[i * stride]) & 0x7FFFFFFFu;
    if (magnitude > greatest) greatest = magnitude;
  }
  return detail::float_from_bits(greatest);
}

/// The scale of a tensor for nvfp4: the tensor's largest magnitude gets the largest block scale. `amax`
/// finite. At least 2^-117, so that every product with a block scale is a normal float. 1 for a tensor of
/// zeros.
TILEWRIGHT_HOST_DEVICE constexpr float tensor_scale_for(float amax) {
  if (amax == 0) return 1;
  const float scale = amax / 2688.0f;  // 6 * 448
  return scale < 0x1p-117f ? 0x1p-117f : scale;
}

/// The scale of a block whose largest magnitude is `amax`, by the rule at the top.
template <BlockFormat kFormat>
TILEWRIGHT_HOST_DEVICE constexpr typename BlockTraits<kFormat>::Scale block_scale(float amax,
                                                                                  float tensor_scale = 1) {
  using Scale = typename BlockTraits<kFormat>::Scale;
  constexpr float max = static_cast<float>(NumericTraits<typename BlockTraits<kFormat>::Element>::max);
  if (!(amax <= 0x1.fffffep127f)) return Scale::from_bits(std::is_same_v<Scale, e8m0> ? 0xFF : 0x7F);
  if (amax == 0) return zero_block_scale<Scale>();
  if constexpr (std::is_same_v<Scale, e8m0>) {
    // amax / max may be rounded down onto a power of two.
    e8m0 scale = e8m0::round_up(amax / max);
    if (static_cast<float>(scale) * max < amax) scale = e8m0::from_bits(scale.bits + 1u);
    return scale;
  } else {
    const e4m3 scale = e4m3::saturate(amax / (max * tensor_scale));
    return scale.bits == 0 ? e4m3::from_bits(1) : scale;
  }
}

/// An element by the rule at the top. `scale` is what block_scale gave.
template <BlockFormat kFormat>
TILEWRIGHT_HOST_DEVICE constexpr typename BlockTraits<kFormat>::Element quantise_element(
    float value, typename BlockTraits<kFormat>::Scale scale, float tensor_scale = 1) {
  using Element = typename BlockTraits<kFormat>::Element;
  const float factor = static_cast<float>(scale);
  if (factor != factor) return Element::from_bits(0);
  return Element::saturate(value / (factor * tensor_scale));
}

}  // namespace tilewright
