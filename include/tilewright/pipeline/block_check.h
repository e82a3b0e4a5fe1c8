// What the emulated machine checks of the tiles that products without a pipeline work on. Nothing on a GPU.
#pragma once

#include <cstdint>
#if defined(TILEWRIGHT_EMULATE)
#  include <cstdio>
#endif

#include "tilewright/config.h"
#include "tilewright/layout/block_tensor.h"
#include "tilewright/pipeline/misuse.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// Names a leading dimension that is below the rows (or columns) which it strides over: lines of the tile
/// `name` overlap, or run backwards out of it. For each thread that works on the tile.
template <class View>
TILEWRIGHT_DEVICE void check_leading_dimension([[maybe_unused]] const char* name,
                                               [[maybe_unused]] const View& view) {
#if defined(TILEWRIGHT_EMULATE)
  if constexpr (requires { view.viewed(); }) {
    check_leading_dimension(name, view.viewed());
  } else if constexpr (AnyTileView<View>) {
    // Tiles of an mdspan have any strides.
    if constexpr (View::contiguous_rows != View::contiguous_columns) {
      constexpr bool kRows = View::contiguous_rows;
      const int64_t ld = kRows ? view.row_stride() : view.column_stride();
      const uint32_t line = kRows ? view.columns() : view.rows(),
                     lines = kRows ? view.rows() : view.columns();
      if (lines <= 1 || ld >= int64_t{line}) return;
      char sentence[128];
      std::snprintf(sentence, sizeof sentence,
                    "the leading dimension of %s is %lld, below its %s of %u elements", name,
                    static_cast<long long>(ld), kRows ? "rows" : "columns", line);
      misuse("block.leading_dimension", sentence);
    }
  }
#endif
}

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
