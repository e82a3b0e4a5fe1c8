// The activation itself: products of nothing, so that D is activation(bias).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/fused/fused_cases.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tilewright/numeric/activation.h"

namespace tilewright::testing {
namespace {

/// The textbook's formula.
double gelu_by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(Gelu, reference_is_the_formula) {
  for (double x = -4; x <= 12; x += 1.0 / 64)
    EXPECT_NEAR(activate(Activation::gelu, x), gelu_by_tanh(x), 1e-13) << x;
  EXPECT_EQ(activate(Activation::gelu, INFINITY), INFINITY);
  EXPECT_EQ(activate(Activation::gelu, -INFINITY), 0);
  EXPECT_TRUE(std::isnan(activate(Activation::gelu, NAN)));
  EXPECT_TRUE(std::isnan(activate(Activation::relu, NAN)));
  EXPECT_EQ(activate(Activation::relu, -2), 0);
  EXPECT_EQ(activate(Activation::none, -2), -2);
}

/// Arguments of every magnitude and sign, and many where the function bends.
std::vector<float> arguments() {
  std::vector<float> x;
  for (int exponent = -149; exponent < 128; ++exponent)
    for (const float significand : {1.0f, 1.25f, 1.9f})
      for (const float sign : {1.0f, -1.0f}) x.push_back(sign * std::ldexp(significand, exponent));
  for (float at = -9; at < 9; at += 1.0f / 256) x.push_back(at);
  x.insert(x.end(),
           {0.0f, -0.0f, std::nextafter(gelu_floor, 0.0f), gelu_floor, std::nextafter(gelu_floor, -8.0f)});
  return x;
}

TEST(Gelu, every_argument_is_within_its_bound) {
  EmulatedMachine machine;
  const std::vector<float> x = arguments();
  GemmCase c =
      fused_case(small_fused_kernel(DType::bf16, DType::f32), "gelu", 1, static_cast<int64_t>(x.size()), 0);
  c.problem.epilogue = {.bias = BiasKind::column, .activation = Activation::gelu};
  c.bias_value = [&](int64_t, int64_t i, int64_t) { return x[static_cast<size_t>(i)]; };
  c.options.max_sms.reset();
  const CaseResult result = expect_passes(c, machine);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    float got = 0;
    std::memcpy(&got, &result.d[4 * i], 4);
    const double wanted = activate(Activation::gelu, x[i]);
    const double bound = activation_error(Activation::gelu, std::fabs(wanted), 0);
    EXPECT_LE(std::fabs(got - wanted), bound + 0x1p-149) << x[i];
    if (x[i] > gelu_floor && std::fabs(wanted) > 1e-30)
      worst = std::max(worst, std::fabs(got - wanted) / std::fabs(wanted));
  }
  std::printf("gelu: largest relative error above %g: 2^%.1f\n", gelu_floor, std::log2(worst));
}

}  // namespace
}  // namespace tilewright::testing
