#include "bench_block_scaled.h"

#include <algorithm>

#include "block_scaled_operands.h"
#include "src/matrix_init.h"
#include "tilewright/detail/parallel.h"
#include "tilewright/numeric/float16.h"

namespace tilewright::cli {
namespace {

constexpr int64_t kRowsOfWork = 32;

int64_t padded(int64_t k) {
  return (k + block_scaled_k_multiple - 1) / block_scaled_k_multiple * block_scaled_k_multiple;
}

std::vector<uint16_t> values_of(const BlockScaledTensor& t) {
  std::vector<uint16_t> out(static_cast<size_t>(t.rows * t.k));
  const auto blocks = static_cast<int>((t.rows + kRowsOfWork - 1) / kRowsOfWork);
  tilewright::detail::parallel_blocks(blocks, 0,
                                      [&](int block) {
                                        for (int64_t row = kRowsOfWork * block;
                                             row < std::min(t.rows, kRowsOfWork * (block + 1)); ++row)
                                          for (int64_t k = 0; k < t.k; ++k)
                                            out[static_cast<size_t>(row * t.k + k)] =
                                                tilewright::bf16(static_cast<float>(t.value(0, row, k))).bits;
                                      },
                                      {});
  return out;
}

}  // namespace

Problem benched_blocks(Problem p) {
  if (!p.a.block) return p;
  p.a.ld = p.b.ld = padded(p.k);
  p.a.alignment = p.b.alignment = 256;
  if (p.d.type == DType::f16) p.d.type = p.c.type = DType::bf16;
  return p;
}

Problem bf16_peer(Problem p) {
  if (!p.a.block) return p;
  for (Operand* o : {&p.a, &p.b}) {
    o->type = DType::bf16;
    o->ld = 0;
    o->block.reset();
  }
  return p;
}

Expected<BlockScaledSource> BlockScaledSource::make(BlockFormat format, int64_t lines, int64_t k,
                                                    uint64_t seed) {
  std::vector<uint16_t> normal(static_cast<size_t>(lines * k));
  fill_matrix(normal.data(), {DType::bf16, lines, k, 1, k, 1, 0}, Init::normal, seed);
  auto tensor =
      quantise({.data = normal.data(), .type = DType::bf16, .rows = lines, .k = k, .row_stride = k}, format);
  if (!tensor) return tensor.error();
  BlockScaledSource out;
  out.tensor = std::move(*tensor);
  out.scales = packed_scale_bytes(out.tensor);
  out.bf16 = values_of(out.tensor);
  return out;
}

PackedBlockScales BlockScaledSource::scales_at(const void* data) const {
  return BlockScaledOperands::scales_at(tensor, data);
}

}  // namespace tilewright::cli
