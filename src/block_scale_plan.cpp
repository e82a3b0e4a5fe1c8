#include "src/block_scale_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/gemm_grid.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

using kernels::BlockScaledKernelId;

constexpr int kBlackwell = 100;

Error broken_block(std::string_view rule, const std::string& found) {
  return block_scaled_error("block_scaled." + std::string(rule), found);
}

// What a pointer to A or B must be a multiple of: bulk copies of padded FP4 need 32 bytes.
int needed_alignment(const Operand& operand, const Operand& other) {
  return is_fp4(*operand.block) && !is_fp4(*other.block) ? 32 : 16;
}

Status check_types(const Problem& p) {
  for (const auto& [name, operand] : {std::pair{"A", &p.a}, std::pair{"B", &p.b}}) {
    if (!operand->block) return broken_block("types", std::string(name) + " is not block-scaled");
    if (operand->type != element_type(*operand->block))
      return broken_block("types", std::string(name) + ": type " + name_of(operand->type) + " for " +
                                       name_of(*operand->block) + "; the nearest legal value is " +
                                       name_of(element_type(*operand->block)));
    if (*operand->block == BlockFormat::mxfp8_e5m2)
      return broken_block("types", std::string(name) + " is mxfp8_e5m2; the nearest legal value is mxfp8");
  }
  // nvfp4 beside another format: block_scaled.formats.
  if (*p.a.block == BlockFormat::mxfp4 && !is_fp4(*p.b.block))
    return broken_block("types", std::string(name_of(*p.a.block)) + " x " + name_of(*p.b.block) +
                                     "; the nearest legal value is " + name_of(*p.b.block) + " x " +
                                     name_of(*p.a.block) + ", which computes the transpose of D");
  return {};
}

Status check_layouts(const Problem& p) {
  if (p.a.layout != Layout::row_major)
    return broken_block("layout", "A is column-major; the nearest legal value is row-major");
  if (p.b.layout != Layout::column_major)
    return broken_block("layout", "B is row-major; the nearest legal value is column-major");
  if (p.d.layout != Layout::row_major || (p.beta != 0 && p.c.layout != Layout::row_major))
    return broken_block("layout", "C or D is column-major; the nearest legal value is row-major");
  return {};
}

Status check_alignments(const Problem& p) {
  const auto check = [](const char* name, int found, int needed) -> Status {
    if (found >= needed && found % needed == 0) return {};
    return broken_block("alignment", std::string(name) + ": alignment " + text(found) +
                                         "; the nearest legal value is " + text(needed));
  };
  if (Status s = check("A", p.a.alignment, needed_alignment(p.a, p.b))) return s;
  return check("B", p.b.alignment, needed_alignment(p.b, p.a));
}

// Rows of A, or columns of B. The stride of a single one is never used, but must be legal.
BlockScaledOperand operand_of(BlockFormat format, const KernelOperand& o, int64_t k) {
  BlockScaledOperand out;
  out.format = format;
  out.ld = o.rows > 1 ? o.row_stride : k;
  out.batch_stride = o.batch_stride;
  return out;
}

KernelOperand kernel_operand(char name, const Operand& o, const Strides& s, int64_t rows, int alignment) {
  return {.name = name,
          .type = o.type,
          .rows = rows,
          .row_stride = s.row,
          .k_stride = s.column,
          .batch_stride = s.batch,
          .alignment = alignment};
}

// The rules of shapes; C is not known yet.
Status check_shapes(BlockScaledProblem unbound) {
  const bool reads_c = unbound.beta != 0;
  unbound.c = reads_c ? &unbound : nullptr;
  return check_block_scaled(unbound);
}

Status check_options(const Options& o) {
  const auto refuse = [](const std::string& found) { return broken_block("options", found); };
  if (o.tile && *o.tile != Shape2{256, 256}) return refuse("tile " + text(*o.tile));
  if (o.cluster && *o.cluster != Shape2{2, 1}) return refuse("cluster " + text(*o.cluster));
  if (o.stages && *o.stages != kernels::block_scaled_stages) return refuse(text(*o.stages) + " stages");
  if (o.splits && *o.splits != 1) return refuse("K in " + text(*o.splits) + " parts");
  if (o.load == LoadKind::copy) return refuse("ordinary loads");
  if (o.pipeline == PipelineKind::async) return refuse("stages filled by the threads that multiply");
  if (o.static_shape) return refuse("a static shape");
  return {};
}

