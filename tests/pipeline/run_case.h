// run() with any descriptor, any shape and either kind of epilogue, against a reference in double.
#pragma once

#include "tests/pipeline/gemm_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {

template <class Handle, class Epilogue>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    run_kernel(schedule::TileSchedule tiles, const TILEWRIGHT_GRID_CONSTANT Handle pipeline,
               const TILEWRIGHT_GRID_CONSTANT Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

/// One phase: C = 2 A B by ordinary stores.
template <class D, class Out>
struct Doubled {
  Out out;
  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator& accumulator, schedule::TileCoord tile) const {
    accumulator.axpby(2.0f, 0.0f, get_tile(out, D::c_shape, tile.m, tile.n, tile.batch));
  }
};

/// A number of a global coordinate: neighbours, and the same element of neighbouring tiles, have others.
TILEWRIGHT_HOST_DEVICE float number_of_place(uint32_t row, uint32_t column) {
  return static_cast<float>((row + row / 64 + 3 * (column / 128)) % 8);
}

/// 2 x + the number of its place.
struct DoublePlusPlace {
  TILEWRIGHT_HOST_DEVICE float operator()(float x, Coord at) const {
    return 2 * x + number_of_place(at.m, at.n);
  }
};

/// 2 x: does not look at the coordinate, and says so.
struct Twice {
  TILEWRIGHT_HOST_DEVICE float operator()(float x) const { return 2 * x; }
  TILEWRIGHT_HOST_DEVICE float operator()(float x, Coord) const { return 2 * x; }
};

template <class D, int Depth, class Out, bool TwoPhases, class Op = DoublePlusPlace>
void check_run(int64_t m, int64_t n, int64_t k, int64_t batches = 1, uint32_t clusters = 2) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
  using T = canonical_t<typename D::a_value_type>;
  Matrix<T, arrangement_of_v_a<D>> a(m, k, batches, 0, false, "A");
  Matrix<T, arrangement_of_v_b<D>> b(k, n, batches, 0, false, "B");
  Matrix<Out, row_major> c(m, n, batches, 0, true, "C");
  std::mt19937 random(9);
  a.fill(random, -1, 1);
  b.fill(random, -1, 1);
  const auto p = suggest_pipeline<Depth, D>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const schedule::TileSchedule tiles = p->make_schedule(static_cast<uint32_t>(batches));
  if constexpr (TwoPhases) {
    const auto epilogue = make_store_through_smem<D>(c.tensor(), Op{});
    ASSERT_TRUE(epilogue) << epilogue.error().message;
    using Epilogue = std::decay_t<decltype(*epilogue)>;
    const auto config = p->persistent_config(run_kernel<Handle, Epilogue>, tiles, Epilogue::scratch_bytes(),
                                             nullptr, clusters);
    ASSERT_TRUE(config) << config.error().message;
    run(run_kernel<Handle, Epilogue>, *config, tiles, p->get_device_handle(), *epilogue);
  } else {
    using Epilogue = Doubled<D, decltype(c.tensor())>;
    const auto config = p->persistent_config(run_kernel<Handle, Epilogue>, tiles, 0, nullptr, clusters);
    ASSERT_TRUE(config) << config.error().message;
    run(run_kernel<Handle, Epilogue>, *config, tiles, p->get_device_handle(), Epilogue{c.tensor()});
  }
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < batches; ++i) {
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (int64_t x = 0; x < k; ++x) sum += value_of(a.at(row, x, i)) * value_of(b.at(x, column, i));
        const Coord at{static_cast<uint32_t>(row), static_cast<uint32_t>(column)};
        const double expected = TwoPhases ? Op()(static_cast<float>(sum), at) : 2 * sum;
        ASSERT_EQ(value_of(c.at(row, column, i)), value_of(element_from<Out>(expected)))
            << row << ", " << column << ", " << i;
      }
    }
  }
  expect_padding_untouched(c);
  EXPECT_TRUE(c.buffer.guards_are_intact());
}

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
