// What D of a GEMM case should be: FP64 with bounds, and bit for bit the model of the tensor core, or for f32
// the chains of fused multiply-adds that the plan promises.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/operands.h"

namespace tilewright::testing {

class Expectation {
 public:
  Expectation(const GemmCase& c, const HostOperands& operands, const PlanInfo& plan);

  /// `d`: D's elements with the strides of operands.d.
  Comparison compare_with_reference(const std::vector<uint8_t>& d) const;
  /// The same for aux.
  Comparison compare_aux_with_reference(const std::vector<uint8_t>& aux) const;
  /// What is wrong with amax_d; empty if nothing is. d: D's elements.
  std::string judge_amax(float amax, const std::vector<uint8_t>& d) const;
  /// The first element of D that has other bits than the model; empty if none, or if the case is not
  /// modelled.
  std::string compare_with_model(const std::vector<uint8_t>& d) const;
  std::string compare_aux_with_model(const std::vector<uint8_t>& aux) const;

 private:
  void run_model(const PlanInfo& plan);
  std::string compare_with_model(const HostOperand& output, const std::vector<uint8_t>& got, bool aux) const;
  /// The problem before its activation and scale, or before its scale.
  ReferenceGemm reference_without(bool activation) const;
  ComparisonRules rules() const;

  const GemmCase& case_;
  const HostOperands& operands_;
  Factors factors_;
  bool exchanged_;  // the kernel computes D^T
  ReferenceGemm gemm_;
  std::vector<double> reference_, magnitude_;  // [batch][m][n]
  std::vector<double> sums_;                   // [batch][m][n], by the model; empty without it
};

}  // namespace tilewright::testing
