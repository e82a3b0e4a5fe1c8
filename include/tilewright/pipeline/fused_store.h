// C = convert(scale * act(alpha * result + beta * source + bias)) for run(), with the value before the
// activation and the greatest magnitude after it as results of their own: what a layer of a network wants of
// its product in one pass.
//
// The budget of a tile of 128 x 256: 32768 elements of two approximations for three halves of them (gelu),
// 16 of which an SM makes in a clock: 3072 clocks, beside 65536 of MMAs for K = 4096 of 16 bits. All else is
// less than 10 instructions an element, which 4 schedulers issue 32 elements wide: 2560 clocks. So
// approximations bind, and neither bias nor stores may wait for memory: the bias of a slab is loaded while
// the slab before it is worked on, stores go out through shared memory by TMA.
#pragma once

#include <cstdint>

#include "tilewright/arch/approximate.h"
#include "tilewright/arch/atomics.h"
#include "tilewright/arch/convert.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/warp.h"
#include "tilewright/numeric/activation.h"
#include "tilewright/numeric/dtype.h"
#include "tilewright/pipeline/linear_store.h"

namespace tilewright::blas {

/// What a fused_store does with t = alpha * result + beta * source:
///   t += bias;  aux = t;  u = activation(t);  amax = max(amax, |u|);  C = scale * u
/// in FP32, each sum and product rounded once. All pointers are to device memory; those that are null are not
/// wanted. Matrices are row-major, as C is.
struct FusedOps {
  /// f16, bf16 or f32. Batches lie bias_batch_stride elements apart; 0: one for all.
  BiasKind bias_kind = BiasKind::none;
  DType bias_type = DType::f32;
  const void* bias = nullptr;
  int64_t bias_batch_stride = 0;

  Activation activation = Activation::none;

  /// f16, bf16 (which overflow to infinity) or f32; strides in elements.
  DType aux_type = DType::f32;
  void* aux = nullptr;
  int64_t aux_ld = 0, aux_batch_stride = 0;

  /// Set to zero (or to an earlier maximum) by the caller. NaN if a u is NaN.
  float* amax = nullptr;

