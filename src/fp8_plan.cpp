#include "src/fp8_plan.h"

#include "src/gemm_grid.h"
#include "src/gemm_heuristic.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

using detail::BoundFp8;
using kernels::Load;

Status set_stages(const Options& options, BoundFp8& s, PlanInfo& info) {
  const kernels::Fp8KernelId& id = s.kernel->id;
  const int most = kernels::fp8_max_stages(id);
  const int64_t stages = options.stages.value_or(most);
  if (stages < 2 || stages > most) {
    const uint32_t bytes = tiles::wgmma_tile_plan(kernels::fp8_tile_shape(id)).stage_bytes;
    return broken(RuleId::stages_value, "stages", text(stages) + " of " + text(bytes) + " bytes",
                  text(stages < 2 ? 2 : most));
  }
  info.stages = static_cast<int>(stages);
  s.arguments.tuning.stages = static_cast<uint32_t>(stages);
  info.shared_bytes = kernels::fp8_shared_bytes(id, info.stages);
  return {};
}

/// Cluster and grid. CTAs are alone unless a cluster is asked for: pairs that share B by multicast are slower
/// at every K that was tried (docs/accumulation.md).
Status set_grid(const PlanRequest& r, BoundFp8& s, PlanInfo& info) {
  const auto& id = s.kernel->id;
  const Options& options = r.options;
  const KernelProblem& p = r.problem;
  const Shape2 tile{id.tile_m, id.tile_n};
  const TilingQuery query{p.m, p.n, p.k, p.l, r.target.model_sms()};
  Shape2 cluster{1, 1};
  if (options.cluster) {
    cluster = p.to_kernel(*options.cluster);
    if (id.load == Load::copy && cluster != Shape2{1, 1})
      return broken(RuleId::cluster_copy, "cluster", text(*options.cluster), "1x1");
  }
  const int64_t ctas = cluster.m * cluster.n;
  const TileGrid grid = grid_of(p, tile, cluster);
  const Expected<int64_t> clusters = working_clusters(r, ctas, grid.tiles, [&] {
    return s.kernel->max_active_clusters(static_cast<uint32_t>(ctas),
                                         static_cast<uint32_t>(info.shared_bytes));
  });
  if (!clusters) return clusters.error();
  if (Status e = check_resident(r, cluster, *clusters)) return e;
  if (Status e = check_tiles(grid, p)) return e;

  const RasterChoice chosen = choose_raster(query, {id.tile_m, id.tile_n, id.promoted},
                                            {static_cast<int>(cluster.m), static_cast<int>(cluster.n)});
  s.arguments.tiles = schedule_tiles(r, grid, cluster, *clusters, {chosen.raster, chosen.strip}, true, info);
  s.arguments.tuning.cluster_m = static_cast<uint32_t>(cluster.m);
  s.arguments.tuning.cluster_n = static_cast<uint32_t>(cluster.n);
  s.launch.grid_ctas = static_cast<uint32_t>(info.grid_ctas);
  info.cluster = p.to_caller(cluster);
  return {};
}

using blas::detail::OperandView;

/// A, whose lines of K are rows, or B, where they are columns.
OperandView input(const KernelProblem& p, const KernelOperand& o, bool lines_are_rows) {
  OperandView v;
  const int64_t k = p.reads_ab ? p.k : 0, ld = legal_ld(o.row_stride, o.rows, p.k, o.type);
  v.rows = lines_are_rows ? o.rows : k;
  v.columns = lines_are_rows ? k : o.rows;
  v.row_stride = lines_are_rows ? ld : 1;
  v.column_stride = lines_are_rows ? 1 : ld;
  v.batches = p.l;
  v.batch_stride = p.l > 1 ? o.batch_stride : 0;
  v.batched = true;
  return v;
}

OperandView output(const KernelProblem& p, const Strides& strides, DType type) {
  OperandView v;
  v.rows = p.m;
  v.columns = p.n;
  v.row_stride = legal_ld(strides.row, p.m, p.n, type);
  v.column_stride = strides.column;
  v.batches = p.l;
  v.batch_stride = strides.batch;
  v.batched = true;
  return v;
}

