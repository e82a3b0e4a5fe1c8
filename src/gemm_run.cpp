// Plan::run: binds pointers to a plan and launches.
#include "src/gemm_plan.h"
#include "src/gemm_rules.h"

namespace tilewright {
namespace {

using detail::PlanState;

Status check_pointer(char name, const void* pointer, int64_t alignment) {
  const std::string subject(1, name);
  if (pointer == nullptr) return broken(RuleId::pointer_null, subject, "null", "memory of the plan's device");
  const auto past =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(alignment));
  if (past == 0) return {};
  return broken(RuleId::pointer_alignment, subject,
                "address is " + std::to_string(past) + " modulo " + std::to_string(alignment),
                "a multiple of " + std::to_string(alignment) + ", or a plan whose Operand::alignment is " +
                    std::to_string(past & -past));
}

Status check_pointers(const PlanState& s, const Buffers& buffers) {
  const KernelProblem& p = s.problem;
  if (p.reads_ab) {
    const KernelOperand& a = p.exchanged ? p.b : p.a;
    const KernelOperand& b = p.exchanged ? p.a : p.b;
    if (Status e = check_pointer('A', buffers.a, a.alignment)) return e;
    if (Status e = check_pointer('B', buffers.b, b.alignment)) return e;
    if (buffers.d != nullptr && (buffers.d == buffers.a || buffers.d == buffers.b))
      return broken(RuleId::pointer_in_place, "D",
                    buffers.d == buffers.a ? "the address of A" : "the address of B", "memory of its own");
  }
  if (p.reads_c) {
    if (Status e = check_pointer('C', buffers.c, p.c_alignment)) return e;
    if (buffers.c == buffers.d && !p.in_place_ok)
      return broken(RuleId::pointer_in_place, "D", "the address of a C of another type or stride",
                    "C's type and strides, or memory of its own");
  }
  return check_pointer('D', buffers.d, p.d_alignment);
}

Status encode(const PlanState& s, const TensorMapSpec& planned, const void* base, TensorMap& map) {
  TensorMapSpec spec = planned;
  spec.base = const_cast<void*>(base);
  const Expected<TensorMap> encoded = s.target.encode(spec);
  if (!encoded) return encoded.error();
  map = *encoded;
  return {};
}

void bind_scalars(const PlanState& s, const Buffers& buffers, kernels::Fp8GemmParams& params) {
  if (s.problem.reads_ab) {
    const float* factors[] = {buffers.alpha, buffers.scale_a, buffers.scale_b, buffers.scale_d};
    for (int i = 0; i < 4; ++i) params.scale_device[i] = factors[i];
  }
  if (s.problem.reads_c) {
    params.beta_device[0] = buffers.beta;
    params.beta_device[1] = buffers.scale_d;
  }
}

}  // namespace

const PlanInfo& Plan::info() const { return state_->info; }

Status Plan::run(const Buffers& buffers, void* stream) const {
  const PlanState& s = *state_;
  if (s.problem.empty) return {};
  if (Status e = check_pointers(s, buffers)) return e;
  if (s.target.current_ordinal != nullptr) {
    const Expected<int> current = s.target.current_ordinal();
    if (!current) return current.error();
    if (*current != s.target.ordinal)
      return broken(RuleId::device_current, "device", "GPU " + std::to_string(*current) + " is current",
                    "GPU " + std::to_string(s.target.ordinal));
  }

  kernels::Fp8GemmParams params = s.params;
  const void* a = s.problem.exchanged ? buffers.b : buffers.a;
  const void* b = s.problem.exchanged ? buffers.a : buffers.b;
  if (s.problem.reads_ab) {
    params.a = static_cast<const uint8_t*>(a);
    params.b = static_cast<const uint8_t*>(b);
    if (s.kernel->id.load == kernels::Load::tma) {
      if (Status e = encode(s, s.a_spec, a, params.a_map)) return e;
      if (Status e = encode(s, s.b_spec, b, params.b_map)) return e;
    }
  }
  params.c = s.problem.reads_c ? buffers.c : nullptr;
  params.d = buffers.d;
  if (params.d_tma)
    if (Status e = encode(s, s.d_spec, buffers.d, params.d_map)) return e;
  // A column-major D exchanges the operands but not what their factors mean: the product is the same.
  bind_scalars(s, buffers, params);
  kernels::Fp8Launch launch = s.launch;
  launch.stream = stream;
  return s.kernel->launch(params, launch);
}

}  // namespace tilewright
