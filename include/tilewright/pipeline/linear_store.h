// C = alpha * result + beta * source for run(), of any alignment: by TMA through shared memory where TMA can
// address C, else element by element.
//
// Results go out right after the last MMA of a tile, a slab at a time, so that few registers are needed
// beside the accumulators. store_through_smem, which has no source, stores under the MMAs of the next tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/arch/convert.h"
#include "tilewright/arch/warp.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/layout/tensor.h"
#include "tilewright/numeric/dtype.h"
#include "tilewright/pipeline/convert.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/slab_store.h"
#include "tilewright/pipeline/store_shadow.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {

/// What results and the source are multiplied with: the value and, where it is not null, the one in device
/// memory, multiplied. A zero alpha makes products zero even where they are not finite; with a zero beta the
/// source is not read; and a zero here is one whatever lies in device memory.
struct LinearFactors {
  float alpha = 1, beta = 0;
  const float *alpha_device = nullptr, *beta_device = nullptr;
};

inline namespace TILEWRIGHT_MODE {

/// What a linear_store does besides: nothing. Or else, as a part of the kernel parameter,
///   replaces_alpha (ShiftedLinear)  any(): whether factors(alpha, batch).apply(result, row, column) stands
///                                   in place of alpha * result
///   reads_source                    source(data, index): an element of a C of another type; same_source<T>()
///   finishes (FusedExtra)           Thread<Held, Count>, one thread's part, changes slabs of Count values
///                                   before they are stored, and may store slabs of its own where
///                                   stores_slabs says so; with_narrow<T>(body) calls body(f), where f makes
///                                   the bits of two neighbours, for elements of 8 and 16 bits
struct NoExtra {
  static constexpr bool replaces_alpha = false, reads_source = false, finishes = false;
};

/// For an Extra: a source of f16, bf16 or f32 elements whatever those of C are.
struct AnySource {
  static constexpr bool reads_source = true;
  DType source_type = DType::f32;

  template <class T>
  bool same_source() const {
    return source_type == dtype_of<T>;
  }
  /// Element number `index`.
  TILEWRIGHT_DEVICE float source(const void* data, int64_t index) const {
    if (source_type == DType::f32) return static_cast<const float*>(data)[index];
    const uint32_t half = static_cast<const uint16_t*>(data)[index];
    return source_type == DType::f16 ? arch::unpack_f16x2(half).lo : arch::unpack_bf16x2(half).lo;
  }
};

template <class D, class T, class Extra = NoExtra>
class LinearStore;

namespace impl {

/// In place of SlabStore where a path has none: what goes out together is a part of the accumulator.
struct NoSlabs {
  static constexpr int kSlabsOfPart = 1, kWordsOfSlab = 1;
  TILEWRIGHT_DEVICE explicit NoSlabs(std::byte*) {}
  TILEWRIGHT_DEVICE void finish() const {}
};

/// A thread's first element of a slab: its place in C, and what exists from there on.
struct SlabPlace {
  uint32_t row = 0, column = 0, batch = 0;
  int32_t rows_left = 0, columns_left = 0;
};

/// An Extra that does not finish has no state in a thread.
template <class Extra, class Held, int Count, bool Finishes = Extra::finishes>
struct ExtraThread {
  struct Prefetched {};
  TILEWRIGHT_DEVICE explicit ExtraThread(const Extra&) {}
};
template <class Extra, class Held, int Count>
struct ExtraThread<Extra, Held, Count, true> : Extra::template Thread<Held, Count> {
  TILEWRIGHT_DEVICE explicit ExtraThread(const Extra& extra) : Extra::template Thread<Held, Count>(extra) {}
};

/// Only what wgmma leaves in registers is stored by TMA.
template <class D>
inline constexpr bool has_slabs_v = path_of_v<D> == path::wgmma;

template <class D, class T, class Held, bool Slabs = has_slabs_v<D>>
struct SlabsOf {
  using type = SlabStore<D, T, Held>;
};
template <class D, class T, class Held>
struct SlabsOf<D, T, Held, false> {
  using type = NoSlabs;
};

/// One computing thread's part: see TwoPhaseEpilogue. Nothing is left for the second phase.
template <class D, class T, class Extra, class Accumulator>
class BoundLinear {
  using Epilogue = LinearStore<D, T, Extra>;
  using Held = typename Accumulator::held_type;
  using Value = typename Accumulator::value_type;
  using Slabs = typename SlabsOf<D, T, Held>::type;
  /// Holds a result exactly.
  using Type = LinearType<Value, float, float>;
  static constexpr int kPartSize = Accumulator::kPartSize;
  static constexpr int kElementsOfSlab = kPartSize / Slabs::kSlabsOfPart;
  static constexpr int kSlabs = Accumulator::kSize / kElementsOfSlab;
  static constexpr int kWords = Slabs::kWordsOfSlab;
  using Thread = ExtraThread<Extra, Held, kElementsOfSlab>;
  using Prefetched = typename Thread::Prefetched;

 public:
  static constexpr int pieces = 0, packed_registers = 1;

  TILEWRIGHT_DEVICE BoundLinear(const Epilogue& epilogue, std::byte* scratch)
      : epilogue_(epilogue), thread_(epilogue.extra_), slabs_(scratch) {
    if constexpr (Extra::replaces_alpha) extra_factors_ = epilogue.extra_.any();
    const LinearFactors& f = epilogue.factors_;
    alpha_ = convert_to<Type>(f.alpha);
    beta_ = convert_to<Type>(f.beta);
    if (f.alpha_device != nullptr) alpha_ = scale(alpha_, convert_to<Type>(*f.alpha_device));
    if (f.beta_device != nullptr) beta_ = scale(beta_, convert_to<Type>(*f.beta_device));
    if constexpr (Extra::finishes) alpha_ = thread_.alpha(alpha_);
  }

  TILEWRIGHT_DEVICE void pack(Accumulator& accumulator, schedule::TileCoord tile) {
    Value results[Accumulator::kSize];
    accumulator.for_each_result([&](int i, Coord, const Value& value) { results[i] = value; });
    Prefetched ahead{};
    if constexpr (Extra::finishes) thread_.prefetch(place_of<0>(tile), ahead);
    store_slabs<0>(results, tile, ahead);
  }

  template <int Piece>
  TILEWRIGHT_DEVICE void store(schedule::TileCoord) {}

  TILEWRIGHT_DEVICE void finish() const {
    bool bulk = epilogue_.bulk_;
    if constexpr (Extra::finishes) {
      bulk = bulk || epilogue_.extra_.stores_slabs;
      thread_.finish();
    }
    if (bulk) slabs_.finish();
  }

 private:
  /// Two neighbours in memory, read and written as one.
  struct alignas(2 * sizeof(T)) Pair {
    T left, right;
  };

  /// Slabs from the Slab-th on. ahead: what was loaded for it.
  template <int Slab>
  TILEWRIGHT_DEVICE void store_slabs(const Value (&results)[Accumulator::kSize], schedule::TileCoord tile,
                                     const Prefetched& ahead) {
    if constexpr (Slab < kSlabs) {
      constexpr int kFirst = Slab * kElementsOfSlab;
      point_at<Slab>(tile);
      Type values[kElementsOfSlab];
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kElementsOfSlab; ++i) values[i] = convert_to<Type>(results[kFirst + i]);
      scale_by_alpha(values);
      if constexpr (Extra::replaces_alpha) {
        if (extra_factors_) {
          const auto factors = epilogue_.extra_.factors(alpha_, tile.batch);
          for_each_element([&](int i, uint32_t down, uint32_t across) {
            values[i] = factors.apply(results[kFirst + i], at_.row + down, at_.column + across);
          });
        }
      }
      if (beta_ != Type{}) add_source(values);
      // What the slab after this one needs is under way meanwhile.
      Prefetched next{};
      if constexpr (Extra::finishes) {
        if constexpr (Slab + 1 < kSlabs) thread_.prefetch(place_of<Slab + 1>(tile), next);
        thread_.apply(values, at_, ahead, [&](const SlabTarget& target, const uint32_t(&words)[kWords]) {
          slabs_.template store<Slab / Slabs::kSlabsOfPart, Slab % Slabs::kSlabsOfPart, 0>(target, words,
                                                                                           tile);
        });
      }
      if constexpr (has_slabs_v<D>) {
        uint32_t words[kWords];
        pack_words(values, words);
        if (epilogue_.bulk_) {
          slabs_.template store<Slab / Slabs::kSlabsOfPart, Slab % Slabs::kSlabsOfPart, 0>(epilogue_.target_,
                                                                                           words, tile);
        } else {
          store_direct([&](int i) { return unpack_words(words, i); });
        }
      } else {
        store_direct([&](int i) { return Pair{convert_to<T>(values[i]), convert_to<T>(values[i + 1])}; });
      }
      store_slabs<Slab + 1>(results, tile, next);
    }
  }

  TILEWRIGHT_DEVICE void scale_by_alpha(Type (&values)[kElementsOfSlab]) const {
    // The instructions of an Extra that finishes are what binds: none for the usual factor.
    if constexpr (Extra::finishes) {
      if (alpha_ == Type{1}) return;
    }
    TILEWRIGHT_UNROLL
    for (Type& value : values) value = alpha_ == Type{} ? Type{} : scale(alpha_, value);
  }

  /// What wgmma computes is stored row by row.
  TILEWRIGHT_DEVICE static int64_t column_stride([[maybe_unused]] const detail::StridedMatrix& m) {
    if constexpr (has_slabs_v<D>) {
      return 1;
    } else {
      return m.column_stride;
    }
  }

  /// The thread's first element of a slab.
  template <int Slab>
  TILEWRIGHT_DEVICE SlabPlace place_of(schedule::TileCoord tile) const {
    constexpr int kFirst = Slab * kElementsOfSlab;
    Coord part = Held::first(kFirst / kPartSize);
    arch::fence_operand(part.m);  // offsets are worked out here, not kept around the K loop
    arch::fence_operand(part.n);
    SlabPlace at;
    at.row = tile.m * static_cast<uint32_t>(size_of_v_m<D>) + part.m;
    at.column = tile.n * static_cast<uint32_t>(size_of_v_n<D>) + part.n + Held::across(kFirst % kPartSize);
    at.batch = tile.batch;
    at.rows_left = static_cast<int32_t>(epilogue_.target_.rows - at.row);
    at.columns_left = static_cast<int32_t>(epilogue_.target_.columns - at.column);
    return at;
  }

  template <int Slab>
  TILEWRIGHT_DEVICE void point_at(schedule::TileCoord tile) {
    at_ = place_of<Slab>(tile);
    const auto offset = [&](const detail::StridedMatrix& m) {
      return static_cast<int64_t>(tile.batch) * m.batch_stride +
             static_cast<int64_t>(at_.row) * m.row_stride +
             static_cast<int64_t>(at_.column) * column_stride(m);
    };
    to_ = offset(epilogue_.to_);
    from_ = offset(epilogue_.from_);
  }

  /// f(first element of the slab, its row below the thread's first one, its column right of it) for each pair
  /// of neighbours.
  template <class F>
  TILEWRIGHT_DEVICE static void for_each_pair(F&& f) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kElementsOfSlab; i += 2)
      f(i, static_cast<int32_t>(Held::down(i)), static_cast<int32_t>(Held::across(i)));
  }

  /// f(element of the slab, its row below the thread's first one, its column right of it).
  template <class F>
  TILEWRIGHT_DEVICE static void for_each_element(F&& f) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kElementsOfSlab; ++i) f(i, Held::down(i), Held::across(i));
  }

  TILEWRIGHT_DEVICE void add_source(Type (&values)[kElementsOfSlab]) const {
    const T* const from = static_cast<const T*>(epilogue_.from_.data) + from_;
    const int64_t ld = epilogue_.from_.row_stride;
    if (epilogue_.from_.pairs) {
      for_each_pair([&](int i, int32_t down, int32_t across) {
        if (down >= at_.rows_left || across + 1 >= at_.columns_left) return add_one(values[i], from, i);
        const Pair both = *reinterpret_cast<const Pair*>(from + down * ld + across);
        values[i] = scale_add(beta_, convert_to<Type>(both.left), values[i]);
        values[i + 1] = scale_add(beta_, convert_to<Type>(both.right), values[i + 1]);
      });
    } else {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kElementsOfSlab; ++i) add_one(values[i], from, i);
    }
  }
  TILEWRIGHT_DEVICE void add_one(Type& value, const T* from, int i) const {
    if (!exists(i)) return;
    const int64_t at = static_cast<int64_t>(Held::down(i)) * epilogue_.from_.row_stride +
                       static_cast<int64_t>(Held::across(i)) * column_stride(epilogue_.from_);
    if constexpr (Extra::reads_source) {
      value = scale_add(beta_, epilogue_.extra_.source(epilogue_.from_.data, from_ + at), value);
    } else {
      value = scale_add(beta_, convert_to<Type>(from[at]), value);
    }
  }
  TILEWRIGHT_DEVICE bool exists(int i) const {
    return static_cast<int32_t>(Held::down(i)) < at_.rows_left &&
           static_cast<int32_t>(Held::across(i)) < at_.columns_left;
  }

  /// The elements of a slab as they are stored, neighbours in a word.
  TILEWRIGHT_DEVICE void pack_words(const Type (&values)[kElementsOfSlab], uint32_t (&words)[kWords]) const {
    if constexpr (sizeof(T) == 4) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kElementsOfSlab; ++i) words[i] = bits_of(convert_to<T>(values[i]));
    } else {
      with_narrow([&](auto&& narrow) {
        constexpr int kPairsOfWord = 2 / static_cast<int>(sizeof(T));
        TILEWRIGHT_UNROLL
        for (int w = 0; w < kWords; ++w) {
          const int i = 2 * kPairsOfWord * w;
          words[w] = narrow(values[i], values[i + 1]);
          if constexpr (kPairsOfWord == 2) words[w] |= narrow(values[i + 2], values[i + 3]) << 16;
        }
      });
    }
  }
  template <class Body>
  TILEWRIGHT_DEVICE void with_narrow(Body&& body) const {
    if constexpr (Extra::finishes) {
      epilogue_.extra_.template with_narrow<T>(body);
    } else {
      body([](const Type& left, const Type& right) { return pack_pair<T>(left, right); });
    }
  }
  /// Elements i and i + 1.
  TILEWRIGHT_DEVICE static Pair unpack_words(const uint32_t (&words)[kWords], int i) {
    if constexpr (sizeof(T) == 4) {
      return {from_bits<T>(words[i]), from_bits<T>(words[i + 1])};
    } else {
      constexpr int kBits = 8 * static_cast<int>(sizeof(T)), kOfWord = 4 / static_cast<int>(sizeof(T));
      const uint32_t pair = words[i / kOfWord] >> kBits * (i % kOfWord);
      return {from_bits<T>(pair), from_bits<T>(pair >> kBits)};
    }
  }

  /// pair_of(i): elements i and i + 1.
  template <class PairOf>
  TILEWRIGHT_DEVICE void store_direct(PairOf&& pair_of) const {
    T* const to = static_cast<T*>(epilogue_.to_.data) + to_;
    const int64_t ld = epilogue_.to_.row_stride, step = column_stride(epilogue_.to_);
    for_each_pair([&](int i, int32_t down, int32_t across) {
      if (down >= at_.rows_left || across >= at_.columns_left) return;
      T* const at = to + down * ld + across * step;
      const Pair both = pair_of(i);
      const bool two = across + 1 < at_.columns_left;
      if (two && epilogue_.to_.pairs) {
        *reinterpret_cast<Pair*>(at) = both;
      } else {
        at[0] = both.left;
        if (two) at[step] = both.right;
      }
    });
  }

  const Epilogue& epilogue_;
  bool extra_factors_ = false;
  [[no_unique_address]] Thread thread_;
  Slabs slabs_;
  Type alpha_, beta_;
  SlabPlace at_;
  int64_t to_ = 0, from_ = 0;  // elements from the first one of C and of the source
};

}  // namespace impl

