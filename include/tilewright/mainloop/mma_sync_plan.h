// How one block computes one tile with mma.sync: the grid of warps, what a step of K is, how operands lie in
// shared memory, registers, stages. Mode-neutral: rules, hosts and kernels read the same numbers.
//
// Warps stand in a grid over the tile. Each computes tiles_m x tiles_n MMAs of 16 x 8 in every step of K.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/mainloop/wgmma_tile_layout.h"

namespace tilewright::tiles {

/// How warps read an operand. An element is a number, or both parts of a complex one.
enum class MmaSyncRead : uint8_t {
  matrices,          // ldmatrix: K is contiguous, elements of 1, 2 or 4 bytes
  transposed,        // ldmatrix.trans: M or N is contiguous, elements of 2 bytes
  transposed_bytes,  // ldmatrix.trans of pairs of bytes, sorted in registers: M or N is contiguous
  elements,          // each lane its own elements: 8 and 16 bytes, or 4 bytes with M or N contiguous
};

/// What the plan depends on.
struct MmaSyncShape {
  int m = 0, n = 0, k = 0;  // elements
  int threads = 0;          // that compute
  int number_bytes = 2;     // of a real number of A or B
  bool is_complex = false;
  bool half_accumulator = false;  // pairs of f16
  bool unpacks = false;           // FP8 multiplied as f16: ptxas widens operands in registers
  bool promote = false;           // every MMA's sum is added in FP32, where the instruction does not do it
  bool mn_major_a = false, mn_major_b = false;
  int alignment_a = 16, alignment_b = 16;  // bytes
  int sm = 900;
  bool in_pipeline = true;  // beside threads that bring operands; else all threads of a block compute

  constexpr int element_bytes() const { return number_bytes * (is_complex ? 2 : 1); }
  /// Elements of K in a step: 32 bytes, but 8 doubles; half of it where numbers are complex.
  constexpr int step() const { return (number_bytes == 8 ? 8 : 32 / number_bytes) / (is_complex ? 2 : 1); }
};

/// Where the elements of an operand lie in a stage: slabs as in OperandLayout, whose 16-byte chunks are
/// permuted in every 128 bytes so that the lanes that read together meet all banks.
struct MmaSyncLayout : OperandLayout {
  MmaSyncRead read = MmaSyncRead::matrices;
  bool bulk = false;   // brought by TMA, which has the permutation of `matrices` and `transposed`
  int alignment = 16;  // of global memory, bytes: the widest copy

