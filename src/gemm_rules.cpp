#include "src/gemm_rules.h"

#include <array>

#include "tilewright/gemm.h"

namespace tilewright {
namespace {

constexpr auto kInvalid = ErrorCode::invalid_argument;
constexpr auto kUnsupported = ErrorCode::not_supported;
constexpr auto kAlignment = ErrorCode::alignment;
constexpr auto kRange = ErrorCode::out_of_range;

struct NumberedRule {
  RuleId id;
  Rule rule;
};

constexpr NumberedRule kTable[] = {
    {RuleId::enumerator_value,
     {"enumerator.value", "a type, a layout or another choice is an enumerator that its type declares",
      kInvalid}},
    {RuleId::extent_range,
     {"extent.range", "m, n, k and l are 0 to 2147483647 (bulk copies have signed 32-bit coordinates)",
      kRange}},
    {RuleId::type_ab,
     {"type.ab",
      "A and B are e4m3 or e5m2, s8 or u8, or both of one of f16, bf16, tf32, f32, f64, cf16, cbf16, ctf32, "
      "cf32 and cf64",
      kUnsupported}},
    {RuleId::type_c, {"type.c", "C of an FP8 product is f16, bf16 or f32", kUnsupported}},
    {RuleId::type_d, {"type.d", "D of an FP8 product is e4m3, e5m2, f16, bf16 or f32", kUnsupported}},
    {RuleId::type_f32, {"type.f32", "with A or B of f32, all of A, B, C and D are f32", kUnsupported}},
    {RuleId::type_d_tensor,
     {"type.d_tensor",
      "D of f16 operands is f16 or f32, of bf16 ones bf16 or f32, of tf32 ones f32, of f64 ones f64, of s8 "
      "and u8 ones s32 or f32; of complex ones the complex type of these parts",
      kUnsupported}},
    {RuleId::type_c_tensor,
     {"type.c_tensor", "C of f16, bf16, tf32, f64, s8, u8 and complex products has the type of D",
      kUnsupported}},
    {RuleId::layout_k_major,
     {"layout.k_major",
      "wgmma of FP8 reads K-major operands only: A is row-major and B column-major, so that K is contiguous",
      kUnsupported}},
    {RuleId::layout_c,
     {"layout.c",
      "C of a tensor-core product is stored as D is, row-major or column-major; a single row or column is "
      "both",
      kUnsupported}},
    {RuleId::block_operand, {"block.operand", "only A and B are block-scaled", kUnsupported}},
    {RuleId::ld_length,
     {"ld.length", "a leading dimension covers the row (or column) it strides over", kInvalid}},
    {RuleId::stride_range, {"stride.range", "a stride is below 2^40 bytes", kRange}},
    {RuleId::batch_stride_sign, {"batch_stride.sign", "a batch stride is not negative", kInvalid}},
    {RuleId::batch_stride_d, {"batch_stride.d", "the batches of D and of aux do not overlap", kInvalid}},
    {RuleId::operand_span,
     {"operand.span", "an operand spans less than 2^47 bytes (GPU virtual addresses)", kRange}},
    {RuleId::alignment_value,
     {"alignment.value", "an assumed alignment is a power of two and at least the size of an element",
      kInvalid}},
    {RuleId::interval_value,
     {"interval.value", "a promotion interval is 1, 2 or a multiple of 4 MMAs (a K tile has 4)", kInvalid}},
    {RuleId::interval_kernel,
     {"interval.kernel",
      "intervals 1 and 2 that do not cover K are built for 128x128 tiles of e4m3 operands under bulk loads, "
      "and "
      "intervals above 4 need a tile whose temporary accumulator is not shared",
      kUnsupported}},
    {RuleId::tile_built,
     {"tile.built", "a kernel is built for the tile, the types, the kind of load and the pipeline",
      kUnsupported}},
    {RuleId::cluster_shape, {"cluster.shape", "a cluster is 1x1, 2x1, 1x2 or 2x2 tiles", kInvalid}},
    {RuleId::cluster_copy,
     {"cluster.copy", "kernels without bulk loads, and FP32 kernels, run in clusters of 1x1", kUnsupported}},
    {RuleId::cluster_built,
     {"cluster.built",
      "kernels of f16, bf16, tf32, f64, s8, u8 and complex numbers run in clusters of the shape they are "
      "built "
      "with",
      kUnsupported}},
    {RuleId::cluster_resident,
     {"cluster.resident", "at least one cluster fits on the multiprocessors that may be used", kUnsupported}},
    {RuleId::swizzle_value, {"swizzle.value", "a raster strip is at least one cluster wide", kInvalid}},
    {RuleId::stages_value,
     {"stages.value",
      "the ring has 2 stages or more and fits in shared memory; kernels of other than FP8 operands have "
      "those "
      "they are built with",
      kInvalid}},
    {RuleId::splits_value,
     {"splits.value", "K is cut into 1 part or more, and into 1 but for f32 operands", kInvalid}},
    {RuleId::workspace_limit,
     {"workspace.limit", "a limit on the workspace is not negative and leaves a kernel for what was asked",
      kInvalid}},
    {RuleId::shape_static,
     {"shape.static",
      "a static shape is one of f32 operands whose M and N are divided by the tile of a kernel that is built "
      "without checks of them",
      kUnsupported}},
    {RuleId::pipeline_built,
     {"pipeline.built", "the pipeline without a producer warpgroup is built for f32 operands", kUnsupported}},
    {RuleId::scheduler_built,
     {"scheduler.built",
      "cluster launch control hands out the tiles of block-scaled products on sm_100a only", kUnsupported}},
    {RuleId::sms_value, {"sms.value", "the number of multiprocessors is 1 to 65536", kInvalid}},
    {RuleId::tiles_count,
     {"tiles.count", "D has fewer than 2^31 tiles, all batches and the padding to whole clusters together",
      kRange}},
    {RuleId::load_tma,
     {"load.tma",
      "bulk loads need bases, leading dimensions and batch strides of A and B that are multiples of 16 "
      "bytes; "
      "f32 operands are repacked instead, others loaded by ordinary loads",
      kAlignment}},
    {RuleId::store_tma,
     {"store.tma",
      "bulk stores need a base, rows, leading dimension and batch stride of D that are multiples of 16 "
      "bytes; "
      "FP32 kernels have none",
      kAlignment}},
    {RuleId::device_gpu,
     {"device.gpu",
      "f32 products need a GPU of compute capability 8.0 or later, all others of 9.0, and a build with CUDA",
      ErrorCode::no_device}},
    {RuleId::device_current,
     {"device.current", "a plan runs on the GPU that was current when it was made", ErrorCode::no_device}},
    {RuleId::pointer_null, {"pointer.null", "an operand that is read or written is not null", kInvalid}},
    {RuleId::pointer_alignment,
     {"pointer.alignment",
      "a base pointer is aligned as Operand::alignment promised, and one of factors or scales to 4 bytes",
      kAlignment}},
    {RuleId::pointer_in_place,
     {"pointer.in_place", "D may be C only with the same type and strides, and is never A or B", kInvalid}},
    {RuleId::pointer_workspace,
     {"pointer.workspace", "a plan that needs a workspace gets one, at a multiple of 256 bytes", kInvalid}},
    {RuleId::scale_device,
     {"scale.device", "device pointers scale_a, scale_b and scale_d are for FP8 operands only", kInvalid}},
    {RuleId::scale_mode,
     {"scale.mode",
      "scales of rows and columns, or of blocks, are for A and B of e4m3 without block scales and D of f16, "
      "bf16 or f32",
      kUnsupported}},
    {RuleId::scale_promotion,
     {"scale.promotion", "block scales are applied by promotion, every 4 MMAs (128 of K)", kUnsupported}},
    {RuleId::scale_stride, {"scale.stride", "a stride of scales is 0 or more and below 2^40 bytes", kRange}},
    {RuleId::epilogue_operands,
     {"epilogue.operands",
      "bias, activation, aux and amax_d are built for A and B both of f16 or of bf16, for e4m3 x e4m3, e4m3 "
      "x "
      "e5m2 and e5m2 x e4m3, with K contiguous in both and within reach of bulk loads (bases, leading "
      "dimensions and batch strides that are multiples of 16 bytes)",
      kUnsupported}},
    {RuleId::epilogue_sums,
     {"epilogue.sums",
      "with bias, activation, aux or amax_d, FP8 sums are promoted every 4 MMAs, and A and B have one scale "
      "each",
      kUnsupported}},
    {RuleId::epilogue_types, {"epilogue.types", "bias and aux are f16, bf16 or f32", kUnsupported}},
    {RuleId::epilogue_layout,
     {"epilogue.layout", "aux is stored as D is, row-major or column-major; a single row or column is both",
      kUnsupported}},
    {RuleId::epilogue_pointer,
     {"epilogue.pointer",
      "bias, aux and amax_d are given where the problem has them and only there, aligned to their elements; "
      "aux and amax_d are memory of their own, and bias is not D",
      kInvalid}},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kTable); ++i)
    if (static_cast<size_t>(kTable[i].id) != i) return false;
  return true;
}
static_assert(in_order());

constexpr auto kRules = [] {
  std::array<Rule, std::size(kTable)> rules{};
  for (size_t i = 0; i < rules.size(); ++i) rules[i] = kTable[i].rule;
  return rules;
}();

}  // namespace

std::span<const Rule> gemm_rules() { return kRules; }

Error broken(RuleId id, const std::string& subject, const std::string& found, const std::string& nearest) {
  const Rule& rule = kRules[static_cast<size_t>(id)];
  return {rule.code, rule.name,
          subject + ": " + found + ", but " + rule.text + "; nearest legal: " + nearest};
}

}  // namespace tilewright
