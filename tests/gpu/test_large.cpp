// Large problems: offsets beyond 32 bits, whole chips of tiles, long K.
#include <cstdio>

#include "tests/gpu/gpu_test.h"
#include "tests/gpu/sampled_gemm.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

using Large = GpuTest;

SampledGemm make(const char* name, int64_t m, int64_t n, int64_t k, DType d = DType::f16) {
  SampledGemm g;
  g.name = text(name, ' ', m, 'x', n, 'x', k);
  g.problem.m = m;
  g.problem.n = n;
  g.problem.k = k;
  g.problem.c.type = g.problem.d.type = d;
  return g;
}

void expect_rows(const char* group, const std::vector<SampledGemm>& gemms) {
  size_t passed = 0;
  int64_t elements = 0;
  for (const SampledGemm& g : gemms) {
    const SampledResult result = run_sampled(g);
    EXPECT_EQ(result.failure, "");
    elements += result.comparison.elements;
    if (result.failure.empty()) ++passed;
    if (g.init == Init::integers) {
      EXPECT_EQ(result.comparison.max_error, 0) << g.name;
    }
  }
  std::printf("%s: %zu of %zu problems passed, %lld elements checked\n", group, passed, gemms.size(),
              static_cast<long long>(elements));
}

TEST_F(Large, square_8192) {
  std::vector<SampledGemm> gemms;
  for (const Accumulation accumulation : {Accumulation::promoted, Accumulation::fast}) {
    for (const DType d : {DType::f16, DType::f32, DType::e4m3}) {
      SampledGemm g = make("8192", 8192, 8192, 8192, d);
      g.problem.accumulation = accumulation;
      gemms.push_back(g);
    }
  }
  expect_rows("8192 cubed", gemms);
}

// Rows on either side of the 2^31st element or byte are among the samples.
TEST_F(Large, C50_outputs_of_2_to_the_31_elements) {
  std::vector<SampledGemm> gemms;
  for (const StoreKind store : {StoreKind::tma, StoreKind::direct}) {
    for (const auto& [m, n] : {std::pair{131072, 16384}, {4194305, 512}, {175000, 12288}, {131072, 16392}}) {
      SampledGemm g = make("C50", m, n, 32);
      g.options.store = store;
      const int64_t limit = (int64_t{1} << 31) / n;
      g.rows = {0, limit / 2 - 1, limit / 2, limit / 2 + 1, limit - 1};
      for (int64_t row = limit; row < m && row < limit + 3; ++row) g.rows.push_back(row);
      g.rows.push_back(m - 2);
      g.rows.push_back(m - 1);
      gemms.push_back(g);
      if (m != 175000) continue;
      g.name += ", with C";
      g.problem.beta = 0.5f;
      gemms.push_back(g);
    }
  }
  expect_rows("C50, more than 2^31 elements of D", gemms);
}

TEST_F(Large, inputs_that_span_2_to_the_31_bytes) {
  std::vector<SampledGemm> gemms;
  SampledGemm g = make("A far apart", 131080, 264, 160);
  g.problem.a.ld = 16400;
  gemms.push_back(g);
  g.name += ", loads of kind copy";
  g.problem.a.ld = 16401;
  gemms.push_back(g);
  g = make("B far apart", 200, 70000, 160);
  g.problem.b.ld = 32784;
  gemms.push_back(g);
  g = make("batches far apart", 300, 400, 160);
  g.problem.l = 2;
  g.problem.a.batch_stride = (int64_t{1} << 32) + 16;
  g.problem.b.batch_stride = (int64_t{1} << 31) + 32;
  g.problem.d.batch_stride = (int64_t{1} << 32) + 8;
  gemms.push_back(g);
  g.name += ", loads of kind copy";
  g.options.load = LoadKind::copy;
  gemms.push_back(g);
  g = make("rows of D far apart", 66, 400, 160);
  g.problem.d.ld = (int64_t{1} << 27) + 8;
  gemms.push_back(g);
  expect_rows("inputs and outputs that span more than 2^31 bytes", gemms);
}

TEST_F(Large, C31_C53_C55_C56_C61_C89_shapes) {
  std::vector<SampledGemm> gemms;
  for (const int64_t m : {1087, 1088, 1089}) gemms.push_back(make("C31", m, 2048, 2048));
  gemms.push_back(make("C53", 8, 8192, 8192, DType::bf16));
  gemms.push_back(make("C53", 16, 2560, 8192, DType::bf16));
  for (const int64_t n : {8192, 12288}) {
    gemms.push_back(make("C55", 8, n, 8192, DType::f32));
    gemms.back().init = Init::integers;
  }
  for (const int64_t m : {8, 16, 32}) gemms.push_back(make("C56", m, 1536, 4096));
  gemms.push_back(make("C61", 2048, 768, 4096));
  gemms.push_back(make("C61", 768, 1536, 2048));
  gemms.push_back(make("C89", 512, 1024, 147456, DType::f32));
  gemms.push_back(make("C89", 1536, 256, 2048, DType::f32));
  expect_rows("shapes that broke others", gemms);
}

}  // namespace
}  // namespace tilewright::testing
