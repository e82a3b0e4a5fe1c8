#include "src/simt_plan.h"

#include <algorithm>

#include "src/gemm_grid.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"
#include "src/workspace.h"
#include "tilewright/mainloop/simt_work.h"

namespace tilewright {
namespace {

using detail::BoundSimt;
using kernels::SimtLoad;
using kernels::SimtPlan;

constexpr int64_t kMostGridY = 65535;
constexpr int64_t kRepackTile = 64;  // rows and elements of K (mainloop/repack_tiles.h)

Status check_simt_options(const Options& o) {
  if (o.cluster && *o.cluster != Shape2{1, 1})
    return broken(RuleId::cluster_copy, "cluster", text(*o.cluster), "1x1");
  if (o.store == StoreKind::tma)
    return broken(RuleId::store_tma, "D", "f32 of an FP32 kernel", "direct stores");
  return {};
}

Status check_stages(const Options& o, const SimtPlan& plan) {
  if (!o.stages || *o.stages == plan.stages) return {};
  return broken(RuleId::stages_value, "stages", text(*o.stages) + " of " + text(plan.stage_bytes) + " bytes",
                text(plan.stages));
}

/// (rows, k, batches) of an operand whose rows are contiguous: as the caller has it, or as it is repacked.
TensorMapSpec input_spec(const KernelProblem& p, const KernelOperand& o, SimtSource source, int64_t box_rows,
                         int64_t tile_k) {
  const int64_t batches = batches_of(p, o);
  const bool repacked = source == SimtSource::repacked;
  const int64_t ld = repacked ? repacked_ld(o) : o.k_stride;
  const int64_t batch_stride = repacked ? ld * p.k : o.batch_stride;
  TensorMapSpec spec;
  spec.type = TmaType::f32;
  spec.rank = 3;
  spec.extent = {static_cast<uint64_t>(o.rows), static_cast<uint64_t>(p.k), static_cast<uint64_t>(batches)};
  // The stride of a dimension of one element is never used, but must be legal.
  spec.strides = {static_cast<uint64_t>(4 * (p.k > 1 ? ld : round_up(o.rows, 4))),
                  static_cast<uint64_t>(batches > 1 ? 4 * batch_stride : 16)};
  spec.box = {static_cast<uint32_t>(box_rows), static_cast<uint32_t>(tile_k), 1};
  return spec;
}

/// Everything in the kernel's parameters that does not depend on pointers.
void set_params(const PlanRequest& r, const SimtChoice& choice, const TileGrid& grid, BoundSimt& s) {
  const KernelProblem& p = r.problem;
  const SimtConfiguration& c = choice.configuration;
  const int64_t tile_k = kernels::simt_plan(c.id).tile_k;
  const RasterOrder order = raster_of(r, choose_simt_raster(c.id));
  kernels::SimtGemmParams& out = s.params;
  out.tiles = schedule::TileSchedule::make(static_cast<uint32_t>(grid.tiles_m),
                                           static_cast<uint32_t>(grid.tiles_n), static_cast<uint32_t>(p.l), 1,
                                           1, order.raster, static_cast<uint32_t>(order.strip));
  out.m = static_cast<uint32_t>(p.m);
  out.n = static_cast<uint32_t>(p.n);
  out.k = static_cast<uint32_t>(p.k);
  out.k_tiles = static_cast<uint32_t>(k_tiles_of(p, c.id));
  out.whole_tiles = static_cast<uint32_t>(grid.tiles - c.work.shared_tiles);
  const int64_t shared = c.work.shared_tiles * out.k_tiles;
  out.piece_k_tiles = static_cast<uint32_t>(shared / c.work.ctas);
  out.longer_pieces = static_cast<uint32_t>(shared % c.work.ctas);
  if (out.k_tiles > 0) out.by_k_tiles = schedule::FastDivisor(out.k_tiles);
  out.a_batch_step = p.a.batch_stride != 0;
  out.b_batch_step = p.b.batch_stride != 0;
  out.a_vector = p.a.bulk_along_rows;
  out.b_vector = p.b.bulk_along_rows;
  out.a_row_stride = p.a.row_stride;
  out.a_k_stride = p.a.k_stride;
  out.a_batch_stride = p.a.batch_stride;
  out.b_row_stride = p.b.row_stride;
  out.b_k_stride = p.b.k_stride;
  out.b_batch_stride = p.b.batch_stride;
  out.alpha = p.scale;
  out.beta = p.beta;
  out.c_row_stride = p.c.row;
  out.c_column_stride = p.c.column;
  out.c_batch_stride = p.c.batch;
  out.d_row_stride = p.d.row;
  out.d_column_stride = p.n > 1 ? p.d.column : 1;
  out.d_batch_stride = p.d.batch;
  s.a_spec = input_spec(p, p.a, c.a, c.id.tile_m, tile_k);
  s.b_spec = input_spec(p, p.b, c.b, c.id.tile_n, tile_k);
}

kernels::SimtRepackParams::Operand repacked_operand(const KernelProblem& p, const KernelOperand& o) {
  kernels::SimtRepackParams::Operand out{};
  out.row_stride = o.row_stride;
  out.k_stride = o.k_stride;
  out.batch_stride = o.batch_stride;
  out.rows = static_cast<uint32_t>(o.rows);
  out.k = static_cast<uint32_t>(p.k);
  out.batches = static_cast<uint32_t>(batches_of(p, o));
  out.ld = repacked_ld(o);
  out.tiles_rows = static_cast<uint32_t>(ceil_div(o.rows, kRepackTile));
  out.tiles_k = static_cast<uint32_t>(ceil_div(p.k, kRepackTile));
  return out;
}

void set_repack(const PlanRequest& r, const SimtConfiguration& c, BoundSimt& s) {
  const KernelProblem& p = r.problem;
  int64_t tiles = 0;
  for (const auto& [operand, source, out] :
       {std::tuple{&p.a, c.a, &s.repack.operand[0]}, std::tuple{&p.b, c.b, &s.repack.operand[1]}}) {
    if (source != SimtSource::repacked) continue;
    *out = repacked_operand(p, *operand);
    tiles += int64_t{out->tiles_rows} * out->tiles_k * out->batches;
  }
  if (tiles == 0) return;
  const int64_t blocks = r.target.device == Device::gpu ? repack_blocks(r.target.sms)
                                                        : working_ctas(r.target, r.options, tiles, 1, 1);
  s.repack_launch.grid_ctas = static_cast<uint32_t>(std::min(blocks, tiles));
}

/// The most parts that a tile is cut into.
int64_t most_parts(const kernels::SimtGemmParams& p) {
  using kernels::SimtWork;
  uint32_t most = 1;
  const uint32_t shared = p.tiles.clusters_total - p.whole_tiles;
  for (uint32_t begin = 0; begin < shared * p.k_tiles; begin += p.k_tiles)
    most = std::max(most, SimtWork::cta_of(p, begin + p.k_tiles - 1) - SimtWork::cta_of(p, begin) + 1);
  return most;
}

void set_info(const PlanRequest& r, const BoundSimt& s, const SimtConfiguration& c, PlanInfo& info) {
  const SimtPlan plan = kernels::simt_plan(c.id);
  info.exchanged = r.problem.exchanged;
  info.kernel = kernels::simt_kernel_name(c.id);
  info.path = "simt";
  info.tile = r.problem.to_caller({c.id.tile_m, c.id.tile_n});
  info.tile_k = plan.tile_k;
  info.stages = plan.stages;
  info.shared_bytes = plan.shared_bytes;
  info.shared_tiles = c.work.shared_tiles;
  info.splits = most_parts(s.params);
  info.promotions = r.problem.reads_ab ? info.splits : 0;
  info.tma_load = c.id.a == SimtLoad::tma && c.id.b == SimtLoad::tma;
  const auto repacked = [](SimtSource source) { return source == SimtSource::repacked; };
  info.repack_a = repacked(r.problem.exchanged ? c.b : c.a);
  info.repack_b = repacked(r.problem.exchanged ? c.a : c.b);
  info.workspace_bytes = s.workspace.bytes;
  for (const kernels::Launch* launch : {&s.repack_launch, &s.launch, &s.fixup_launch})
    info.launches += launch->grid_ctas > 0;
}

/// Repacked operands have their place in the workspace; bulk copies start there, or where the caller says.
const void* bind_operand(SimtSource source, const Buffers& buffers, const void* given, int64_t offset,
                         kernels::SimtRepackParams::Operand& repack) {
  if (source != SimtSource::repacked) return given;
  repack.from = static_cast<const float*>(given);
  repack.to = workspace_part<float>(buffers, offset);
  return repack.to;
}

}  // namespace

Expected<BoundSimt> bind_simt(const PlanRequest& request, PlanInfo& info) {
  if (Status s = check_simt_options(request.options)) return *s;
  const Expected<SimtChoice> choice = choose_simt_kernel(request);
  if (!choice) return choice.error();
  const SimtConfiguration& c = choice->configuration;
  const SimtPlan plan = kernels::simt_plan(c.id);
  if (Status s = check_stages(request.options, plan)) return *s;
  info.why = choice->why;

  BoundSimt bound;
  bound.kernel = choice->kernel;
  bound.problem = choice->flipped ? request.problem.flipped() : request.problem;
  bound.a = c.a;
  bound.b = c.b;
  const PlanRequest r{request.target, bound.problem, request.asked, request.options};
  if (!r.problem.empty) {
    bound.workspace = choice->workspace;
    const TileGrid grid = grid_of(r.problem, {c.id.tile_m, c.id.tile_n});
    if (Status s = check_tiles(grid, r.problem)) return *s;
    set_params(r, *choice, grid, bound);
    set_repack(r, c, bound);
    bound.launch.grid_ctas = static_cast<uint32_t>(c.work.ctas);
    bound.fixup_launch.grid_ctas = static_cast<uint32_t>(std::min(c.work.shared_tiles, kMostGridY));
    for (kernels::Launch* launch : {&bound.repack_launch, &bound.launch, &bound.fixup_launch})
      launch->dependent_launch =
          r.options.dependent_launch && c.id.pipeline == kernels::SimtPipeline::producer;
    info.sms = static_cast<int>(ceil_div(c.work.ctas, plan.ctas_per_sm));
    info.tiles = grid.tiles;
    info.grid_ctas = bound.launch.grid_ctas;
    describe_tiles(r, bound.params.tiles, info);
  }
  set_info(r, bound, c, info);
  return bound;
}

Status run_simt(const Target& target, const BoundSimt& bound, const Buffers& buffers, void* stream) {
  const KernelProblem& p = bound.problem;
  const kernels::SimtKernelId& id = bound.kernel->id;
  kernels::SimtGemmParams params = bound.params;
  kernels::SimtRepackParams repack = bound.repack;
  if (p.reads_ab) {
    params.a = static_cast<const float*>(p.pointer_a(buffers));
    params.b = static_cast<const float*>(p.pointer_b(buffers));
    const void* a = bind_operand(bound.a, buffers, params.a, bound.workspace.a, repack.operand[0]);
    const void* b = bind_operand(bound.b, buffers, params.b, bound.workspace.b, repack.operand[1]);
    if (id.a == SimtLoad::tma)
      if (Status e = target.encode_at(bound.a_spec, a, params.a_map)) return e;
    if (id.b == SimtLoad::tma)
      if (Status e = target.encode_at(bound.b_spec, b, params.b_map)) return e;
    params.alpha_device = buffers.alpha;
  }
  if (p.reads_c) {
    params.c = static_cast<const float*>(buffers.c);
    params.beta_device = buffers.beta;
  }
  params.d = static_cast<float*>(buffers.d);
  if (params.piece_k_tiles > 0) params.partials = workspace_part<float>(buffers, bound.workspace.partials);
  if (bound.repack_launch.grid_ctas > 0)
    if (Status e = target.simt.repack(repack, on_stream(bound.repack_launch, stream))) return e;
  if (Status e = bound.kernel->launch(params, on_stream(bound.launch, stream))) return e;
  if (bound.fixup_launch.grid_ctas == 0) return {};
  return bound.kernel->fixup(params, on_stream(bound.fixup_launch, stream));
}

}  // namespace tilewright
