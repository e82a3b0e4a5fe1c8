#include "src/block_scale_maps.h"

#include <string>

#include "src/rounding.h"

namespace tilewright {
namespace {

uint32_t k_tiles_of(const BlockScaledProblem& p) {
  const int64_t tile = kernels::block_scaled_tile_k(p.a.format, p.b.format);
  return static_cast<uint32_t>(ceil_div(p.k, tile));
}

TensorMapSpec operand_spec(const BlockScaledProblem& p, const BlockScaledOperand& operand, int64_t rows) {
  const DType type = element_type(operand.format);
  const bool padded = beside_fp8(operand, p);
  TensorMapSpec spec;
  spec.base = const_cast<void*>(operand.elements);
  spec.type = padded ? TmaType::e2m1_padded : TmaType::u8;
  spec.rank = 3;
  spec.extent = {static_cast<uint64_t>(padded ? p.k : bytes_of(type, p.k)), static_cast<uint64_t>(rows),
                 static_cast<uint64_t>(batches_of(operand, p))};
  spec.strides = {static_cast<uint64_t>(bytes_of(type, operand.ld)),
                  static_cast<uint64_t>(bytes_of(type, operand.batch_stride))};
  spec.box = {kernels::block_scaled_row_bytes, kernels::block_scaled_cta_rows, 1};
  spec.swizzle = Swizzle::b128;
  return spec;
}

TensorMapSpec scale_spec(const BlockScaledProblem& p, const BlockScaledOperand& operand) {
  const ScaleShape& shape = shape_of(operand);
  const auto row_blocks = static_cast<uint64_t>(scale_row_blocks(shape.rows));
  const auto column_blocks = static_cast<uint64_t>(scale_column_blocks(shape.columns));
  constexpr uint64_t kBytes = scale_block_bytes;
  TensorMapSpec spec;
  spec.base = const_cast<void*>(
      std::visit([](const auto& scales) -> const void* { return scales.data(); }, operand.scales));
  spec.type = TmaType::u32;
  spec.rank = 4;
  spec.extent = {kBytes / 4, column_blocks, row_blocks, static_cast<uint64_t>(shape.batches)};
  spec.strides = {kBytes, kBytes * column_blocks, kBytes * column_blocks * row_blocks};
  spec.box = {kBytes / 4, static_cast<uint32_t>(kernels::block_scaled_scale_blocks(p.a.format, p.b.format)),
              1, 1};
  return spec;
}

TensorMapSpec output_spec(const BlockScaledProblem& p) {
  const auto bytes = static_cast<uint32_t>(bits_of(p.d_type) / 8);
  TensorMapSpec spec;
  spec.base = p.d;
  spec.type = bytes == 2 ? TmaType::u16 : TmaType::u32;
  spec.rank = 3;
  spec.extent = {static_cast<uint64_t>(p.n), static_cast<uint64_t>(p.m), static_cast<uint64_t>(p.batches)};
  spec.strides = {static_cast<uint64_t>(p.d_ld) * bytes, static_cast<uint64_t>(p.d_batch_stride) * bytes};
  spec.box = {kernels::block_scaled_epilogue_columns, 32, 1};
  spec.swizzle = bytes == 2 ? Swizzle::b64 : Swizzle::b128;
  return spec;
}

Status encode_map(const TensorMapSpec& spec, const char* name, const EncodeMap& encode, TensorMap& map) {
  auto encoded = encode(spec);
  if (!encoded)
    return Error{encoded.error().code, encoded.error().rule,
                 std::string(name) + ": " + encoded.error().message};
  map = *encoded;
  return std::nullopt;
}

}  // namespace

Status encode_block_scaled_operands(const BlockScaledProblem& p, const EncodeMap& encode,
                                    kernels::BlockScaledOperandParams& out) {
  out.m = static_cast<uint32_t>(p.m);
  out.n = static_cast<uint32_t>(p.n);
  out.k = static_cast<uint32_t>(p.k);
  out.k_tiles = k_tiles_of(p);
  out.a_batch_step = p.a.shared ? 0 : 1;
  out.b_batch_step = p.b.shared ? 0 : 1;
  if (p.k == 0 || p.m == 0 || p.n == 0 || p.batches == 0) return std::nullopt;
  if (Status s = encode_map(operand_spec(p, p.a, p.m), "A", encode, out.a_map)) return s;
  if (Status s = encode_map(operand_spec(p, p.b, p.n), "B", encode, out.b_map)) return s;
  if (Status s = encode_map(scale_spec(p, p.a), "the scales of A", encode, out.a_scale_map)) return s;
  return encode_map(scale_spec(p, p.b), "the scales of B", encode, out.b_scale_map);
}

Status encode_block_scaled_output(const BlockScaledProblem& p, const EncodeMap& encode, TensorMap& map) {
  return encode_map(output_spec(p), "D", encode, map);
}

}  // namespace tilewright
