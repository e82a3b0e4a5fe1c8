// Complex products of the mma_sync path, in every arrangement, against exact sums.
#include <complex>
#include <cstring>

#include "tests/pipeline/complex_case.h"
#include "tests/pipeline/mma_sync_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineMmaSyncComplex : public OnMachine {};

template <class T, class C, int M, int N, int K, int Threads, arrangement OrderA, arrangement OrderB,
          int Bytes>
using Complex = decltype(Sync<T, T, C, M, N, K, Threads, OrderA, OrderB, Bytes>() + Type<type::complex>());

template <class T, class C, int M, int N, int K, int Threads, int Bytes, class Out>
void check_complex_arrangements(GemmShape s) {
  s.alignment = Bytes;
  check_complex<Complex<T, C, M, N, K, Threads, row_major, col_major, Bytes>, 3, Out>(s);
  check_complex<Complex<T, C, M, N, K, Threads, col_major, col_major, Bytes>, 2, Out>(s);
  check_complex<Complex<T, C, M, N, K, Threads, row_major, row_major, Bytes>, 2, Out>(s);
  check_complex<Complex<T, C, M, N, K, Threads, col_major, row_major, Bytes>, 3, Out>(s);
}

TEST_F(PipelineMmaSyncComplex, numbers_lie_as_those_of_the_standard) {
  static_assert(sizeof(complex<double>) == sizeof(std::complex<double>) && alignof(complex<double>) == 16);
  static_assert(sizeof(complex<float>) == sizeof(std::complex<float>) && sizeof(complex<f16>) == 4);
  const std::complex<double> theirs(1, 2);
  complex<double> ours;
  std::memcpy(&ours, &theirs, sizeof(ours));
  EXPECT_TRUE(ours.real() == 1 && ours.imag() == 2);
}

TEST_F(PipelineMmaSyncComplex, f16) {
  check_complex_arrangements<f16, float, 64, 48, 24, 64, 16, float>({70, 100, 52});
}
TEST_F(PipelineMmaSyncComplex, f16_in_f16) {
  check_complex_arrangements<f16, f16, 32, 24, 16, 32, 8, f16>({.m = 42, .n = 30, .k = 18, .batches = 2});
}
TEST_F(PipelineMmaSyncComplex, bf16) {
  check_complex_arrangements<bf16, float, 32, 40, 16, 64, 4, float>(
      {.m = 43, .n = 51, .k = 37, .batches = 2});
}
TEST_F(PipelineMmaSyncComplex, tf32) {
  check_complex_arrangements<tf32, float, 32, 24, 8, 64, 8, float>({43, 51, 37});
}
TEST_F(PipelineMmaSyncComplex, f64) {
  check_complex_arrangements<double, double, 32, 32, 8, 64, 16, double>(
      {.m = 43, .n = 51, .k = 37, .batches = 2});
  check_complex_arrangements<double, double, 32, 8, 4, 64, 8, double>({43, 51, 37});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
