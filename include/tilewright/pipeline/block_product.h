// What each path makes of a descriptor without a pipeline.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tilewright/arch/shared.h"
#include "tilewright/config.h"
#include "tilewright/layout/block_tensor.h"
#include "tilewright/mainloop/block_product.h"
#include "tilewright/mainloop/mma_sync_elements.h"
#include "tilewright/mainloop/permuted_layout.h"
#include "tilewright/pipeline/convert.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/functors.h"
#include "tilewright/pipeline/path_plan.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

template <class Op>
inline constexpr bool is_identity = std::is_same_v<std::remove_cvref_t<Op>, identity>;

/// op(element) of an operand as the number that is multiplied; zero outside of the tile. Rows are those of A,
/// columns of B.
template <class Number, bool IsA, class View, class Op>
struct BlockElements {
  const View& view;
  const Op& op;

  TILEWRIGHT_DEVICE Number operator()(uint32_t row, uint32_t k) const {
    const uint32_t r = IsA ? row : k, c = IsA ? k : row;
    if (r >= view.rows() || c >= view.columns()) return Number{};
    const auto value = op(view(r, c));
    using Value = std::remove_cv_t<decltype(value)>;
    if constexpr (is_same_element_v<Value, Number>) {
      Number number;
      memcpy(static_cast<void*>(&number), static_cast<const void*>(&value), sizeof(number));
      return number;
    } else {
      return convert_to<Number>(value);
    }
  }
};

/// Config and Held of a path, and multiply(held, a, b, a_op, b_op): held += a b, of the calling threads.
template <class D, path P = path_of_v<D>>
struct BlockProduct;

template <class D>
struct BlockProduct<D, path::mma_sync> {
  using Config = mainloop::MmaSyncConfig<canonical_t<typename D::precision_operator::a_type>,
                                         canonical_t<typename D::precision_operator::b_type>,
                                         MmaSyncRegister<D>, facts_of_v<D>.mma_sync_shape(), 1>;
  using Held = mainloop::MmaSyncFragment<Config>;

  TILEWRIGHT_DEVICE static void clear(Held& held) { mainloop::MmaSyncProduct<Config>::clear(held.registers); }

  template <class A, class B, class OpA, class OpB>
  TILEWRIGHT_DEVICE static void multiply(Held& held, const A& a, const B& b, const OpA& a_op,
                                         const OpB& b_op) {
    with_operand<true>(a, a_op, [&](const auto& from_a) {
      with_operand<false>(b, b_op, [&](const auto& from_b) {
        mainloop::multiply_block<Config>(held.registers, from_a, from_b);
      });
    });
  }

 private:
  template <bool IsA, class View, class Op>
  static constexpr bool lies_as_read() {
    if constexpr (AnyPermutedView<View> && is_identity<Op>) {
      using Layout = typename View::layout_type;
      using Number = std::conditional_t<IsA, typename D::a_value_type, typename D::b_value_type>;
      return Layout::rows_are_mn == IsA && is_same_element_v<typename View::value_type, Number> &&
             tiles::same_places(Layout::layout, IsA ? Config::kLayoutA : Config::kLayoutB);
    } else {
      return false;
    }
  }

  template <bool IsA, class View, class Op>
  static constexpr bool kLiesAsRead = lies_as_read<IsA, View, Op>();

  template <bool IsA, class View, class Op, class F>
  TILEWRIGHT_DEVICE static void with_operand(const View& view, const Op& op, F&& f) {
    const uint32_t warp = Config::thread() / 32;
    const uint32_t first = IsA ? Config::warp_row(warp) : Config::warp_column(warp);
    if constexpr (kLiesAsRead<IsA, View, Op>) {
      f(mainloop::MmaSyncStaged<Config, IsA>(first, arch::shared_address(view.data())));
    } else {
      using Number = canonical_t<std::conditional_t<IsA, typename D::a_value_type, typename D::b_value_type>>;
      const BlockElements<Number, IsA, View, Op> elements{view, op};
      f(mainloop::MmaSyncElements<Config, IsA, decltype(elements)>(first, elements));
    }
  }
};

template <class D>
struct BlockProduct<D, path::simt> {
  using Config = mainloop::SimtBlockConfig<facts_of_v<D>.simt_block_shape()>;
  using Held = mainloop::SimtFragment<Config>;

  TILEWRIGHT_DEVICE static void clear(Held& held) { Config::Tile::clear(held.registers); }

  template <class A, class B, class OpA, class OpB>
  TILEWRIGHT_DEVICE static void multiply(Held& held, const A& a, const B& b, const OpA& a_op,
                                         const OpB& b_op) {
    if constexpr (kMayLieAsRead<true, A, OpA> && kMayLieAsRead<false, B, OpB>) {
      if (lies_as_read(a, a.column_stride(), Config::kPitchA) &&
          lies_as_read(b, b.row_stride(), Config::kPitchB)) {
        mainloop::multiply_staged_simt<Config>(held.registers, arch::shared_address(a.data()),
                                               arch::shared_address(b.data()));
        return;
      }
    }
    const BlockElements<canonical_t<typename D::a_value_type>, true, A, OpA> from_a{a, a_op};
    const BlockElements<canonical_t<typename D::b_value_type>, false, B, OpB> from_b{b, b_op};
    mainloop::multiply_block_simt<Config>(held.registers, from_a, from_b);
  }

 private:
  /// [k][row] in shared memory, as suggest_layout_smem_* have it, of a tile that whole warps cover.
  template <bool IsA, class View, class Op>
  static constexpr bool may_lie_as_read() {
    if constexpr (AnyTileView<View> && is_identity<Op> && detail::is_shared_v<View>) {
      return Config::kWhole && !Config::kComplex && std::is_same_v<typename View::value_type, float> &&
             (IsA ? View::contiguous_columns : View::contiguous_rows);
    } else {
      return false;
    }
  }
  template <bool IsA, class View, class Op>
  static constexpr bool kMayLieAsRead = may_lie_as_read<IsA, View, Op>();

  template <class View>
  TILEWRIGHT_DEVICE static bool lies_as_read(const View& view, int64_t pitch, uint32_t expected) {
    return pitch == expected && view.rows() == static_cast<uint32_t>(View::tile_rows) &&
           view.columns() == static_cast<uint32_t>(View::tile_columns) &&
           arch::shared_address(view.data()) % 16 == 0;
  }
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
