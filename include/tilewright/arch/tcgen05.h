// The tensor core of sm_100a (PTX 9.7.16) and its tensor memory: 128 lanes x 512 columns of 32-bit words in a
// block, shared by nothing else. An address has the lane in bits 16-31 and the column in bits 0-15.
//
// `CtaGroup` is 1, or 2 for a pair: the two blocks of a cluster whose ranks differ in bit 0. One kernel uses
// one of the two only. In a pair one thread of one block issues for both, every address and descriptor means
// the same offset in each block's own memory, and neither block may leave while the other may still use it.
//
// tcgen05_mma, _cp and _commit are issued by one thread and executed in the order of their issue, some time
// later; what they have done is known to who waits on the mbarrier of a later commit. Between threads, tensor
// memory is ordered by tcgen05_fence_before (after tcgen05_wait_*), a barrier, and tcgen05_fence_after.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/tcgen05_descriptor.h"
#include "tilewright/arch/tcgen05_issue.h"
#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Allocates `columns` columns (a power of two, 32 to 512) and writes the address of the first to shared
/// memory at `destination`; waits for columns that another block still holds. PTX `tcgen05.alloc`. One whole
/// warp; for a pair, one in each block, with the same arguments. Others may read the address, and use the
/// columns, after a barrier and tcgen05_fence_after. Later allocations of a block must not be larger than
/// earlier ones.
template <int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_alloc(uint32_t destination, uint32_t columns) {
  detail::check_cta_group<CtaGroup>();
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_alloc(destination, columns, CtaGroup);
#else
#  define TILEWRIGHT_BODY(GROUP)                                                                     \
    asm volatile("tcgen05.alloc" GROUP ".sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(destination), \
                 "r"(columns)                                                                        \
                 : "memory")
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
#endif
}

/// Gives columns back, exactly as they were allocated. PTX `tcgen05.dealloc`. One whole warp, not necessarily
/// the allocating one; for a pair, one in each block. Before the block exits, when nobody (of the pair) uses
/// them any more: a block (cluster) barrier comes first.
template <int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_dealloc(uint32_t address, uint32_t columns) {
  detail::check_cta_group<CtaGroup>();
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_dealloc(address, columns, CtaGroup);
#else
#  define TILEWRIGHT_BODY(GROUP)                                                                  \
    asm volatile("tcgen05.dealloc" GROUP ".sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) \
                 : "memor"                                                                        \
                   "y")
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
#endif
}

/// Promises that the block allocates no more, so that the next one on the multiprocessor may. PTX
/// `tcgen05.relinquish_alloc_permit`. One whole warp.
template <int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_relinquish() {
  detail::check_cta_group<CtaGroup>();
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_relinquish(CtaGroup);
#else
#  define TILEWRIGHT_BODY(GROUP) \
    asm volatile("tcgen05.relinquish_alloc_permit" GROUP ".sync.aligned;" ::: "memory")
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
#endif
}

/// D = A B (+ D when `accumulate`). D: 32-bit words, row m in lane m, column n in column `d` + n; in a pair
/// the first block holds rows 0-127 and the second rows 128-255, all columns in both. A: 128 rows in each
/// block; B: N rows, in a pair N / 2 in each. `instruction` from make_instruction_descriptor for the same
/// kind and group. PTX `tcgen05.mma`. One thread. The operands must be visible to the async proxy.
template <Tcgen05Kind Kind, int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_mma(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction,
                                   bool accumulate) {
  static_assert(!is_block_scaled(Kind), "this kind needs scales: tcgen05_mma_block_scaled");
  detail::issue_mma<Kind, CtaGroup>(d, a, b, instruction, accumulate);
}

/// The same with scales. They lie in tensor memory as tcgen05_cp_32x128b puts packed blocks there: the scales
/// of row r of a block of 128 in lane r % 32 (and again in the other three quarters), column r / 32; A: 4
/// columns from `a_scales` for the block's own 128 rows; B: 4 for each 128 of all N rows, in both blocks of a
/// pair. A 32-bit word holds four scales of a row: `instruction`'s scale ids say which one is the first. PTX
/// `tcgen05.mma...block_scale`. One thread.
template <Tcgen05Kind Kind, int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_mma_block_scaled(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction,
                                                uint32_t a_scales, uint32_t b_scales, bool accumulate) {
  static_assert(is_block_scaled(Kind), "this kind has no scales: tcgen05_mma");
  detail::issue_mma_block_scaled<Kind, CtaGroup>(d, a, b, instruction, a_scales, b_scales, accumulate);
}

/// Copies 32 rows of 16 bytes to four columns from `address`, row r to lane r of all four lane quarters: one
/// packed block of scales (layout/scale_factors.h). `descriptor`: no swizzle, stride 128. PTX
/// `tcgen05.cp.32x128b.warpx4`. One thread; the source may be reused after a commit that follows.
template <int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_cp_32x128b(uint32_t address, uint64_t descriptor) {
  detail::check_cta_group<CtaGroup>();
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_cp(emulator::Tcgen05CopyShape::s32x128b_warpx4, CtaGroup, address, descriptor);
#else
#  define TILEWRIGHT_BODY(GROUP) \
    asm volatile("tcgen05.cp" GROUP ".32x128b.warpx4 [%0], %1;" ::"r"(address), "l"(descriptor) : "memory")
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
#endif
}

/// Copies 128 rows of 16 bytes to four columns, row r to lane r. As tcgen05_cp_32x128b. PTX
/// `tcgen05.cp.128x128b`.
template <int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_cp_128x128b(uint32_t address, uint64_t descriptor) {
  detail::check_cta_group<CtaGroup>();
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_cp(emulator::Tcgen05CopyShape::s128x128b, CtaGroup, address, descriptor);
#else
#  define TILEWRIGHT_BODY(GROUP) \
    asm volatile("tcgen05.cp" GROUP ".128x128b [%0], %1;" ::"r"(address), "l"(descriptor) : "memory")
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
#endif
}

/// Copies 128 rows of 32 bytes to eight columns, row r to lane r; leading: the next 16 bytes of a row. As
/// tcgen05_cp_32x128b. PTX `tcgen05.cp.128x256b`.
template <int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_cp_128x256b(uint32_t address, uint64_t descriptor) {
  detail::check_cta_group<CtaGroup>();
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_cp(emulator::Tcgen05CopyShape::s128x256b, CtaGroup, address, descriptor);
#else
#  define TILEWRIGHT_BODY(GROUP) \
    asm volatile("tcgen05.cp" GROUP ".128x256b [%0], %1;" ::"r"(address), "l"(descriptor) : "memory")
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
#endif
}

/// One arrival on `bar` (of this block, or from map_shared) when everything that this thread issued before
/// with tcgen05_mma and tcgen05_cp has completed. It orders like tcgen05_fence_before. PTX `tcgen05.commit`.
/// The issuing thread.
template <int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_commit(uint32_t bar) {
  detail::check_cta_group<CtaGroup>();
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_commit(CtaGroup, bar, 0);
#else
#  define TILEWRIGHT_BODY(GROUP)                                                                      \
    asm volatile("tcgen05.commit" GROUP ".mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) \
                 : "memory")
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
#endif
}

/// The same with an arrival on the barrier at the offset of `bar` in every block of the cluster whose rank is
/// a set bit of `mask`. PTX `tcgen05.commit...multicast::cluster`.
template <int CtaGroup>
TILEWRIGHT_DEVICE void tcgen05_commit_multicast(uint32_t bar, uint16_t mask) {
  detail::check_cta_group<CtaGroup>();
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_commit(CtaGroup, bar, mask);
#else
#  define TILEWRIGHT_BODY(GROUP)                                                                       \
    asm volatile("tcgen05.commit" GROUP                                                                \
                 ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar), \
                 "h"(mask)                                                                             \
                 : "memory")
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
#endif
}

/// Loads Count columns (1, 2, 4 ... 128) from `address`: register i of lane l is the word of lane l of the
/// warp's quarter, column i. Warp w of the block reaches lanes 32 (w % 4) .. + 31, which `address` names. Not
/// in the registers before tcgen05_wait_ld. Word: uint32_t, or float for its bits. PTX `tcgen05.ld.32x32b`.
/// One whole warp.
template <class Word, int Count>
TILEWRIGHT_DEVICE void tcgen05_ld_32x32b(Word (&registers)[Count], uint32_t address) {
  static_assert(std::is_same_v<Word, uint32_t> || std::is_same_v<Word, float>);
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_ld(Count, registers, address);
#else
  detail::issue_ld_32x32b(registers, address);
#endif
}

/// Stores Count columns; the reverse of tcgen05_ld_32x32b. In tensor memory after tcgen05_wait_st. PTX
/// `tcgen05.st.32x32b`. One whole warp.
template <int Count>
TILEWRIGHT_DEVICE void tcgen05_st_32x32b(const uint32_t (&registers)[Count], uint32_t address) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_st(Count, registers, address);
#else
  detail::issue_st_32x32b(registers, address);
#endif
}

/// Waits until the tcgen05_ld_* of this warp have filled their registers, `registers` among them. PTX
/// `tcgen05.wait::ld`. One whole warp. Before others may overwrite the columns, tcgen05_fence_before and a
/// barrier.
template <class Word, int Count>
TILEWRIGHT_DEVICE void tcgen05_wait_ld([[maybe_unused]] Word (&registers)[Count]) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_wait_ld();
#else
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  // Keeps the compiler from moving uses of the registers to before the wait.
  TILEWRIGHT_UNROLL
  for (int i = 0; i < Count; ++i) {
    if constexpr (std::is_same_v<Word, float>) {
      asm volatile("" : "+f"(registers[i]));
    } else {
      asm volatile("" : "+r"(registers[i]));
    }
  }
#endif
}

/// Waits until the tcgen05_st_* of this warp are in tensor memory. PTX `tcgen05.wait::st`. One whole warp.
TILEWRIGHT_DEVICE void tcgen05_wait_st() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_wait_st();
#else
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
#endif
}

/// Orders this thread's earlier accesses to tensor memory before the barrier arrival that follows. PTX
/// `tcgen05.fence::before_thread_sync`. Any thread; every lane for its part of what its warp loads or stores.
TILEWRIGHT_DEVICE void tcgen05_fence_before() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_fence_before();
#else
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
#endif
}

/// Orders the barrier wait before it with this thread's later accesses to tensor memory. PTX
/// `tcgen05.fence::after_thread_sync`. Any thread.
TILEWRIGHT_DEVICE void tcgen05_fence_after() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::tcgen05_fence_after();
#else
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
#endif
}

/// Names columns of this block's tensor memory for the reports of the emulated machine. Nothing on a GPU.
TILEWRIGHT_DEVICE void name_tensor_memory([[maybe_unused]] uint32_t column, [[maybe_unused]] uint32_t columns,
                                          [[maybe_unused]] const char* name) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::name_tensor_memory(column, columns, name);
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
