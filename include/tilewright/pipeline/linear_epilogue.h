// D = convert(scale * result + beta * C) for run(), in the two phases that let the stores of one tile run
// under the main loop of the next. Types of C and of D, factors in device memory, scales of rows and columns
// and the strides of D are what a launch says they are; a D that TMA cannot address is stored element by
// element, if the launch says that too (LinearEpilogueOps::bulk).
//
// linear_store (linear_store.h) has the types of C and D in its own and stores right after a tile's last MMA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/arch/convert.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/layout/tensor.h"
#include "tilewright/numeric/dtype.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/linear_epilogue_ops.h"
#include "tilewright/pipeline/linear_store.h"
#include "tilewright/pipeline/slab_store.h"
#include "tilewright/pipeline/vector_scales.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {

inline namespace TILEWRIGHT_MODE {

template <class D, int Bytes, bool Vectors, bool AnyOrder>
class LinearEpilogue;

namespace impl {

/// The factors of the epilogue: products of the host's part and of the device scalars.
struct ScaleAndBeta {
  float scale, beta;

  TILEWRIGHT_DEVICE explicit ScaleAndBeta(const LinearEpilogueOps& ops) : scale(ops.scale), beta(ops.beta) {
    TILEWRIGHT_UNROLL
    for (const float* factor : ops.scale_device) {
      if (factor != nullptr && scale != 0) scale = arch::mul_rn(scale, *factor);
    }
    TILEWRIGHT_UNROLL
    for (const float* factor : ops.beta_device) {
      if (factor != nullptr && beta != 0) beta = arch::mul_rn(beta, *factor);
    }
  }
};

template <class T, class... Of>
inline constexpr bool is_any_of_v = (is_same_element_v<T, Of> || ...);

template <int Bytes>
using WordOf = std::conditional_t<Bytes == 1, uint8_t, std::conditional_t<Bytes == 2, uint16_t, uint32_t>>;

/// One computing thread's part: see TwoPhaseEpilogue.
template <class D, int Bytes, bool Vectors, bool AnyOrder, class Accumulator>
class BoundLinearEpilogue {
  using Epilogue = LinearEpilogue<D, Bytes, Vectors, AnyOrder>;
  using Held = typename Accumulator::held_type;
  using Config = typename Held::config_type;
  using Word = WordOf<Bytes>;
  using Slabs = SlabStore<D, Word, Held>;
  static constexpr int kPartSize = Accumulator::kPartSize, kSize = Accumulator::kSize;
  static constexpr int kSlabsOfPart = Slabs::kSlabsOfPart;

 public:
  static constexpr int pieces = kSize / kPartSize * kSlabsOfPart;
  static constexpr int packed_registers = kSize * Bytes / 4;

  TILEWRIGHT_DEVICE BoundLinearEpilogue(const Epilogue& epilogue, std::byte* scratch)
      : BoundLinearEpilogue(epilogue, scratch, ScaleAndBeta(epilogue.ops_)) {}

  TILEWRIGHT_DEVICE void begin(schedule::TileCoord tile) requires(Vectors) {
    vectors_.load(epilogue_.ops_, epilogue_.target_.rows, epilogue_.target_.columns, tile);
  }
  TILEWRIGHT_DEVICE void begin_empty() requires(Vectors) { vectors_.clear(); }

  /// C is read between two parts, while no MMA may run.
  TILEWRIGHT_DEVICE bool packs_early() const { return beta_ == 0; }
  /// What is stored element by element is stored as soon as all is packed.
  TILEWRIGHT_DEVICE bool packs_late() const { return epilogue_.ops_.bulk; }
  TILEWRIGHT_DEVICE void pack(Accumulator& accumulator, schedule::TileCoord tile) {
    pack_from<0>(accumulator, tile);
  }
  template <int Piece, int Count>
  TILEWRIGHT_DEVICE void pack_piece(Accumulator& accumulator, schedule::TileCoord) {
    pack_early<Piece * kSize / Count, (Piece + 1) * kSize / Count>(accumulator);
  }
  template <class OfTile>
  TILEWRIGHT_DEVICE void packed(OfTile&& tile) const {
    if (!epilogue_.ops_.bulk) [[unlikely]]
      store_direct(tile());
  }

  template <int Piece>
  TILEWRIGHT_DEVICE void store(schedule::TileCoord tile) {
    if (epilogue_.ops_.bulk) [[likely]] {
      slabs_.template store<Piece / kSlabsOfPart, Piece % kSlabsOfPart, Piece * Slabs::kWordsOfSlab>(
          epilogue_.target_, packed_, tile);
    }
  }
  TILEWRIGHT_DEVICE static void drain() { Slabs::drain(); }
  template <int Piece>
  TILEWRIGHT_DEVICE void stage() const {
    slabs_.template stage<Piece * Slabs::kWordsOfSlab, (Piece > 1)>(packed_);
  }
  template <int Piece>
  TILEWRIGHT_DEVICE void publish(schedule::TileCoord tile) {
    slabs_.template publish<Piece / kSlabsOfPart, Piece % kSlabsOfPart>(epilogue_.target_, tile);
  }
  template <int First, int End>
  TILEWRIGHT_DEVICE void forget() {
    TILEWRIGHT_UNROLL
    for (int i = First * Slabs::kWordsOfSlab; i < End * Slabs::kWordsOfSlab; ++i) arch::undefine(packed_[i]);
  }
  TILEWRIGHT_DEVICE void finish() const { slabs_.finish(); }

 private:
  TILEWRIGHT_DEVICE BoundLinearEpilogue(const Epilogue& epilogue, std::byte* scratch,
                                        const ScaleAndBeta& factors)
      : epilogue_(epilogue),
        slabs_(scratch),
        vectors_(factors.scale),
        scale_(factors.scale),
        beta_(factors.beta) {}

  /// A slab at a time: with what C adds there are no registers for more.
  template <int First>
  TILEWRIGHT_DEVICE void pack_from(Accumulator& accumulator, schedule::TileCoord tile) {
    if constexpr (First < kSize) {
      float values[kPartSize / kSlabsOfPart];
      accumulator.template get_elements<First>(values);
      const bool scaled = vectors_.present(epilogue_.ops_), source = beta_ != 0;
      vectors_.template apply<First>(epilogue_.ops_, values);
      if (source) add_source<First>(values, tile, scaled ? 1.0f : scale_);
      convert<First>(values, scaled || source ? 1.0f : scale_);
      pack_from<First + kPartSize / kSlabsOfPart>(accumulator, tile);
    }
  }
  template <int First, int End>
  TILEWRIGHT_DEVICE void pack_early(Accumulator& accumulator) {
    if constexpr (First < End) {
      // With vectors a slab at a time, as shuffles take registers.
      constexpr int kCount = Vectors ? kPartSize / kSlabsOfPart : End - First;
      float values[kCount];
      accumulator.template get_elements<First>(values);
      vectors_.template apply<First>(epilogue_.ops_, values);
      convert<First>(values, vectors_.present(epilogue_.ops_) ? 1.0f : scale_);
      if constexpr (Vectors) {
        TILEWRIGHT_UNROLL
        for (int i = First * Bytes / 4; i < (First + kCount) * Bytes / 4; ++i)
          arch::fence_operand(packed_[i]);
      }
      pack_early<First + kCount, End>(accumulator);
    }
  }

  /// The thread's first element of a part, tied to the place where it is asked for: otherwise the compiler
  /// keeps everything that can be derived from it (64 column numbers, say) in registers around the K loop.
  TILEWRIGHT_DEVICE static Coord place_of(int part, schedule::TileCoord tile) {
    Coord at = Held::first(part);
    at.m += tile.m * static_cast<uint32_t>(Held::rows);
    at.n += tile.n * static_cast<uint32_t>(Held::columns);
    arch::fence_operand(at.m);
    arch::fence_operand(at.n);
    return at;
  }
  /// Elements from a row's first column to another.
  TILEWRIGHT_DEVICE static int64_t columns(uint32_t count, const detail::StridedMatrix& matrix) {
    if constexpr (AnyOrder) return static_cast<int64_t>(count) * matrix.column_stride;
    return count;
  }

  /// values = scale * values + beta * C for the elements of D that exist.
  template <int First, int Count>
  TILEWRIGHT_DEVICE void add_source(float (&values)[Count], schedule::TileCoord tile, float scale) const {
    constexpr int kPart = First / kPartSize, kInPart = First % kPartSize;
    const detail::StridedMatrix& c = epilogue_.c_;
    const AnySource source{epilogue_.ops_.c_type};
    const Coord first = place_of(kPart, tile);
    const int64_t base = static_cast<int64_t>(tile.batch) * c.batch_stride +
                         static_cast<int64_t>(first.m) * c.row_stride + columns(first.n, c);
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) {
      const uint32_t down = Held::down(kInPart + i), across = Held::across(kInPart + i);
      float old = 0;
      if (first.m + down < epilogue_.target_.rows && first.n + across < epilogue_.target_.columns)
        old = source.source(c.data, base + (down == 0 ? 0 : 8 * c.row_stride) + columns(across, c));
      values[i] = arch::fma_rn(beta_, old, arch::mul_rn(scale, values[i]));
      arch::fence_operand(values[i]);  // one element of C at a time: there are no registers for more
    }
  }

  /// Elements First, First + 1, ... of the thread to D's type, register to register.
  template <int First, int Count>
  TILEWRIGHT_DEVICE void convert(const float (&values)[Count], float scale) {
    const LinearEpilogueOps& ops = epilogue_.ops_;
    if constexpr (Bytes == 4) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Count; ++i) packed_[First + i] = arch::float_bits(arch::mul_rn(scale, values[i]));
    } else if constexpr (Bytes == 2) {
      if (ops.d_type == DType::bf16) {
        pack_pairs<First>(values, scale, [](float lo, float hi) { return arch::pack_bf16x2(lo, hi); });
      } else {
        pack_pairs<First>(values, scale, [](float lo, float hi) { return arch::pack_f16x2(lo, hi); });
      }
    } else if (ops.d_type == DType::e5m2) {
      if (ops.saturate) {
        pack_quads<First>(values, scale, [](float lo, float hi) { return arch::pack_e5m2x2(lo, hi); });
      } else {
        pack_quads<First>(values, scale,
                          [](float lo, float hi) { return arch::pack_e5m2x2_nonsaturating(lo, hi); });
      }
    } else if (ops.saturate) {
      pack_quads<First>(values, scale, [](float lo, float hi) { return arch::pack_e4m3x2(lo, hi); });
    } else {
      pack_quads<First>(values, scale,
                        [](float lo, float hi) { return arch::pack_e4m3x2_nonsaturating(lo, hi); });
    }
  }
  template <int First, int Count, class Convert>
  TILEWRIGHT_DEVICE void pack_pairs(const float (&values)[Count], float scale, Convert convert) {
    if (scale == 1.0f) {  // the common case, on the path between two tiles
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Count / 2; ++i) packed_[First / 2 + i] = convert(values[2 * i], values[2 * i + 1]);
      return;
    }
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count / 2; ++i) {
      packed_[First / 2 + i] =
          convert(arch::mul_rn(scale, values[2 * i]), arch::mul_rn(scale, values[2 * i + 1]));
    }
  }
  template <int First, int Count, class Convert>
  TILEWRIGHT_DEVICE void pack_quads(const float (&values)[Count], float scale, Convert convert) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count / 4; ++i) {
      const uint32_t low =
          convert(arch::mul_rn(scale, values[4 * i]), arch::mul_rn(scale, values[4 * i + 1]));
      const uint32_t high =
          convert(arch::mul_rn(scale, values[4 * i + 2]), arch::mul_rn(scale, values[4 * i + 3]));
      packed_[First / 4 + i] = low | (high << 16);
    }
  }

  /// Predicated stores of single elements.
  TILEWRIGHT_DEVICE void store_direct(schedule::TileCoord tile) const {
    const detail::StridedMatrix& d = epilogue_.d_;
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kSize / kPartSize; ++part) {
      const Coord first = place_of(part, tile);
      const int64_t base = static_cast<int64_t>(tile.batch) * d.batch_stride + columns(first.n, d);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kPartSize; ++i) {
        const uint32_t row = first.m + Held::down(i), across = Held::across(i);
        if (row >= epilogue_.target_.rows || first.n + across >= epilogue_.target_.columns) continue;
        const int64_t at = base + static_cast<int64_t>(row) * d.row_stride + columns(across, d);
        constexpr int kOfWord = 4 / Bytes;
        const int element = part * kPartSize + i;
        static_cast<Word*>(d.data)[at] =
            static_cast<Word>(packed_[element / kOfWord] >> (8 * Bytes * (element % kOfWord)));
      }
    }
  }

  const Epilogue& epilogue_;
  uint32_t packed_[packed_registers];
  Slabs slabs_;
  [[no_unique_address]] std::conditional_t<Vectors, VectorScales<Config>, NoVectorScales> vectors_;
  float scale_, beta_;
};

}  // namespace impl

