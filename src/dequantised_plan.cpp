#include "src/dequantised_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/block_scale_maps.h"
#include "src/gemm_grid.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"
#include "src/workspace.h"

namespace tilewright {
namespace {

using detail::BoundDequantised;
using detail::DequantisedWorkspace;
using kernels::DequantiseOperand;
using kernels::DequantiseParams;

constexpr int64_t kLineBytes = 128;  // lines of a bf16 matrix begin with lines of memory
constexpr int64_t kMostTasks = int64_t{1} << 31;

int64_t dequantised_ld(int64_t k) { return round_up(k, kLineBytes / 2); }

/// A, or B as n lines.
struct Lines {
  const BlockScaledOperand* operand;
  int64_t lines;    // of a matrix
  int64_t batches;  // matrices

  int64_t all() const { return lines * batches; }
  /// In all matrices.
  int64_t blocks() const { return scale_row_blocks(lines) * batches; }
};
std::pair<Lines, Lines> lines_of(const BlockScaledProblem& p) {
  return {{&p.a, p.m, batches_of(p.a, p)}, {&p.b, p.n, batches_of(p.b, p)}};
}

/// Reserves bytes behind the others.
int64_t reserve(DequantisedWorkspace& w, int64_t bytes) {
  const int64_t at = w.bytes;
  w.bytes += round_up(bytes, kWorkspaceAlignment);
  return at;
}

int64_t shift_bytes(const Lines& l) {
  if (!kernels::has_shifts(l.operand->format)) return 0;
  return l.blocks() * kernels::dequantise_quads * int64_t{sizeof(uint32_t)};
}

/// The bf16 problem, in the form that tensor-core kernels take.
KernelProblem bf16_problem(const PlanRequest& r, const BlockScaledProblem& p) {
  KernelProblem out = r.problem;
  const int64_t ld = dequantised_ld(p.k);
  const auto [a, b] = lines_of(p);
  const auto operand = [ld](char name, const Lines& l) {
    return KernelOperand{.name = name,
                         .type = DType::bf16,
                         .rows = l.lines,
                         .row_stride = ld,
                         .k_stride = 1,
                         .batch_stride = l.operand->shared ? 0 : l.lines * ld,
                         .alignment = static_cast<int>(kWorkspaceAlignment),
                         .bulk_along_k = true};
  };
  out.a = operand('A', a);
  out.b = operand('B', b);
  out.k = p.k;
  out.d_bulk = stores_in_bulk(p, static_cast<uintptr_t>(r.asked.d.alignment));
  return out;
}

/// Everything of an operand that does not depend on pointers.
DequantiseOperand dequantise_operand(const Lines& l, const BlockScaledProblem& p) {
  DequantiseOperand out{};
  out.ld = l.operand->ld;
  out.batch_stride = l.operand->batch_stride;
  out.to_ld = dequantised_ld(p.k);
  out.lines = static_cast<uint32_t>(l.lines);
  out.batches = static_cast<uint32_t>(l.batches);
  out.line_blocks = static_cast<uint32_t>(scale_row_blocks(l.lines));
  out.format = l.operand->format;
  return out;
}

/// Spans that a warp takes of its lines: it looks at all of their scales first, so the longer the lines, the
/// more; but not so many that warps are left without work.
int64_t spans_of_task(int64_t spans, int64_t quads, int64_t warps) {
  constexpr int64_t kSpansForAScan = 4;
  const int64_t for_scan = ceil_div(spans, kSpansForAScan),
                for_work = spans * quads / std::max<int64_t>(1, warps);
  return std::max<int64_t>(1, std::min(for_scan, for_work));
}

Status set_dequantise(const PlanRequest& r, const BlockScaledProblem& p, BoundDequantised& s) {
  const auto [a, b] = lines_of(p);
  const bool on_gpu = r.target.device == Device::gpu;
  const int64_t most_ctas =
      kernels::dequantise_ctas_per_sm *
      std::min<int64_t>(r.options.max_sms.value_or(r.target.model_sms()), r.target.model_sms());
  const int64_t spans = ceil_div(p.k, kernels::dequantise_span);
  const __int128 blocks = static_cast<__int128>(a.blocks()) + b.blocks(),
                 lines = static_cast<__int128>(a.all()) + b.all();
  const __int128 quads = blocks * kernels::dequantise_quads, matrices = lines * dequantised_ld(p.k) * 2;
  const auto refuse = [&] {
    return broken(RuleId::operand_span, "workspace",
                  text(static_cast<int64_t>(lines)) + " lines of " + text(p.k) + " in " +
                      text(static_cast<int64_t>(blocks)) + " blocks of at most 128, dequantised",
                  "smaller extents");
  };
  if (quads * spans >= kMostTasks || matrices >= kMostWorkspaceBytes) return refuse();

  DequantiseParams& out = s.dequantise;
  out.operand[0] = dequantise_operand(a, p);
  out.operand[1] = dequantise_operand(b, p);
  out.k = static_cast<uint32_t>(p.k);
  out.spans = static_cast<uint32_t>(spans);
  out.segment = static_cast<uint32_t>(
      spans_of_task(spans, static_cast<int64_t>(quads), most_ctas * kernels::dequantise_warps));
  out.segments = static_cast<uint32_t>(ceil_div(spans, out.segment));
  int64_t tasks = 0;
  for (int i = 0; i < 2; ++i) {
    const DequantiseOperand& o = out.operand[i];
    out.tasks[i] = o.batches * o.line_blocks * out.segments * kernels::dequantise_quads;
    tasks += out.tasks[i];
  }
  const int64_t useful = ceil_div(tasks, kernels::dequantise_warps);
  const int64_t ctas = on_gpu ? most_ctas : working_ctas(r.target, r.options, useful, 1, 1);
  s.dequantise_launch.grid_ctas = static_cast<uint32_t>(std::min(ctas, useful));
  s.dequantise_launch.dependent_launch = r.options.dependent_launch;

  DequantisedWorkspace& w = s.workspace;
  w.a = reserve(w, a.all() * out.operand[0].to_ld * 2);
  w.b = reserve(w, b.all() * out.operand[1].to_ld * 2);
  w.a_shifts = reserve(w, shift_bytes(a));
  w.b_shifts = reserve(w, shift_bytes(b));
  const bool flags = kernels::has_shifts(p.a.format) || kernels::has_shifts(p.b.format);
  w.flags = reserve(w, flags ? int64_t{sizeof(uint32_t)} * s.dequantise_launch.grid_ctas : 0);
  if (r.options.max_workspace && w.bytes > *r.options.max_workspace)
    return broken(RuleId::workspace_limit, "max_workspace", text(*r.options.max_workspace), text(w.bytes));
  return {};
}

void bind_operand(const BlockScaledOperand& from, void* to, uint32_t* shifts, DequantiseOperand& out) {
  out.elements = from.elements;
  std::visit(
      [&](const auto& scales) {
        out.scales = scales;
        out.scale_blocks = static_cast<uint32_t>(scale_column_blocks(scales.shape().columns));
      },
      from.scales);
  out.to = to;
  out.shifts = kernels::has_shifts(from.format) ? shifts : nullptr;
}

DequantiseParams dequantise_params(const BoundDequantised& bound, const BlockScaledProblem& p,
                                   const Buffers& buffers) {
  const DequantisedWorkspace& w = bound.workspace;
  DequantiseParams out = bound.dequantise;
  bind_operand(p.a, workspace_part<void>(buffers, w.a), workspace_part<uint32_t>(buffers, w.a_shifts),
               out.operand[0]);
  bind_operand(p.b, workspace_part<void>(buffers, w.b), workspace_part<uint32_t>(buffers, w.b_shifts),
               out.operand[1]);
  const bool flags = out.operand[0].shifts != nullptr || out.operand[1].shifts != nullptr;
  out.flags = flags ? workspace_part<uint32_t>(buffers, w.flags) : nullptr;
  return out;
}

/// "dequantised_mxfp8_mxfp4_128x256_f16_2x1"
std::string kernel_name(const BoundDequantised& bound) {
  const kernels::TensorKernelId& id = bound.kernel->tensor.id;
  std::string name = std::string("dequantised_") + name_of(bound.problem.a.format) + "_" +
                     name_of(bound.problem.b.format) + "_" + text(Shape2{id.tile_m, id.tile_n}) + "_" +
                     name_of(id.d);
  if (id.cluster_m > 1) name += "_" + text(Shape2{id.cluster_m, id.cluster_n});
  return name;
}

/// Blocks of shifts between the batches of a product.
uint32_t batch_blocks(const DequantiseOperand& o) { return o.batches == 1 ? 0 : o.line_blocks; }

kernels::ProductShifts shifts_of(const DequantiseParams& d, uint32_t ctas) {
  return {.flags = d.flags,
          .flag_count = ctas,
          .rows = d.operand[0].shifts,
          .columns = d.operand[1].shifts,
          .row_blocks = batch_blocks(d.operand[0]),
          .column_blocks = batch_blocks(d.operand[1]),
          .m = d.operand[0].lines,
          .n = d.operand[1].lines};
}

}  // namespace

Expected<BoundDequantised> bind_dequantised(const PlanRequest& request, PlanInfo& info) {
  const kernels::DequantisedKernelTable& table = request.target.dequantised;
  if (table.count == 0) return block_scaled_error("block_scaled.device", "no kernels for it in this build");
  if (request.options.scheduler != schedule::TileScheduler::static_persistent)
    return broken(RuleId::scheduler_built, "scheduler", "cluster launch control", "static_persistent");
  BoundDequantised bound;
  bound.problem = unbound_block_scaled(request.asked, request.problem);
  const KernelProblem problem = bf16_problem(request, bound.problem);
  std::vector<const kernels::TensorKernel*> kernels;
  for (int i = 0; i < table.count; ++i) kernels.push_back(&table.kernels[i].tensor);
  const Expected<detail::BoundTensor> gemm =
      bind_tensor_kernel({request.target, problem, request.asked, request.options}, kernels, info);
  if (!gemm) return gemm.error();
  bound.gemm = *gemm;
  bound.kernel = row_with(table, gemm->kernel);
  info.kernel = kernel_name(bound);
  info.why = "dequantised to bf16 first, " + info.why;
  if (!problem.reads_ab) return bound;
  if (Status s = set_dequantise(request, bound.problem, bound)) return *s;
  info.launches = 2;
  info.workspace_bytes = bound.workspace.bytes;
  return bound;
}

Status run_dequantised(const Target& target, const BoundDequantised& bound, const Buffers& buffers,
                       void* stream) {
  const Expected<BlockScaledProblem> p = bind_buffers(bound.problem, buffers);
  if (!p) return p.error();
  kernels::DequantisedArguments arguments;
  arguments.gemm = bound.gemm.arguments;
  arguments.gemm.c.data = p->c;
  arguments.gemm.d.data = p->d;
  arguments.c_type = p->c_type;
  if (bound.dequantise_launch.grid_ctas > 0) {
    const DequantiseParams dequantise = dequantise_params(bound, *p, buffers);
    arguments.gemm.a.data = dequantise.operand[0].to;
    arguments.gemm.b.data = dequantise.operand[1].to;
    arguments.shifts = shifts_of(dequantise, bound.dequantise_launch.grid_ctas);
    if (Status e = target.dequantised.dequantise(dequantise, on_stream(bound.dequantise_launch, stream)))
      return e;
  }
  return bound.kernel->launch(arguments, on_stream(bound.gemm.launch, stream));
}

}  // namespace tilewright
