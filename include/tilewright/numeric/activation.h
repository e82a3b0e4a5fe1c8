// What an epilogue may do with a result besides scaling it: the words, and the functions in FP64.
#pragma once

#include <cmath>
#include <cstdint>

namespace tilewright {

/// A vector that is added to a matrix: nothing, one element for each row, or one for each column.
enum class BiasKind : uint8_t { none, row, column };

/// gelu is its tanh approximation, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the one of cuBLASLt's
/// CUBLASLT_EPILOGUE_GELU (cuBLAS documentation, cublasLtEpilogue_t) and of Hendrycks and Gimpel, "Gaussian
/// error linear units"; at -infinity its limit, -0. NaN stays NaN, with relu too.
enum class Activation : uint8_t { none, relu, gelu };

constexpr const char* name_of(BiasKind kind) {
  return kind == BiasKind::row ? "row" : kind == BiasKind::column ? "column" : "none";
}
constexpr const char* name_of(Activation activation) {
  return activation == Activation::relu ? "relu" : activation == Activation::gelu ? "gelu" : "none";
}

/// gelu(x) = x / (1 + 2^exponent) with the exponent x (gelu_linear + gelu_cubic x^2)
/// = -2 log2(e) sqrt(2 / pi) (x + 0.044715 x^3).
inline constexpr double gelu_linear = -2.302208198144325;
inline constexpr double gelu_cubic = gelu_linear * 0.044715;

/// The functions in FP64, without the cancellation that 1 + tanh has: gelu is x / (1 + 2^exponent).
inline double activate(Activation activation, double x) {
  if (std::isnan(x)) return x;
  if (activation == Activation::relu) return x > 0 ? x : 0;
  if (activation != Activation::gelu) return x;
  if (std::isinf(x)) return x > 0 ? x : -0.0;
  return x / (1 + std::exp2(x * (gelu_linear + gelu_cubic * x * x)));
}

/// How far an activation in FP32 of a value that is at most `error` from x may be from activate(x), whose
/// magnitude is given. gelu changes by at most 1.13 times the change of its argument. On its own it is off by
/// 2^-16 of itself: the exponent, up to 52 where gelu_floor lets it, has four roundings of 2^-24 with those
/// of the constants, and the approximations of 2^x and 1 / x on a GPU are off by 2^-22 each; and by less than
/// 2^-48 below gelu_floor. So two machines differ by at most twice that.
inline double activation_error(Activation activation, double magnitude, double error) {
  if (activation != Activation::gelu) return error;
  return 1.13 * error + 0x1p-16 * magnitude + 0x1p-48;
}
/// The FP32 function takes smaller arguments for this one: |gelu| is below 2^-48 there.
inline constexpr float gelu_floor = -7.0f;

}  // namespace tilewright