/// A kernel parameter (TILEWRIGHT_GRID_CONSTANT: it may hold a TMA descriptor), made by
/// make_linear_epilogue(). Bytes: of an element of D. Vectors: whether it applies scales of rows and columns.
/// AnyOrder: whether neighbours in a row of C and D may lie apart.
template <class D, int Bytes, bool Vectors, bool AnyOrder>
class LinearEpilogue {
 public:
  /// Shared memory behind the pipeline's buffer.
  static constexpr uint32_t scratch_bytes() { return impl::slab_scratch_bytes<D, impl::WordOf<Bytes>>(); }

  template <class Accumulator>
  TILEWRIGHT_DEVICE impl::BoundLinearEpilogue<D, Bytes, Vectors, AnyOrder, Accumulator> bind(
      std::byte* scratch) const {
    return {*this, scratch};
  }
  TILEWRIGHT_DEVICE bool needs_product() const { return impl::ScaleAndBeta(ops_).scale != 0; }

 private:
  template <class D2, int Bytes2, bool Vectors2, bool AnyOrder2, class Accumulator>
  friend class impl::BoundLinearEpilogue;
  template <AnyDescription D2, int Bytes2, bool Vectors2, bool AnyOrder2>
  friend pipeline_result<LinearEpilogue<D2, Bytes2, Vectors2, AnyOrder2>> make_linear_epilogue(
      const detail::OperandView&, const detail::OperandView&, const LinearEpilogueOps&);

