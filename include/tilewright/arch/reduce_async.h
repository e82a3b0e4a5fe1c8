// Asynchronous reductions: memory = op(memory, value), element by element and atomic in each, some time after
// the call (PTX `red.async`, `cp.reduce.async.bulk`). Between reductions of the same operation and type no
// order is needed; what they reduce into must have been written, and ordered before, by whoever made it.
//
//   op                 red.async and bulk to cluster    bulk to global memory
//   add                u32, s32, u64, s64               the same, f16, bf16, f32, f64
//   min, max           u32, s32                         the same, u64, s64, f16, bf16
//   inc, dec           u32                              u32
//   bit_and, _or, _xor u32, s32                         the same, u64, s64
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/traits.h"
#include "tilewright/tensor_map.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#else
#  include "tilewright/arch/ptx_text.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// What is done to the two values. inc: 0 from `value` on, else one more; dec: `value` from 0 or above
/// `value` on, else one less.
enum class ReduceOp : uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor };

namespace detail {

template <class T>
inline constexpr bool is_word = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// The table at the top of the file.
template <ReduceOp Op, class T>
TILEWRIGHT_HOST_DEVICE constexpr bool is_reduction(bool to_global) {
  const bool half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
  const bool floating = half || std::is_same_v<T, float> || std::is_same_v<T, double>;
  switch (Op) {
    case ReduceOp::add:
      return is_word<T> || (to_global && floating);
    case ReduceOp::min:
    case ReduceOp::max:
      return is_word<T> ? sizeof(T) == 4 || to_global : to_global && half;
    case ReduceOp::inc:
    case ReduceOp::dec:
      return std::is_same_v<T, uint32_t>;
    default:
      return is_word<T> && (sizeof(T) == 4 || to_global);
  }
}

#if defined(TILEWRIGHT_EMULATE)

template <class T>
constexpr TmaType reduction_type() {
  if (std::is_same_v<T, f16>) return TmaType::f16;
  if (std::is_same_v<T, bf16>) return TmaType::bf16;
  if (std::is_same_v<T, float>) return TmaType::f32;
  if (std::is_same_v<T, double>) return TmaType::f64;
  if (sizeof(T) == 8) return std::is_signed_v<T> ? TmaType::s64 : TmaType::u64;
  return std::is_signed_v<T> ? TmaType::s32 : TmaType::u32;
}
static_assert(static_cast<int>(ReduceOp::bit_xor) == static_cast<int>(emulator::Reduction::bit_xor));

#else

/// "add.noftz.f16", "xor.b32".
template <ReduceOp Op, class T>
struct ReductionText {
  static constexpr PtxText make() {
    constexpr const char* kNames[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    const bool half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
    PtxText t;
    t.append(kNames[static_cast<int>(Op)]);
    if (half && Op == ReduceOp::add) t.append(".noftz");
    if constexpr (std::is_integral_v<T>) {
      // Adding is the same with and without sign, and PTX has add.s64 for red.async alone.
      const bool is_signed = std::is_signed_v<T> && Op != ReduceOp::add;
      t.append(Op >= ReduceOp::bit_and ? ".b" : is_signed ? ".s" : ".u");
      return t.append(static_cast<int>(8 * sizeof(T)));
    } else {
      return t.append(".").append(NumericTraits<T>::name);
    }
  }
};

#endif

}  // namespace detail

/// memory[address] = Op(memory[address], value) in a block of the cluster, and sizeof(T) bytes signalled on
/// the mbarrier `bar` of that same block; both addresses from map_shared, `address` aligned to T. PTX
/// `red.async.relaxed.cluster.shared::cluster` (9.7.13.9). Any thread. Visible to who waits on `bar`.
template <ReduceOp Op, class T>
TILEWRIGHT_DEVICE void reduce_async(uint32_t address, T value, uint32_t bar) {
  static_assert(detail::is_reduction<Op, T>(false),
                "red.async: add of 32- and 64-bit integers; min, max and bitwise operations of 32-bit "
                "integers; inc and dec of uint32_t");
#if defined(TILEWRIGHT_EMULATE)
  emulator::reduce_async(address, &value, detail::reduction_type<T>(), static_cast<emulator::Reduction>(Op),
                         bar);
#else
  using Text = detail::PtxCharacters<detail::ReductionText<Op, T>>;
#  define TILEWRIGHT_RED_ASYNC(C, BITS)                                                                    \
    asm volatile(                                                                                          \
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%3 [%0], %1, [%2];" ::"r"( \
            address),                                                                                      \
        C(static_cast<BITS>(value)), "r"(bar), "C"(Text::value)                                            \
        : "memory")
  if constexpr (sizeof(T) == 4) {
    TILEWRIGHT_RED_ASYNC("r", uint32_t);
  } else {
    TILEWRIGHT_RED_ASYNC("l", uint64_t);
  }
#  undef TILEWRIGHT_RED_ASYNC
#endif
}

/// dst[i] = Op(dst[i], source[i]) for `bytes` bytes (a multiple of 16; both addresses 16-aligned) of global
/// memory, from shared::cta address `src`. Joins the bulk group of the calling thread as bulk_store does:
/// that thread commits and waits. PTX `cp.reduce.async.bulk.global.shared::cta.bulk_group` (9.7.9.25.4.2).
/// One thread a call. Reads and writes through the async proxy.
template <ReduceOp Op, class T>
TILEWRIGHT_DEVICE void bulk_reduce(T* dst, uint32_t src, uint32_t bytes) {
  static_assert(
      detail::is_reduction<Op, T>(true),
      "bulk_reduce: add of float, double, f16, bf16 and 32- and 64-bit integers; min and max of the "
      "integers, f16, bf16; inc and dec of uint32_t; bitwise operations of 32- and 64-bit integers");
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_reduce(dst, src, bytes, detail::reduction_type<T>(), static_cast<emulator::Reduction>(Op));
#else
  using Text = detail::PtxCharacters<detail::ReductionText<Op, T>>;
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.%3 [%0], [%1], %2;" ::"l"(dst), "r"(src),
               "r"(bytes), "C"(Text::value)
               : "memory");
#endif
}

/// As bulk_reduce into the shared memory of a block of the cluster, completed on the mbarrier `bar` of that
/// block; `dst` and `bar` from map_shared. PTX
/// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes`. No bulk group.
template <ReduceOp Op, class T>
TILEWRIGHT_DEVICE void bulk_reduce_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar) {
  static_assert(detail::is_reduction<Op, T>(false),
                "bulk_reduce_to_cluster: add of 32- and 64-bit integers; min, max and bitwise operations of "
                "32-bit integers; inc and dec of uint32_t");
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_reduce_to_cluster(dst, src, bytes, bar, detail::reduction_type<T>(),
                                   static_cast<emulator::Reduction>(Op));
#else
  using Text = detail::PtxCharacters<detail::ReductionText<Op, T>>;
  asm volatile(
      "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.%4 [%0], [%1], %2, "
      "[%3];" ::"r"(dst),
      "r"(src), "r"(bytes), "r"(bar), "C"(Text::value)
      : "memory");
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
