#include "src/fp8_plan.h"

#include <algorithm>

#include "src/gemm_grid.h"
#include "src/gemm_heuristic.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

using detail::BoundFp8;
using kernels::Fp8Plan;
using kernels::Load;

Status check_fp8_options(const Options& o) {
  if (o.splits && *o.splits != 1) return broken(RuleId::splits_value, "splits", text(*o.splits), "1");
  if (o.pipeline == PipelineKind::async)
    return broken(RuleId::pipeline_built, "pipeline", "async with 8-bit operands", "a producer warpgroup");
  if (o.static_shape) return broken(RuleId::shape_static, "static shape", "8-bit operands", "a dynamic one");
  return {};
}

Status set_stages(const Options& options, BoundFp8& s, PlanInfo& info) {
  const kernels::Fp8KernelId& id = s.kernel->id;
  const Fp8Plan plan = kernels::fp8_plan(id);
  const int64_t stages = options.stages.value_or(plan.max_stages);
  if (stages < 2 || stages > plan.max_stages)
    return broken(RuleId::stages_value, "stages", text(stages) + " of " + text(plan.stage_bytes) + " bytes",
                  text(stages < 2 ? 2 : plan.max_stages));
  info.stages = static_cast<int>(stages);
  s.params.stages = static_cast<uint32_t>(stages);
  s.launch.shared_bytes = kernels::fp8_shared_bytes(plan, info.stages);
  info.shared_bytes = s.launch.shared_bytes;
  return {};
}

/// Clusters of a size that can work at once, at most `sms` multiprocessors' worth.
Expected<int64_t> resident_clusters(const PlanRequest& r, const BoundFp8& s, int64_t cluster_ctas,
                                    int64_t tiles) {
  const int64_t ctas = working_ctas(r.target, r.options, tiles, 1, cluster_ctas);
  // The runtime counts clusters of several CTAs only.
  if (r.target.device == Device::emulator || cluster_ctas == 1) return ctas / cluster_ctas;
  const Expected<int> fit =
      s.kernel->max_active_clusters(static_cast<uint32_t>(cluster_ctas), s.launch.shared_bytes);
  if (!fit) return fit.error();
  return std::min<int64_t>(*fit, ctas / cluster_ctas);
}

/// Cluster and grid. A cluster that the planner chose gives way to 1x1 when it does not fit; one that was
/// asked for is refused.
Status set_grid(const PlanRequest& r, BoundFp8& s, PlanInfo& info) {
  const auto& id = s.kernel->id;
  const Options& options = r.options;
  const KernelProblem& p = r.problem;
  const Shape2 tile{id.tile_m, id.tile_n};
  const TilingQuery query{p.m, p.n, p.k, p.l, r.target.model_sms(), id.promoted};
  Shape2 cluster{1, 1};
  if (options.cluster) {
    cluster = p.to_kernel(*options.cluster);
    if (id.load == Load::copy && cluster != Shape2{1, 1})
      return broken(RuleId::cluster_copy, "cluster", text(*options.cluster), "1x1");
  } else if (id.load == Load::tma) {
    const Cluster chosen = choose_cluster(query, {id.tile_m, id.tile_n, id.promoted});
    cluster = {chosen.m, chosen.n};
  }
  int64_t ctas = cluster.m * cluster.n;
  Expected<int64_t> clusters = resident_clusters(r, s, ctas, grid_of(p, tile, cluster).tiles);
  if (ctas > 1 && !options.cluster && (!clusters || *clusters < 1)) {
    info.why += ", clusters of " + text(cluster) + " do not fit";
    cluster = {1, 1};
    ctas = 1;
    clusters = resident_clusters(r, s, ctas, grid_of(p, tile, cluster).tiles);
  }
  if (!clusters) return clusters.error();
  if (*clusters < 1)
    return broken(RuleId::cluster_resident, "cluster",
                  text(p.to_caller(cluster)) + " on " + text(options.max_sms.value_or(r.target.sms)) +
                      " multiprocessors",
                  ctas > 1 ? "1x1" : "1 multiprocessor or more");
  const TileGrid grid = grid_of(p, tile, cluster);
  if (Status e = check_tiles(grid, p)) return e;

  const RasterChoice chosen = choose_raster(query, {id.tile_m, id.tile_n, id.promoted},
                                            {static_cast<int>(cluster.m), static_cast<int>(cluster.n)});
  const RasterOrder order = raster_of(r, {chosen.raster, chosen.strip});
  s.params.tiles = schedule::TileSchedule::make(
      static_cast<uint32_t>(grid.tiles_m), static_cast<uint32_t>(grid.tiles_n), static_cast<uint32_t>(p.l),
      static_cast<uint32_t>(cluster.m), static_cast<uint32_t>(cluster.n), order.raster,
      static_cast<uint32_t>(order.strip));
  const int64_t running = std::min(*clusters, grid.tiles / ctas);
  s.launch.cluster_ctas = static_cast<uint32_t>(ctas);
  s.launch.grid_ctas = static_cast<uint32_t>(running * ctas);
  info.cluster = p.to_caller(cluster);
  info.sms = static_cast<int>(*clusters * ctas);
  info.tiles = grid.tiles;
  info.grid_ctas = s.launch.grid_ctas;
  info.launches = 1;
  describe_tiles(r, s.params.tiles, info);
  return {};
}

