// Plan::run: binds pointers to a plan and launches.
#include "src/gemm_plan.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"
#include "src/workspace.h"

namespace tilewright {
namespace {

using detail::PlanState;

/// `promised`: by Operand::alignment, which a plan could promise less of.
Status check_pointer(const std::string& subject, const void* pointer, int64_t alignment,
                     bool promised = true) {
  if (pointer == nullptr) return broken(RuleId::pointer_null, subject, "null", "memory of the plan's device");
  const auto past =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(alignment));
  if (past == 0) return {};
  return broken(
      RuleId::pointer_alignment, subject,
      "address is " + std::to_string(past) + " modulo " + std::to_string(alignment),
      "a multiple of " + std::to_string(alignment) +
          (promised ? ", or a plan whose Operand::alignment is " + std::to_string(past & -past) : ""));
}

Status check_pointers(const PlanState& s, const Buffers& buffers) {
  const KernelProblem& p = s.problem;
  if (p.reads_ab) {
    const KernelOperand& a = p.exchanged ? p.b : p.a;
    const KernelOperand& b = p.exchanged ? p.a : p.b;
    if (Status e = check_pointer("A", buffers.a, a.alignment)) return e;
    if (Status e = check_pointer("B", buffers.b, b.alignment)) return e;
    if (p.scale_mode != ScaleMode::per_tensor) {
      if (Status e = check_pointer("scale_a", buffers.scale_a, sizeof(float), false)) return e;
      if (Status e = check_pointer("scale_b", buffers.scale_b, sizeof(float), false)) return e;
    }
    if (buffers.d != nullptr && (buffers.d == buffers.a || buffers.d == buffers.b))
      return broken(RuleId::pointer_in_place, "D",
                    buffers.d == buffers.a ? "the address of A" : "the address of B", "memory of its own");
  }
  if (p.reads_c) {
    if (Status e = check_pointer("C", buffers.c, p.c_alignment)) return e;
    if (buffers.c == buffers.d && !p.in_place_ok)
      return broken(RuleId::pointer_in_place, "D", "the address of a C of another type or stride",
                    "C's type and strides, or memory of its own");
  }
  return check_pointer("D", buffers.d, p.d_alignment);
}

/// `pointer`: of something of Problem::epilogue that it has or has not.
Status check_operand_of_epilogue(const char* name, const void* pointer, bool wanted, int64_t alignment,
                                 const char* how_to_want) {
  if ((pointer != nullptr) != wanted)
    return broken(RuleId::epilogue_pointer, name, wanted ? "null" : "a pointer",
                  wanted ? "memory of the plan's device"
                         : std::string("null, or a plan whose Problem::epilogue.") + how_to_want);
  const auto past = reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(alignment);
  if (past == 0) return {};
  return broken(RuleId::epilogue_pointer, name,
                "address is " + text(static_cast<int64_t>(past)) + " modulo " + text(alignment),
                "a multiple of " + text(alignment));
}

/// An output of the epilogue is no other operand: kernels read those while they write it.
Status check_apart(const char* name, const void* output, const Buffers& b) {
  if (output == nullptr) return {};
  const std::pair<const char*, const void*> others[] = {{"A", b.a},
                                                        {"B", b.b},
                                                        {"C", b.c},
                                                        {"D", b.d},
                                                        {"bias", b.bias},
                                                        {"aux", b.aux},
                                                        {"amax_d", b.amax_d},
                                                        {"alpha", b.alpha},
                                                        {"beta", b.beta},
                                                        {"scale_a", b.scale_a},
                                                        {"scale_b", b.scale_b},
                                                        {"scale_d", b.scale_d}};
  for (const auto& [other, pointer] : others)
    if (pointer == output && std::string_view(other) != name)
      return broken(RuleId::epilogue_pointer, name, std::string("the address of ") + other,
                    "memory of its own");
  return {};
}

Status check_epilogue_pointers(const PlanState& s, const Buffers& buffers) {
  const KernelEpilogue& e = s.problem.epilogue;
  const auto bytes = [](DType type) { return int64_t{bits_of(type)} / 8; };
  if (!s.problem.empty) {
    if (Status x = check_operand_of_epilogue("bias", buffers.bias, e.bias != BiasKind::none,
                                             bytes(e.bias_type), "bias is row or column"))
      return x;
    if (Status x = check_operand_of_epilogue("aux", buffers.aux, e.aux, e.aux_alignment, "aux is given"))
      return x;
    if (Status x = check_apart("aux", buffers.aux, buffers)) return x;
    if (buffers.bias != nullptr && buffers.bias == buffers.d)
      return broken(RuleId::epilogue_pointer, "bias", "the address of D", "memory of its own");
  }
  if (Status x = check_operand_of_epilogue("amax_d", buffers.amax_d, e.amax, sizeof(float), "amax_d is true"))
    return x;
  return check_apart("amax_d", buffers.amax_d, buffers);
}

Status check_workspace(const PlanState& s, const Buffers& buffers) {
  if (s.info.workspace_bytes == 0) return {};
  const std::string nearest =
      text(s.info.workspace_bytes) + " bytes at a multiple of " + text(kWorkspaceAlignment);
  if (buffers.workspace == nullptr) return broken(RuleId::pointer_workspace, "workspace", "null", nearest);
  const uintptr_t past = reinterpret_cast<uintptr_t>(buffers.workspace) % kWorkspaceAlignment;
  if (past == 0) return {};
  return broken(RuleId::pointer_workspace, "workspace",
                "address is " + text(static_cast<int64_t>(past)) + " modulo " + text(kWorkspaceAlignment),
                nearest);
}

Status check_scalars(const PlanState& s, const Buffers& buffers) {
  const struct {
    const char* name;
    const float* pointer;
    bool fp8_alone;
  } scalars[] = {{"alpha", buffers.alpha, false},
                 {"beta", buffers.beta, false},
                 {"scale_a", buffers.scale_a, true},
                 {"scale_b", buffers.scale_b, true},
                 {"scale_d", buffers.scale_d, true}};
  for (const auto& [name, pointer, fp8_alone] : scalars) {
    if (pointer == nullptr) continue;
    if (fp8_alone && s.problem.family != Family::fp8)
      return broken(RuleId::scale_device, name, "a device pointer", "null");
    if (Status e = check_pointer(name, pointer, sizeof(float), false)) return e;
  }
  return {};
}

}  // namespace

