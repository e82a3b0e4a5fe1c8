// Rules of the tensors of a pipeline, and their TMA descriptors.
#include "tilewright/pipeline/pipeline_binding.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <sstream>
#include <string>

#include "src/rounding.h"
#include "tilewright/pipeline/output_binding.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas::detail {
namespace {

using Code = pipeline_error_code;
constexpr int64_t kExtentLimit = int64_t{1} << 31;  // TMA coordinates are signed 32-bit
constexpr int64_t kStrideLimit = int64_t{1} << 40;  // bytes

template <class... Pieces>
pipeline_status failure(Code code, const Pieces&... pieces) {
  std::ostringstream text;
  (text << ... << pieces);
  return pipeline_error{code, std::move(text).str()};
}

// An operand with its indices told apart: the contiguous one and the other.
struct Strided {
  int64_t contiguous, other;  // extents
  int64_t unit_stride, ld;    // elements
};

Strided strided(const OperandView& v, arrangement order) {
  if (order == row_major) return {v.columns, v.rows, v.column_stride, v.row_stride};
  return {v.rows, v.columns, v.row_stride, v.column_stride};
}

pipeline_status check_extents(const OperandView& v, const char* name) {
  const struct {
    const char* what;
    int64_t value;
  } extents[] = {{"rows", v.rows}, {"columns", v.columns}, {"batches", v.batches}};
  for (const auto& extent : extents) {
    if (extent.value < 0) {
      return failure(Code::negative_extent, name, ": ", extent.value, ' ', extent.what,
                     "; the nearest legal value is 0");
    }
    if (extent.value >= kExtentLimit) {
      return failure(Code::extent_out_of_range, name, ": ", extent.value, ' ', extent.what,
                     "; the nearest legal value is ", kExtentLimit - 1);
    }
  }
  return {};
}

// One stride: in bytes 0 or more, below the limit and a multiple of the alignment. least: of the legal
// values, elements.
pipeline_status check_stride(int64_t elements, int64_t least, const OperandRules& rules, const char* what) {
  const int size = rules.element_bytes();
  if (elements < 0 || elements >= kStrideLimit / size) {  // its bytes may not fit 64 bits
    return failure(Code::stride_out_of_range, rules.name, ": ", what, ' ', elements, " of ", size,
                   " bytes each; it must be 0 or more and below 2^40 bytes: the nearest legal value is ",
                   elements < 0 ? 0 : (kStrideLimit - rules.alignment) / size);
  }
  const int64_t bytes = elements * size;
  if (bytes % rules.alignment != 0) {
    const int64_t above = round_up(bytes, rules.alignment), below = above - rules.alignment;
    const bool down = bytes - below < above - bytes && below >= least * size;
    return failure(Code::alignment_unfulfilled, rules.name, ": ", what, ' ', elements, " (", bytes,
                   " bytes) is not a multiple of ", rules.alignment, " bytes; the nearest legal value is ",
                   (down ? below : above) / size);
  }
  return {};
}

pipeline_status check_operand(const OperandView& v, const OperandRules& rules) {
  if (pipeline_status status = check_extents(v, rules.name); !status) return status;
  if (v.rows == 0 || v.columns == 0 || v.batches == 0) return {};
  const Strided s = strided(v, rules.order);
  const char* contiguous = rules.order == row_major ? "columns" : "rows";
  if (s.unit_stride != 1 && s.contiguous > 1) {
    return failure(Code::arrangement_mismatch, rules.name, ": neighbouring ", contiguous, " are ",
                   s.unit_stride, " elements apart; ", rules.order == row_major ? "row_major" : "col_major",
                   " needs 1");
  }
  if (s.other > 1 && s.ld < s.contiguous) {
    return failure(Code::leading_dimension_too_small, rules.name, ": leading dimension ", s.ld, " with ",
                   s.contiguous, ' ', contiguous, "; the nearest legal value is ",
                   round_up(s.contiguous * rules.element_bytes(), rules.alignment) / rules.element_bytes());
  }
  const auto address = reinterpret_cast<uintptr_t>(v.data);
  if (address == 0 || address % static_cast<uintptr_t>(rules.alignment) != 0) {
    return failure(Code::alignment_unfulfilled, rules.name, ": base address ", v.data, " is ",
                   address == 0 ? std::string("null")
                                : std::to_string(address % static_cast<uintptr_t>(rules.alignment)) +
                                      " modulo " + std::to_string(rules.alignment),
                   "; the nearest legal one is a multiple of ", rules.alignment);
  }
  if (s.other > 1) {
    if (pipeline_status status = check_stride(s.ld, s.contiguous, rules, "leading dimension"); !status)
      return status;
  }
  if (v.batches > 1 && v.batch_stride != 0) return check_stride(v.batch_stride, 1, rules, "batch stride");
  return {};
}

TmaType tma_type(Element e) {
  switch (e) {
    case Element::f16:
      return TmaType::f16;
    case Element::bf16:
      return TmaType::bf16;
    case Element::tf32:
    case Element::f32:
      return TmaType::f32;  // bits pass unchanged
    case Element::s32:
      return TmaType::s32;
    case Element::u32:
      return TmaType::u32;
    case Element::s16:
    case Element::u16:
      return TmaType::u16;
    default:
      return TmaType::u8;
  }
}

TensorMapSpec map_spec(const OperandView& v, const OperandRules& rules) {
  const Strided s = strided(v, rules.order);
  const auto size = static_cast<uint64_t>(rules.element_bytes());
  const tiles::OperandLayout& l = rules.layout;
  TensorMapSpec spec;
  spec.base = const_cast<void*>(v.data);
  spec.type = tma_type(rules.element);
  spec.rank = 3;
  const int64_t batches = v.batch_stride == 0 ? 1 : v.batches;
  spec.extent = {static_cast<uint64_t>(s.contiguous), static_cast<uint64_t>(s.other),
                 static_cast<uint64_t>(batches), 1, 1};
  spec.strides = {static_cast<uint64_t>(s.ld) * size, static_cast<uint64_t>(v.batch_stride) * size, 0, 0};
  spec.box = {l.box_columns(), l.box_rows, 1, 1, 1};
  spec.swizzle = l.swizzle;
  return spec;
}

pipeline_status encode_operand(const OperandView& v, const OperandRules& rules, EncodeFunction encode,
                               TensorMap& map) {
  if (!rules.bulk) return {};
  const Expected<TensorMap> encoded = encode(map_spec(v, rules));
  if (!encoded) {
    const bool device = encoded.error().code == ErrorCode::no_device;
    return failure(device ? Code::cuda : Code::tensor_map, rules.name, ": ", encoded.error().message);
  }
  map = *encoded;
  return {};
}

}  // namespace