  impl::SlabTarget target_;
  detail::StridedMatrix d_, c_;
  LinearEpilogueOps ops_;
};

/// An epilogue for run() that stores into d, whose columns are contiguous, or with AnyOrder its rows. c: of
/// d's extents, which may be d itself; its data may be null where beta is zero. Errors: of D's extents,
/// strides and address, which is a multiple of an element, and where C is read of C's; unsupported_element;
/// alignment_unfulfilled where ops.bulk asks for more than D allows.
template <AnyDescription D, int Bytes, bool Vectors = false, bool AnyOrder = false>
pipeline_result<LinearEpilogue<D, Bytes, Vectors, AnyOrder>> make_linear_epilogue(
    const detail::OperandView& d, const detail::OperandView& c, const LinearEpilogueOps& ops) {
  static_assert(path_of_v<D> == path::wgmma, "linear_epilogue stores what wgmma leaves in registers");
  static_assert(Bytes == 1 || Bytes == 2 || Bytes == 4,
                "linear_epilogue stores elements of 8, 16 or 32 bits");
  const auto order_of = [](const detail::OperandView& v) {
    return AnyOrder && v.columns > 1 && v.column_stride != 1 ? col_major : row_major;
  };
  if (const auto s = detail::check_stored_elements(d, "D", ops.d_type, Bytes, order_of(d)); !s)
    return s.error();
  if (ops.beta != 0)
    if (const auto s = detail::check_wide_elements(c, "C", ops.c_type, order_of(c)); !s) return s.error();
  using Word = impl::WordOf<Bytes>;
  LinearEpilogue<D, Bytes, Vectors, AnyOrder> made;
  made.target_.rows = static_cast<uint32_t>(d.rows);
  made.target_.columns = static_cast<uint32_t>(d.columns);
  if (ops.bulk) {
    const pipeline_status status = impl::bind_slabs<D, Word>(d, made.target_);
    if (!status) return status.error();
  }
  made.d_ = detail::strided_matrix(d, Bytes);
  made.c_ = detail::strided_matrix(c, 1);
  made.ops_ = ops;
  return made;
}

/// The same of tensors, which name the types of C and D: where D has 8 bits and there is no C, `c` is a null
/// tensor of another type.
template <AnyDescription D, bool Vectors = false, class T, arrangement Order, int Rank, int64_t Ld,
          AnyTensor Source>
auto make_linear_epilogue(const Tensor<T, Order, Rank, Ld>& d, const Source& c, LinearEpilogueOps ops = {}) {
  static_assert(Source::order == Order, "C has D's order");
  using From = std::remove_cv_t<typename Source::value_type>;
  static_assert(impl::is_any_of_v<From, float, f16, bf16>, "the elements of C are f32, f16 or bf16");
  static_assert(impl::is_any_of_v<T, float, f16, bf16, e4m3, e5m2>,
                "the elements of D are f32, f16, bf16, e4m3 or e5m2");
  ops.d_type = dtype_of<T>;
  ops.c_type = dtype_of<From>;
  return make_linear_epilogue<D, static_cast<int>(sizeof(T)), Vectors, Order == col_major>(
      detail::operand_view(d), detail::operand_view(c), ops);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