TensorMapSpec input_spec(const KernelProblem& p, const KernelOperand& o, int64_t box_rows) {
  TensorMapSpec spec;
  spec.type = TmaType::u8;
  spec.rank = 3;
  const bool batched = p.l > 1 && o.batch_stride != 0;
  spec.extent = {static_cast<uint64_t>(p.k), static_cast<uint64_t>(o.rows),
                 batched ? static_cast<uint64_t>(p.l) : 1};
  // The stride of a dimension of one element is never used, but must be legal.
  const int64_t packed = round_up(p.k, 16);
  spec.strides = {static_cast<uint64_t>(o.rows > 1 ? o.row_stride : packed),
                  static_cast<uint64_t>(batched ? o.batch_stride : 16)};
  spec.box = {kernels::kFp8TileK, static_cast<uint32_t>(box_rows), 1};
  spec.swizzle = Swizzle::b128;
  return spec;
}

TensorMapSpec output_spec(const KernelProblem& p, const Fp8Plan& plan) {
  TensorMapSpec spec;
  const int64_t size = bits_of(p.d_type) / 8;
  spec.type = size == 1 ? TmaType::u8 : size == 2 ? TmaType::u16 : TmaType::u32;
  spec.rank = 3;
  spec.extent = {static_cast<uint64_t>(p.n), static_cast<uint64_t>(p.m), static_cast<uint64_t>(p.l)};
  const int64_t packed = round_up(p.n * size, 16);
  spec.strides = {static_cast<uint64_t>(p.m > 1 ? p.d.row * size : packed),
                  static_cast<uint64_t>(p.l > 1 ? p.d.batch * size : 16)};
  spec.box = {plan.slab_columns, 16, 1};
  spec.swizzle = size == 1 ? Swizzle::b64 : Swizzle::b128;
  return spec;
}

