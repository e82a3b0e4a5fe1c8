// Operands of an FP32 GEMM into the order its fast kernel reads: [batch][k][row], rows contiguous. Bound by
// memory: an element is read once and written once, both in whole 32-byte sectors.
#pragma once

#include "tilewright/arch/grid_dependency.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/mainloop/simt_f32.h"
#include "tilewright/mainloop/simt_gemm_params.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

constexpr uint32_t kRepackTile = 64, kRepackThreads = 256;
/// Floats between neighbours in K of the tile in shared memory: odd, so that the four K indices a thread
/// stores and those of its neighbours lie in different banks.
constexpr uint32_t kRepackPitch = kRepackTile + 1;
constexpr uint32_t kRepackSharedBytes = 4 * kRepackTile * kRepackPitch;

/// One 64 x 64 tile through shared memory. 256 threads.
struct SimtRepackTile {
  const kernels::SimtRepackParams::Operand& o;
  uint32_t row, k, batch;  // first of the tile
  uint32_t shared;

  TILEWRIGHT_DEVICE const float* source() const {
    return o.from + static_cast<int64_t>(batch) * o.batch_stride + static_cast<int64_t>(row) * o.row_stride +
           static_cast<int64_t>(k) * o.k_stride;
  }
  TILEWRIGHT_DEVICE void keep(uint32_t r, uint32_t kk, float value) const {
    arch::store_shared(shared + 4 * (kk * kRepackPitch + r), value);
  }

  /// K is contiguous. Sixteen lanes read a row: 16 bytes each where alignment allows and the tile is whole.
  TILEWRIGHT_DEVICE void read_along_k(uint32_t thread) const {
    const float* from = source();
    const bool vector = reinterpret_cast<uintptr_t>(o.from) % 16 == 0 && o.row_stride % 4 == 0 &&
                        o.batch_stride % 4 == 0 && row + kRepackTile <= o.rows && k + kRepackTile <= o.k;
    if (vector) {
      const uint32_t kk = thread % 16 * 4;
      mainloop::Float4 values[4];
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t r = thread / 16 + 16 * i;
        values[i] =
            *reinterpret_cast<const mainloop::Float4*>(from + static_cast<int64_t>(r) * o.row_stride + kk);
      }
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t r = thread / 16 + 16 * i;
        keep(r, kk, values[i].x);
        keep(r, kk + 1, values[i].y);
        keep(r, kk + 2, values[i].z);
        keep(r, kk + 3, values[i].w);
      }
      return;
    }
    const uint32_t kk = thread % 64;
    float values[16];
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t r = thread / 64 + 4 * i;
      values[i] = row + r < o.rows && k + kk < o.k ? from[static_cast<int64_t>(r) * o.row_stride + kk] : 0.0f;
    }
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 16; ++i) keep(thread / 64 + 4 * i, kk, values[i]);
  }

  TILEWRIGHT_DEVICE void read_along_rows(uint32_t thread) const {
    const uint32_t r = thread % 64;
    const float* from = source();
    float values[16];
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t kk = thread / 64 + 4 * i;
      values[i] = row + r < o.rows && k + kk < o.k
                      ? from[static_cast<int64_t>(r) * o.row_stride + static_cast<int64_t>(kk) * o.k_stride]
                      : 0.0f;
    }
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 16; ++i) keep(r, thread / 64 + 4 * i, values[i]);
  }

  /// Rows up to the padded length: the padding becomes zero.
  TILEWRIGHT_DEVICE void write(uint32_t thread) const {
    const uint32_t r = thread % 16 * 4;
    if (row + r >= o.ld) return;
    auto* to =
        reinterpret_cast<mainloop::Float4*>(o.to + (static_cast<int64_t>(batch) * o.k + k) * o.ld + row + r);
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t kk = thread / 16 + 16 * i;
      if (k + kk >= o.k) continue;
      const uint32_t at = shared + 4 * (kk * kRepackPitch + r);
      to[static_cast<int64_t>(kk) * (o.ld / 4)] =
          mainloop::Float4{arch::load_shared<float>(at), arch::load_shared<float>(at + 4),
                           arch::load_shared<float>(at + 8), arch::load_shared<float>(at + 12)};
    }
  }
};

/// kRepackThreads threads and kRepackSharedBytes a block; any number of blocks.
template <class = void>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(kRepackThreads)
    simt_repack(const TILEWRIGHT_GRID_CONSTANT kernels::SimtRepackParams params) {
  const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory());
  const uint32_t thread = arch::thread_index().x, blocks = arch::grid_dim().x;
  // The kernel before this one in the stream may still use the workspace and may have written the operands.
  arch::grid_dependency_wait();
  uint32_t begin = 0;  // tiles of the operands before
  TILEWRIGHT_NO_UNROLL
  for (int which = 0; which < 2; ++which) {
    const kernels::SimtRepackParams::Operand& o = params.operand[which];
    if (o.from == nullptr) continue;
    const uint32_t tiles = o.tiles_rows * o.tiles_k * o.batches;
    const uint32_t first = (arch::block_index().x + blocks - begin % blocks) % blocks;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t t = first; t < tiles; t += blocks) {
      const uint32_t column = t / o.tiles_rows;
      const SimtRepackTile tile{o, t % o.tiles_rows * kRepackTile, column % o.tiles_k * kRepackTile,
                                column / o.tiles_k, shared};
      if (o.k_stride == 1) {
        tile.read_along_k(thread);
      } else {
        tile.read_along_rows(thread);
      }
      arch::sync_threads();
      tile.write(thread);
      arch::sync_threads();
    }
    begin += tiles;
  }
  arch::launch_dependents();
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
