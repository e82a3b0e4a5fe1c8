#include "src/tensor_plan.h"

#include <vector>

#include "src/gemm_grid.h"
#include "src/gemm_heuristic.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

using detail::BoundTensor;
using kernels::TensorOperand;

Status check_stages(const Options& o, const kernels::TensorKernel& kernel) {
  if (!o.stages || *o.stages == kernel.stages) return {};
  return broken(RuleId::stages_value, "stages", text(*o.stages), text(kernel.stages));
}

Status set_grid(const PlanRequest& r, BoundTensor& s, PlanInfo& info) {
  const auto& id = s.kernel->id;
  const KernelProblem& p = r.problem;
  const Shape2 cluster{id.cluster_m, id.cluster_n};
  const TileGrid grid = grid_of(p, {id.tile_m, id.tile_n}, cluster);
  if (Status e = check_tiles(grid, p)) return e;
  const Expected<int64_t> clusters =
      working_clusters(r, cluster.m * cluster.n, grid.tiles, s.kernel->max_active_clusters);
  if (!clusters) return clusters.error();
  if (Status e = check_resident(r, cluster, *clusters)) return e;
  const RasterChoice chosen =
      choose_tensor_raster({id.tile_m, id.tile_n, false}, {id.cluster_m, id.cluster_n});
  s.arguments.tiles = schedule_tiles(r, grid, cluster, *clusters, {chosen.raster, chosen.strip},
                                     id.path == kernels::TensorPath::wgmma, info);
  s.launch.grid_ctas = static_cast<uint32_t>(info.grid_ctas);
  return {};
}

TensorOperand input(const KernelProblem& p, const KernelOperand& o, bool k_major) {
  const int64_t ld =
      k_major ? legal_ld(o.row_stride, o.rows, p.k, o.type) : legal_ld(o.k_stride, p.k, o.rows, o.type);
  return {nullptr, ld, o.batch_stride};
}

void set_arguments(const KernelProblem& p, const TensorChoice& choice, BoundTensor& s) {
  const auto& id = choice.kernel->id;
  kernels::TensorGemmArguments& out = s.arguments;
  out.m = p.m;
  out.n = p.n;
  out.k = p.reads_ab ? p.k : 0;
  out.batches = p.l;
  out.a = input(p, p.a, id.k_major_a);
  out.b = input(p, p.b, id.k_major_b);
  // A flipped problem's. Where only one of the two has a step between columns, both have a single row.
  out.d_by_columns = p.d.column > 1 || p.c.column > 1;
  if (out.d_by_columns) {
    out.c = {nullptr, p.c.column, p.c.batch};
    out.d = {nullptr, legal_ld(p.d.column, p.n, p.m, p.d_type), p.d.batch};
  } else {
    out.c = {nullptr, p.c.row, p.c.batch};
    out.d = {nullptr, legal_ld(p.d.row, p.m, p.n, p.d_type), p.d.batch};
  }
  out.d_type = p.d_type;
  out.d_bulk = choice.tma_store;
  out.alpha = p.scale;
  out.beta = p.beta;
}

void set_info(const PlanRequest& r, const TensorChoice& choice, PlanInfo& info) {
  const auto& id = choice.kernel->id;
  info.exchanged = r.problem.exchanged;
  info.kernel = kernels::tensor_kernel_name(id);
  constexpr const char* kPaths[] = {"wgmma", "mma_sync", "simt"};
  info.path = kPaths[static_cast<size_t>(id.path)];
  info.tile = r.problem.to_caller({id.tile_m, id.tile_n});
  info.cluster = r.problem.to_caller({id.cluster_m, id.cluster_n});
  info.tile_k = kernels::tensor_tile_k(id);
  info.stages = choice.kernel->stages;
  info.shared_bytes = choice.kernel->shared_bytes;
  info.tma_load = id.path == kernels::TensorPath::wgmma;
  info.tma_store = choice.tma_store;
  info.promotions = r.asked.k > 0 ? 1 : 0;
}

}  // namespace

Status check_tensor_device(const PlanRequest& request) {
  if (request.target.capability == 90) return {};
  return broken(RuleId::device_gpu, "chip",
                std::string(name_of(request.asked.a.type)) + " operands on compute capability " +
                    capability_text(request.target.capability),
                "9.0");
}

Expected<BoundTensor> bind_tensor(const PlanRequest& request, PlanInfo& info) {
  if (Status s = check_tensor_device(request)) return *s;
  std::vector<const kernels::TensorKernel*> kernels;
  for (int i = 0; i < request.target.tensor.count; ++i) kernels.push_back(request.target.tensor.kernels + i);
  if (!takes_flipped(request, kernels)) return bind_tensor_kernel(request, kernels, info);
  const KernelProblem flipped = request.problem.flipped();
  Expected<BoundTensor> bound =
      bind_tensor_kernel({request.target, flipped, request.asked, request.options}, kernels, info);
  if (bound) bound->flipped = true;
  return bound;
}

Expected<BoundTensor> bind_tensor_kernel(const PlanRequest& request,
                                         std::span<const kernels::TensorKernel* const> kernels,
                                         PlanInfo& info) {
  if (Status s = check_tensor_core_options(request.options)) return *s;
  const Expected<TensorChoice> choice = choose_tensor_kernel(request, kernels);
  if (!choice) return choice.error();
  if (Status s = check_stages(request.options, *choice->kernel)) return *s;
  BoundTensor bound;
  bound.kernel = choice->kernel;
  bound.launch.dependent_launch = request.options.dependent_launch;
  info.why = choice->why;
  info.candidates = choice->candidates;
  if (!request.problem.empty) {
    if (Status s = set_grid(request, bound, info)) return *s;
    set_arguments(request.problem, *choice, bound);
  }
  set_info(request, *choice, info);
  return bound;
}

void bind_tensor_pointers(const KernelProblem& p, const Buffers& buffers,
                          kernels::TensorGemmArguments& arguments) {
  if (p.reads_ab) {
    arguments.a.data = p.pointer_a(buffers);
    arguments.b.data = p.pointer_b(buffers);
    arguments.alpha_device = buffers.alpha;
  }
  if (p.reads_c) {
    arguments.c.data = buffers.c;
    arguments.beta_device = buffers.beta;
  }
  arguments.d.data = buffers.d;
}

Status run_tensor(const KernelProblem& problem, const BoundTensor& bound, const Buffers& buffers,
                  void* stream) {
  const KernelProblem p = bound.flipped ? problem.flipped() : problem;
  kernels::TensorGemmArguments arguments = bound.arguments;
  bind_tensor_pointers(p, buffers, arguments);
  return bound.kernel->launch(arguments, on_stream(bound.launch, stream));
}

}  // namespace tilewright