  /// The product of both, if there are two. A zero gives zeros whatever u is.
  float scale = 1;
  const float* scale_device = nullptr;
  /// More factors of results, where not null.
  const float* alpha_device[2] = {nullptr, nullptr};
  /// C of 8 bits: clamp to the largest finite value; otherwise overflow gives NaN (e4m3) or infinity (e5m2).
  bool saturate = true;
};

inline namespace TILEWRIGHT_MODE {
namespace impl {

/// Both become their gelu. x / (1 + 2^w) has no cancellation, and the reciprocal of a product serves two: it
/// stays finite, as no argument of 2^w is below gelu_floor, where w is 52. A NaN is kept out of it, so that
/// it does not spread to its neighbour.
TILEWRIGHT_DEVICE void gelu_pair(float& left, float& right) {
  const auto divisor = [](float x) {
    const float y = arch::max_number(x, gelu_floor);
    const float square = arch::mul_rn(y, y);
    const float slope = arch::fma_rn(square, static_cast<float>(gelu_cubic), static_cast<float>(gelu_linear));
    return arch::add_rn(arch::exp2_approx(arch::mul_rn(y, slope)), 1);
  };
  const float of_left = divisor(left), of_right = divisor(right);
  const float reciprocal = arch::reciprocal_approx(arch::mul_rn(of_left, of_right));
  left = arch::mul_rn(arch::max_nan(left, gelu_floor), arch::mul_rn(reciprocal, of_right));
  right = arch::mul_rn(arch::max_nan(right, gelu_floor), arch::mul_rn(reciprocal, of_left));
}

/// Two neighbours of T in memory.
template <class T>
struct alignas(2 * sizeof(T)) Neighbours {
  T left, right;
};

/// One thread's part in a FusedExtra, for slabs of Count elements: blocks of two columns in two rows.
template <class Extra, class Held, int Count>
class FusedThread {
  static constexpr int kBlocks = Count / 4;
  static constexpr int32_t kLastColumn = static_cast<int32_t>(Held::across(Count - 1));
  static constexpr int32_t kLastRow = static_cast<int32_t>(Held::down(Count - 1));

 public:
  /// The bias of a slab as it lies in memory. Of columns: of block j words 2 j (which of 16 bits holds two)
  /// and 2 j + 1; of rows: one in each of the first two.
  struct Prefetched {
    uint32_t words[2 * kBlocks];
  };

  TILEWRIGHT_DEVICE explicit FusedThread(const Extra& extra) : e_(extra), scale_(extra.ops.scale) {
    if (e_.ops.scale_device != nullptr && scale_ != 0) scale_ = arch::mul_rn(scale_, *e_.ops.scale_device);
  }

  TILEWRIGHT_DEVICE float alpha(float alpha) const {
    TILEWRIGHT_UNROLL
    for (const float* factor : e_.ops.alpha_device)
      if (factor != nullptr && alpha != 0) alpha = arch::mul_rn(alpha, *factor);
    return alpha;
  }

  /// Loads the bias of a slab.
  TILEWRIGHT_DEVICE void prefetch(const SlabPlace& at, Prefetched& to) const {
    if (e_.ops.bias_kind == BiasKind::none) return;
    if (e_.ops.bias_type == DType::f32) {
      load_bias<uint32_t>(at, to);
    } else {
      load_bias<uint16_t>(at, to);
    }
  }

  /// store_slab(target, words): by TMA, as C's.
  template <class StoreSlab>
  TILEWRIGHT_DEVICE void apply(float (&values)[Count], const SlabPlace& at, const Prefetched& bias,
                               StoreSlab&& store_slab) {
    if (e_.ops.bias_kind == BiasKind::column) {
      add_columns(values, bias);
    } else if (e_.ops.bias_kind == BiasKind::row) {
      add_rows(values, bias);
    }
    if (e_.stores_slabs) {
      store_aux_slab(values, store_slab);
    } else if (e_.ops.aux != nullptr) {
      store_aux(values, at);
    }
    if (e_.ops.activation == Activation::gelu) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Count; i += 2) gelu_pair(values[i], values[i + 1]);
    } else if (e_.ops.activation == Activation::relu) {
      TILEWRIGHT_UNROLL
      for (float& value : values) value = arch::max_nan(value, 0);
    }
    if (e_.ops.amax != nullptr) update_amax(values, at);
    if (scale_ != 1) {
      TILEWRIGHT_UNROLL
      for (float& value : values) value = scale_ == 0 ? 0 : arch::mul_rn(scale_, value);
    }
  }

  /// All threads of the warp.
  TILEWRIGHT_DEVICE void finish() const {
    if (e_.ops.amax == nullptr) return;
    // Magnitudes are ordered as their bits are, and NaN comes last.
    uint32_t most = arch::float_bits(amax_) & 0x7FFFFFFFu;
    TILEWRIGHT_UNROLL
    for (uint32_t distance = 16; distance > 0; distance /= 2) {
      const uint32_t other = arch::shuffle_xor(most, distance);
      most = other > most ? other : most;
    }
    if (arch::lane_index() == 0) arch::atomic_max(reinterpret_cast<uint32_t*>(e_.ops.amax), most);
  }

 private:
  TILEWRIGHT_DEVICE static bool whole(const SlabPlace& at) {
    return kLastRow < at.rows_left && kLastColumn < at.columns_left;
  }

  template <class Word>
  TILEWRIGHT_DEVICE void load_bias(const SlabPlace& at, Prefetched& to) const {
    const Word* const from =
        static_cast<const Word*>(e_.ops.bias) + static_cast<int64_t>(at.batch) * e_.ops.bias_batch_stride;
    if (e_.ops.bias_kind == BiasKind::row) {
      const Word* const first = from + at.row;
      to.words[0] = 0 < at.rows_left ? first[0] : 0;
      to.words[1] = 8 < at.rows_left ? first[8] : 0;
      return;
    }
    const Word* const first = from + at.column;
    if (e_.bias_pairs && kLastColumn < at.columns_left) {
      TILEWRIGHT_UNROLL
      for (int j = 0; j < kBlocks; ++j)
        put_block(to, j, *reinterpret_cast<const Neighbours<Word>*>(first + 8 * j));
    } else {
      TILEWRIGHT_UNROLL
      for (int j = 0; j < kBlocks; ++j) {
        Neighbours<Word> pair{};
        if (8 * j < at.columns_left) pair.left = first[8 * j];
        if (8 * j + 1 < at.columns_left) pair.right = first[8 * j + 1];
        put_block(to, j, pair);
      }
    }
  }
  TILEWRIGHT_DEVICE static void put_block(Prefetched& to, int j, const Neighbours<uint32_t>& pair) {
    to.words[2 * j] = pair.left, to.words[2 * j + 1] = pair.right;
  }
  TILEWRIGHT_DEVICE static void put_block(Prefetched& to, int j, const Neighbours<uint16_t>& pair) {
    memcpy(&to.words[2 * j], &pair, sizeof pair);
  }

  /// f(j, the values of block j).
  template <class F>
  TILEWRIGHT_DEVICE void for_each_bias(const Prefetched& bias, int blocks, F&& f) const {
    const DType type = e_.ops.bias_type;
    TILEWRIGHT_UNROLL
    for (int j = 0; j < blocks; ++j) {
      const uint32_t word = bias.words[2 * j];
      const arch::FloatPair pair =
          type == DType::f32
              ? arch::FloatPair{from_bits<float>(word), from_bits<float>(bias.words[2 * j + 1])}
          : type == DType::bf16 ? arch::unpack_bf16x2(word)
                                : arch::unpack_f16x2(word);
      f(j, pair);
    }
  }
  TILEWRIGHT_DEVICE void add_columns(float (&values)[Count], const Prefetched& bias) const {
    for_each_bias(bias, kBlocks, [&](int j, const arch::FloatPair& b) {
      float* const block = values + 4 * j;
      block[0] = arch::add_rn(block[0], b.lo), block[1] = arch::add_rn(block[1], b.hi);
      block[2] = arch::add_rn(block[2], b.lo), block[3] = arch::add_rn(block[3], b.hi);
    });
  }
  TILEWRIGHT_DEVICE void add_rows(float (&values)[Count], const Prefetched& bias) const {
    Prefetched both = bias;
    if (e_.ops.bias_type != DType::f32) both.words[0] = bias.words[0] | bias.words[1] << 16;
    for_each_bias(both, 1, [&](int, const arch::FloatPair& b) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Count; ++i) values[i] = arch::add_rn(values[i], Held::down(i) == 0 ? b.lo : b.hi);
    });
  }

  /// Elements of aux have the size of those of C.
  template <class StoreSlab>
  TILEWRIGHT_DEVICE void store_aux_slab(const float (&values)[Count], StoreSlab&& store_slab) const {
    if constexpr (Extra::element_bytes == 4) {
      uint32_t words[Count];
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Count; ++i) words[i] = arch::float_bits(values[i]);
      store_slab(e_.aux_target, words);
    } else if constexpr (Extra::element_bytes == 2) {
      uint32_t words[Count / 2];
      if (e_.ops.aux_type == DType::bf16) {
        TILEWRIGHT_UNROLL
        for (int i = 0; i < Count; i += 2) words[i / 2] = arch::pack_bf16x2(values[i], values[i + 1]);
      } else {
        TILEWRIGHT_UNROLL
        for (int i = 0; i < Count; i += 2) words[i / 2] = arch::pack_f16x2(values[i], values[i + 1]);
      }
      store_slab(e_.aux_target, words);
    }
  }

  TILEWRIGHT_DEVICE void store_aux(const float (&values)[Count], const SlabPlace& at) const {
    const int64_t first = static_cast<int64_t>(at.batch) * e_.ops.aux_batch_stride +
                          static_cast<int64_t>(at.row) * e_.ops.aux_ld + at.column;
    if (e_.ops.aux_type == DType::f32) {
      store_aux<float>(at, first, [&](int i) { return Neighbours<float>{values[i], values[i + 1]}; });
      return;
    }
    const bool is_bf16 = e_.ops.aux_type == DType::bf16;
    store_aux<uint16_t>(at, first, [&](int i) {
      const uint32_t word =
          is_bf16 ? arch::pack_bf16x2(values[i], values[i + 1]) : arch::pack_f16x2(values[i], values[i + 1]);
      return Neighbours<uint16_t>{static_cast<uint16_t>(word), static_cast<uint16_t>(word >> 16)};
    });
  }
  template <class Word, class PairOf>
  TILEWRIGHT_DEVICE void store_aux(const SlabPlace& at, int64_t first, PairOf&& pair_of) const {
    Word* const to = static_cast<Word*>(e_.ops.aux) + first;
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; i += 2) {
      const auto down = static_cast<int32_t>(Held::down(i)), across = static_cast<int32_t>(Held::across(i));
      if (down >= at.rows_left || across >= at.columns_left) continue;
      Word* const element = to + down * e_.ops.aux_ld + across;
      const Neighbours<Word> pair = pair_of(i);
      const bool two = across + 1 < at.columns_left;
      if (two && e_.aux_pairs) {
        *reinterpret_cast<Neighbours<Word>*>(element) = pair;
      } else {
        element[0] = pair.left;
        if (two) element[1] = pair.right;
      }
    }
  }

  /// Elements that do not exist have a bias, too.
  TILEWRIGHT_DEVICE void update_amax(const float (&values)[Count], const SlabPlace& at) {
    if (whole(at)) {
      TILEWRIGHT_UNROLL
      for (const float value : values) amax_ = arch::max_nan(amax_, arch::magnitude(value));
    } else {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Count; ++i) {
        const bool exists = static_cast<int32_t>(Held::down(i)) < at.rows_left &&
                            static_cast<int32_t>(Held::across(i)) < at.columns_left;
        amax_ = arch::max_nan(amax_, exists ? arch::magnitude(values[i]) : 0);
      }
    }
  }

  const Extra& e_;
  float scale_, amax_ = 0;
};

}  // namespace impl

