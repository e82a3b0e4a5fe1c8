// The planner's choices for users of pipelines: those of plan() for the kernels that are shipped.
#include <gtest/gtest.h>

#include <array>

#include "tests/host/fake_target.h"
#include "tilewright/pipeline/suggest_schedule.h"

namespace tilewright::testing {
namespace {

using namespace tilewright::blas;

template <class T, int M, int N, int Bytes, int ClusterM, class Out = float>
using OnHopper = decltype(Size<M, N, 128 / Bytes>() + Precision<T, T, Out>() + BlockDim < M == 64
                              ? 128
                              : 256 > () + MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                                          SM<900, arch_specific>() + BlocksPerCluster<ClusterM>());

// The K-major kernels with D of the operands' type in src/tensor_kernels.def, in its order.
template <class T>
int suggested(int64_t m, int64_t n, int64_t k, int64_t l, int sms = 0) {
  return suggest_descriptor<OnHopper<T, 128, 256, 2, 1>, OnHopper<T, 128, 256, 2, 2>,
                            OnHopper<T, 128, 128, 2, 1>, OnHopper<T, 64, 128, 2, 1>>(m, n, k, l, sms);
}
template <class T>
ScheduleChoice scheduled(int index, int64_t m, int64_t n, int64_t k) {
  const std::array<ScheduleChoice, 4> all{suggest_schedule<OnHopper<T, 128, 256, 2, 1>>(m, n, k),
                                          suggest_schedule<OnHopper<T, 128, 256, 2, 2>>(m, n, k),
                                          suggest_schedule<OnHopper<T, 128, 128, 2, 1>>(m, n, k),
                                          suggest_schedule<OnHopper<T, 64, 128, 2, 1>>(m, n, k)};
  return all[static_cast<size_t>(index)];
}
constexpr Shape2 kTiles[] = {{128, 256}, {128, 256}, {128, 128}, {64, 128}};
constexpr Shape2 kClusters[] = {{1, 1}, {2, 1}, {1, 1}, {1, 1}};

template <class T>
void expect_plan_of(DType type, int64_t m, int64_t n, int64_t k, int64_t l = 1) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k << " x " << l);
  Problem p = tensor_problem(type, type, m, n, k);
  p.l = l;
  const Expected<Plan> plan = plan_on(fake_gpu(), p, {});
  ASSERT_TRUE(plan) << plan.error().message;
  const int found = suggested<T>(m, n, k, l, 132);
  EXPECT_EQ(kTiles[found], plan->info().tile) << plan->info().kernel;
  EXPECT_EQ(kClusters[found], plan->info().cluster) << plan->info().kernel;
  const ScheduleChoice choice = scheduled<T>(found, m, n, k);
  EXPECT_EQ(choice.raster, plan->info().raster);
  // A plan says what is left of the strip in a narrow product.
  const int64_t columns = (n + kTiles[found].n - 1) / kTiles[found].n;
  EXPECT_EQ(std::min<int64_t>(choice.strip, columns), plan->info().swizzle);
}

TEST(SuggestSchedule, is_the_plan_of_the_shipped_kernels) {
  for (const int64_t m : {64, 128, 200, 2048, 4096, 4224, 8192}) {
    for (const int64_t n : {64, 1536, 7168, 8192}) {
      for (const int64_t k : {64, 2048, 16384}) expect_plan_of<bf16>(DType::bf16, m, n, k);
    }
  }
  expect_plan_of<f16>(DType::f16, 4096, 24576, 1536);
  expect_plan_of<f16>(DType::f16, 300, 504, 704, 20);
}

// Golden, as in test_gemm_heuristic.cpp.
TEST(SuggestSchedule, picks_a_descriptor_and_an_order) {
  EXPECT_EQ(suggested<bf16>(8192, 8192, 4096, 1, 132), 1);
  EXPECT_EQ(suggested<bf16>(8192, 8192, 8192, 1, 132), 0) << "long rows of K";
  EXPECT_EQ(suggested<bf16>(128 * 33, 8192, 4096, 1, 132), 0) << "an odd number of rows of tiles";
  EXPECT_EQ(suggested<bf16>(64, 7168, 2048, 1, 132), 3);
  EXPECT_EQ(scheduled<bf16>(0, 8192, 8192, 8192), (ScheduleChoice{schedule::Raster::along_m, 8}));
  EXPECT_EQ(scheduled<bf16>(1, 8192, 8192, 8192), (ScheduleChoice{schedule::Raster::along_m, 4}));
  // FP8 has rules of its own: no pairs.
  using Fp8 = OnHopper<e4m3, 128, 256, 1, 1>;
  using Fp8Pair = OnHopper<e4m3, 128, 256, 1, 2>;
  using Fp8Low = OnHopper<e4m3, 64, 64, 1, 1>;
  EXPECT_EQ(suggest_schedule<Fp8>(8192, 8192, 4096), (ScheduleChoice{schedule::Raster::along_n, 32}));
  EXPECT_EQ(suggest_schedule<Fp8Pair>(8192, 8192, 8192), (ScheduleChoice{schedule::Raster::along_n, 8}));
  EXPECT_EQ((suggest_descriptor<Fp8Low, Fp8, Fp8Pair>(8192, 8192, 8192, 1, 132)), 1);
  EXPECT_EQ((suggest_descriptor<Fp8, Fp8Pair, Fp8Low>(128, 4096, 7168, 1, 132)), 2);
}

TEST(SuggestSchedule, reckons_with_the_multiprocessors_and_batches_that_it_is_told) {
  EXPECT_EQ(suggested<bf16>(128, 512, 4096, 1, 132), 3) << "low tiles fill more of a large chip";
  EXPECT_EQ(suggested<bf16>(128, 512, 4096, 1, 2), 0);
  EXPECT_EQ(suggested<bf16>(128, 512, 4096, 1000, 132), 0);
}

TEST(SuggestSchedule, prefers_the_fastest_path_and_visits_what_it_chose) {
  using Slow = decltype(Size<128, 128, 64>() + Precision<bf16, bf16, float>() + BlockDim<256>() +
                        Alignment<2, 2, 4>() + WithPipeline() + SM<900, arch_specific>());
  static_assert(path_of_v<Slow> == path::mma_sync);
  using Wide = OnHopper<bf16, 128, 256, 2, 1>;
  EXPECT_EQ((suggest_descriptor<Slow, Wide>(64, 64, 64)), 1);
  EXPECT_EQ((suggest_descriptor<Slow>(64, 64, 64)), 0);
  const auto rows = []<class D> { return D::size_operator::n; };
  EXPECT_EQ((with_suggested_descriptor<Slow, Wide>(rows, 64, 64, 64)), 256);
}

}  // namespace
}  // namespace tilewright::testing
