// The ways to get a result out of an accumulator, on tiles that are whole and on tiles that are not.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/pipeline/gemm_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

using D = Tile<bf16, bf16, float, 128, 72, 32, 256>;
constexpr int64_t kM = 200, kN = 100, kK = 48;  // two by two tiles, three of them partial

/// A and B of small integers, their product, and a pipeline over them.
template <class Descriptor, class Tag = internal_accumulator, int Depth = 2>
struct Problem {
  using A = canonical_t<typename Descriptor::a_value_type>;
  Matrix<A, row_major> a{kM, kK, 1, 0, false, "A"};
  Matrix<A, col_major> b{kK, kN, 1, 0, false, "B"};
  std::vector<double> product = std::vector<double>(kM * kN);

  Problem() {
    std::mt19937 random(7);
    a.fill(random, -2, 2);
    b.fill(random, -2, 2);
    for (int64_t m = 0; m < kM; ++m) {
      for (int64_t n = 0; n < kN; ++n) {
        for (int64_t k = 0; k < kK; ++k) {
          product[static_cast<size_t>(m * kN + n)] += value_of(a.at(m, k, 0)) * value_of(b.at(k, n, 0));
        }
      }
    }
  }
  double at(int64_t m, int64_t n) const { return product[static_cast<size_t>(m * kN + n)]; }
  auto pipeline() { return *suggest_pipeline<Depth, Descriptor, Tag>(a.const_tensor(), b.const_tensor()); }

  /// Runs kernel(out, pipeline) with one block a tile.
  template <class Kernel, class Out>
  void run_tiles(Kernel kernel, Out out) {
    const auto p = pipeline();
    const Extent3 grid = p.get_grid_dim();
    run(kernel, p.launch_config({grid.x, grid.y, 1}), out, p.get_device_handle());
  }
};

template <class Descriptor, class Tag = internal_accumulator, int Depth = 2>
using HandleOf =
    std::decay_t<decltype(std::declval<Problem<Descriptor, Tag, Depth>&>().pipeline().get_device_handle())>;
using Handle = HandleOf<D>;

template <class T, arrangement Order>
void expect_product(const Problem<D>& problem, Matrix<T, Order>& c, double (*of)(double, int64_t, int64_t)) {
  int wrong = 0;
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t n = 0; n < kN; ++n) {
      const double expected = of(problem.at(m, n), m, n), found = value_of(c.at(m, n, 0));
      if (found != expected && ++wrong < 5) {
        ADD_FAILURE() << "(" << m << ", " << n << ") is " << found << ", not " << expected;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
  expect_padding_untouched(c);
}

class PipelineAccumulator : public OnMachine {};

// ---- get_results, map_fragment_index

template <class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    results_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    auto results = accumulator.get_results();
    // A copy: what is written to it does not reach the accumulator. Free calls stay free after the one read.
    results.for_each([&](int i, float& value) {
      const auto [m, n] = accumulator.map_fragment_index(i);
      if (accumulator.is_index_in_bounds(i)) {
        out(blockIdx.x * 128 + m, blockIdx.y * 72 + n) = value + 1;
      } else {
        // Outside of the product a fragment holds zeros; anything else would be seen here.
        if (value != 0) out(0, 0) = -1000;
      }
    });
  });
}

TEST_F(PipelineAccumulator, results_are_a_copy_with_coordinates_and_zeros_outside) {
  Problem<D> problem;
  Matrix<float, row_major> c(kM, kN, 1, 0, true, "C");
  const auto out = get_batch(c.tensor(), 0);
  problem.run_tiles(results_kernel<decltype(out)>, out);
  expect_product(problem, c, [](double p, int64_t, int64_t) { return p + 1; });
}

// ---- process_and_store, reduce_and_store

template <class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    process_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.process_and_store(get_tile(out, D::c_shape, blockIdx.x, blockIdx.y),
                                  [](float value) { return value > 0 ? value : 0.0f; });
  });
}

