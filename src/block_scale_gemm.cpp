#include "src/block_scale_gemm.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "src/block_scale_maps.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

constexpr int64_t kExtentLimit = int64_t{1} << 31;
constexpr int64_t kTileLimit = int64_t{1} << 31;

bool launch_controlled(const BlockScaledProblem& p) {
  return p.scheduler == schedule::TileScheduler::cluster_launch_control;
}

// ---- the rules: each says what is wrong, or nothing

using Violation = std::optional<std::string>;

// f("A", operand, rows) until it returns something.
template <class F>
Violation first_operand(const BlockScaledProblem& p, F&& f) {
  if (Violation violation = f("A", p.a, p.m)) return violation;
  return f("B", p.b, p.n);
}

Violation extent(const BlockScaledProblem& p) {
  const std::pair<const char*, int64_t> extents[] = {
      {"M", p.m}, {"N", p.n}, {"K", p.k}, {"the batch count", p.batches}};
  for (const auto& [name, value] : extents) {
    if (value >= 0 && value < kExtentLimit) continue;
    return std::string(name) + " is " + text(value) + "; the nearest legal value is " +
           text(value < 0 ? 0 : kExtentLimit - 1);
  }
  return std::nullopt;
}

Violation formats(const BlockScaledProblem& p) {
  const bool nv_a = p.a.format == BlockFormat::nvfp4, nv_b = p.b.format == BlockFormat::nvfp4;
  if (nv_a == nv_b) return std::nullopt;
  return std::string(name_of(p.a.format)) + " x " + name_of(p.b.format) +
         ": their scales belong to 16 and to 32 elements; the nearest legal value is " + name_of(p.a.format) +
         " x " + name_of(p.a.format);
}

// A type that D or C may have.
Violation stored_type(const char* name, DType type) {
  if (type == DType::f16 || type == DType::bf16 || type == DType::f32) return std::nullopt;
  return std::string(name) + " is " + name_of(type) + "; the nearest legal value is " +
         name_of(bits_of(type) <= 16 ? DType::f16 : DType::f32);
}

Violation output(const BlockScaledProblem& p) { return stored_type("D", p.d_type); }

Violation source(const BlockScaledProblem& p) {
  if (p.beta == 0) return std::nullopt;
  if (p.c == nullptr) return "beta is not zero and there is no C";
  return stored_type("C", p.c_type);
}

Violation k_multiple(const BlockScaledProblem& p) {
  const int64_t depth = kernels::block_scaled_depth(p.a.format, p.b.format);
  const bool padded = beside_fp8(p.a, p) || beside_fp8(p.b, p);
  const int64_t multiple = padded ? 128 : depth;
  if (p.k % multiple == 0) return std::nullopt;
  const int64_t below = p.k / multiple * multiple, above = below + multiple;
  const bool down = below > 0 && (p.k - below < above - p.k || above >= kExtentLimit);
  const int64_t to = round_up(p.k, block_scaled_k_multiple);
  return "K is " + text(p.k) + ", which is not a multiple of " + text(multiple) +
         "; the nearest legal value is " + text(down ? below : above) +
         (to < kExtentLimit ? "; quantise() pads it to " + text(to) + " with zeros" : "");
}

Violation leading_dimension(const BlockScaledProblem& p) {
  return first_operand(p, [&](const char* name, const BlockScaledOperand& operand, int64_t) -> Violation {
    const int64_t multiple = (beside_fp8(operand, p) ? 32 : 16) * 8 / bits_of(element_type(operand.format));
    if (operand.ld >= p.k && operand.ld % multiple == 0 &&
        (p.batches == 1 || operand.batch_stride % multiple == 0))
      return std::nullopt;
    const bool rows = operand.ld >= p.k && operand.ld % multiple == 0;
    const int64_t value = rows ? operand.batch_stride : operand.ld;
    return std::string(name) + ": " + (rows ? "batch stride " : "leading dimension ") + text(value) +
           " elements; the nearest legal value is " +
           text(round_up(rows ? value : std::max(value, p.k), multiple));
  });
}

Violation scale_type_rule(const BlockScaledProblem& p) {
  if (p.k == 0) return std::nullopt;
  return first_operand(p, [](const char* name, const BlockScaledOperand& operand, int64_t) -> Violation {
    const DType found = operand.scales.index() == 0 ? DType::e8m0 : DType::e4m3;
    if (found == scale_type(operand.format)) return std::nullopt;
    return std::string(name) + " is " + name_of(operand.format) + " and its scales are " + name_of(found);
  });
}

Violation scale_shape(const BlockScaledProblem& p) {
  if (p.k == 0) return std::nullopt;
  return first_operand(p,
                       [&](const char* name, const BlockScaledOperand& operand, int64_t rows) -> Violation {
                         const ScaleShape& shape = shape_of(operand);
                         const int64_t columns = ceil_div(p.k, scale_vector(operand.format));
                         const int64_t batches = batches_of(operand, p);
                         if (shape.rows == rows && shape.columns >= columns && shape.batches == batches)
                           return std::nullopt;
                         return std::string(name) + ": scales of " + text(shape.batches) + " x " +
                                text(shape.rows) + " x " + text(shape.columns) + ", needed are " +
                                text(batches) + " x " + text(rows) + " x " + text(columns);
                       });
}