/// FusedOps as a linear_store of elements of so many bytes does them, and what types these and those of the
/// source really have.
template <int ElementBytes>
struct FusedExtra : AnySource {
  static constexpr bool replaces_alpha = false, finishes = true;
  static constexpr int element_bytes = ElementBytes;
  template <class Held, int Count>
  using Thread = impl::FusedThread<FusedExtra<ElementBytes>, Held, Count>;

  FusedOps ops;
  DType target_type{};
  bool bias_pairs = false, aux_pairs = false;  // two neighbours at an even column may be accessed as one
  bool stores_slabs = false;                   // aux goes out by TMA
  impl::SlabTarget aux_target{};

  /// See NoExtra.
  template <class T, class Body>
  TILEWRIGHT_DEVICE void with_narrow(Body&& body) const {
    const auto call = [&](auto pack) {
      body([&](float left, float right) { return static_cast<uint32_t>(pack(left, right)); });
    };
    if constexpr (sizeof(T) == 2) {
      if (target_type == DType::bf16) {
        call([](float l, float r) { return arch::pack_bf16x2(l, r); });
      } else {
        call([](float l, float r) { return arch::pack_f16x2(l, r); });
      }
    } else if (target_type == DType::e5m2) {
      if (ops.saturate) {
        call([](float l, float r) { return arch::pack_e5m2x2(l, r); });
      } else {
        call([](float l, float r) { return arch::pack_e5m2x2_nonsaturating(l, r); });
      }
    } else if (ops.saturate) {
      call([](float l, float r) { return arch::pack_e4m3x2(l, r); });
    } else {
      call([](float l, float r) { return arch::pack_e4m3x2_nonsaturating(l, r); });
    }
  }
};

