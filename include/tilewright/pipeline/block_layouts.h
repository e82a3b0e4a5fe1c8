// How the tiles of a product without a pipeline lie in memory: what a descriptor's get_layout_* and
// suggest_layout_* return. Mode-neutral.
#pragma once

#include <cstdint>

#include "tilewright/layout/block_tensor.h"
#include "tilewright/mainloop/permuted_layout.h"
#include "tilewright/pipeline/descriptor.h"

namespace tilewright::blas::detail {

struct PackedLeadingDimensions {
  static constexpr int a = 0, b = 0, c = 0;
};

/// The widest alignment of copies that all rows or columns of a tile have where the first one has it.
TILEWRIGHT_HOST_DEVICE constexpr uint32_t alignment_of_lines(int64_t line_bytes) {
  uint32_t alignment = 16;
  while (line_bytes % alignment != 0) alignment /= 2;
  return alignment;
}

/// Layout of a tile; Given: its leading dimension where an operator names it, else 0.
template <int Rows, int Columns, arrangement Order, int Given, bool Shared>
struct TileLayout {
  static constexpr int64_t kLd = Given != 0 ? Given : Order == row_major ? Columns : Rows;

  static TILEWRIGHT_HOST_DEVICE constexpr auto make() {
    return MatrixLayout<Rows, Columns, Order, kLd, Shared>();
  }
  /// The same, aligned for the widest copies that the leading dimension lets through.
  template <int ElementBytes>
  static TILEWRIGHT_HOST_DEVICE constexpr auto make_aligned() {
    return MatrixLayout<Rows, Columns, Order, kLd, Shared, alignment_of_lines(kLd * ElementBytes)>();
  }
  template <class Ld>
  static TILEWRIGHT_HOST_DEVICE constexpr auto make(Ld ld) {
    return MatrixLayout<Rows, Columns, Order, static_ld_of<Ld>, Shared>(static_cast<int64_t>(ld));
  }
};

template <class D>
struct BlockLayouts {
  static constexpr Facts f = facts_of_v<D>;
  using Ld = typename D::template find<OperatorKind::leading_dimension, PackedLeadingDimensions>;
  /// Whether warps have whole MMAs of the product as it is, so that operands may lie as mma.sync reads them.
  static constexpr tiles::MmaSyncShape shape = f.mma_sync_shape();
  static constexpr bool whole = shape.m == f.m && shape.n == f.n && shape.k == f.k;
  static constexpr tiles::MmaSyncLayout kLayoutA = tiles::mma_sync_layout_a(shape),
                                        kLayoutB = tiles::mma_sync_layout_b(shape);

  template <class... L>
  static TILEWRIGHT_HOST_DEVICE constexpr auto shared_a(L... ld) {
    return batched(TileLayout<f.m, f.k, f.a_arrangement, Ld::a, true>::make(ld...));
  }
  template <class... L>
  static TILEWRIGHT_HOST_DEVICE constexpr auto shared_b(L... ld) {
    return batched(TileLayout<f.k, f.n, f.b_arrangement, Ld::b, true>::make(ld...));
  }
  template <class... L>
  static TILEWRIGHT_HOST_DEVICE constexpr auto shared_c(L... ld) {
    return batched(TileLayout<f.m, f.n, f.c_arrangement, Ld::c, true>::make(ld...));
  }
  template <class... L>
  static TILEWRIGHT_HOST_DEVICE constexpr auto global_a(L... ld) {
    return batched(TileLayout<f.m, f.k, f.a_arrangement, 0, false>::make(ld...));
  }
  template <class... L>
  static TILEWRIGHT_HOST_DEVICE constexpr auto global_b(L... ld) {
    return batched(TileLayout<f.k, f.n, f.b_arrangement, 0, false>::make(ld...));
  }
  template <class... L>
  static TILEWRIGHT_HOST_DEVICE constexpr auto global_c(L... ld) {
    return batched(TileLayout<f.m, f.n, f.c_arrangement, 0, false>::make(ld...));
  }

  /// The ordinary cores read four neighbours in M or N at once; mma.sync has a permutation of its own. All
  /// are aligned as these reads, and copies into them, can use.
  static TILEWRIGHT_HOST_DEVICE constexpr auto suggested_a() {
    if constexpr (path_of_v<D> == path::simt) {
      return aligned<TileLayout<f.m, f.k, col_major, (f.m + 3) / 4 * 4, true>, typename D::a_value_type>();
    } else if constexpr (whole) {
      return batched(PermutedLayout<f.m, f.k, kLayoutA, true>());
    } else {
      return aligned<TileLayout<f.m, f.k, f.a_arrangement, Ld::a, true>, typename D::a_value_type>();
    }
  }
  static TILEWRIGHT_HOST_DEVICE constexpr auto suggested_b() {
    if constexpr (path_of_v<D> == path::simt) {
      return aligned<TileLayout<f.k, f.n, row_major, (f.n + 3) / 4 * 4, true>, typename D::b_value_type>();
    } else if constexpr (whole) {
      return batched(PermutedLayout<f.k, f.n, kLayoutB, false>());
    } else {
      return aligned<TileLayout<f.k, f.n, f.b_arrangement, Ld::b, true>, typename D::b_value_type>();
    }
  }

 private:
  template <class Tile, class Element>
  static TILEWRIGHT_HOST_DEVICE constexpr auto aligned() {
    return batched(Tile::template make_aligned<static_cast<int>(sizeof(Element))>());
  }
  template <class Layout>
  static TILEWRIGHT_HOST_DEVICE constexpr auto batched(Layout layout) {
    if constexpr (f.batches == 1) {
      return layout;
    } else {
      return BatchedLayout<Layout, f.batches>(layout);
    }
  }
};

}  // namespace tilewright::blas::detail
