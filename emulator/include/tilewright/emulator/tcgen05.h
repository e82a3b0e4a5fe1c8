// What `arch/tcgen05*.h` calls on the emulated machine: tensor memory, its MMA, its copies, its barriers.
//
// As in hooks.h every function acts for the calling thread. A tensor-memory address has the lane in bits
// 16-31 and the column in bits 0-15. cta_group 2 means the pair of CTAs whose ranks differ in bit 0.
#pragma once

#include <cstdint>

#include "tilewright/tensor_map.h"

namespace tilewright::emulator {

// ---- allocation. One call per lane of a whole warp (cta_group 2: of one warp in each CTA of the pair).
/// Writes the base address to the own CTA's shared memory at `shared_destination`.
void tcgen05_alloc(uint32_t shared_destination, uint32_t columns, int cta_group);
void tcgen05_dealloc(uint32_t address, uint32_t columns, int cta_group);
void tcgen05_relinquish(int cta_group);

// ---- operations of one thread, which execute in the order of their issue, some time later
enum class Tcgen05Kind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// The instruction apart from its run-time operands.
struct Tcgen05Mma {
  Tcgen05Kind kind = Tcgen05Kind::f16;
  int cta_group = 1;
};

/// Its operands: accumulator, shared-memory descriptors (of each CTA's own shared memory), instruction
/// descriptor, scales in tensor memory (block-scaled kinds only), and whether D is added to.
struct Tcgen05Operands {
  uint32_t d = 0;
  uint64_t a = 0, b = 0;
  uint32_t instruction = 0;
  uint32_t a_scales = 0, b_scales = 0;
  bool accumulate = false;
};
void tcgen05_mma(const Tcgen05Mma& mma, const Tcgen05Operands& operands);

/// Shapes of tcgen05.cp: rows of shared memory to lanes.
enum class Tcgen05CopyShape : uint8_t {
  s128x128b,        // 128 rows of 16 bytes to four columns
  s128x256b,        // 128 rows of 32 bytes to eight columns
  s32x128b_warpx4,  // 32 rows of 16 bytes to four columns of every lane quarter
};
void tcgen05_cp(Tcgen05CopyShape shape, int cta_group, uint32_t address, uint64_t descriptor);

/// `bar`: of the own CTA, or of any in the cluster. `mask`: the CTAs at whose barrier of that offset to
/// arrive; 0: at `bar` alone.
void tcgen05_commit(int cta_group, uint32_t bar, uint16_t mask);

// ---- between registers and tensor memory (32x32b). One call per lane of a whole warp, which reaches its own
// quarter of the lanes: register i of lane l and the word of lane l of the quarter, column i of `count`
// columns.
void tcgen05_ld(uint32_t count, void* registers, uint32_t address);
void tcgen05_st(uint32_t count, const uint32_t* registers, uint32_t address);
void tcgen05_wait_ld();
void tcgen05_wait_st();

/// Names columns of the own CTA for reports; the first name given to a column counts.
void name_tensor_memory(uint32_t column, uint32_t columns, const char* name);

void tcgen05_fence_before();
void tcgen05_fence_after();

// ---- TMA loads of a pair (.cta_group::2): the bytes for each destination are counted on the barrier at the
// offset of `bar` in the CTA of the destination's pair whose rank has the parity of the CTA of `bar`.
void tma_load_pair(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t* coords, int rank,
                   uint16_t multicast_mask);

}  // namespace tilewright::emulator