std::string kernel_name(const BlockScaledKernelId& id) {
  return std::string("block_scaled_") + name_of(id.a) + "_" + name_of(id.b) + "_o" + text(id.out_bytes) +
         (id.overlap ? "_overlap" : "_single");
}

// Multiprocessors for pairs of CTAs.
Expected<int> multiprocessors_of(const PlanRequest& r, int64_t pair_tiles) {
  const int64_t pairs = working_ctas(r.target, r.options, pair_tiles, 1, 1);
  const bool chosen = r.target.device == Device::emulator && !r.options.max_sms && r.target.sms == 0;
  const int64_t count = chosen ? 2 * std::min<int64_t>(pairs, kLargestChip / 2) : pairs;
  if (count < 2)
    return broken_block("multiprocessors", text(count) + " multiprocessor; the nearest legal value is 2");
  return static_cast<int>(count);
}

void set_info(const detail::BoundBlockScale& bound, PlanInfo& info) {
  const BlockScaledKernelId& id = bound.kernel->id;
  info.kernel = kernel_name(id);
  info.path = "tcgen05";
  info.why = id.overlap ? "two accumulators share the columns that the scales take"
                        : "one accumulator, as asked for";
  info.tile = {kernels::block_scaled_tile, kernels::block_scaled_tile};
  info.cluster = {2, 1};
  info.tile_k = kernels::block_scaled_tile_k(id.a, id.b);
  info.stages = kernels::block_scaled_stages;
  info.shared_bytes = kernels::block_scaled_shared_bytes(id);
  info.tma_load = true;
  info.sms = bound.multiprocessors;
  info.promotions = bound.problem.k > 0 ? 1 : 0;
  info.overlap = id.overlap;
  info.scheduler = bound.problem.scheduler;
}

const void* data_of(const PackedBlockScales& scales) {
  return std::visit([](const auto& s) -> const void* { return s.data(); }, scales);
}

Status check_scales(const char* name, const PackedBlockScales& scales) {
  const void* data = data_of(scales);
  if (data == nullptr)
    return Error{ErrorCode::invalid_argument, "block_scaled.null",
                 std::string(name) + ": the scales are null"};
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % 16);
  if (past == 0) return {};
  return broken_block("scale_alignment",
                      std::string(name) + ": the address of the scales is " + text(past) + " modulo 16");
}

}  // namespace

BlockScaledProblem unbound_block_scaled(const Problem& p, const KernelProblem& canonical) {
  BlockScaledProblem out;
  out.m = p.m, out.n = p.n, out.k = canonical.scale == 0 ? 0 : p.k, out.batches = p.l;
  out.a = operand_of(*p.a.block, canonical.a, p.k);
  out.b = operand_of(*p.b.block, canonical.b, p.k);
  out.alpha = canonical.scale;
  out.beta = canonical.beta;
  out.c_type = p.c.type;
  out.c_ld = canonical.c.row;
  out.c_batch_stride = canonical.c.batch;
  out.d_type = p.d.type;
  out.d_ld = canonical.d.row;
  out.d_batch_stride = canonical.d.batch;
  out.a.shared = p.l > 1 && p.a.batch_stride == 0;
  out.b.shared = p.l > 1 && p.b.batch_stride == 0;
  return out;
}

Expected<BlockScaledProblem> bind_buffers(const BlockScaledProblem& unbound, const Buffers& buffers) {
  const std::pair<const char*, const float*> scalars[] = {{"alpha", buffers.alpha}, {"beta", buffers.beta}};
  for (const auto& [name, pointer] : scalars)
    if (pointer != nullptr) return broken_block("scalars", std::string(name) + " is a device pointer");
  BlockScaledProblem p = unbound;
  if (p.k != 0) {
    p.a.elements = buffers.a, p.a.scales = buffers.a_scales;
    p.b.elements = buffers.b, p.b.scales = buffers.b_scales;
    if (Status s = check_scales("A", buffers.a_scales)) return *s;
    if (Status s = check_scales("B", buffers.b_scales)) return *s;
  }
  p.c = p.beta != 0 ? buffers.c : nullptr;
  p.d = buffers.d;
  if (Status s = check_bound_block_scaled(p)) return *s;
  return p;
}