pipeline_status check_operands(const OperandView& a, const OperandRules& a_rules, const OperandView& b,
                               const OperandRules& b_rules) {
  if (pipeline_status status = check_operand(a, a_rules); !status) return status;
  if (pipeline_status status = check_operand(b, b_rules); !status) return status;
  if (a.columns != b.rows) {
    return failure(Code::incompatible_k, "A has ", a.columns, " columns and B ", b.rows, " rows: both are K");
  }
  if (a.batched && b.batched && a.batches != b.batches) {
    return failure(Code::incompatible_batches, "A has ", a.batches, " matrices and B ", b.batches,
                   "; give one of them rank 2 to use it with all of the other's");
  }
  return {};
}

pipeline_status bind_operands(const OperandView& a, const OperandRules& a_rules, const OperandView& b,
                              const OperandRules& b_rules, uint32_t tile_k, EncodeFunction encode,
                              PipelineParams& params) {
  if (pipeline_status status = check_operands(a, a_rules, b, b_rules); !status) return status;
  params.m = static_cast<uint32_t>(a.rows);
  params.n = static_cast<uint32_t>(b.columns);
  params.a_batch_step = a.batched && a.batch_stride != 0 ? 1 : 0;
  params.b_batch_step = b.batched && b.batch_stride != 0 ? 1 : 0;
  const bool nothing = a.rows == 0 || a.columns == 0 || b.columns == 0 || a.batches == 0 || b.batches == 0;
  params.k_tiles = nothing ? 0 : (static_cast<uint32_t>(a.columns) + tile_k - 1) / tile_k;
  if (nothing) return {};
  if (pipeline_status status = encode_operand(a, a_rules, encode, params.a_map); !status) return status;
  return encode_operand(b, b_rules, encode, params.b_map);
}