Violation null_pointer(const BlockScaledProblem& p) {
  if (p.m == 0 || p.n == 0 || p.batches == 0) return std::nullopt;
  if (p.d == nullptr) return "D is null";
  if (p.k == 0) return std::nullopt;
  return first_operand(p, [](const char* name, const BlockScaledOperand& operand, int64_t) -> Violation {
    const void* scales = std::visit([](const auto& s) -> const void* { return s.data(); }, operand.scales);
    if (operand.elements != nullptr && scales != nullptr) return std::nullopt;
    return std::string(name) + (operand.elements == nullptr ? " is null" : ": the scales are null");
  });
}

Violation output_stride(const BlockScaledProblem& p) {
  if (p.d_ld < p.n && p.m > 1)
    return "the leading dimension of D is " + text(p.d_ld) + "; the nearest legal value is " + text(p.n);
  const int64_t matrix = p.m == 0 || p.n == 0 ? 0 : (p.m - 1) * p.d_ld + p.n;
  if (p.batches <= 1 || p.d_batch_stride >= matrix) return std::nullopt;
  return "the batch stride of D is " + text(p.d_batch_stride) + "; the nearest legal value is " +
         text(matrix);
}

Violation tiles(const BlockScaledProblem& p) {
  const int64_t pairs = ceil_div(p.m, kernels::block_scaled_tile),
                columns = ceil_div(p.n, kernels::block_scaled_tile);
  const int64_t limit = launch_controlled(p) ? kTileLimit / 2 : kTileLimit;
  if (pairs * columns < limit && (p.batches == 0 || pairs * columns < limit / p.batches)) return std::nullopt;
  return text(pairs) + " x " + text(columns) + " tiles in " + text(p.batches) + " batches";
}

struct CheckedRule {
  BlockScaledRule rule;
  ErrorCode code;
  Violation (*violation)(const BlockScaledProblem&);
  bool of_pointers = false;  // and of the scales, which come with them
};

// A rule may rely on those before it.
constexpr CheckedRule kRules[] = {
    {{"block_scaled.extent", "M, N, K and the batch count are 0 to 2^31 - 1"},
     ErrorCode::out_of_range,
     extent},
    {{"block_scaled.formats", "both operands are nvfp4, or neither is"}, ErrorCode::not_supported, formats},
    {{"block_scaled.output", "D is f16, bf16 or f32"}, ErrorCode::not_supported, output},
    {{"block_scaled.source", "with beta, C is given and is f16, bf16 or f32"},
     ErrorCode::invalid_argument,
     source},
    {{"block_scaled.k_multiple",
      "K is a multiple of 32, of 64 when both operands are FP4, and of 128 for FP4 beside FP8"},
     ErrorCode::alignment,
     k_multiple},
    {{"block_scaled.leading_dimension",
      "rows and batches of A and B are multiples of 16 bytes apart, of 32 bytes for FP4 beside FP8, and rows "
      "do not "
      "overlap"},
     ErrorCode::alignment,
     leading_dimension},
    {{"block_scaled.scale_type", "mxfp8 and mxfp4 have e8m0 scales, nvfp4 has e4m3 scales"},
     ErrorCode::invalid_argument,
     scale_type_rule,
     true},
    {{"block_scaled.scale_shape",
      "the scales have the rows of their operand, its batches (one where all share it) and enough columns "
      "for K"},
     ErrorCode::invalid_argument,
     scale_shape,
     true},
    {{"block_scaled.null", "pointers to what is read or written are not null"},
     ErrorCode::invalid_argument,
     null_pointer,
     true},
    {{"block_scaled.output_stride", "rows and batches of D do not overlap"},
     ErrorCode::invalid_argument,
     output_stride},
    {{"block_scaled.tiles",
      "there are fewer than 2^31 tiles of 256 x 256, with cluster launch control (a pair of CTAs for each) "
      "2^30"},
     ErrorCode::out_of_range,
     tiles},
};

