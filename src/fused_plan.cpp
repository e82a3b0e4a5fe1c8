#include "src/fused_plan.h"

#include <string>
#include <vector>

#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

using detail::BoundFused;
using kernels::FusedKernel;
using kernels::TensorKernel;
using kernels::TensorKernelId;

/// What else would run in a kernel of another kind, more slowly: there is none here.
Status check_loads(const PlanRequest& r) {
  if (r.options.load == LoadKind::copy)
    return broken(RuleId::epilogue_operands, "loads", "of kind copy", "tma");
  if (!r.problem.reads_ab) return {};
  for (const KernelOperand* o : {&r.problem.a, &r.problem.b}) {
    if (o->bulk_along_k) continue;
    const std::string subject(1, o->name);
    if (o->k_stride > 1)
      return broken(RuleId::epilogue_operands, subject,
                    o->name == 'A' ? "layout column_major" : "layout row_major",
                    o->name == 'A' ? "row_major" : "column_major");
    const BulkObstacle obstacle = bulk_obstacle_of(*o);
    return broken(RuleId::epilogue_operands, subject, obstacle.found, obstacle.nearest);
  }
  return {};
}

/// The kernels of the operands' types; the error says which there are.
Expected<std::vector<const TensorKernel*>> kernels_of(const PlanRequest& r) {
  const KernelProblem& p = r.problem;
  std::vector<const TensorKernel*> of_types, found;
  for (int i = 0; i < r.target.fused.count; ++i) {
    const TensorKernel& k = r.target.fused.kernels[i].tensor;
    if (k.id.a != p.a.type || k.id.b != p.b.type) continue;
    of_types.push_back(&k);
    if (k.id.stores(p.d_type)) found.push_back(&k);
  }
  if (!found.empty()) return found;
  if (!of_types.empty())
    return broken(RuleId::tile_built, "D", std::string("type ") + name_of(p.d_type) + " of mixed operands",
                  name_of(of_types.front()->id.d));
  return broken(RuleId::epilogue_operands, "types",
                std::string(name_of(r.asked.a.type)) + " x " + name_of(r.asked.b.type),
                is_fp8(p.a.type) ? "e4m3 x e4m3" : "none on this machine");
}

/// "bias of columns (bf16), gelu, aux (f32), amax"
std::string words_of(const EpilogueOps& e) {
  std::vector<std::string> parts;
  if (e.bias != BiasKind::none)
    parts.push_back(std::string("bias of ") + name_of(e.bias) + "s (" + name_of(e.bias_type) + ")");
  if (e.activation != Activation::none) parts.push_back(name_of(e.activation));
  if (e.aux) parts.push_back(std::string("aux (") + name_of(e.aux->type) + ")");
  if (e.amax_d) parts.push_back("amax");
  std::string words;
  for (const std::string& part : parts) words += (words.empty() ? "" : ", ") + part;
  return words;
}

/// "fused_128x256_e4m3_e4m3_o2": o, the bytes of an element of D.
std::string kernel_name(const TensorKernelId& id) {
  return "fused_" + text(Shape2{id.tile_m, id.tile_n}) + "_" + name_of(id.a) + "_" + name_of(id.b) + "_o" +
         text(bits_of(id.d) / 8);
}

void set_arguments(const PlanRequest& r, BoundFused& bound) {
  const KernelEpilogue& e = r.problem.epilogue;
  kernels::FusedArguments& out = bound.arguments;
  out.gemm = bound.gemm.arguments;
  out.c_type = r.problem.c_type;
  out.saturate = r.asked.saturate;
  out.scale_d = e.scale_d;
  out.bias_kind = e.bias;
  out.bias_type = e.bias_type;
  out.bias_batch_stride = e.bias_batch_stride;
  out.activation = e.activation;
  out.aux_type = e.aux_type;
  out.aux = {nullptr, e.aux_strides.row, e.aux_strides.batch};
}

}  // namespace

Expected<BoundFused> bind_fused(const PlanRequest& request, PlanInfo& info) {
  if (Status s = check_tensor_device(request)) return *s;
  if (Status s = check_loads(request)) return *s;
  const Expected<std::vector<const TensorKernel*>> kernels = kernels_of(request);
  if (!kernels) return kernels.error();
  const Expected<detail::BoundTensor> gemm = bind_tensor_kernel(request, *kernels, info);
  if (!gemm) return gemm.error();
  BoundFused bound;
  bound.gemm = *gemm;
  bound.kernel = row_with(request.target.fused, gemm->kernel);
  set_arguments(request, bound);
  info.kernel = kernel_name(gemm->kernel->id);
  info.why = words_of(request.asked.epilogue) + ", " + info.why;
  if (is_fp8(request.asked.a.type)) {
    constexpr int64_t kGroup = 128;  // interval 4
    info.group_tiles = 1;
    info.promotions = ceil_div(request.asked.k, kGroup);
  }
  return bound;
}

Status run_fused(const KernelProblem& p, const BoundFused& bound, const Buffers& buffers, void* stream) {
  kernels::FusedArguments arguments = bound.arguments;
  bind_tensor_pointers(p, buffers, arguments.gemm);
  if (p.reads_ab) {
    arguments.scale_device[0] = buffers.scale_a;
    arguments.scale_device[1] = buffers.scale_b;
  }
  arguments.scale_d_device = buffers.scale_d;
  arguments.bias = buffers.bias;
  arguments.aux.data = buffers.aux;
  arguments.amax = buffers.amax_d;
  return bound.kernel->launch(arguments, on_stream(bound.gemm.launch, stream));
}

}  // namespace tilewright