TEST_F(PipelineAccumulator, process_and_store_applies_a_function) {
  Problem<D> problem;
  Matrix<f16, row_major> c(kM, kN, 1, 0, true, "C");
  const auto out = get_batch(c.tensor(), 0);
  problem.run_tiles(process_kernel<decltype(out)>, out);
  expect_product(problem, c, [](double p, int64_t, int64_t) { return p > 0 ? p : 0; });
}

template <class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    reduce_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    const uint32_t row0 = blockIdx.x * 128, column0 = blockIdx.y * 72;
    accumulator.reduce_and_store(get_tile(out, D::c_shape, blockIdx.x, blockIdx.y),
                                 [=](float value, float old, Coord at) {
                                   return value + 2 * old + static_cast<float>(get<0>(at) + row0) +
                                          256.0f * static_cast<float>(get<1>(at) + column0);
                                 });
  });
}

template <arrangement Order>
void check_reduce() {
  Problem<D> problem;
  Matrix<float, Order> c(kM, kN, 1, 0, true, "C");
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t n = 0; n < kN; ++n) c.at(m, n, 0) = static_cast<float>(m - 2 * n);
  }
  const auto out = get_batch(c.tensor(), 0);
  problem.run_tiles(reduce_kernel<decltype(out)>, out);
  expect_product(problem, c, [](double p, int64_t m, int64_t n) {
    return p + 2 * static_cast<double>(m - 2 * n) + static_cast<double>(m) + 256 * static_cast<double>(n);
  });
}

TEST_F(PipelineAccumulator, reduce_and_store_sees_old_values_and_coordinates) { check_reduce<row_major>(); }
TEST_F(PipelineAccumulator, reduce_and_store_in_columns) { check_reduce<col_major>(); }

// ---- register fragments as destinations and sources

template <class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    fragment_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    const auto view = get_tile(out, D::c_shape, blockIdx.x, blockIdx.y);
    auto fragment = accumulator.make_partition_and_copy(view);
    accumulator.axpby(3, 2, fragment);  // fragment = 3 result + 2 fragment
    auto more = make_fragment_like<float>(fragment);
    transform_fragment(fragment, more, [](float value) { return value + 1; });
    axpby(2.0f, more, 1.0f, fragment);  // fragment = 2 more + fragment
    accumulator.partition_and_copy(fragment, view);
  });
}

TEST_F(PipelineAccumulator, fragments_take_results_and_go_back_to_memory) {
  Problem<D> problem;
  Matrix<float, row_major> c(kM, kN, 1, 0, true, "C");
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t n = 0; n < kN; ++n) c.at(m, n, 0) = static_cast<float>(m + n);
  }
  const auto out = get_batch(c.tensor(), 0);
  problem.run_tiles(fragment_kernel<decltype(out)>, out);
  expect_product(problem, c, [](double p, int64_t m, int64_t n) {
    return 3 * (3 * p + 2 * static_cast<double>(m + n)) + 2;
  });
}

template <class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    padded_slots_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    auto fragment = accumulator.template make_empty_fragment<float>();
    clear(fragment);
    int visited = 0, outside = 0;
    accumulator.reduce_and_store(fragment, [&](float value, float, Coord at) {
      ++visited;
      if (!accumulator.is_coord_in_bounds(at)) ++outside;
      return value;
    });
    const uint32_t block = blockIdx.x + gridDim.x * blockIdx.y;
    out(block, arch::linear_thread_index()) = 1000 * visited + outside;
  });
}