pipeline_status tune(const Tuning& tuning, uint32_t depth, tiles::WgmmaTileShape& shape,
                     TunedPipelineParams& params) {
  const tiles::WgmmaTilePlan plan = tiles::wgmma_tile_plan(shape);
  const auto fits = [](uint32_t blocks, int most) {
    return std::has_single_bit(blocks) && blocks <= static_cast<uint32_t>(most);
  };
  if (!fits(tuning.cluster_m, shape.cluster_m) || !fits(tuning.cluster_n, shape.cluster_n)) {
    return failure(Code::invalid_tuning, "tuning: a cluster of ", tuning.cluster_m, " x ", tuning.cluster_n,
                   "; the nearest legal extents are powers of two up to ", shape.cluster_m, " x ",
                   shape.cluster_n);
  }
  const auto fit_beside_scratch = [&](uint32_t stages) {
    return uint64_t{plan.ring_end(stages)} + tuning.scratch <= tiles::kTileSharedLimit;
  };
  if (!fit_beside_scratch(2)) {
    return failure(Code::invalid_tuning, "tuning: ", tuning.scratch,
                   " bytes of scratch leave no room for 2 stages; the nearest legal number is ",
                   tiles::kTileSharedLimit - plan.ring_end(2));
  }
  uint32_t most = std::min(static_cast<uint32_t>(plan.max_depth), depth);
  while (!fit_beside_scratch(most)) --most;
  const uint32_t stages = tuning.stages == 0 ? most : tuning.stages;
  if (stages < 2 || stages > most) {
    return failure(Code::invalid_tuning, "tuning: ", stages, " stages of ", plan.stage_bytes,
                   " bytes beside ", tuning.scratch, " of scratch; the nearest legal number is ",
                   stages < 2 ? 2 : most);
  }
  const bool spans =
      shape.interval == 0 || (shape.interval == plan.mmas && !tiles::wgmma_begins_in_temporary(shape));
  if (tuning.group_tiles == 0 || (tuning.group_tiles > 1 && !spans)) {
    return failure(Code::invalid_tuning, "tuning: groups of ", tuning.group_tiles,
                   " K tiles; the nearest legal number is 1");
  }
  shape.cluster_m = static_cast<int>(tuning.cluster_m);
  shape.cluster_n = static_cast<int>(tuning.cluster_n);
  params.cluster_m = tuning.cluster_m;
  params.cluster_n = tuning.cluster_n;
  params.log2_cluster_m = static_cast<uint32_t>(std::countr_zero(tuning.cluster_m));
  params.row_mask = schedule::cluster_row_mask(tuning.cluster_m, tuning.cluster_n);
  params.stages = stages;
  params.group_tiles = tuning.group_tiles;
  return {};
}

pipeline_status check_groups(const tiles::WgmmaTileShape& shape, const TunedPipelineParams& params) {
  if (params.group_tiles > 1 && params.a_scales.data != nullptr) {
    return failure(Code::invalid_tuning, "tuning: groups of ", params.group_tiles,
                   " K tiles, each of which has its own scales; the nearest legal number is 1");
  }
  const bool shares = shape.interval != 0 && tiles::wgmma_tile_plan(shape).parts() > 1;
  if (!shares || params.group_tiles == 1 || params.group_tiles >= params.k_tiles) return {};
  // Group g stands between 1 and k_tiles.
  const bool below = params.group_tiles - 1 <= params.k_tiles - params.group_tiles;
  return failure(Code::invalid_tuning, "tuning: groups of ", params.group_tiles, " of ", params.k_tiles,
                 " K tiles, where parts share the temporary; the nearest legal number is ",
                 below ? 1 : params.k_tiles);
}

pipeline_status check_copied_lines(const OperandView& a, const OperandRules& rules) {
  constexpr int64_t kLimit = (int64_t{1} << 32) - 256;
  const int bytes = rules.element_bytes();
  if (a.columns * bytes < kLimit) return {};
  return failure(Code::extent_out_of_range, rules.name, ": ", a.columns, " columns of ", bytes,
                 " bytes, which are copied; the nearest legal value is ", (kLimit - 1) / bytes);
}

