// Clusters of blocks that share the loads of their operands.
#include "tests/pipeline/gemm_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

/// One tile a block, grid (tiles of M, tiles of N) padded to whole clusters: the blocks past the edge take
/// part in loads and barriers and store nothing.
template <class D, class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    cluster_kernel(Out out, uint32_t rounds, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  for (uint32_t round = 0; round < rounds; ++round) {
    tile.execute([&](auto& accumulator) {
      accumulator.axpby(1.0f, round == 0 ? 0.0f : 1.0f, get_tile(out, D::c_shape, blockIdx.x, blockIdx.y));
    });
    pipeline.reset_tile(tile, blockIdx.x, blockIdx.y);
  }
}

template <class D>
void check_cluster(int64_t m, int64_t n, int64_t k) {
  using T = canonical_t<typename D::a_value_type>;
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
  Matrix<T, arrangement_of_v_a<D>> a(m, k, 1, 0, false, "A");
  Matrix<T, arrangement_of_v_b<D>> b(k, n, 1, 0, false, "B");
  Matrix<float, row_major> c(m, n, 1, 0, true, "C");
  std::mt19937 random(5);
  a.fill(random, -2, 2);
  b.fill(random, -2, 2);
  const auto p = suggest_pipeline<2, D>(get_batch(a.const_tensor(), 0), get_batch(b.const_tensor(), 0));
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const auto out = get_batch(c.tensor(), 0);
  constexpr uint32_t kRounds = 3;
  run(cluster_kernel<D, std::remove_const_t<decltype(out)>, Handle>, p->launch_config(p->get_grid_dim()), out,
      kRounds, p->get_device_handle());
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < k; ++x) sum += value_of(a.at(i, x, 0)) * value_of(b.at(x, j, 0));
      ASSERT_EQ(c.at(i, j, 0), kRounds * sum) << i << ", " << j;
    }
  }
  expect_padding_untouched(c);
}

template <class T, int M, int N, class... More>
using Clustered = Tile<T, T, float, 64, 64, 64, 128, BlocksPerCluster<M, N>, More...>;

class PipelineClusters : public OnMachine {};

TEST_F(PipelineClusters, share_b_along_m) {
  check_cluster<Clustered<bf16, 2, 1, RequireMulticast>>(130, 70, 200);
}
TEST_F(PipelineClusters, share_a_along_n) {
  check_cluster<Clustered<bf16, 1, 2, RequireMulticast>>(130, 70, 200);
}
TEST_F(PipelineClusters, share_both) {
  check_cluster<Clustered<bf16, 2, 2, RequireMulticast>>(200, 130, 200);
}
TEST_F(PipelineClusters, of_eight) { check_cluster<Clustered<e4m3, 4, 2, RequireMulticast>>(256, 128, 128); }
TEST_F(PipelineClusters, of_sixteen) {
  check_cluster<Tile<e4m3, e4m3, float, 64, 128, 64, 128, BlocksPerCluster<16, 1>, RequireMulticast>>(
      900, 128, 80);
  check_cluster<Tile<bf16, bf16, float, 64, 32, 64, 128, BlocksPerCluster<4, 4>, RequireMulticast>>(200, 100,
                                                                                                    80);
}
TEST_F(PipelineClusters, share_mn_major_operands) {
  check_cluster<Clustered<f16, 2, 2, Arrangement<col_major, row_major>, RequireMulticast>>(130, 136, 136);
}

template <class D>
using HandleFor = DevicePipeline<D, 2, internal_accumulator>;

TEST_F(PipelineClusters, without_multicast_where_shares_are_not_whole_patterns) {
  using Demoted = Clustered<bf16, 3, 1>;
  static_assert(HandleFor<Demoted>::uses_cluster && !HandleFor<Demoted>::uses_multicast);
  check_cluster<Demoted>(192, 64, 128);
  using Half = Tile<bf16, bf16, float, 64, 8, 64, 128, BlocksPerCluster<2, 2>>;  // 4 rows of B a block
  static_assert(HandleFor<Half>::uses_multicast_a && !HandleFor<Half>::uses_multicast_b);
  check_cluster<Half>(128, 16, 128);
}

TEST_F(PipelineClusters, are_ignored_where_operands_are_not_multicast) {
  using Pair =
      decltype(WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + BlocksPerCluster<2, 1>());
  using Fp64 = decltype(Pair() + Size<32, 32, 16>() + Precision<double>());
  using Fp32 = decltype(Pair() + Size<32, 128, 8>() + Precision<float>());
  static_assert(path_of_v<Fp64> == path::mma_sync && path_of_v<Fp32> == path::simt);
  static_assert(!HandleFor<Fp64>::uses_cluster && !HandleFor<Fp64>::uses_multicast);
  static_assert(HandleFor<Fp64>::get_cluster_dim() == Extent3{} &&
                HandleFor<Fp32>::get_cluster_dim() == Extent3{});
  static_assert(blas::detail::candidate<Fp64>().facts.cluster_m == 1);
  check_cluster<Fp64>(70, 40, 40);
  check_cluster<Fp32>(70, 40, 40);
}

TEST_F(PipelineClusters, say_what_they_are) {
  using One = Tile<bf16, bf16, float, 64, 64, 64, 128, BlocksPerCluster<1>>;
  static_assert(!HandleFor<One>::uses_cluster && !HandleFor<One>::uses_multicast);
  using Pair = Clustered<bf16, 2, 1>;
  static_assert(HandleFor<Pair>::uses_cluster && HandleFor<Pair>::uses_multicast_b &&
                !HandleFor<Pair>::uses_multicast_a);
  static_assert(HandleFor<Clustered<bf16, 4, 2>>::get_cluster_dim() == Extent3{4, 2, 1});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
