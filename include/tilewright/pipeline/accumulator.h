// The result of a tile, spread over the threads that computed it, and the ways to get it out.
//
// Coordinates are tile-local (row, column): add the tile's origin for global ones. Only elements that exist
// in the product are read from, stored to or shown to a callback that stores. Each result has one reading
// operation: get_results, for_each_result, partition_and_store, process_and_store, reduce_and_store or axpby.
// The others are free.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/index.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/config.h"
#include "tilewright/layout/block_tensor.h"
#include "tilewright/layout/tensor.h"
#include "tilewright/pipeline/fragment.h"
#include "tilewright/pipeline/misuse.h"

namespace tilewright::blas {
namespace detail {
template <class D, class Machine>
class BlockExecution;
}  // namespace detail
inline namespace TILEWRIGHT_MODE {

template <class Handle>
class TilePipeline;

namespace impl {

/// What a reading operation may store to.
template <class Out>
struct CheckDestination {
  static constexpr bool ok = AnyTile<Out> || AnyFragment<Out>;
  static_assert(ok,
                "results are stored to a tile of memory, get_tile(tensor, D::c_shape, row, column), or to a "
                "register fragment, not to a pointer or to a whole tensor");
};

}  // namespace impl

/// One thread's share of a tile. Value: the descriptor's c_value_type. Not copyable: it is passed by
/// reference and lives where the pipeline made it.
///
/// Held: what the main loop of a path keeps in registers, and which elements that is; mainloop::WgmmaFragment
/// shows what such a type has to offer.
template <class Held, class Value>
class Accumulator {
 public:
  using value_type = Value;
  using held_type = Held;
  /// Elements a thread holds.
  static constexpr int kPartSize = Held::part_size;
  static constexpr int kSize = Held::parts * kPartSize;
  using fragment_type = Fragment<Value, kSize>;

  Accumulator(const Accumulator&) = delete;
  Accumulator& operator=(const Accumulator&) = delete;
  TILEWRIGHT_DEVICE ~Accumulator() {
#if defined(TILEWRIGHT_EMULATE)
    state_.expect_finished("an accumulator is destroyed with a result that was neither read nor discarded");
#endif
  }

  static TILEWRIGHT_HOST_DEVICE constexpr int size() { return kSize; }
  /// Whether this thread holds elements. Threads that only bring operands do not.
  TILEWRIGHT_DEVICE bool is_thread_active() const {
    return Held::thread() < static_cast<uint32_t>(Held::threads);
  }
  /// Whether the tile reaches over an edge of the product, so that some elements do not exist.
  TILEWRIGHT_DEVICE bool is_predicated() const { return rows_ < kTileRows || columns_ < kTileColumns; }

  /// Row and column in the tile of element i of this thread, 0 <= i < size().
  TILEWRIGHT_DEVICE Coord map_fragment_index(int i) const {
    const int part = i / kPartSize, in_part = i % kPartSize;
    const Coord first = Held::first(part);
    return {first.m + Held::down(in_part), first.n + Held::across(in_part)};
  }
  TILEWRIGHT_DEVICE bool is_coord_in_bounds(Coord at) const { return at.m < rows_ && at.n < columns_; }
  TILEWRIGHT_DEVICE bool is_index_in_bounds(int i) const { return is_coord_in_bounds(map_fragment_index(i)); }

  /// Forgets the result and makes the next execute start from zero.
  TILEWRIGHT_DEVICE void clear() {
    filled_ = false;
    state_.discard();
  }
  /// Gives the result up unread.
  TILEWRIGHT_DEVICE void discard() { clear(); }

  // ---- reading operations

  /// A copy of this thread's elements, in the order of map_fragment_index; zeros where none exist.
  TILEWRIGHT_DEVICE fragment_type get_results() {
    begin_read();
    const bool whole = !is_predicated();
    fragment_type results;
    visit([&](int i, Coord at, const Value& value) {
      results[i] = whole || is_coord_in_bounds(at) ? value : Value{};
    });
    return results;
  }

  /// f(i, coord, value) for every element of this thread, those that do not exist in the product included.
  template <class F>
  TILEWRIGHT_DEVICE void for_each_result(F&& f) {
    begin_read();
    visit(f);
  }

  /// The same for the elements of one part of the thread's parts, of kPartSize elements each. One reading
  /// operation are all parts, in their order.
  template <int Part, class F>
  TILEWRIGHT_DEVICE void for_each_result_of_part(F&& f) {
    static_assert(Part >= 0 && Part < Held::parts);
    if constexpr (Part == 0) {
      begin_read(kPartSize);
    } else {
      state_.read_piece(Part * kPartSize, kPartSize);
    }
    visit_part(Part, f);
  }

  /// to = elements First, First + 1, ... of this thread, those that do not exist in the product included. One
  /// reading operation are all of them, in their order, in pieces that begin at multiples of their sizes.
  template <int First, int Count>
  TILEWRIGHT_DEVICE void get_elements(Value (&to)[Count]) {
    static_assert(First % Count == 0 && First + Count <= kSize);
    if constexpr (First == 0) {
      begin_read(Count);
    } else {
      state_.read_piece(First, Count);
    }
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i)
      to[i] = held_.template element<Value>((First + i) / kPartSize, (First + i) % kPartSize);
  }

  /// out = result.
  template <class Out>
  TILEWRIGHT_DEVICE void partition_and_store(const Out& out) {
    static_assert(AnyTile<Out>,
                  "partition_and_store(out): out is a tile of memory, get_tile(tensor, D::c_shape, row, "
                  "column); a register fragment is for process_and_store, reduce_and_store and axpby");
    if constexpr (AnyTile<Out>) {
      begin_read();
      update<false>(out, [](const Value& value, const auto&, Coord) { return value; });
    }
  }

  /// out = op(result).
  template <class Out, class Op>
  TILEWRIGHT_DEVICE void process_and_store(Out&& out, Op&& op) {
    if constexpr (impl::CheckDestination<Out>::ok) {
      begin_read();
      update<false>(out, [&](const Value& value, const auto&, Coord) { return op(value); });
    }
  }

  /// out = f(result, out, coord). With a register fragment as destination also elements that do not exist
  /// are visited: guard what depends on the coordinate with is_coord_in_bounds.
  template <class Out, class F>
  TILEWRIGHT_DEVICE void reduce_and_store(Out&& out, F&& f) {
    if constexpr (impl::CheckDestination<Out>::ok) {
      begin_read();
      update<true>(out, f);
    }
  }

  /// out = alpha * result + beta * out. beta = 0 does not read out. A factor's type does not limit the
  /// precision: impl::LinearType says what is computed in.
  template <class Alpha, class Beta, class Out>
  TILEWRIGHT_DEVICE void axpby(const Alpha& alpha, const Beta& beta, Out&& out) {
    if constexpr (impl::CheckDestination<Out>::ok) {
      begin_read();
      using Old = typename std::remove_cvref_t<Out>::value_type;
      using Type = impl::LinearType<Value, Alpha, Beta, Old>;
      const auto a = impl::convert_to<Type>(alpha), b = impl::convert_to<Type>(beta);
      if (b == Type{}) {
        update<false>(out, [a](const Value& value, const auto&, Coord) {
          return impl::scale(a, impl::convert_to<Type>(value));
        });
      } else {
        update<true>(out, [a, b](const Value& value, const auto& old, Coord) {
          return impl::scale_add(b, impl::convert_to<Type>(old),
                                 impl::scale(a, impl::convert_to<Type>(value)));
        });
      }
    }
  }

  // ---- fragments of other tensors, in this accumulator's shape; no reading operations

  template <class T = Value>
  TILEWRIGHT_DEVICE Fragment<T, kSize> make_empty_fragment() const {
    return {};
  }
  /// This thread's elements of a tile in memory; zeros where none exist.
  template <AnyTile In>
  TILEWRIGHT_DEVICE auto make_partition_and_copy(const In& in) const {
    Fragment<typename In::value_type, kSize> fragment;
    partition_and_copy(in, fragment);
    return fragment;
  }
  /// Memory to fragment.
  template <AnyTile In, class T>
  TILEWRIGHT_DEVICE void partition_and_copy(const In& in, Fragment<T, kSize>& to) const {
    visit_memory(in, [&](int i, const auto* element) {
      to[i] = element != nullptr ? impl::convert_to<T>(*element) : T{};
    });
  }
  /// Fragment to memory.
  template <class T, AnyTile Out>
  TILEWRIGHT_DEVICE void partition_and_copy(const Fragment<T, kSize>& from, const Out& out) const {
    visit_memory(out, [&](int i, auto* element) {
      if (element != nullptr) *element = impl::convert_to<typename Out::value_type>(from[i]);
    });
  }

 private:
  template <class Handle>
  friend class TilePipeline;
  template <class D, class Machine>
  friend class detail::BlockExecution;
  static constexpr auto kTileRows = static_cast<uint32_t>(Held::rows);
  static constexpr auto kTileColumns = static_cast<uint32_t>(Held::columns);

  TILEWRIGHT_DEVICE Accumulator() {}
  /// fill(an empty one): for functions that return an accumulator, which cannot move.
  struct Fill {};
  template <class F>
  TILEWRIGHT_DEVICE Accumulator(Fill, F&& fill) {
    fill(*this);
  }

  /// The pipeline: the registers hold the result of a tile of which so much exists.
  TILEWRIGHT_DEVICE void finish(uint32_t rows, uint32_t columns) {
    rows_ = rows;
    columns_ = columns;
    filled_ = true;
    state_.make_ready();
  }
  TILEWRIGHT_DEVICE void begin_read(int count = kSize) {
    filled_ = false;
    state_.read(count);
  }

  /// Position of element 0 of a part, tied to the place where it is asked for: otherwise the compiler keeps
  /// everything that can be derived from it in registers around the K loop.
  TILEWRIGHT_DEVICE Coord pinned_first_coord(int part) const {
    Coord at = Held::first(part);
    arch::fence_operand(at.m);
    arch::fence_operand(at.n);
    return at;
  }

  /// f(index, coord, value) for each element of this thread.
  template <class F>
  TILEWRIGHT_DEVICE void visit(F&& f) const {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Held::parts; ++part) visit_part(part, f);
  }
  template <class F>
  TILEWRIGHT_DEVICE void visit_part(int part, F&& f) const {
    const Coord first = pinned_first_coord(part);
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kPartSize; ++i) {
      const Coord at{first.m + Held::down(i), first.n + Held::across(i)};
      f(part * kPartSize + i, at, held_.template element<Value>(part, i));
    }
  }

  /// f(index, address of the element in `view`, or null where it does not exist) for each of this thread.
  template <class View, class F>
  TILEWRIGHT_DEVICE void visit_memory(const View& view, F&& f) const {
    const Coord limit = common_extents(view);
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Held::parts; ++part) {
      const Coord first = pinned_first_coord(part);
      auto* const at_first = address(view, first.m, first.n);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kPartSize; ++i) {
        const Coord at{first.m + Held::down(i), first.n + Held::across(i)};
        auto* const element = address(view, at_first, first, i);
        const bool exists = at.m < limit.m && at.n < limit.n;
        f(part * kPartSize + i, exists ? element : nullptr);
      }
    }
  }

  /// The address of an element. A layout is not asked for what it does not have: that is one of another
  /// element.
  template <class View>
  TILEWRIGHT_DEVICE static auto* address(const View& view, uint32_t row, uint32_t column) {
    if constexpr (AnyLayoutView<View> &&
                  (View::tile_rows < Held::rows || View::tile_columns < Held::columns)) {
      row = row < view.rows() ? row : 0;
      column = column < view.columns() ? column : 0;
    }
    return &view(row, column);
  }
  /// Of element i of a part, given that of element 0, where strides say how far it is from there.
  template <class View, class T>
  TILEWRIGHT_DEVICE static T* address(const View& view, T* at_first, Coord first, int i) {
    if constexpr (AnyTileView<View>) {
      return at_first + Held::down(i) * view.row_stride() + Held::across(i) * view.column_stride();
    } else {
      return address(view, first.m + Held::down(i), first.n + Held::across(i));
    }
  }
  /// Of element i + 1, given that of element i, its neighbour in the row.
  template <class View, class T>
  TILEWRIGHT_DEVICE static T* neighbour(const View& view, T* left, Coord first, int i) {
    if constexpr (AnyTileView<View>) {
      return left + view.column_stride();
    } else {
      return address(view, left, first, i + 1);
    }
  }

  template <class View>
  TILEWRIGHT_DEVICE Coord common_extents(const View& view) const {
    return {rows_ < view.rows() ? rows_ : view.rows(), columns_ < view.columns() ? columns_ : view.columns()};
  }

  /// Register fragment: to[i] = f(result, to[i], coord), everywhere.
  template <bool ReadOld, class T, int Count, class F>
  TILEWRIGHT_DEVICE void update(Fragment<T, Count>& to, F&& f) const {
    static_assert(Count == kSize, "a destination fragment has exactly the accumulator's size");
    const T none{};
    visit([&](int i, Coord at, const Value& value) {
      to[i] = impl::convert_to<T>(f(value, ReadOld ? to[i] : none, at));
    });
  }

  /// Memory: out = f(result, out, coord) where elements exist.
  template <bool ReadOld, AnyTile Out, class F>
  TILEWRIGHT_DEVICE void update(const Out& out, F&& f) const {
    static_assert(!std::is_const_v<typename Out::element_type>, "results cannot be stored to const elements");
    const Coord limit = common_extents(out);
    const bool whole = limit.m == kTileRows && limit.n == kTileColumns;
    if (whole && can_store_pairs(out)) {
      update_memory<ReadOld, true>(out, limit, f);
    } else {
      update_memory<ReadOld, false>(out, limit, f);
    }
  }

  /// InPairs: everything exists, and neighbours in a row are stored together.
  template <bool ReadOld, bool InPairs, class Out, class F>
  TILEWRIGHT_DEVICE void update_memory(const Out& out, Coord limit, F& f) const {
    using T = typename Out::value_type;
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Held::parts; ++part) {
      const Coord first = pinned_first_coord(part);
      T* const at_first = address(out, first.m, first.n);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kPartSize; i += 2) {
        const Coord at{first.m + Held::down(i), first.n + Held::across(i)};
        T* const left = address(out, at_first, first, i);
        const auto left_result = held_.template element<Value>(part, i);
        const auto right_result = held_.template element<Value>(part, i + 1);
        if constexpr (InPairs) {
          Pair<T> both{};
          if (ReadOld) both = *reinterpret_cast<const Pair<T>*>(left);
          both.left = impl::convert_to<T>(f(left_result, both.left, at));
          both.right = impl::convert_to<T>(f(right_result, both.right, Coord{at.m, at.n + 1}));
          *reinterpret_cast<Pair<T>*>(left) = both;
        } else {
          T* const right = neighbour(out, left, first, i);
          update_one<ReadOld>(left, at, limit, left_result, f);
          update_one<ReadOld>(right, Coord{at.m, at.n + 1}, limit, right_result, f);
        }
      }
    }
  }

  template <bool ReadOld, class T, class F>
  TILEWRIGHT_DEVICE static void update_one(T* to, Coord at, Coord limit, const Value& value, F& f) {
    if (at.m >= limit.m || at.n >= limit.n) return;
    T old{};
    if (ReadOld) old = *to;
    *to = impl::convert_to<T>(f(value, old, at));
  }

  template <class T>
  struct alignas(2 * sizeof(T)) Pair {
    T left, right;
  };

  /// Whether both elements of every pair lie beside each other, at an address that a pair may have.
  template <class Out>
  TILEWRIGHT_DEVICE static bool can_store_pairs(const Out& out) {
    using T = typename Out::value_type;
    if constexpr (Held::stores_pairs && AnyTileView<Out> && Out::contiguous_rows && sizeof(T) <= 8) {
      const auto start = reinterpret_cast<uintptr_t>(out.data());
      const auto step = static_cast<uintptr_t>(out.row_stride()) * sizeof(T);
      return (start | step) % sizeof(Pair<T>) == 0;
    } else {
      return false;
    }
  }

  Held held_;
  uint32_t rows_ = 0, columns_ = 0;  // of the tile that exist
  bool filled_ = false;              // execute adds to what the registers hold
  [[no_unique_address]] impl::ResultState state_;
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
