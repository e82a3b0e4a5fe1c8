// What each path asks of a descriptor. One table: it picks the path, makes the static_asserts of RequirePath,
// and is what explain() prints.
#pragma once

#include <array>

#include "tilewright/mainloop/wgmma_tile_layout.h"
#include "tilewright/pipeline/descriptor/facts.h"

namespace tilewright::blas {
namespace detail {

constexpr bool wgmma_multiplies(Element a, Element b, Element c) {
  if (is_float8(a) && is_float8(b)) return c == Element::f32 || c == Element::f16;
  if (is_int8(a) && is_int8(b)) return c == Element::s32;
  if (a != b) return false;
  if (a == Element::f16) return c == Element::f32 || c == Element::f16;
  return (a == Element::bf16 || a == Element::tf32) && c == Element::f32;
}

/// Products that mma.sync has from this architecture on.
constexpr bool mma_sync_multiplies(Element a, Element b, Element c, int sm) {
  if (is_float8(a) && is_float8(b)) return sm >= 890 && (c == Element::f32 || c == Element::f16);
  if (a == Element::f64) return b == Element::f64 && c == Element::f64;
  return wgmma_multiplies(a, b, c);
}

/// Products of elements with scales that tcgen05 has.
constexpr bool is_scaled_element(Element e) { return is_float8(e) || e == Element::e2m1; }
constexpr bool tcgen05_multiplies(const Facts& f) {
  if (!f.is_scaled()) return wgmma_multiplies(f.a, f.b, f.c);
  return is_scaled_element(f.a) && is_scaled_element(f.b) && f.c == Element::f32;
}
/// Scales that go with them: of four bits also 16 elements to an e4m3.
constexpr bool has_scales_for(const Facts& f) {
  if (!f.is_scaled() || (f.scale_vector == 32 && f.scale == Element::e8m0)) return true;
  return f.scale_vector == 16 && f.scale == Element::e4m3 && f.a == Element::e2m1 && f.b == Element::e2m1;
}

constexpr bool is_block_of_warpgroups(int threads) {
  return threads == 128 || threads == 256 || threads == 512 || threads == 1024;
}

/// Granularity 0: threads that block_dim refuses have none.
constexpr bool divides_tile(int granularity, int extent) {
  return granularity == 0 || extent % granularity == 0;
}

constexpr tiles::WgmmaTilePlan plan_of(const Facts& f) { return tiles::wgmma_tile_plan(f.wgmma_shape()); }
constexpr tiles::MmaSyncPlan mma_sync_plan_of(const Facts& f) {
  return tiles::mma_sync_plan(f.mma_sync_shape());
}

constexpr tiles::SimtBlockPlan simt_block_plan_of(const Facts& f) {
  return tiles::simt_block_plan(f.simt_block_shape());
}

/// Numbers whose complex products mma.sync sums: negation is exact, both parts fill whole registers.
constexpr bool mma_sync_has_complex(Element e) {
  return is_float16(e) || e == Element::tf32 || e == Element::f64;
}

/// Whether every operand that blocks of the cluster have in common is multicast.
constexpr bool shares_all(const Facts& f) {
  const bool a = f.cluster_n == 1 || tiles::wgmma_layout_a(f.wgmma_shape()).shares > 1;
  const bool b = f.cluster_m == 1 || tiles::wgmma_layout_b(f.wgmma_shape()).shares > 1;
  return a && b;
}

/// Whether the producer warpgroup can copy the operands.
constexpr bool copies_input(const Facts& f) {
  return f.products == 1 && !f.is_split() && f.k_major_a() && f.k_major_b() &&
         f.k * f.stage_bytes_a() == 128 && f.cluster_m * f.cluster_n == 1;
}
/// Whether sums of K tiles can be scaled: each part has one scale of B, and the first group is scaled alone.
constexpr bool scales_promotion(const Facts& f) {
  const tiles::WgmmaTilePlan p = plan_of(f);
  return is_float8(f.a) && f.interval == 4 && f.k == tiles::kScaleColumns && p.groups_n == 1 &&
         f.products == 1 && f.n <= 4 * tiles::kScaleColumns && p.part_n <= tiles::kScaleColumns &&
         tiles::kScaleColumns % p.part_n == 0 &&
         (p.parts() == 1 || tiles::wgmma_begins_in_temporary(f.wgmma_shape()));
}

}  // namespace detail

// X(path, name, needed, condition, found): `condition` and `found` see the facts as `f`; `found` is text for
// a person and is only used in src/pipeline_explain.cpp. A rule may rely on those above it.
// clang-format off
#define TILEWRIGHT_PIPELINE_RULES(X)                                                                          \
  X(wgmma, "wgmma.pipeline", "WithPipeline()", f.with_pipeline, "no WithPipeline()")                          \
  X(wgmma, "wgmma.streaming", "EnableInputStreaming(), or CopiedInput()",                         \
    f.input_streaming != f.copied_input, f.input_streaming ? "both of them" : "no EnableInputStreaming()")        \
  X(wgmma, "wgmma.arch", "SM<900, arch_specific>()", f.sm == 900 && f.modifier == arch_specific, sm_text(f))  \
  X(wgmma, "wgmma.block_scale", "no BlockScale: only sm_100a multiplies scales", !f.is_scaled(),                \
    block_scale_text(f))                                                                                      \
  X(wgmma, "wgmma.type", "Type<type::real>()", !f.is_complex, "Type<type::complex>()")                        \
  X(wgmma, "wgmma.mantissa_bits", "RequiredMantissaBits only of float (1 to 23): FP64 is native on mma_sync", \
    f.mantissa_bits == 0 || f.is_split(),                                                                     \
    "RequiredMantissaBits<" + std::to_string(f.mantissa_bits) + ">() of " + precision_text(f))                \
  X(wgmma, "wgmma.precision",                                                                                 \
    "f16 with f16 or f32 accumulators, bf16 with f32, tf32 with f32, s8 and u8 with s32, e4m3 and e5m2 in "   \
    "any pairing with f16 or f32; float with RequiredMantissaBits",                                           \
    f.is_split() || detail::wgmma_multiplies(f.a, f.b, f.c), precision_text(f))                               \
  X(wgmma, "wgmma.alignment",                                                                                 \
    "A and B aligned to 16 bytes (MaxAlignment(), or Alignment<16, 16, ...>()); any with "                    \
    "RequiredMantissaBits or CopiedInput()",                                                                  \
    f.is_split() || f.copied_input || (f.a_alignment == 16 && f.b_alignment == 16), alignment_text(f))                          \
  X(wgmma, "wgmma.arrangement",                                                                               \
    "K-major operands (row_major A, col_major B) for tf32 and the 8-bit types; f16, bf16 and float with "     \
    "RequiredMantissaBits may be either",                                                                     \
    is_float16(f.a) || f.is_split() || (f.k_major_a() && f.k_major_b()), arrangement_text(f))                 \
  X(wgmma, "wgmma.products", "one product with RequiredMantissaBits", f.products == 1 || !f.is_split(),       \
    "Products<" + std::to_string(f.products) + ">()")                                                         \
  X(wgmma, "wgmma.block_dim", "BlockDim of 128, 256, 512 or 1024 threads: whole warpgroups, a power of two",  \
    detail::is_block_of_warpgroups(f.threads), threads_text(f))                                               \
  X(wgmma, "wgmma.producer", "BlockDim of at most 512 threads: a block of 1024 has no room for the producer " \
    "warpgroup", f.threads + 128 <= 1024, threads_text(f))                                                    \
  X(wgmma, "wgmma.tile_m",                                                                                    \
    "M in multiples of 64 with 128 threads, of 128 with 256 or 512, of 256 with 1024",                                          \
    detail::divides_tile(tiles::wgmma_granularity_m(f.threads), f.m),                                      \
    nearest_text("M", f.m, tiles::wgmma_granularity_m(f.threads)))                                         \
  X(wgmma, "wgmma.tile_n", "N in multiples of 8 with 128 or 256 threads, of 16 with 512 or 1024",                     \
    detail::divides_tile(tiles::wgmma_granularity_n(f.threads), f.n),                                      \
    nearest_text("N", f.n, tiles::wgmma_granularity_n(f.threads)))                                         \
  X(wgmma, "wgmma.tile_k",                                                                                    \
    "K in multiples of 16 for 16-bit inputs, of 8 for tf32 and float (16 with SplitInto<f16>), of 32 for "    \
    "8-bit inputs",                                                                                           \
    detail::divides_tile(32 / f.stage_bytes_a(), f.k), nearest_text("K", f.k, 32 / f.stage_bytes_a()))        \
  X(wgmma, "wgmma.accumulation",                                                                              \
    "Accumulation<promoted<n>>() only with float accumulators, and no Accumulation<fast>() with "             \
    "RequiredMantissaBits",                                                                                   \
    f.interval != 0 ? f.c == Element::f32 : !f.is_split(), precision_text(f))                                 \
  X(wgmma, "wgmma.registers",                                                                                 \
    "accumulators of a thread, with the temporary of a promoted tile, within what the block leaves it: 192 "  \
    "registers with 128 or 256 threads, 64 with 512; a smaller tile or more threads",                         \
    detail::plan_of(f).live_registers <= detail::plan_of(f).register_limit, registers_text(f))                \
  X(wgmma, "wgmma.interval",                                                                                  \
    "a promotion interval that divides the MMAs of a K tile (32 bytes of K each), or, where a warpgroup "     \
    "computes one part, is a multiple of them",                                                               \
    tiles::wgmma_interval_fits(detail::plan_of(f), f.interval), interval_text(f))                          \
  X(wgmma, "wgmma.stage",                                                                                     \
    "one pipeline stage that fits in shared memory (232448 bytes); a smaller tile or a narrower type",        \
    detail::plan_of(f).max_depth >= 1, stage_text(f))                                                         \
  X(wgmma, "wgmma.multicast",                                                                                 \
    "with RequireMulticast(): power-of-two extents of BlocksPerCluster, and whole patterns of 8 rows of an "  \
    "operand for every block that shares it",                                                                 \
    !f.require_multicast || detail::shares_all(f), cluster_text(f))                                           \
  X(wgmma, "wgmma.tunable",                                                                                   \
    "with Tunable: one product, no BlocksPerCluster; K-major tiles of at most 256 x 256 with rows of 128 "    \
    "bytes and at most 256 threads; clusters that are powers of two, by 8 of which M and N can be divided",   \
    !f.tunable || (!f.has_cluster && !f.is_split() && tiles::wgmma_tunable_fits(f.wgmma_shape())),            \
    rows_text(f) + ", " + cluster_text(f))                                                                    \
  X(wgmma, "wgmma.copied_input",                                                                              \
    "with CopiedInput(): one product, K-major rows of 128 bytes, no cluster",                                 \
    !f.copied_input || detail::copies_input(f), rows_text(f) + ", " + cluster_text(f))                        \
  X(wgmma, "wgmma.scaled_promotion",                                                                          \
    "with ScaledPromotion(): FP8 with promoted<4> and K tiles of 128; one part of 64 or 128 columns to a "    \
    "warpgroup, or two of a tile of 128 x 256",                                                               \
    !f.scaled_promotion || detail::scales_promotion(f),                                                       \
    rows_text(f) + ", promoted<" + std::to_string(f.interval) + ">")                                          \
                                                                                                              \
  X(tcgen05, "tcgen05.pipeline", "WithPipeline()", f.with_pipeline, "no WithPipeline()")                      \
  X(tcgen05, "tcgen05.streaming", "EnableInputStreaming()", f.input_streaming, "no EnableInputStreaming()")   \
  X(tcgen05, "tcgen05.wgmma_only", "no Tunable, CopiedInput or ScaledPromotion: wgmma has them",              \
    !f.is_wgmma_only(), "one of them")                                                                        \
  X(tcgen05, "tcgen05.arch", "SM<1000, arch_specific>()", f.sm == 1000 && f.modifier == arch_specific,        \
    sm_text(f))                                                                                               \
  X(tcgen05, "tcgen05.type", "Type<type::real>()", !f.is_complex, "Type<type::complex>()")                    \
  X(tcgen05, "tcgen05.precision",                                                                             \
    "f16 with f16 or f32 accumulators, bf16 with f32, tf32 with f32, s8 and u8 with s32, e4m3 and e5m2 in "   \
    "any pairing with f16 or f32; with BlockScale e4m3, e5m2 and e2m1 in any pairing with f32",               \
    detail::tcgen05_multiplies(f), precision_text(f))                                                         \
  X(tcgen05, "tcgen05.block_scale",                                                                           \
    "BlockScale<32, e8m0>(), or of e2m1 x e2m1 also <16, e4m3>", detail::has_scales_for(f),                   \
    block_scale_text(f))                                                                                      \
  X(tcgen05, "tcgen05.alignment", "A and B aligned to 16 bytes", f.a_alignment == 16 && f.b_alignment == 16,  \
    alignment_text(f))                                                                                        \
  X(tcgen05, "tcgen05.arrangement", "with BlockScale: K-major operands (row_major A, col_major B)",           \
    !f.is_scaled() || (f.k_major_a() && f.k_major_b()), arrangement_text(f))                                  \
  X(tcgen05, "tcgen05.tile",                                                                                  \
    "with BlockScale: Size<256, 256, 128>() for a pair of blocks, of e2m1 x e2m1 Size<256, 256, 256>()",      \
    !f.is_scaled() || (f.m == 256 && f.n == 256 && f.k == f.scaled_tile_k()), tile_text(f))                   \
  X(tcgen05, "tcgen05.cluster", "with BlockScale: BlocksPerCluster<2, 1>()",                                  \
    !f.is_scaled() || (f.cluster_m == 2 && f.cluster_n == 1), cluster_text(f))                                \
  X(tcgen05, "tcgen05.block_dim", "with BlockScale: BlockDim of 128 threads, which read tensor memory",       \
    !f.is_scaled() || f.threads == 128, threads_text(f))                                                      \
  X(tcgen05, "tcgen05.products", "one product with BlockScale", !f.is_scaled() || f.products == 1,            \
    "Products<" + std::to_string(f.products) + ">()")                                                         \
                                                                                                              \
  X(mma_sync, "mma_sync.arch", "SM<800>() or later", f.sm >= 800, sm_text(f))                                 \
  X(mma_sync, "mma_sync.wgmma_only", "no Tunable, CopiedInput or ScaledPromotion: wgmma has them",            \
    !f.is_wgmma_only(), "one of them")                                                                        \
  X(mma_sync, "mma_sync.block_scale", "no BlockScale: only sm_100a multiplies scales", !f.is_scaled(),          \
    block_scale_text(f))                                                                                      \
  X(mma_sync, "mma_sync.precision",                                                                           \
    "f16 with f16 or f32 accumulators, bf16 with f32, tf32 with f32, s8 and u8 with s32, e4m3 and e5m2 in "   \
    "any pairing with f16 or f32 from SM<890> on, double; float is FP32 and never multiplied as TF32",        \
    detail::mma_sync_multiplies(f.a, f.b, f.c, f.sm), precision_text(f))                                      \
  X(mma_sync, "mma_sync.complex", "with Type<type::complex>(): f16, bf16, tf32 or double",                      \
    !f.is_complex || detail::mma_sync_has_complex(f.a), precision_text(f))                                    \
  X(mma_sync, "mma_sync.accumulation", "Accumulation<promoted<n>>() only with float accumulators",            \
    f.interval == 0 || f.c == Element::f32, precision_text(f))                                                \
  X(mma_sync, "mma_sync.products", "one product", f.products == 1,                                            \
    "Products<" + std::to_string(f.products) + ">()")                                                         \
  X(mma_sync, "mma_sync.multicast", "no RequireMulticast(): BlocksPerCluster is ignored",                     \
    !f.require_multicast, "RequireMulticast()")                                                               \
  X(mma_sync, "mma_sync.block_dim", "BlockDim of whole warps", f.threads % 32 == 0, threads_text(f))          \
  X(mma_sync, "mma_sync.producer",                                                                            \
    "with WithPipeline() a BlockDim of at most 896 threads: a block of more has no room for the four warps "  \
    "that bring operands",                                                                                    \
    !f.with_pipeline || f.threads + tiles::kMmaSyncProducers <= 1024, threads_text(f))                                            \
  X(mma_sync, "mma_sync.tile_m", "M in multiples of 16; any without WithPipeline()",                               \
    !f.with_pipeline || f.m % 16 == 0, nearest_text("M", f.m, 16))                                            \
  X(mma_sync, "mma_sync.tile_n", "N in multiples of 8, of 16 for row_major B of 8-bit inputs; any without WithPipeline()", \
    !f.with_pipeline || f.n % tiles::mma_sync_columns(f.mma_sync_shape()) == 0,                                                   \
    nearest_text("N", f.n, tiles::mma_sync_columns(f.mma_sync_shape())))                                      \
  X(mma_sync, "mma_sync.tile_k",                                                                              \
    "K in multiples of 16 for 16-bit inputs, of 8 for tf32 and double, of 32 for 8-bit inputs; half of that " \
    "for complex ones; any without WithPipeline()", !f.with_pipeline || f.k % f.mma_sync_shape().step() == 0,                                                 \
    nearest_text("K", f.k, f.mma_sync_shape().step()))                                                        \
  X(mma_sync, "mma_sync.warps",                                                                               \
    "a grid of all warps over the tile in which each has whole MMAs: 16 rows, and columns as tile_n has them",\
    detail::mma_sync_plan_of(f).warps_m != 0, mma_sync_warps_text(f))                                         \
  X(mma_sync, "mma_sync.registers",                                                                           \
    "accumulators and operands of a thread within what the block leaves it: 215 registers with at most 128 "  \
    "threads, 128 with 256, 56 with 512 (without WithPipeline() 215, 215, 88, and 24 with 1024), and 16 "      \
    "fewer for FP8 on SM<900>; a smaller tile or more threads",                                               \
    detail::mma_sync_plan_of(f).live_registers <= detail::mma_sync_plan_of(f).thread_registers,               \
    mma_sync_registers_text(f))                                                                               \
  X(mma_sync, "mma_sync.stage",                                                                               \
    "one pipeline stage that fits in shared memory: 232448 bytes on SM<900> and SM<1000>, 166912 on SM<800>, " \
    "101376 on others; a smaller tile or a narrower type",                                                    \
    detail::mma_sync_plan_of(f).max_depth >= 1, mma_sync_stage_text(f))                                       \
                                                                                                              \
  X(simt, "simt.arch", "SM<900, arch_specific>(); without WithPipeline() SM<800>() or later",                  \
    f.with_pipeline ? f.sm == 900 && f.modifier == arch_specific : f.sm >= 800, sm_text(f))                   \
  X(simt, "simt.wgmma_only", "no Tunable, CopiedInput or ScaledPromotion: wgmma has them",                    \
    !f.is_wgmma_only(), "one of them")                                                                        \
  X(simt, "simt.block_scale", "no BlockScale: only sm_100a multiplies scales", !f.is_scaled(),          \
    block_scale_text(f))                                                                                      \
  X(simt, "simt.precision", "float inputs with float accumulators",                                           \
    f.a == Element::f32 && f.b == Element::f32 && f.c == Element::f32, precision_text(f))                     \
  X(simt, "simt.mantissa_bits", "no RequiredMantissaBits: FP32 arithmetic has 23 of its own",                 \
    f.mantissa_bits == 0, "RequiredMantissaBits<" + std::to_string(f.mantissa_bits) + ">()")                  \
  X(simt, "simt.products", "one product", f.products == 1,                                                    \
    "Products<" + std::to_string(f.products) + ">()")                                                         \
  X(simt, "simt.block_dim", "BlockDim of 128 threads: one warpgroup; without WithPipeline() of whole warps",   \
    f.with_pipeline ? f.threads == 128 : f.threads % 32 == 0, threads_text(f))                                \
  X(simt, "simt.tile_m", "M of 32, 64 or 128, of complex numbers 32 or 64; any without WithPipeline()",       \
    !f.with_pipeline || tiles::is_simt_tile_m(f.m, f.is_complex),                                                                 \
    f.is_complex ? nearest_of("M", f.m, {32, 64}) : nearest_of("M", f.m, {32, 64, 128}))                      \
  X(simt, "simt.tile_n", "N of 128; any without WithPipeline()", !f.with_pipeline || f.n == 128, nearest_of("N", f.n, {128}))                 \
  X(simt, "simt.tile_k", "K of 8, 16, 24 or 32, of complex numbers 4, 8, 12 or 16; any without WithPipeline()", \
    !f.with_pipeline || tiles::is_simt_tile_k(f.simt_shape().k),                                                                  \
    f.is_complex ? nearest_of("K", f.k, {4, 8, 12, 16}) : nearest_of("K", f.k, {8, 16, 24, 32}))              \
  X(simt, "simt.registers",                                                                                   \
    "without WithPipeline() accumulators and operands of a thread within what the block leaves it: 215 "      \
    "registers with at most 256 threads, 88 with 512, 24 with 1024; a smaller tile or more threads",          \
    f.with_pipeline || detail::simt_block_plan_of(f).live_registers <=                                        \
                           detail::simt_block_plan_of(f).thread_registers, simt_registers_text(f))            \
  X(simt, "simt.accumulation", "no Accumulation<promoted<n>>(): every product is added in FP32",              \
    f.interval == 0, "promoted<" + std::to_string(f.interval) + ">")                                          \
  X(simt, "simt.multicast", "no RequireMulticast(): BlocksPerCluster is ignored", !f.require_multicast,       \
    "RequireMulticast()")
// clang-format on

/// One rule of a path.
struct PathRule {
  path of;
  const char* name;    // stable
  const char* needed;  // what would satisfy it
  bool (*holds)(const Facts& f);
};

namespace detail {

#define TILEWRIGHT_X(PATH, NAME, NEEDED, CONDITION, ...) 1 +
inline constexpr int kRuleCount = TILEWRIGHT_PIPELINE_RULES(TILEWRIGHT_X) 0;
#undef TILEWRIGHT_X

}  // namespace detail

/// Every rule of every path; those of one path in the order in which they are checked.
#define TILEWRIGHT_X(PATH, NAME, NEEDED, CONDITION, ...) \
  PathRule{path::PATH, NAME, NEEDED, [](const Facts& f) { return static_cast<bool>(CONDITION); }},
inline constexpr std::array<PathRule, detail::kRuleCount> pipeline_rules{
    {TILEWRIGHT_PIPELINE_RULES(TILEWRIGHT_X)}};
#undef TILEWRIGHT_X

/// The first rule of a path that a descriptor breaks, as an index into pipeline_rules; -1 when none is.
constexpr int first_broken_rule(path p, const Facts& f) {
  for (int i = 0; i < detail::kRuleCount; ++i) {
    const PathRule& rule = pipeline_rules[static_cast<size_t>(i)];
    if (rule.of == p && !rule.holds(f)) return i;
  }
  return -1;
}

/// Whether kernels of a path exist in this version. A descriptor may resolve to one that is not built: its
/// pipeline then does not compile, and nothing else runs in its place.
constexpr bool is_path_built(path p, bool scaled = false) {
  return p == path::wgmma || p == path::mma_sync || p == path::simt || (p == path::tcgen05 && scaled);
}

/// The path that carries a descriptor out: the first allowed one whose rules all hold.
constexpr path choose_path(const Facts& f) {
  for (int i = 0; i < path_count; ++i) {
    const auto p = static_cast<path>(i);
    if ((f.allowed >> i & 1) != 0 && first_broken_rule(p, f) < 0) return p;
  }
  return path::none;
}

}  // namespace tilewright::blas