// What plan() asks for besides.
constexpr BlockScaledRule kPlanRules[] = {
    {"block_scaled.types",
     "A and B are both block-scaled, each with the element type of its format, and not of e5m2 elements; FP4 "
     "beside "
     "FP8 is B"},
    {"block_scaled.layout",
     "A is row-major and B column-major, so that K is contiguous; C and D are row-major"},
    {"block_scaled.alignment", "A and B begin at multiples of 16 bytes, of 32 for FP4 beside FP8"},
    {"block_scaled.options",
     "on sm_100a the tile is 256x256 on a cluster of 2x1, with five stages filled by bulk loads and K in one "
     "part"},
    {"block_scaled.multiprocessors", "there are two multiprocessors or more, for a pair of CTAs"},
    {"block_scaled.store",
     "bulk stores need a base, rows, a leading dimension and a batch stride of D of 16 bytes' multiples"},
    {"block_scaled.device",
     "block-scaled products run on a GPU of compute capability 10.0 or, dequantised to bf16 first, 9.0, and "
     "on "
     "the emulated machine as sm_100a or sm_90a"},
    {"block_scaled.scale_alignment", "scales begin at multiples of 16 bytes"},
    {"block_scaled.scalars", "alpha, beta and the scales of A, B and D are no device pointers"},
};

// With the rules of pointers if `bound`.
Status check(const BlockScaledProblem& p, bool bound) {
  for (const CheckedRule& checked : kRules) {
    if (!bound && checked.of_pointers) continue;
    if (const Violation violation = checked.violation(p)) {
      return Error{checked.code, checked.rule.name, *violation + " (" + checked.rule.requirement + ")"};
    }
  }
  return std::nullopt;
}

}  // namespace

const std::vector<BlockScaledRule>& block_scaled_rules() {
  static const std::vector<BlockScaledRule> rules = [] {
    std::vector<BlockScaledRule> list;
    for (const CheckedRule& checked : kRules) list.push_back(checked.rule);
    list.insert(list.end(), std::begin(kPlanRules), std::end(kPlanRules));
    return list;
  }();
  return rules;
}

Error block_scaled_error(std::string_view rule, const std::string& found) {
  for (const BlockScaledRule& known : kPlanRules) {
    if (rule == known.name)
      return {rule == "block_scaled.device" ? ErrorCode::no_device : ErrorCode::not_supported, known.name,
              found + " (" + known.requirement + ")"};
  }
  return {ErrorCode::not_supported, std::string(rule), found};
}

Status check_block_scaled(const BlockScaledProblem& p) { return check(p, false); }
Status check_bound_block_scaled(const BlockScaledProblem& p) { return check(p, true); }

// A TMA store writes 16 bytes at a time, also at the end of a row.
bool stores_in_bulk(const BlockScaledProblem& p, uintptr_t d_address) {
  const int64_t bytes = bits_of(p.d_type) / 8;
  const bool batches = p.batches == 1 || p.d_batch_stride * bytes % 16 == 0;
  const bool rows = p.m == 1 || p.d_ld * bytes % 16 == 0;
  return p.bulk_store && p.n * bytes % 16 == 0 && rows && batches && d_address % 16 == 0;
}

schedule::TileSchedule block_scaled_tiles(const BlockScaledProblem& p) {
  return schedule::TileSchedule::make(static_cast<uint32_t>(ceil_div(p.m, kernels::block_scaled_cta_rows)),
                                      static_cast<uint32_t>(ceil_div(p.n, kernels::block_scaled_tile)),
                                      static_cast<uint32_t>(p.batches), 2, 1, p.raster,
                                      static_cast<uint32_t>(p.strip));
}

uint32_t block_scaled_grid(const BlockScaledProblem& p, uint32_t clusters, int multiprocessors) {
  const auto pairs = static_cast<uint32_t>(std::max(1, multiprocessors / 2));
  return 2 * (launch_controlled(p) ? clusters : std::min(clusters, pairs));
}

Expected<BoundBlockScaled> bind_block_scaled(const BlockScaledProblem& p, const EncodeMap& encode,
                                             int multiprocessors) {
  if (Status error = check(p, true)) return *error;
  BoundBlockScaled bound{};
  bound.id = {p.a.format, p.b.format, bits_of(p.d_type) / 8, p.overlap};
  if (p.m == 0 || p.n == 0 || p.batches == 0) return bound;

  kernels::BlockScaledStoreParams& out = bound.params.store;
  out.m = static_cast<uint32_t>(p.m);
  out.n = static_cast<uint32_t>(p.n);
  out.alpha = p.k == 0 ? 0.0f : p.alpha;
  out.beta = p.beta;
  out.bias = p.bias;
  out.c = p.c;
  out.c_ld = p.c_ld;
  out.c_batch_stride = p.c_batch_stride;
  out.c_type = p.c_type;
  out.d = p.d;
  out.d_ld = p.d_ld;
  out.d_batch_stride = p.d_batch_stride;
  out.d_type = p.d_type;
  out.d_tma = stores_in_bulk(p, std::bit_cast<uintptr_t>(p.d));
  bound.params.tiles = {block_scaled_tiles(p), p.scheduler};
  if (Status error = encode_block_scaled_operands(p, encode, bound.params.operands)) return *error;
  if (out.d_tma)
    if (Status error = encode_block_scaled_output(p, encode, out.d_map)) return *error;
  bound.grid_ctas = block_scaled_grid(p, bound.params.tiles.tiles.clusters_total, multiprocessors);
  return bound;
}

}  // namespace tilewright