/// C = alpha * result + beta * source, of elements of 8 to 32 bits (or double). A kernel parameter
/// (TILEWRIGHT_GRID_CONSTANT: it may hold a TMA descriptor), made by make_linear_store(). Floating-point
/// results are scaled in FP32, integer ones in double: exact for integer factors as long as products stay
/// below 2^53.
template <class D, class T, class Extra>
class LinearStore {
 public:
  /// Shared memory behind the pipeline's buffer, from scratch_offset() on.
  static constexpr uint32_t scratch_bytes() {
    if constexpr (impl::has_slabs_v<D>) return impl::slab_scratch_bytes<D, T>();
    return 0;
  }

  template <class Accumulator>
  TILEWRIGHT_DEVICE impl::BoundLinear<D, T, Extra, Accumulator> bind(std::byte* scratch) const {
    return {*this, scratch};
  }

 private:
  template <class D2, class T2, class Extra2, class Accumulator>
  friend class impl::BoundLinear;
  template <AnyDescription D2, class T2, arrangement Order, int Rank, int64_t Ld, class Source, class Extra2>
  friend auto make_linear_store(const Tensor<T2, Order, Rank, Ld>&, const Source&, const LinearFactors&, bool,
                                const Extra2&);

  impl::SlabTarget target_;
  detail::StridedMatrix to_, from_;
  LinearFactors factors_;
  bool bulk_ = false;
  [[no_unique_address]] Extra extra_;
};