bool is_block_scaled(const Problem& p) { return p.a.block.has_value() || p.b.block.has_value(); }

Expected<KernelProblem> canonical_block_scaled(const Problem& p) {
  if (Status s = check_types(p)) return *s;
  if (Status s = check_layouts(p)) return *s;
  if (Status s = check_alignments(p)) return *s;
  const Expected<Strides> a = strides_of("A", p.a, {p.m, p.k, p.l});
  if (!a) return a.error();
  const Expected<Strides> b = strides_of("B", p.b, {p.k, p.n, p.l});
  if (!b) return b.error();
  const Expected<Strides> d = strides_of("D", p.d, {p.m, p.n, p.l, true});
  if (!d) return d.error();

  KernelProblem out;
  out.family = Family::block_scaled;
  out.m = p.m, out.n = p.n, out.k = p.k, out.l = p.l;
  out.empty = p.m == 0 || p.n == 0 || p.l == 0;
  out.a = kernel_operand('A', p.a, *a, p.m, needed_alignment(p.a, p.b));
  out.b = kernel_operand('B', p.b, transposed(*b), p.n, needed_alignment(p.b, p.a));
  out.d = *d;
  if (p.beta != 0) {
    const Expected<Strides> c = strides_of("C", p.c, {p.m, p.n, p.l});
    if (!c) return c.error();
    out.c = *c;
    out.in_place_ok = p.c.type == p.d.type && *c == *d;
  }
  out.c_type = p.c.type;
  out.c_alignment = p.c.alignment;
  out.d_type = p.d.type;
  out.d_alignment = p.d.alignment;
  set_factors(p, out);
  BlockScaledProblem unbound = unbound_block_scaled(p, out);
  // With K as it was asked for: a factor of zero does not make it legal.
  unbound.k = p.k;
  if (Status s = check_shapes(unbound)) return *s;
  return out;
}

Expected<detail::BoundBlockScale> bind_block_scale(const PlanRequest& r, PlanInfo& info) {
  if (r.target.capability != kBlackwell)
    return broken_block("device", "compute capability " + capability_text(r.target.capability));
  if (Status s = check_options(r.options)) return *s;
  detail::BoundBlockScale bound;
  bound.problem = unbound_block_scaled(r.asked, r.problem);
  BlockScaledProblem& p = bound.problem;
  p.overlap = r.options.overlap;
  p.scheduler = r.options.scheduler;
  bound.dependent_launch = r.options.dependent_launch;
  if (Status s = check_shapes(p)) return *s;
  p.bulk_store = r.options.store != StoreKind::direct;
  const RasterOrder order = raster_of(r, {p.raster, p.strip});
  p.raster = order.raster, p.strip = order.strip;
  const bool in_bulk = stores_in_bulk(p, static_cast<uintptr_t>(r.asked.d.alignment));
  if (r.options.store == StoreKind::tma && !in_bulk)
    return broken_block("store", "N is " + text(p.n) + ", the leading dimension of D " + text(p.d_ld) +
                                     ", its alignment " + text(r.asked.d.alignment));
  bound.kernel = r.target.block_scaled.find({p.a.format, p.b.format, bits_of(p.d_type) / 8, p.overlap});
  if (bound.kernel == nullptr) return broken_block("device", "no such kernel in this build");
  if (!r.problem.empty) {
    const schedule::TileSchedule tiles = block_scaled_tiles(p);
    const Expected<int> count = multiprocessors_of(r, tiles.clusters_total);
    if (!count) return count.error();
    bound.multiprocessors = *count;
    info.tiles = tiles.clusters_total;
    info.grid_ctas = block_scaled_grid(p, tiles.clusters_total, *count);
    info.launches = 1;
    describe_tiles(r, tiles, info);
  }
  info.tma_store = in_bulk;
  set_info(bound, info);
  return bound;
}

Status run_block_scale(const Target& target, const detail::BoundBlockScale& bound, const Buffers& buffers,
                       void* stream) {
  const Expected<BlockScaledProblem> p = bind_buffers(bound.problem, buffers);
  if (!p) return p.error();
  const Expected<BoundBlockScaled> launch = bind_block_scaled(*p, target.encode, bound.multiprocessors);
  if (!launch) return launch.error();
  return bound.kernel->launch(launch->params, {launch->grid_ctas, stream, bound.dependent_launch});
}

}  // namespace tilewright