/// Everything in the kernel's parameters that does not depend on pointers or on the grid.
void set_params(const KernelProblem& p, const Fp8Choice& choice, BoundFp8& s) {
  const auto& id = s.kernel->id;
  kernels::Fp8GemmParams& out = s.params;
  out.m = static_cast<uint32_t>(p.m);
  out.n = static_cast<uint32_t>(p.n);
  out.k = static_cast<uint32_t>(p.k);
  out.k_tiles = p.reads_ab ? static_cast<uint32_t>(ceil_div(p.k, kernels::kFp8TileK)) : 0;
  out.group_tiles = choice.group_tiles;
  out.a_batch_step = p.a.batch_stride != 0;
  out.b_batch_step = p.b.batch_stride != 0;
  out.lda = p.a.row_stride;
  out.ldb = p.b.row_stride;
  out.a_batch_stride = p.a.batch_stride;
  out.b_batch_stride = p.b.batch_stride;
  out.scale = p.scale;
  out.beta = p.beta;
  out.c_ld = p.c.row;
  out.c_batch_stride = p.c.batch;
  out.c_type = p.c_type;
  out.d_ld = p.d.row;
  out.d_batch_stride = p.d.batch;
  out.d_type = p.d_type;
  out.d_tma = choice.tma_store;
  s.a_spec = input_spec(p, p.a, id.tile_m / out.tiles.cluster_n);
  s.b_spec = input_spec(p, p.b, id.tile_n / out.tiles.cluster_m);
  s.d_spec = output_spec(p, kernels::fp8_plan(id));
  const auto scales = [](const ScaleLines& lines) {
    return kernels::Fp8Scales{nullptr, lines.line_stride, lines.k_stride, lines.batch_stride};
  };
  out.a_scales = scales(p.a_scales);
  out.b_scales = scales(p.b_scales);
  out.block_scales = p.scale_mode == ScaleMode::block_1x128_128x128;
  out.c_column_stride = p.c.column;
  out.d_column_stride = p.d.column;
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
    info.promotions = ceil_div(mmas, r.asked.interval);
  } else {
    info.promotions = mmas == 0 ? 0 : 1;
  }
}

void bind_scalars(const KernelProblem& p, const Buffers& buffers, kernels::Fp8GemmParams& params) {
  const bool scalars = p.scale_mode == ScaleMode::per_tensor;
  if (p.reads_ab) {
    const float* factors[] = {buffers.alpha, scalars ? buffers.scale_a : nullptr,
                              scalars ? buffers.scale_b : nullptr, buffers.scale_d};
    for (int i = 0; i < 4; ++i) params.scale_device[i] = factors[i];
  }
  if (p.reads_c) {
    params.beta_device[0] = buffers.beta;
    params.beta_device[1] = buffers.scale_d;
  }
  if (p.reads_ab && !scalars) {
    params.a_scales.data = p.scales_a(buffers);
    params.b_scales.data = p.scales_b(buffers);
  }
}

}  // namespace

Expected<BoundFp8> bind_fp8(const PlanRequest& request, PlanInfo& info) {
  if (request.target.capability != 90)
    return broken(RuleId::device_gpu, "GPU",
                  "8-bit operands on compute capability " + capability_text(request.target.capability),
                  "9.0");
  if (Status s = check_fp8_options(request.options)) return *s;
  const Expected<Fp8Choice> choice = choose_fp8_kernel(request);
  if (!choice) return choice.error();
  BoundFp8 bound;
  bound.kernel = choice->kernel;
  info.why = choice->why;
  bound.launch.dependent_launch = request.options.dependent_launch;
  bound.params.saturate = request.asked.saturate;
  if (Status s = set_stages(request.options, bound, info)) return *s;
  if (!request.problem.empty) {
    if (Status s = set_grid(request, bound, info)) return *s;
    set_params(request.problem, *choice, bound);
  }
  set_info(request, *choice, info);
  return bound;
}

Status run_fp8(const Target& target, const KernelProblem& p, const BoundFp8& bound, const Buffers& buffers,
               void* stream) {
  kernels::Fp8GemmParams params = bound.params;
  if (p.reads_ab) {
    params.a = static_cast<const uint8_t*>(p.pointer_a(buffers));
    params.b = static_cast<const uint8_t*>(p.pointer_b(buffers));
    if (bound.kernel->id.load == Load::tma) {
      if (Status e = target.encode_at(bound.a_spec, params.a, params.a_map)) return e;
      if (Status e = target.encode_at(bound.b_spec, params.b, params.b_map)) return e;
    }
  }
  params.c = p.reads_c ? buffers.c : nullptr;
  params.d = buffers.d;
  if (params.d_tma)
    if (Status e = target.encode_at(bound.d_spec, buffers.d, params.d_map)) return e;
  // A column-major D exchanges the operands but not what their factors mean: the product is the same.
  bind_scalars(p, buffers, params);
  kernels::Fp8Launch launch = bound.launch;
  launch.stream = stream;
  return bound.kernel->launch(params, launch);
}

}  // namespace tilewright