TEST_F(PipelineAccumulator, a_fragment_destination_is_visited_in_padded_slots_too) {
  Problem<D> problem;
  Matrix<int32_t, row_major> counts(4, 256, 1, 0, true, "counts");
  const auto out = get_batch(counts.tensor(), 0);
  problem.run_tiles(padded_slots_kernel<decltype(out)>, out);
  constexpr int kSize = 128 * 72 / 256;
  const std::array<int64_t, 4> inside{128 * 72, 72 * 72, 128 * 28, 72 * 28};
  for (int64_t block = 0; block < 4; ++block) {
    int64_t outside = 0;
    for (int64_t thread = 0; thread < 256; ++thread) {
      EXPECT_EQ(counts.at(block, thread, 0) / 1000, kSize);
      outside += counts.at(block, thread, 0) % 1000;
    }
    EXPECT_EQ(outside, 128 * 72 - inside[static_cast<size_t>(block)]);
  }
}

// ---- epilogue_sync, discard, is_predicated

template <class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    row_maximum_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  auto* const values = reinterpret_cast<float*>(shared + Handle::buffer_size());  // 128 x 72
  tile.execute([&](auto& accumulator) {
    const auto scratch = get_tile(make_gmem_tensor<row_major>(values, 128, 72), D::c_shape, 0, 0);
    accumulator.partition_and_store(scratch);
    tile.epilogue_sync();
    const uint32_t row = arch::linear_thread_index();
    const auto rows = static_cast<uint32_t>(out.rows()) - blockIdx.x * 128;
    const auto columns = static_cast<uint32_t>(out.columns()) - blockIdx.y * 72;
    if (row < 128 && row < rows) {
      float maximum = -1e30f;
      for (uint32_t n = 0; n < 72 && n < columns; ++n) maximum = fmaxf(maximum, scratch(row, n));
      for (uint32_t n = 0; n < 72 && n < columns; ++n)
        out(blockIdx.x * 128 + row, blockIdx.y * 72 + n) = maximum;
    }
  });
}

TEST_F(PipelineAccumulator, an_epilogue_may_synchronise_its_threads) {
  Problem<D> problem;
  Matrix<float, row_major> c(kM, kN, 1, 0, true, "C");
  const auto out = get_batch(c.tensor(), 0);
  const auto p = problem.pipeline();
  run(row_maximum_kernel<decltype(out)>, p.launch_config({2, 2, 1}, 128 * 72 * 4), out,
      p.get_device_handle());
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t n = 0; n < kN; ++n) {
      double maximum = -1e30;
      for (int64_t i = n / 72 * 72; i < std::min<int64_t>(kN, n / 72 * 72 + 72); ++i) {
        maximum = std::max(maximum, problem.at(m, i));
      }
      ASSERT_EQ(c.at(m, n, 0), maximum) << m << ", " << n;
    }
  }
}

// ---- reusable accumulators

using Reusable = Tile<bf16, bf16, float, 128, 72, 32, 128>;
using ReusableHandle = HandleOf<Reusable, reusable_accumulator>;

template <class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(ReusableHandle::max_threads_per_block)
    reusable_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT ReusableHandle pipeline) {
  TILEWRIGHT_SHARED(shared, ReusableHandle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  auto accumulator = tile.get_accumulator();
  tile.execute(accumulator);
  tile.discard(accumulator);
  tile.execute(accumulator);  // from zero again
  pipeline.reset_tile(tile, blockIdx.x, blockIdx.y);
  tile.execute(accumulator);  // adds
  if (accumulator.is_thread_active()) {
    const auto view = get_tile(out, Reusable::c_shape, blockIdx.x, blockIdx.y);
    accumulator.partition_and_store(view);
  }
  tile.execute(accumulator);  // a result that was read is not added to
  tile.epilogue(accumulator, [&](auto& acc) {
    acc.axpby(10.0f, 1.0f, get_tile(out, Reusable::c_shape, blockIdx.x, blockIdx.y));
  });
}

TEST_F(PipelineAccumulator, a_reusable_one_adds_up_until_it_is_read_or_discarded) {
  Problem<Reusable, reusable_accumulator> problem;
  Matrix<float, row_major> c(kM, kN, 1, 0, true, "C");
  const auto out = get_batch(c.tensor(), 0);
  problem.run_tiles(reusable_kernel<decltype(out)>, out);
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t n = 0; n < kN; ++n) ASSERT_EQ(c.at(m, n, 0), 12 * problem.at(m, n)) << m << ", " << n;
  }
  expect_padding_untouched(c);
}