const PlanInfo& Plan::info() const { return state_->info; }

Status Plan::run(const Buffers& buffers, void* stream) const {
  const PlanState& s = *state_;
  if (s.problem.empty && !s.problem.epilogue.amax) return {};
  if (!s.problem.empty)
    if (Status e = check_pointers(s, buffers)) return e;
  if (Status e = check_epilogue_pointers(s, buffers)) return e;
  if (Status e = check_workspace(s, buffers)) return e;
  if (Status e = check_scalars(s, buffers)) return e;
  if (s.target.current_ordinal != nullptr) {
    const Expected<int> current = s.target.current_ordinal();
    if (!current) return current.error();
    if (*current != s.target.ordinal)
      return broken(RuleId::device_current, "device", "GPU " + std::to_string(*current) + " is current",
                    "GPU " + std::to_string(s.target.ordinal));
  }

  if (const auto* fp8 = std::get_if<detail::BoundFp8>(&s.kernel))
    return run_fp8(s.problem, *fp8, buffers, stream);
  if (const auto* fused = std::get_if<detail::BoundFused>(&s.kernel))
    return run_fused(s.problem, *fused, buffers, stream);
  if (const auto* tensor = std::get_if<detail::BoundTensor>(&s.kernel))
    return run_tensor(s.problem, *tensor, buffers, stream);
  if (const auto* scaled = std::get_if<detail::BoundBlockScale>(&s.kernel))
    return run_block_scale(s.target, *scaled, buffers, stream);
  if (const auto* dequantised = std::get_if<detail::BoundDequantised>(&s.kernel))
    return run_dequantised(s.target, *dequantised, buffers, stream);
  return run_simt(s.target, std::get<detail::BoundSimt>(s.kernel), buffers, stream);
}

}  // namespace tilewright
