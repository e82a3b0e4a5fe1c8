// Matrices of FP32 through shared memory in another order, a 64 x 64 tile at a time: the reading half and the
// loop over tiles. What is written is the caller's. Bound by memory: an element is read once, in whole
// 32-byte sectors.
#pragma once

#include <cstdint>

#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/mainloop/simt_f32.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

constexpr uint32_t kRepackTile = 64, kRepackThreads = 256;
/// Floats between neighbours in K of the tile in shared memory: odd, so that the four K indices a thread
/// stores and those of its neighbours lie in different banks.
constexpr uint32_t kRepackPitch = kRepackTile + 1;
constexpr uint32_t kRepackSharedBytes = 4 * kRepackTile * kRepackPitch;

/// `Operand`: from, row_stride, k_stride, batch_stride (elements), rows, k, batches, tiles_rows, tiles_k; a
/// null `from` is nothing to copy. 256 threads.
template <class Operand>
struct RepackTile {
  const Operand& o;
  uint32_t row, k, batch;  // first of the tile
  uint32_t shared;

  TILEWRIGHT_DEVICE void read(uint32_t thread) const {
    if (o.k_stride == 1) {
      read_along_k(thread);
    } else {
      read_along_rows(thread);
    }
  }
  /// Element of the tile.
  TILEWRIGHT_DEVICE float at(uint32_t r, uint32_t kk) const {
    return arch::load_shared<float>(address(r, kk));
  }

 private:
  TILEWRIGHT_DEVICE const float* source() const {
    return o.from + static_cast<int64_t>(batch) * o.batch_stride + static_cast<int64_t>(row) * o.row_stride +
           static_cast<int64_t>(k) * o.k_stride;
  }
  TILEWRIGHT_DEVICE uint32_t address(uint32_t r, uint32_t kk) const {
    return shared + 4 * (kk * kRepackPitch + r);
  }
  TILEWRIGHT_DEVICE void keep(uint32_t r, uint32_t kk, float value) const {
    arch::store_shared(address(r, kk), value);
  }

  /// K is contiguous. Sixteen lanes read a row: 16 bytes each where alignment allows and the tile is whole.
  TILEWRIGHT_DEVICE void read_along_k(uint32_t thread) const {
    const float* from = source();
    const bool vector = reinterpret_cast<uintptr_t>(o.from) % 16 == 0 && o.row_stride % 4 == 0 &&
                        o.batch_stride % 4 == 0 && row + kRepackTile <= o.rows && k + kRepackTile <= o.k;
    if (vector) {
      const uint32_t kk = thread % 16 * 4;
      Float4 values[4];
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t r = thread / 16 + 16 * i;
        values[i] = *reinterpret_cast<const Float4*>(from + static_cast<int64_t>(r) * o.row_stride + kk);
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
};

/// All tiles of some operands, shared among the blocks of the grid. `Tile`: RepackTile with write(thread).
template <class Tile, class Operand, int Count>
TILEWRIGHT_DEVICE void repack_tiles(const Operand (&operands)[Count], uint32_t shared) {
  const uint32_t thread = arch::thread_index().x, blocks = arch::grid_dim().x;
  uint32_t begin = 0;  // tiles of the operands before
  TILEWRIGHT_NO_UNROLL
  for (int which = 0; which < Count; ++which) {
    const Operand& o = operands[which];
    if (o.from == nullptr) continue;
    const uint32_t tiles = o.tiles_rows * o.tiles_k * o.batches;
    const uint32_t first = (arch::block_index().x + blocks - begin % blocks) % blocks;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t t = first; t < tiles; t += blocks) {
      const uint32_t column = t / o.tiles_rows;
      const Tile tile{
          {o, t % o.tiles_rows * kRepackTile, column % o.tiles_k * kRepackTile, column / o.tiles_k, shared}};
      tile.read(thread);
      arch::sync_threads();
      tile.write(thread);
      arch::sync_threads();
    }
    begin += tiles;
  }
}

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