// ---- conversions to integers

template <class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    halves_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.process_and_store(get_tile(out, D::c_shape, blockIdx.x, blockIdx.y), [](float value) {
      return value == 4 ? (value - value) / (value - value) : value * 12.5f;
    });
  });
}

template <class T, class Of>
void expect_product_of(const Problem<D>& problem, Matrix<T, row_major>& c, Of of) {
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t n = 0; n < kN; ++n) {
      ASSERT_EQ(value_of(c.at(m, n, 0)), of(problem.at(m, n))) << m << ", " << n << ": " << problem.at(m, n);
    }
  }
}

template <class Integer>
void check_halves() {
  Problem<D> problem;
  Matrix<Integer, row_major> c(kM, kN, 1, 0, true, "C");
  const auto out = get_batch(c.tensor(), 0);
  problem.run_tiles(halves_kernel<decltype(out)>, out);
  expect_product_of(problem, c, [](double p) {
    if (p == 4) return 0.0;
    return std::clamp<double>(std::nearbyint(p * 12.5), std::numeric_limits<Integer>::lowest(),
                              std::numeric_limits<Integer>::max());
  });
}

TEST_F(PipelineAccumulator, integers_are_rounded_to_nearest_even_and_clamped) {
  check_halves<int8_t>();
  check_halves<uint8_t>();
  check_halves<int16_t>();
}

TEST_F(PipelineAccumulator, integer_results_are_clamped_to_narrower_types) {
  using Bytes = Tile<int8_t, int8_t, int32_t, 64, 32, 128>;
  Matrix<int8_t, row_major> a(64, 128, 1, 0, false, "A");
  Matrix<int8_t, col_major> b(128, 32, 1, 0, false, "B");
  Matrix<int8_t, row_major> c(64, 32, 1, 0, true, "C");
  std::mt19937 random(4);
  a.fill(random, -9, 9);
  b.fill(random, -9, 9);
  const auto p = suggest_pipeline<2, Bytes>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using BytesHandle = std::decay_t<decltype(p->get_device_handle())>;
  run(gemm_kernel<Bytes, Finish::store, int32_t, decltype(c.tensor()), BytesHandle>,
      p->launch_config({1, 1, 1}), 1, 0, c.tensor(), 1u, 1u, 1u, p->get_device_handle());
  for (int64_t m = 0; m < 64; ++m) {
    for (int64_t n = 0; n < 32; ++n) {
      int sum = 0;
      for (int64_t k = 0; k < 128; ++k) sum += a.at(m, k, 0) * b.at(k, n, 0);
      ASSERT_EQ(c.at(m, n, 0), std::clamp(sum, -128, 127)) << m << ", " << n;
    }
  }
}

// ---- integers keep every bit

using Int = Tile<int8_t, int8_t, int32_t, 64, 32, 128>;

TEST_F(PipelineAccumulator, integer_results_above_2_to_24_are_exact) {
  check_gemm<Int, 2, int32_t>({.m = 64, .n = 32, .k = 4096, .alpha = 3, .beta = -1}, 127);
}

// ---- axpby in the type that holds results and old values

/// Into memory, or through register fragments.
template <class Descriptor, bool InFragments, class Alpha, class Beta, class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    factors_kernel(Alpha alpha, Beta beta, Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) {
    const auto view = get_tile(out, Descriptor::c_shape, 0, 0);
    if constexpr (InFragments) {
      auto fragment = accumulator.make_partition_and_copy(view);
      const auto results = accumulator.get_results();
      static_assert(size(fragment) == size(results));
      axpby(alpha, results, beta, fragment);
      accumulator.partition_and_copy(fragment, view);
    } else {
      accumulator.axpby(alpha, beta, view);
    }
  });
}