template <class D, class T>
using FusedStore = LinearStore<D, T, FusedExtra<sizeof(T)>>;

/// An epilogue for run() on the path wgmma, of sums in FP32, that stores into `c`, row-major elements of 8,
/// 16 or 32 bits, with `ops` on the way. source, bulk: as for make_linear_store(); aux is stored by TMA too
/// where its elements have the size of C's and TMA can address it. Types that differ from the
/// tensors' element types: target_type is another one of the same size for c, source_type f16, bf16 or f32
/// for the source (whose strides stay in elements). Errors: as of make_linear_store, and the same of bias and
/// aux; unsupported_element.
template <AnyDescription D, class T, arrangement Order, int Rank, int64_t Ld, class Source>
auto make_fused_store(const Tensor<T, Order, Rank, Ld>& c, const Source& source, const LinearFactors& factors,
                      const FusedOps& ops, bool bulk = true, DType target_type = dtype_of<T>,
                      DType source_type = dtype_of<T>) {
  static_assert(path_of_v<D> == path::wgmma, "fused_store stores what wgmma leaves in registers");
  using Made = FusedStore<D, T>;
  FusedExtra<sizeof(T)> extra{{source_type}, ops, target_type};
  if (ops.bias == nullptr) extra.ops.bias_kind = BiasKind::none;
  const detail::OperandView like = detail::operand_view(c);
  if (const auto s = detail::check_stored_elements(like, "C", target_type, sizeof(T)); !s)
    return pipeline_result<Made>(s.error());
  if (extra.ops.bias_kind != BiasKind::none) {
    const int64_t length = ops.bias_kind == BiasKind::row ? like.rows : like.columns;
    const detail::OperandView bias{ops.bias, 1, length, length, 1, like.batches, ops.bias_batch_stride};
    if (const auto s = detail::check_wide_elements(bias, "bias", ops.bias_type); !s)
      return pipeline_result<Made>(s.error());
  }
  if (ops.aux != nullptr) {
    const detail::OperandView aux{ops.aux, like.rows,    like.columns,        ops.aux_ld,
                                  1,       like.batches, ops.aux_batch_stride};
    if (const auto s = detail::check_wide_elements(aux, "aux", ops.aux_type); !s)
      return pipeline_result<Made>(s.error());
  }
  const auto pairs = [](const void* base, int64_t strides, DType type) {
    const auto size = static_cast<uintptr_t>(bits_of(type) / 8);
    return (reinterpret_cast<uintptr_t>(base) | static_cast<uintptr_t>(strides) * size) % (2 * size) == 0;
  };
  extra.bias_pairs = pairs(ops.bias, ops.bias_batch_stride, ops.bias_type);
  extra.aux_pairs = pairs(ops.aux, ops.aux_ld | ops.aux_batch_stride, ops.aux_type);
  if (bulk && ops.aux != nullptr && bits_of(ops.aux_type) == 8 * static_cast<int>(sizeof(T))) {
    const auto aux = make_gmem_tensor_batched<row_major>(static_cast<T*>(ops.aux), like.rows, like.columns,
                                                         like.batches, ops.aux_ld, ops.aux_batch_stride);
    const pipeline_status status = impl::bind_slabs<D>(aux, extra.aux_target);
    if (!status && status.error().code != pipeline_error_code::alignment_unfulfilled)
      return pipeline_result<Made>(status.error());
    extra.stores_slabs = static_cast<bool>(status);
  }
  return make_linear_store<D>(c, source, factors, bulk, extra);
}
/// The same without a source.
template <AnyDescription D, class T, arrangement Order, int Rank, int64_t Ld>
auto make_fused_store(const Tensor<T, Order, Rank, Ld>& c, float alpha, const FusedOps& ops,
                      bool bulk = true) {
  return make_fused_store<D>(c, c, LinearFactors{alpha, 0}, ops, bulk);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
