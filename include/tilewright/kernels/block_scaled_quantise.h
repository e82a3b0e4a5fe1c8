// Quantising on the device: a thread for every scale. The rule stands in numeric/block_format.h.
#pragma once

#include "tilewright/arch/index.h"
#include "tilewright/config.h"
#include "tilewright/layout/scale_quantise.h"
#include "tilewright/numeric/float16.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace detail {

/// Sixteen bytes of a row at a time.
struct alignas(16) QuantisedChunk {
  uint32_t words[4];
};

template <BlockFormat kFormat>
struct QuantisedBlock {
  using Traits = BlockTraits<kFormat>;
  static constexpr bool fp4 = std::is_same_v<typename Traits::Element, e2m1>;
  static constexpr int bytes = Traits::vector / (fp4 ? 2 : 1);

  uint32_t words[bytes / 4] = {};

  TILEWRIGHT_DEVICE void set(int i, typename Traits::Element element) {
    constexpr int kBits = fp4 ? 4 : 8;
    words[i * kBits / 32] |= static_cast<uint32_t>(element.bits) << (i * kBits % 32);
  }
  /// `to`: aligned to 8 bytes, to 16 for blocks of so many.
  TILEWRIGHT_DEVICE void store(uint8_t* to) const {
    if constexpr (bytes == 8) {
      *reinterpret_cast<uint64_t*>(to) = words[0] | static_cast<uint64_t>(words[1]) << 32;
    } else {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < bytes; i += 16) {
        *reinterpret_cast<QuantisedChunk*>(to + i) = {
            {words[i / 4], words[i / 4 + 1], words[i / 4 + 2], words[i / 4 + 3]}};
      }
    }
  }
};

template <BlockFormat kFormat, class Source>
TILEWRIGHT_DEVICE void quantise_block(const QuantiseKernelParams& p, int64_t offset) {
  using Traits = BlockTraits<kFormat>;
  const ScaleShape shape{p.rows, p.padded_k / Traits::vector, p.batches};
  const ScalePlace place = packed_scale_place(shape, offset);
  const int64_t first = place.column * Traits::vector;
  const bool inside = place.row < p.rows && place.column < shape.columns;
  const float tensor_scale = p.tensor_scale != nullptr ? *p.tensor_scale : 1.0f;
  float values[Traits::vector];
  const auto* source = static_cast<const Source*>(p.source) + place.batch * p.source_batch_stride +
                       place.row * p.source_ld + first;
  TILEWRIGHT_UNROLL
  for (int i = 0; i < Traits::vector; ++i) {
    values[i] = inside && first + i < p.k ? static_cast<float>(source[i]) : 0.0f;
  }
  const auto scale = block_scale<kFormat>(block_amax(values, Traits::vector), tensor_scale);
  p.scales.data()[offset] = scale.bits;
  if (!inside) return;
  QuantisedBlock<kFormat> block;
  TILEWRIGHT_UNROLL
  for (int i = 0; i < Traits::vector; ++i) {
    block.set(i, quantise_element<kFormat>(values[i], scale, tensor_scale));
  }
  const int64_t index = (place.batch * p.rows + place.row) * p.padded_k + first;
  block.store(p.elements + (QuantisedBlock<kFormat>::fp4 ? index / 2 : index));
}

}  // namespace detail

/// Any grid of blocks of quantise_block_threads threads; quantise_threads() in all use it best.
inline constexpr int quantise_block_threads = 128;

template <BlockFormat kFormat, class Source>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(quantise_block_threads)
    block_scaled_quantise(const TILEWRIGHT_GRID_CONSTANT QuantiseKernelParams params) {
  const int64_t step = int64_t{arch::grid_dim().x} * quantise_block_threads;
  const int64_t all = quantise_threads<kFormat>(params);
  for (int64_t i = int64_t{arch::block_index().x} * quantise_block_threads + arch::thread_index().x; i < all;
       i += step) {
    detail::quantise_block<kFormat, Source>(params, i);
  }
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