/// An epilogue for run() that stores into `c`, which is row-major, or of either order on the path mma_sync.
/// source: a tensor of C's elements, order and extents, which may be C itself; its data may be null where
/// beta is zero. bulk: store by TMA, if it can address C (base, leading dimension and rows are multiples of
/// 16 bytes); C is stored by ordinary stores otherwise. extra: see NoExtra; with one that reads the source,
/// the source's elements may be of another type than they are said to be. Errors: of C's extents, strides and
/// address, which is a multiple of an element, and where beta is not zero of the source's.
template <AnyDescription D, class T, arrangement Order, int Rank, int64_t Ld, class Source,
          class Extra = NoExtra>
auto make_linear_store(const Tensor<T, Order, Rank, Ld>& c, const Source& source,
                       const LinearFactors& factors, bool bulk = true, const Extra& extra = {}) {
  static_assert(path_of_v<D> == path::wgmma || path_of_v<D> == path::mma_sync,
                "linear_store stores what wgmma and mma_sync leave in registers");
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || (sizeof(T) == 1 && Extra::finishes) ||
                    (sizeof(T) == 8 && !impl::has_slabs_v<D>),
                "linear_store stores elements of 16 or 32 bits, and doubles; a fused store bytes too");
  static_assert(Order == row_major || !impl::has_slabs_v<D>,
                "linear_store stores what wgmma computes row-major");
  static_assert(std::is_same_v<typename Source::value_type, T> && Source::order == Order,
                "the source has C's elements and order");
  using Made = LinearStore<D, T, Extra>;
  const detail::OperandView to = detail::operand_view(c), from = detail::operand_view(source);
  if (const pipeline_status status = detail::check_elements(to, "C", sizeof(T), Order); !status)
    return pipeline_result<Made>(status.error());
  const auto check_source = [&]() -> pipeline_status {
    if (factors.beta == 0) return {};
    if constexpr (Extra::reads_source) {
      return detail::check_wide_elements(from, "source", extra.source_type, Order);
    } else {
      return detail::check_elements(from, "source", sizeof(T), Order);
    }
  };
  if (const pipeline_status status = check_source(); !status) return pipeline_result<Made>(status.error());
  Made made;
  made.extra_ = extra;
  made.to_ = detail::strided_matrix(to, sizeof(T));
  made.from_ = detail::strided_matrix(from, sizeof(T));
  if constexpr (Extra::reads_source) made.from_.pairs = made.from_.pairs && extra.template same_source<T>();
  made.factors_ = factors;
  // Whatever is in device memory, a zero is one.
  if (factors.alpha == 0) made.factors_.alpha_device = nullptr;
  if (factors.beta == 0) made.factors_.beta_device = nullptr;
  if constexpr (impl::has_slabs_v<D>) {
    const pipeline_status status = bulk ? impl::bind_slabs<D>(c, made.target_) : pipeline_status();
    if (!status && status.error().code != pipeline_error_code::alignment_unfulfilled)
      return pipeline_result<Made>(status.error());
    made.bulk_ = bulk && status;
  }
  made.target_.rows = static_cast<uint32_t>(c.rows());
  made.target_.columns = static_cast<uint32_t>(c.columns());
  return pipeline_result<Made>(made);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