/// expected(sum of the products, old value), of one 64 x 32 tile whose old values are old(column).
template <class Descriptor, bool InFragments = false, class T, class Alpha, class Beta, class Expected>
void check_factors(Alpha alpha, Beta beta, T (*old)(int64_t), Expected expected) {
  using A = canonical_t<typename Descriptor::a_value_type>;
  Matrix<A, row_major> a(64, 128, 1, 0, false, "A");
  Matrix<A, col_major> b(128, 32, 1, 0, false, "B");
  Matrix<T, row_major> c(64, 32, 1, 0, true, "C");
  std::mt19937 random(4);
  a.fill(random, -9, 9);
  b.fill(random, -9, 9);
  for (int64_t m = 0; m < 64; ++m) {
    for (int64_t n = 0; n < 32; ++n) c.at(m, n, 0) = old(n);
  }
  const auto p = suggest_pipeline<2, Descriptor>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Made = std::decay_t<decltype(p->get_device_handle())>;
  const auto out = get_batch(c.tensor(), 0);
  run(factors_kernel<Descriptor, InFragments, Alpha, Beta, std::decay_t<decltype(out)>, Made>,
      p->launch_config({1, 1, 1}), alpha, beta, out, p->get_device_handle());
  for (int64_t m = 0; m < 64; ++m) {
    for (int64_t n = 0; n < 32; ++n) {
      int64_t sum = 0;
      for (int64_t k = 0; k < 128; ++k)
        sum += static_cast<int64_t>(value_of(a.at(m, k, 0)) * value_of(b.at(k, n, 0)));
      ASSERT_EQ(c.at(m, n, 0), expected(sum, old(n))) << m << ", " << n << ": " << sum;
    }
  }
}

template <bool InFragments>
void check_integer_factors() {
  const auto add = [](int64_t sum, auto old) { return static_cast<decltype(old)>(sum) + old; };
  const auto fractions = [](int64_t n) { return 0.5f + static_cast<float>(n); };
  check_factors<Int, InFragments, float>(1, 1, fractions, add);
  check_factors<Int, InFragments, double>(
      1, 1, [](int64_t n) { return 1.0 / static_cast<double>(n + 3); }, add);
  check_factors<Int, InFragments, int64_t>(
      1, 1, [](int64_t n) { return (int64_t{1} << 40) + n; }, add);
  check_factors<Int, InFragments, int64_t>(
      int64_t{1} << 33, 0, [](int64_t n) { return n; },
      [](int64_t sum, int64_t) { return sum * (int64_t{1} << 33); });
  check_factors<Int, InFragments, int8_t>(
      1, 100, [](int64_t n) { return static_cast<int8_t>(n - 16); },
      [](int64_t sum, int8_t old) { return std::clamp<int64_t>(sum + 100 * old, -128, 127); });
  check_factors<Int, InFragments, int32_t>(
      0.25f, 1, [](int64_t n) { return (1 << 24) + static_cast<int>(n); },
      [](int64_t sum, int32_t old) { return std::nearbyint(static_cast<double>(sum) / 4 + old); });
}

TEST_F(PipelineAccumulator, integer_factors_do_not_round_what_they_meet) { check_integer_factors<false>(); }
TEST_F(PipelineAccumulator, nor_in_fragments) { check_integer_factors<true>(); }

TEST_F(PipelineAccumulator, float_results_do_not_round_what_float_cannot_hold) {
  using Float = Tile<bf16, bf16, float, 64, 32, 64>;
  check_factors<Float, false, double>(
      1.0f, 1.0f, [](int64_t n) { return static_cast<double>(n) + 0x1p-40; },
      [](int64_t sum, double old) { return static_cast<double>(sum) + old; });
  check_factors<Float, false, int32_t>(
      1, 1.0f, [](int64_t n) { return (1 << 28) + static_cast<int>(n); },
      [](int64_t sum, int32_t old) { return sum + old; });
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
