#include "block_scaled_operands.h"

#include <string>

#include "operands.h"
#include "progress.h"
#include "src/block_scale_reference.h"
#include "src/gemm_problem.h"
#include "src/matrix_init.h"

namespace tilewright::cli {
namespace {

// Bytes of all operands together that a run may have.
constexpr int64_t kLargest = int64_t{1} << 38;

Status check_size(const Problem& p) {
  const auto bytes = [&](int64_t rows, int64_t columns) {
    return static_cast<__int128>(rows) * columns * p.l;
  };
  const __int128 total = bytes(p.m, p.k) + bytes(p.n, p.k) + 8 * bytes(p.m, p.n);
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.l < 0 || total > kLargest)
    return Error{ErrorCode::out_of_range, "host.memory",
                 "operands of " + std::to_string(p.m) + " x " + std::to_string(p.n) + " x " +
                     std::to_string(p.k) + ", " + std::to_string(p.l) +
                     " batches, are too large for this program"};
  const auto matrix = [&](int64_t rows, int64_t columns, DType type) {
    return static_cast<double>(bytes(rows, columns)) * bits_of(type) / 8;
  };
  return check_memory(matrix(p.m, p.k, p.a.type) + matrix(p.n, p.k, p.b.type) + matrix(p.m, p.n, p.d.type) +
                          (p.beta != 0 ? matrix(p.m, p.n, p.c.type) : 0),
                      0);
}

}  // namespace

Expected<BlockScaledOperands> BlockScaledOperands::make(const Problem& p, BlockInit init, uint64_t seed) {
  if (Status s = check_size(p)) return *s;
  BlockScaledOperands out;
  out.problem = p;
  auto a = random_block_scaled(*p.a.block, p.m, p.k, p.l, init, 2 * seed);
  if (!a) return a.error();
  auto b = random_block_scaled(*p.b.block, p.n, p.k, p.l, init, 2 * seed + 1);
  if (!b) return b.error();
  out.a = std::move(*a), out.b = std::move(*b);
  out.problem.a.ld = out.a.padded_k, out.problem.b.ld = out.b.padded_k;
  out.a_scales = packed_scale_bytes(out.a);
  out.b_scales = packed_scale_bytes(out.b);
  const auto elements = static_cast<size_t>(p.l * p.m * p.n);
  out.d.assign(elements * static_cast<size_t>(bits_of(p.d.type) / 8), 0xFF);
  if (p.beta == 0) return out;
  out.c.resize(elements * static_cast<size_t>(bits_of(p.c.type) / 8));
  fill_matrix(out.c.data(), {p.c.type, p.m, p.n, p.l, p.n, 1, p.m * p.n}, Init::normal, seed + 1000003);
  return out;
}

Expected<BlockScaledVerdict> BlockScaledOperands::judge(const PlanInfo& plan,
                                                        const std::optional<Tolerance>& tolerance) const {
  const Problem& p = problem;
  const Progress progress("FP64 reference");
  const MatrixView source{c.data(), p.c.type, p.n, 1, p.m * p.n};
  // Those of the tensors too: they multiply a sum, and are not in what may overflow.
  const Factors factors = factors_of(p);
  const auto reference = reference_block_scaled(a, b, source, factors.scale, factors.beta);
  if (!reference) return reference.error();
  const MatrixView got{d.data(), p.d.type, p.n, 1, p.m * p.n};
  // Dequantised operands are bf16, to the last bit but for scales that no data here have.
  const AccumulationBound bound =
      plan.path == "wgmma" ? wgmma_f32_bound(DType::bf16, p.k, 0) : reference->bound;
  BlockScaledVerdict verdict;
  verdict.comparison = compare(reference->gemm, reference->d.data(), reference->abs_sum.data(), got,
                               {.accumulation = bound, .saturate = false});
  if (tolerance) verdict.tolerance = check_tolerance(p, got, reference->d, *tolerance);
  return verdict;
}

PackedBlockScales BlockScaledOperands::scales_at(const BlockScaledTensor& tensor, const void* data) {
  const int64_t bytes = scale_bytes<ScaleLayout::packed>(tensor.scale_shape());
  if (tensor.format == BlockFormat::nvfp4)
    return *PackedScales<const e4m3>::make(static_cast<const e4m3*>(data), bytes, tensor.scale_shape());
  return *PackedScales<const e8m0>::make(static_cast<const e8m0*>(data), bytes, tensor.scale_shape());
}

}  // namespace tilewright::cli