  /// Bytes of a row of the whole operand, 16-byte chunks of it, and bytes that hold elements.
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t row_bytes() const { return slabs * width; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t chunks_per_row() const { return row_bytes() / 16; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t used_bytes() const { return slabs * slab_bytes(); }

  /// What the number of a 16-byte chunk within its 128-byte line is XORed with.
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t key(uint32_t line) const {
    switch (read) {
      case MmaSyncRead::matrices:
      case MmaSyncRead::transposed:  // 8 rows, one chunk
        return line & (width / 16 - 1);
      case MmaSyncRead::transposed_bytes:  // rows 0 1 4 5 8 9 12 13, or 2 more; one chunk
        return width == 128  ? (line & 1) | (line >> 1 & 6)
               : width == 64 ? line >> 1 & 3
               : width == 32 ? (line & 1) | (line << 1 & 4)
                             : line << 1 & 2;
      case MmaSyncRead::elements:
        if (!mn_major && element_bytes == 16) return width == 128 ? line << 2 & 4 : 0;  // 2 rows, 4 chunks
        return line << 1 & (width / 16 - 2);                                            // 4 rows, 2 chunks
    }
    return 0;
  }
  /// Byte offset of byte `byte` of row `row` (of M or N where K is contiguous, else of K).
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t place(uint32_t row, uint32_t byte) const {
    const uint32_t slab = byte / width * slab_bytes(), in_row = byte % width;
    const uint32_t permuted = key(row * width / 128) << 4;
    // Keys of bytes may lead to other rows of the line. Else rows and chunks are apart, so that constant
    // differences of rows stay constant.
    if (read == MmaSyncRead::transposed_bytes) return slab + ((row * width + in_row) ^ permuted);
    return slab + row * width + (in_row ^ permuted);
  }
};

struct MmaSyncPlan {
  int warps_m = 0, warps_n = 0;   // 0: no grid of so many warps has whole MMAs
  int tiles_m = 0, tiles_n = 0;   // MMAs of a warp, 16 rows and 8 columns each
  int steps = 0;                  // of K in a K tile
  int accumulators = 0;           // 32-bit registers of a thread
  int buffers = 1;                // operands of so many steps are in registers
  int live_registers = 0;         // accumulators and operands
  int thread_registers = 0;       // what a block of so many threads leaves for them
  int register_limit = 0;         // no epilogue is kept beside them: as many as there are
  int shared_register_limit = 0;  // nor are registers reallocated
  uint32_t stage_bytes = 0;       // A and B, each filled up to a multiple of 1024
  uint32_t shared_limit = 0;      // bytes a block may have
  int max_depth = 0;              // stages that fit, barriers included; at most kMaxTileDepth
};

/// Threads that bring operands, beside those that compute.
inline constexpr int kMmaSyncProducers = 128;

/// Shared memory of a block, in bytes, by architecture (CUDA C++ Programming Guide, technical
/// specifications).
constexpr uint32_t shared_limit_of(int sm) {
  if (sm == 900 || sm / 100 == 10 || sm / 100 == 11) return kTileSharedLimit;
  return sm == 800 || sm == 870 ? 166912 : 101376;
}

/// Columns that a warp computes at least: bytes with N contiguous are read 16 columns at a time.
constexpr int mma_sync_columns(const MmaSyncShape& s) {
  return s.mn_major_b && s.element_bytes() == 1 ? 16 : 8;
}

namespace detail {

constexpr MmaSyncRead mma_sync_read(const MmaSyncShape& s, bool mn_major) {
  const int bytes = s.element_bytes();
  if (!mn_major) return bytes <= 4 ? MmaSyncRead::matrices : MmaSyncRead::elements;
  return bytes == 1   ? MmaSyncRead::transposed_bytes
         : bytes == 2 ? MmaSyncRead::transposed
                      : MmaSyncRead::elements;
}

constexpr MmaSyncLayout mma_sync_layout(const MmaSyncShape& s, bool mn_major, int extent, int alignment) {
  MmaSyncLayout l;
  static_cast<OperandLayout&>(l) = operand_layout(mn_major, extent, extent, s.k, s.element_bytes(), 1);
  l.bytes = (l.bytes + kStageAlignment - 1) / kStageAlignment * kStageAlignment;
  l.read = mma_sync_read(s, mn_major);
  l.alignment = alignment;
  l.bulk = alignment == 16 && s.sm >= 900 && !s.is_complex &&
           (l.read == MmaSyncRead::matrices || l.read == MmaSyncRead::transposed);
  return l;
}

constexpr int mma_sync_accumulators(const MmaSyncShape& s, int tiles) {
  const int numbers = 4 * tiles * (s.is_complex ? 2 : 1);
  return s.half_accumulator ? numbers / 2 : s.number_bytes == 8 ? 2 * numbers : numbers;
}
constexpr int mma_sync_operands(const MmaSyncShape& s, int tiles_m, int tiles_n) {
  return (4 * tiles_m + 2 * tiles_n) * (s.number_bytes == 8 ? 2 : 1);
}

}  // namespace detail

constexpr MmaSyncLayout mma_sync_layout_a(const MmaSyncShape& s) {
  return detail::mma_sync_layout(s, s.mn_major_a, s.m, s.alignment_a);
}
constexpr MmaSyncLayout mma_sync_layout_b(const MmaSyncShape& s) {
  return detail::mma_sync_layout(s, s.mn_major_b, s.n, s.alignment_b);
}

/// The least extents, at least those of s, of which every warp has whole MMAs.
constexpr MmaSyncShape mma_sync_padded(MmaSyncShape s) {
  const auto round_up = [](int extent, int unit) { return (extent + unit - 1) / unit * unit; };
  const int warps = s.threads / 32, m = s.m, n = s.n;
  int least = 0;
  for (int along_m = 1; along_m <= warps; ++along_m) {
    if (warps % along_m != 0) continue;
    const int padded_m = round_up(m, 16 * along_m);
    const int padded_n = round_up(n, mma_sync_columns(s) * (warps / along_m));
    if (least != 0 && padded_m * padded_n >= least) continue;
    least = padded_m * padded_n;
    s.m = padded_m;
    s.n = padded_n;
  }
  s.k = round_up(s.k, s.step());
  return s;
}

/// Whole MMAs only: m in multiples of 16, n of mma_sync_columns, k of step(); whole warps.
constexpr MmaSyncPlan mma_sync_plan(const MmaSyncShape& s) {
  MmaSyncPlan p;
  constexpr int kBlockRegisters = 65536, kMost = 255;
  const int of_thread = kBlockRegisters / (s.threads + (s.in_pipeline ? kMmaSyncProducers : 0)) / 8 * 8;
  const int others = s.unpacks ? 56 : 40;  // addresses, counters, an epilogue; operands ptxas widens early
  p.thread_registers = (of_thread < kMost ? of_thread : kMost) - others;
  p.steps = s.k / s.step();
  p.stage_bytes = mma_sync_layout_a(s).bytes + mma_sync_layout_b(s).bytes;
  p.shared_limit = shared_limit_of(s.sm);
  const uint32_t fit = p.shared_limit / (p.stage_bytes + kStageBarrierBytes);
  p.max_depth = fit < kMaxTileDepth ? static_cast<int>(fit) : kMaxTileDepth;

  // The grid whose warps read least from shared memory: the squarest parts.
  const int warps = s.threads / 32;
  int least = 0;
  for (int along_m = 1; along_m <= warps; ++along_m) {
    if (warps % along_m != 0 || s.m % (16 * along_m) != 0) continue;
    const int along_n = warps / along_m;
    if (s.n % (mma_sync_columns(s) * along_n) != 0) continue;
    const int read = s.m / along_m + s.n / along_n;
    if (least != 0 && read >= least) continue;
    least = read;
    p.warps_m = along_m;
    p.warps_n = along_n;
    p.tiles_m = s.m / along_m / 16;
    p.tiles_n = s.n / along_n / 8;
  }
  const int operands = detail::mma_sync_operands(s, p.tiles_m, p.tiles_n);
  p.accumulators = detail::mma_sync_accumulators(s, p.tiles_m * p.tiles_n);
  const int one = p.accumulators + (s.unpacks ? 3 : 1) * operands;
  p.buffers = p.steps > 1 && !s.unpacks && one + operands <= p.thread_registers ? 2 : 1;
  p.live_registers = p.buffers == 2 ? one + operands : one;
  p.register_limit = p.shared_register_limit = p.live_registers;
  return p;
}

}  // namespace tilewright::tiles
