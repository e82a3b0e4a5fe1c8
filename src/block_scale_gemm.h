// From block-scaled operands to the parameters of a kernel: rules, tensor maps, the grid.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tilewright/error.h"
#include "tilewright/layout/scale_tensor.h"
#include "tilewright/mainloop/tcgen05_block_scaled_params.h"

namespace tilewright {

/// A, or B as N rows: `rows` x k elements, K contiguous, in the memory of the machine that runs the kernel.
struct BlockScaledOperand {
  BlockFormat format = BlockFormat::mxfp8;
  const void* elements = nullptr;  // e2m1 two to a byte
  int64_t ld = 0;                  // elements between rows
  int64_t batch_stride = 0;        // elements between batches
  PackedBlockScales scales;        // of the operand's rows and batches (one if shared)
  bool shared = false;             // one matrix, of which all batches are products
};

/// D[m][n] = alpha * sum_k A[m][k] B[n][k] + beta * C[m][n] + bias[n] per batch. D and C row-major.
struct BlockScaledProblem {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  BlockScaledOperand a, b;
  float alpha = 1, beta = 0;
  const float* bias = nullptr;
  const void* c = nullptr;
  DType c_type = DType::f32;
  int64_t c_ld = 0, c_batch_stride = 0;
  void* d = nullptr;
  DType d_type = DType::f16;
  int64_t d_ld = 0, d_batch_stride = 0;
  bool overlap = true;
  bool bulk_store = true;  // where D can be stored by TMA
  schedule::TileScheduler scheduler = schedule::TileScheduler::static_persistent;
  schedule::Raster raster = schedule::Raster::along_m;
  int64_t strip = 8;  // of the raster, in pairs of CTAs
};

/// A kernel and what to launch it with.
struct BoundBlockScaled {
  kernels::BlockScaledKernelId id;
  kernels::BlockScaledGemmParams params;
  uint32_t grid_ctas = 0;  // 0: there is nothing to compute
};

/// A rule of block-scaled problems: its name, as in Error::rule, and what it asks for.
struct BlockScaledRule {
  const char* name;
  const char* requirement;
};
/// Every rule that bind_block_scaled applies, in its order, and then those of plan(); further errors come
/// from tensor maps.
const std::vector<BlockScaledRule>& block_scaled_rules();

/// Where those of plan() begin.
inline constexpr std::string_view first_plan_rule = "block_scaled.types";

/// The rule of that name (block_scaled_rules) is broken: "found (requirement)".
Error block_scaled_error(std::string_view rule, const std::string& found);

/// The rules that do not depend on pointers.
Status check_block_scaled(const BlockScaledProblem& problem);
/// Those of pointers too.
Status check_bound_block_scaled(const BlockScaledProblem& problem);
/// Whether a D at that address is stored by TMA, if `bulk_store` allows it.
bool stores_in_bulk(const BlockScaledProblem& problem, uintptr_t d_address);
/// The tiles of a problem that keeps the rules, and the grid for them: a pair of CTAs for two
/// multiprocessors, or with cluster launch control one for each tile.
schedule::TileSchedule block_scaled_tiles(const BlockScaledProblem& problem);
uint32_t block_scaled_grid(const BlockScaledProblem& problem, uint32_t clusters, int multiprocessors);

/// Allocates nothing but for errors. `encode`: encode_for_gpu or encode_for_emulator. `multiprocessors`: of
/// the chip. Errors: block_scaled_rules, each with the value
/// found and the nearest legal one; tensor maps.
Expected<BoundBlockScaled> bind_block_scaled(
    const BlockScaledProblem& problem, const std::function<Expected<TensorMap>(const TensorMapSpec&)>& encode,
    int multiprocessors);

}  // namespace tilewright
