#include "src/gemm_plan.h"

#include <algorithm>
#include <limits>

#include "src/gemm_heuristic.h"
#include "src/gemm_rules.h"

namespace tilewright {
namespace {

using detail::PlanState;
using kernels::Fp8Plan;
using kernels::Load;

constexpr int64_t kMaxSms = 65536;
constexpr int64_t kLargestChip = 132;  // of the emulated machine, unless asked for
constexpr int64_t kTilesPerCta = 3;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
std::string text(int64_t value) { return std::to_string(value); }
std::string text(Shape2 s) { return text(s.m) + "x" + text(s.n); }

Status check_options(const Options& o) {
  if (o.max_sms && (*o.max_sms < 1 || *o.max_sms > kMaxSms))
    return broken(RuleId::sms_value, "max_sms", text(*o.max_sms), text(*o.max_sms < 1 ? 1 : kMaxSms));
  if (o.swizzle && *o.swizzle < 1) return broken(RuleId::swizzle_value, "swizzle", text(*o.swizzle), "1");
  const auto one_or_two = [](int64_t v) { return v == 1 || v == 2; };
  if (o.cluster && !(one_or_two(o.cluster->m) && one_or_two(o.cluster->n))) {
    const Shape2 nearest{o.cluster->m < 2 ? 1 : 2, o.cluster->n < 2 ? 1 : 2};
    return broken(RuleId::cluster_shape, "cluster", text(*o.cluster), text(nearest));
  }
  if (o.tile && (o.tile->m < 1 || o.tile->n < 1))
    return broken(RuleId::tile_built, "tile", text(*o.tile), "128x128");
  return {};
}

Status set_stages(PlanState& s, const Options& options) {
  const kernels::Fp8KernelId& id = s.kernel->id;
  const Fp8Plan plan = kernels::fp8_plan(id.tile_m, id.tile_n, id.out_bytes, id.promoted);
  const int64_t stages = options.stages.value_or(plan.max_stages);
  if (stages < 2 || stages > plan.max_stages)
    return broken(RuleId::stages_value, "stages", text(stages) + " of " + text(plan.stage_bytes) + " bytes",
                  text(stages < 2 ? 2 : plan.max_stages));
  s.info.stages = static_cast<int>(stages);
  s.params.stages = static_cast<uint32_t>(stages);
  s.launch.shared_bytes = kernels::fp8_shared_bytes(plan, s.info.stages);
  s.info.shared_bytes = s.launch.shared_bytes;
  return {};
}

/// How many tiles a cluster shape makes of D, those that only fill clusters included.
struct TileGrid {
  int64_t tiles_m, tiles_n, tiles;
};
TileGrid grid_of(const PlanState& s, Shape2 cluster) {
  const auto& id = s.kernel->id;
  const KernelProblem& p = s.problem;
  TileGrid g{ceil_div(p.m, id.tile_m), ceil_div(p.n, id.tile_n), 0};
  const int64_t rows = ceil_div(g.tiles_m, cluster.m), columns = ceil_div(g.tiles_n, cluster.n);
  const __int128 all = static_cast<__int128>(rows) * columns * p.l * cluster.m * cluster.n;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  g.tiles = all > kMost ? kMost : static_cast<int64_t>(all);
  return g;
}

/// Clusters of a size that can work at once, at most `sms` multiprocessors' worth.
Expected<int64_t> resident_clusters(const PlanState& s, int64_t cluster_ctas, int64_t tiles,
                                    const Options& options) {
  int64_t sms = options.max_sms.value_or(s.target.sms);
  if (s.target.device == Device::emulator) {
    if (sms == 0) sms = std::clamp(tiles / kTilesPerCta, cluster_ctas, kLargestChip);
    return sms / cluster_ctas;
  }
  sms = std::min<int64_t>(sms, s.target.sms);
  if (cluster_ctas == 1) return sms;  // the runtime counts clusters of several CTAs only
  const Expected<int> fit =
      s.kernel->max_active_clusters(static_cast<uint32_t>(cluster_ctas), s.launch.shared_bytes);
  if (!fit) return fit.error();
  return std::min<int64_t>(*fit, sms / cluster_ctas);
}

/// Cluster and grid. A cluster that the planner chose gives way to 1x1 when it does not fit; one that was
/// asked for is refused.
Status set_grid(PlanState& s, const Options& options) {
  const auto& id = s.kernel->id;
  const KernelProblem& p = s.problem;
  const TilingQuery query{
      p.m, p.n, p.k, p.l, s.target.sms > 0 ? s.target.sms : static_cast<int>(kLargestChip), id.promoted};
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
  Expected<int64_t> clusters = resident_clusters(s, ctas, grid_of(s, cluster).tiles, options);
  if (ctas > 1 && !options.cluster && (!clusters || *clusters < 1)) {
    s.info.why += ", clusters of " + text(cluster) + " do not fit";
    cluster = {1, 1};
    ctas = 1;
    clusters = resident_clusters(s, ctas, grid_of(s, cluster).tiles, options);
  }
  if (!clusters) return clusters.error();
  if (*clusters < 1)
    return broken(RuleId::cluster_resident, "cluster",
                  text(p.to_caller(cluster)) + " on " + text(options.max_sms.value_or(s.target.sms)) +
                      " multiprocessors",
                  ctas > 1 ? "1x1" : "1 multiprocessor or more");
  const TileGrid grid = grid_of(s, cluster);
  if (grid.tiles > std::numeric_limits<int32_t>::max())
    return broken(RuleId::tiles_count, "tiles",
                  text(grid.tiles_m) + " x " + text(grid.tiles_n) + " x " + text(p.l) + " batches",
                  "a larger tile or fewer batches");

  RasterChoice raster = choose_raster(query, {id.tile_m, id.tile_n, id.promoted},
                                      {static_cast<int>(cluster.m), static_cast<int>(cluster.n)});
  using schedule::Raster;
  const auto flip = [&](Raster r) {
    if (!p.exchanged) return r;
    return r == Raster::along_m ? Raster::along_n : Raster::along_m;
  };
  if (options.raster) raster.raster = flip(*options.raster);
  if (options.swizzle)
    raster.strip = std::min<int64_t>(*options.swizzle, std::numeric_limits<int32_t>::max());
  s.params.tiles = schedule::TileSchedule::make(
      static_cast<uint32_t>(grid.tiles_m), static_cast<uint32_t>(grid.tiles_n), static_cast<uint32_t>(p.l),
      static_cast<uint32_t>(cluster.m), static_cast<uint32_t>(cluster.n), raster.raster,
      static_cast<uint32_t>(raster.strip));
  const int64_t running = std::min(*clusters, grid.tiles / ctas);
  s.launch.cluster_ctas = static_cast<uint32_t>(ctas);
  s.launch.grid_ctas = static_cast<uint32_t>(running * ctas);
  s.info.cluster = p.to_caller(cluster);
  s.info.raster = flip(raster.raster);
  s.info.swizzle = s.params.tiles.strip;
  s.info.sms = static_cast<int>(*clusters * ctas);
  s.info.tiles = grid.tiles;
  s.info.grid_ctas = s.launch.grid_ctas;
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
  const int64_t packed = ceil_div(p.k, 16) * 16;
  spec.strides = {static_cast<uint64_t>(o.rows > 1 ? o.ld : packed),
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
  const int64_t packed = ceil_div(p.n * size, 16) * 16;
  spec.strides = {static_cast<uint64_t>(p.m > 1 ? p.d_ld * size : packed),
                  static_cast<uint64_t>(p.l > 1 ? p.d_batch_stride * size : 16)};
  spec.box = {plan.slab_columns, 16, 1};
  spec.swizzle = size == 1 ? Swizzle::b64 : Swizzle::b128;
  return spec;
}

/// Everything in the kernel's parameters that does not depend on pointers or on the grid.
void set_params(PlanState& s, const KernelChoice& choice) {
  const auto& id = s.kernel->id;
  const KernelProblem& p = s.problem;
  kernels::Fp8GemmParams& out = s.params;
  out.m = static_cast<uint32_t>(p.m);
  out.n = static_cast<uint32_t>(p.n);
  out.k = static_cast<uint32_t>(p.k);
  out.k_tiles = p.reads_ab ? static_cast<uint32_t>(ceil_div(p.k, kernels::kFp8TileK)) : 0;
  out.group_tiles = choice.group_tiles;
  out.a_batch_step = p.a.batch_stride != 0;
  out.b_batch_step = p.b.batch_stride != 0;
  out.lda = p.a.ld;
  out.ldb = p.b.ld;
  out.a_batch_stride = p.a.batch_stride;
  out.b_batch_stride = p.b.batch_stride;
  out.scale = p.scale;
  out.beta = p.beta;
  out.c_ld = p.c_ld;
  out.c_batch_stride = p.c_batch_stride;
  out.c_type = p.c_type;
  out.d_ld = p.d_ld;
  out.d_batch_stride = p.d_batch_stride;
  out.d_type = p.d_type;
  out.d_tma = choice.tma_store;
  s.a_spec = input_spec(p, p.a, id.tile_m / out.tiles.cluster_n);
  s.b_spec = input_spec(p, p.b, id.tile_n / out.tiles.cluster_m);
  s.d_spec = output_spec(p, kernels::fp8_plan(id.tile_m, id.tile_n, id.out_bytes, id.promoted));
}

void set_info(PlanState& s, const Problem& problem, const KernelChoice& choice) {
  const auto& id = s.kernel->id;
  PlanInfo& info = s.info;
  info.kernel = kernels::fp8_kernel_name(id);
  info.path = "wgmma";
  info.tile = s.problem.to_caller({id.tile_m, id.tile_n});
  info.tma_load = id.load == Load::tma;
  info.tma_store = choice.tma_store;
  info.exchanged = s.problem.exchanged;
  info.group_tiles = id.interval == 0 ? choice.group_tiles : 0;
  const int64_t mmas = ceil_div(problem.k, 32);
  if (problem.accumulation == Accumulation::promoted) {
    info.promotions = ceil_div(mmas, problem.interval);
  } else {
    info.promotions = mmas == 0 ? 0 : 1;
  }
}

}  // namespace

Expected<Target> gpu_target(const Expected<GpuLimits>& gpu, kernels::Fp8KernelTable kernels) {
  if (kernels.count == 0)
    return broken(RuleId::device_gpu, "GPU", "no kernels in this build", "the emulated machine");
  if (!gpu) return broken(RuleId::device_gpu, "GPU", gpu.error().message, "the emulated machine");
  if (gpu->major != 9 || gpu->minor != 0)
    return broken(RuleId::device_gpu, "GPU",
                  "compute capability " + text(gpu->major) + "." + text(gpu->minor), "9.0");
  Target target;
  target.device = Device::gpu;
  target.kernels = kernels;
  target.ordinal = gpu->ordinal;
  target.sms = gpu->sms;
  target.encode = encode_for_gpu;
  target.current_ordinal = current_gpu_ordinal;
  return target;
}

Expected<Plan> plan_on(const Target& target, const Problem& problem, const Options& options) {
  if (Status s = check_options(options)) return *s;
  const Expected<KernelProblem> canonical_problem = canonical(problem);
  if (!canonical_problem) return canonical_problem.error();
  auto state = std::make_shared<PlanState>();
  state->problem = *canonical_problem;
  state->target = target;
  state->info.device = target.device;
  const Expected<KernelChoice> choice = choose_kernel(target, state->problem, problem, options);
  if (!choice) return choice.error();
  state->kernel = choice->kernel;
  state->info.why = choice->why;
  state->launch.dependent_launch = options.dependent_launch;
  state->params.saturate = problem.saturate;
  if (Status s = set_stages(*state, options)) return *s;
  if (!state->problem.empty) {
    if (Status s = set_grid(*state, options)) return *s;
    set_params(*state, *choice);
  }
  set_info(*state, problem, *choice);
  state->info.why = state->info.kernel + ": " + state->info.why;
  return Plan(std::move(state));
}

}  // namespace tilewright
