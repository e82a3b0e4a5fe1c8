// Two products of one A: Products<2>.
#include "tests/pipeline/run_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineProducts : public OnMachine {};

template <class T>
TILEWRIGHT_HOST_DEVICE T minus_twice(T value, T other) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value - 2 * other;
  } else {
    return T(static_cast<float>(value) - 2 * static_cast<float>(other));
  }
}

/// C = A B - 2 A B2.
template <class D, class Out>
struct Difference {
  Out out;
  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator& first, Accumulator& second, schedule::TileCoord tile) const {
    auto results = first.get_results();
    const auto others = second.get_results();
    results.for_each([&](int i, auto& value) { value = minus_twice(value, others[i]); });
    first.partition_and_copy(results, get_tile(out, D::c_shape, tile.m, tile.n, tile.batch));
  }
};

/// By execute, two tiles a block where there are so many.
template <class Handle, class Epilogue>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    execute_kernel(schedule::TileSchedule tiles, const TILEWRIGHT_GRID_CONSTANT Handle pipeline,
                   const TILEWRIGHT_GRID_CONSTANT Epilogue epilogue) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  const uint32_t rank = Handle::uses_cluster ? arch::cluster_rank() : 0;
  constexpr uint32_t kClusterM = blocks_per_cluster_of_v_m<typename Handle::descriptor>;
  const uint32_t step = gridDim.x / kClusterM;
  uint32_t i = blockIdx.x / kClusterM;
  schedule::TileCoord at = tiles.tile(i, rank);
  auto tile = pipeline.get_tile(shared, make_coord(at.m, at.batch), make_coord(at.n, at.batch));
  while (i < tiles.clusters_total) {
    tile.execute([&](auto& first, auto& second) { epilogue(first, second, at); });
    i += step;
    at = tiles.tile(i, rank);
    pipeline.reset_tile(tile, make_coord(at.m, at.batch), make_coord(at.n, at.batch));
  }
}

template <class D, int Depth, class Out>
void check_products(int64_t m, int64_t n, int64_t k, int64_t batches = 1) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
  using A = canonical_t<typename D::a_value_type>;
  using B = canonical_t<typename D::b_value_type>;
  Matrix<A, arrangement_of_v_a<D>> a(m, k, batches, 0, false, "A");
  Matrix<B, arrangement_of_v_b<D>> b(k, n, batches, 0, false, "B"), b2(k, n, batches, 16, false, "B2");
  std::mt19937 random(19);
  a.fill(random, -2, 2);
  b.fill(random, -2, 2);
  b2.fill(random, -2, 2);
  const auto p = suggest_pipeline<Depth, D>(a.const_tensor(), b.const_tensor(), b2.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  static_assert(Handle::products == 2);
  const schedule::TileSchedule tiles = p->make_schedule(static_cast<uint32_t>(batches));
  for (const bool persistent : {false, true}) {
    Matrix<Out, row_major> c(m, n, batches, 0, true, "C");
    using Epilogue = Difference<D, decltype(c.tensor())>;
    const auto kernel = persistent ? run_kernel<Handle, Epilogue> : execute_kernel<Handle, Epilogue>;
    const auto config = p->persistent_config(kernel, tiles, 0, nullptr, 2);
    ASSERT_TRUE(config) << config.error().message;
    run(kernel, *config, tiles, p->get_device_handle(), Epilogue{c.tensor()});
    if (::testing::Test::HasFatalFailure()) return;
    for (int64_t i = 0; i < batches; ++i) {
      for (int64_t row = 0; row < m; ++row) {
        for (int64_t column = 0; column < n; ++column) {
          double sum = 0;
          for (int64_t x = 0; x < k; ++x)
            sum += value_of(a.at(row, x, i)) *
                   (value_of(b.at(x, column, i)) - 2 * value_of(b2.at(x, column, i)));
          ASSERT_EQ(value_of(c.at(row, column, i)), value_of(element_from<Out>(sum)))
              << row << ", " << column << ", " << i;
        }
      }
    }
    expect_padding_untouched(c);
    EXPECT_TRUE(c.buffer.guards_are_intact());
  }
}

TEST_F(PipelineProducts, of_one_warpgroup) {
  check_products<Tile<bf16, bf16, float, 64, 64, 64, 128, Products<2>>, 3, bf16>(100, 130, 200, 2);
}
TEST_F(PipelineProducts, of_two_warpgroups_and_several_parts) {
  check_products<Tile<bf16, bf16, float, 128, 96, 64, 256, Products<2>>, 2, float>(300, 140, 90);
  check_products<Tile<bf16, bf16, float, 256, 64, 32, 256, Products<2>>, 2, float>(300, 140, 90);
}
TEST_F(PipelineProducts, of_four_warpgroups_side_by_side) {
  check_products<Tile<f16, f16, float, 128, 64, 64, 512, Products<2>>, 2, float>(130, 100, 90);
}
TEST_F(PipelineProducts, promoted) {
  check_products<Tile<e4m3, e4m3, float, 64, 64, 128, 128, Products<2>>, 2, float>(70, 66, 300);
}
TEST_F(PipelineProducts, of_integers_and_of_halves) {
  check_products<Tile<int8_t, int8_t, int32_t, 64, 32, 64, 128, Products<2>>, 2, int32_t>(70, 66, 130);
  check_products<Tile<f16, f16, f16, 64, 32, 64, 128, Products<2>>, 2, f16>(70, 66, 60);
}
TEST_F(PipelineProducts, mn_major_operands_and_clusters) {
  check_products<Tile<bf16, bf16, float, 64, 64, 64, 128, Products<2>, Arrangement<col_major, row_major>>, 2,
                 float>(100, 130, 100);
  check_products<Tile<bf16, bf16, float, 64, 64, 64, 128, Products<2>, BlocksPerCluster<2, 1>>, 2, float>(
      200, 130, 100);
}
TEST_F(PipelineProducts, of_k_zero_are_zero) {
  check_products<Tile<bf16, bf16, float, 64, 64, 64, 128, Products<2>>, 2, float>(70, 66, 0);
}

TEST_F(PipelineProducts, want_matrices_of_one_shape) {
  using D = Tile<bf16, bf16, float, 64, 64, 64, 128, Products<2>>;
  Matrix<bf16, row_major> a(64, 64, 1, 0, false, "A");
  Matrix<bf16, col_major> b(64, 64, 1, 0, false, "B"), narrow(64, 56, 1, 0, false, "B2"),
      shallow(56, 64, 1, 0, false, "B2"), two(64, 64, 2, 0, false, "B2");
  const auto code = [&](auto& second) {
    return suggest_pipeline<2, D>(a.const_tensor(), b.const_tensor(), second.const_tensor()).error().code;
  };
  EXPECT_EQ(code(narrow), pipeline_error_code::incompatible_n);
  EXPECT_EQ(code(shallow), pipeline_error_code::incompatible_k);
  EXPECT_EQ(code(two), pipeline_error_code::incompatible_batches);
  auto p = suggest_pipeline<2, D>(a.const_tensor(), b.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->rebind(a.const_tensor(), b.const_tensor(), narrow.const_tensor()));
  EXPECT_TRUE(p->rebind(a.const_tensor(), narrow.const_tensor(), narrow.const_tensor()));
  EXPECT_EQ(p->get_device_handle().columns(), 56u);
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