pipeline_status bind_second_operand(const OperandView& b, const OperandView& b2, const OperandRules& rules,
                                    EncodeFunction encode, PipelineParams& params) {
  OperandRules second = rules;
  second.name = "B2";
  if (pipeline_status status = check_operand(b2, second); !status) return status;
  if (b2.rows != b.rows) {
    return failure(Code::incompatible_k, "B2 has ", b2.rows, " rows and B ", b.rows, ": both are K");
  }
  if (b2.columns != b.columns) {
    return failure(Code::incompatible_n, "B2 has ", b2.columns, " columns and B ", b.columns, ": both are N");
  }
  if (b2.batches != b.batches || (b2.batch_stride == 0) != (b.batch_stride == 0)) {
    return failure(Code::incompatible_batches, "B2 has ", b2.batches, " matrices and B ", b.batches,
                   "; both go with the same batches of A");
  }
  if (params.k_tiles == 0) return {};
  return encode_operand(b2, second, encode, params.b2_map);
}

pipeline_status check_group_scales(bool of_a, bool of_b, bool required) {
  if (of_a && of_b) return {};
  if (!of_a && !of_b && !required) return {};
  return failure(Code::scale_mismatch, of_a ? "B" : "A", ": its scales are null",
                 required
                     ? ", and parts share the temporary; the nearest legal value is scales of both A and B"
                     : "; the nearest legal value is scales of both A and B, or of neither");
}

pipeline_status cluster_grid_error(uint32_t tiles_m, uint32_t tiles_n, uint32_t cluster_m,
                                   uint32_t cluster_n) {
  return failure(Code::cluster_grid_divisibility, tiles_m, " x ", tiles_n,
                 " tiles are not whole clusters of ", cluster_m, " x ", cluster_n,
                 "; the nearest legal grid above is ", round_up(tiles_m, cluster_m), " x ",
                 round_up(tiles_n, cluster_n));
}

pipeline_status bind_output(const OperandView& c, Element element, const SlabPlan& plan,
                            EncodeFunction encode, TensorMap& map) {
  OperandRules rules{"C", element, row_major, 16, {}, true};
  rules.layout.element_bytes = static_cast<uint32_t>(bytes_of(element));
  rules.layout.width = plan.width;
  rules.layout.swizzle = tiles::detail::swizzle_of_width(plan.width);
  rules.layout.box_rows = 16;
  if (pipeline_status status = check_operand(c, rules); !status) return status;
  if (c.rows == 0 || c.columns == 0 || c.batches == 0) return {};
  // A bulk store writes whole units of 16 bytes.
  if (c.columns * bytes_of(element) % 16 != 0) {
    return failure(Code::alignment_unfulfilled, "C: rows of ", c.columns, " elements (",
                   c.columns * bytes_of(element),
                   " bytes) do not end on a multiple of 16 bytes; the nearest legal "
                   "number is ",
                   round_up(c.columns * bytes_of(element), 16) / bytes_of(element));
  }
  return encode_operand(c, rules, encode, map);
}

pipeline_status check_elements(const OperandView& v, const char* name, int element_bytes, arrangement order) {
  const Element words = element_bytes == 1   ? Element::u8
                        : element_bytes == 2 ? Element::u16
                        : element_bytes == 4 ? Element::u32
                                             : Element::u64;
  return check_operand(v, {name, words, order, element_bytes, {}, false});
}

pipeline_status check_wide_elements(const OperandView& v, const char* name, DType type, arrangement order) {
  if (type != DType::f32 && type != DType::f16 && type != DType::bf16) {
    return failure(Code::unsupported_element, name, ": elements are ", name_of(type),
                   "; the nearest legal types are f32, f16 and bf16");
  }
  return check_elements(v, name, bits_of(type) / 8, order);
}

pipeline_status check_stored_elements(const OperandView& v, const char* name, DType type, int element_bytes,
                                      arrangement order) {
  const bool stored = element_bytes == 4   ? type == DType::f32
                      : element_bytes == 2 ? type == DType::f16 || type == DType::bf16
                                           : type == DType::e4m3 || type == DType::e5m2;
  if (!stored) {
    return failure(Code::unsupported_element, name, ": elements are ", name_of(type),
                   "; the nearest legal types are ",
                   element_bytes == 4   ? "f32"
                   : element_bytes == 2 ? "f16 and bf16"
                                        : "e4m3 and e5m2");
  }
  return check_elements(v, name, element_bytes, order);
}

}  // namespace tilewright::blas::detail