/// Everything in the kernel's arguments that does not depend on pointers or on the grid.
void set_arguments(const KernelProblem& p, const Fp8Choice& choice, BoundFp8& s) {
  kernels::Fp8GemmArguments& out = s.arguments;
  out.tuning.group_tiles = choice.group_tiles;
  out.a = input(p, p.a, true);
  out.b = input(p, p.b, false);
  out.c = output(p, p.c, p.c_type);
  out.d = output(p, p.d, p.d_type);
  out.ops.scale = p.scale;
  out.ops.beta = p.beta;
  out.ops.c_type = p.c_type;
  out.ops.d_type = p.d_type;
  out.ops.bulk = choice.tma_store;
  const auto scales = [](const ScaleLines& lines) {
    return tiles::ScaleLines{nullptr, lines.line_stride, lines.k_stride, lines.batch_stride};
  };
  out.a_scales = scales(p.a_scales);
  out.b_scales = scales(p.b_scales);
  out.block_scales = p.scale_mode == ScaleMode::block_1x128_128x128;
}

void set_info(const PlanRequest& r, const Fp8Choice& choice, PlanInfo& info) {
  const auto& id = choice.kernel->id;
  info.exchanged = r.problem.exchanged;
  info.scale_mode = r.problem.scale_mode;
  info.kernel = kernels::fp8_kernel_name(id);
  info.path = "wgmma";
  info.tile = r.problem.to_caller({id.tile_m, id.tile_n});
  info.tile_k = kernels::kFp8TileK;
  info.tma_load = id.load == Load::tma;
  info.tma_store = choice.tma_store;
  info.group_tiles = id.interval == 0 ? choice.group_tiles : 0;
  const int64_t mmas = ceil_div(r.asked.k, 32);
  if (r.asked.accumulation == Accumulation::promoted) {
    info.promotions = mmas == 0 ? 0 : (mmas - 1) / r.asked.interval + 1;
  } else {
    info.promotions = mmas == 0 ? 0 : 1;
  }
}

void bind_scalars(const KernelProblem& p, const Buffers& buffers, kernels::Fp8GemmArguments& arguments) {
  const bool scalars = p.scale_mode == ScaleMode::per_tensor;
  if (p.reads_ab) {
    const float* factors[] = {buffers.alpha, scalars ? buffers.scale_a : nullptr,
                              scalars ? buffers.scale_b : nullptr, buffers.scale_d};
    for (int i = 0; i < 4; ++i) arguments.ops.scale_device[i] = factors[i];
  }
  if (p.reads_c) {
    arguments.ops.beta_device[0] = buffers.beta;
    arguments.ops.beta_device[1] = buffers.scale_d;
  }
  if (p.reads_ab && !scalars) {
    arguments.a_scales.data = p.scales_a(buffers);
    arguments.b_scales.data = p.scales_b(buffers);
  }
}

}  // namespace

Expected<BoundFp8> bind_fp8(const PlanRequest& request, PlanInfo& info) {
  if (request.target.capability != 90)
    return broken(RuleId::device_gpu, "chip",
                  "8-bit operands on compute capability " + capability_text(request.target.capability),
                  "9.0");
  if (Status s = check_tensor_core_options(request.options)) return *s;
  const Expected<Fp8Choice> choice = choose_fp8_kernel(request);
  if (!choice) return choice.error();
  BoundFp8 bound;
  bound.kernel = choice->kernel;
  info.why = choice->why;
  info.candidates = choice->candidates;
  bound.launch.dependent_launch = request.options.dependent_launch;
  bound.arguments.ops.saturate = request.asked.saturate;
  if (Status s = set_stages(request.options, bound, info)) return *s;
  if (!request.problem.empty) {
    if (Status s = set_grid(request, bound, info)) return *s;
    set_arguments(request.problem, *choice, bound);
  }
  set_info(request, *choice, info);
  return bound;
}

Status run_fp8(const KernelProblem& p, const BoundFp8& bound, const Buffers& buffers, void* stream) {
  kernels::Fp8GemmArguments arguments = bound.arguments;
  if (p.reads_ab) {
    arguments.a.data = p.pointer_a(buffers);
    arguments.b.data = p.pointer_b(buffers);
  }
  arguments.c.data = p.reads_c ? buffers.c : nullptr;
  arguments.d.data = buffers.d;
  // A column-major D exchanges the operands but not what their factors mean: the product is the same.
  bind_scalars(p, buffers, arguments);
  return bound.kernel->launch(arguments, on_stream(bound.launch, stream));
}

}  // namespace tilewright
