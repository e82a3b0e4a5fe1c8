// What an accumulator promises, on any path: epilogues in two phases, sums over several tiles, zeros outside
// of the product.
#pragma once

#include <limits>

#include "tests/pipeline/run_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {

/// C = 2 A B in two phases. Nothing runs beside the multiplications of the paths simt and mma_sync: every
/// piece is stored before the next tile.
template <class D, class Out>
struct InTwoPieces {
  Out out;

  template <class Accumulator>
  struct Bound {
    static constexpr int pieces = 2, packed_registers = Accumulator::kSize;
    using Held = typename Accumulator::held_type;

    const InTwoPieces& epilogue;
    typename Accumulator::fragment_type packed{};

    TILEWRIGHT_DEVICE void pack(Accumulator& accumulator, schedule::TileCoord) {
      accumulator.for_each_result([&](int i, Coord, auto value) { packed[i] = value + value; });
    }
    template <int Piece>
    TILEWRIGHT_DEVICE void store(schedule::TileCoord tile) {
      const auto view = get_tile(epilogue.out, D::c_shape, tile.m, tile.n, tile.batch);
      packed.for_each([&](int i, auto value) {
        const Coord first = Held::first(i / Held::part_size);
        const uint32_t m = first.m + Held::down(i % Held::part_size);
        const uint32_t n = first.n + Held::across(i % Held::part_size);
        if (i % pieces == Piece && m < view.rows() && n < view.columns()) view(m, n) = value;
      });
    }
    TILEWRIGHT_DEVICE void finish() {}
  };

  template <class Accumulator>
  TILEWRIGHT_DEVICE Bound<Accumulator> bind(std::byte*) const {
    return {*this};
  }
};

template <class D>
void check_two_pieces(int64_t rows, int64_t columns, int64_t depth) {
  using T = canonical_t<typename D::a_value_type>;
  using C = typename D::c_value_type;
  Matrix<T, arrangement_of_v_a<D>> a(rows, depth, 1, 0, false, "A");
  Matrix<T, arrangement_of_v_b<D>> b(depth, columns, 1, 0, false, "B");
  Matrix<C, row_major> c(rows, columns, 1, 0, true, "C");
  std::mt19937 random(3);
  a.fill(random, -3, 3);
  b.fill(random, -3, 3);
  const auto p = suggest_pipeline<2, D>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  using Epilogue = InTwoPieces<D, decltype(c.tensor())>;
  const schedule::TileSchedule tiles = p->make_schedule();
  const auto config = p->persistent_config(run_kernel<Handle, Epilogue>, tiles, 0, nullptr, 2);
  ASSERT_TRUE(config) << config.error().message;
  run(run_kernel<Handle, Epilogue>, *config, tiles, p->get_device_handle(), Epilogue{c.tensor()});
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += value_of(a.at(m, k, 0)) * value_of(b.at(k, n, 0));
      ASSERT_EQ(value_of(c.at(m, n, 0)), 2 * sum) << m << ", " << n;
    }
  }
  expect_padding_untouched(c);
}

// ---- a reusable accumulator

template <class D, class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    sum_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  auto accumulator = tile.get_accumulator();
  tile.execute(accumulator);
  pipeline.reset_tile(tile, 1, 0);  // a part of this tile exists; the rest adds zero
  tile.execute(accumulator);
  pipeline.reset_tile(tile, 0, 0);
  tile.execute(accumulator);
  tile.epilogue(accumulator, [&](auto& acc) {
    const auto view = get_tile(out, D::c_shape, 0, 0);
    auto sum = acc.make_partition_and_copy(view);
    acc.reduce_and_store(sum, [](auto value, auto old, Coord) { return value + old; });
    acc.partition_and_copy(sum, view);
  });
}

template <class D>
void check_sum() {
  using T = canonical_t<typename D::a_value_type>;
  using C = typename D::c_value_type;
  constexpr int64_t kM = size_of_v_m<D>, kN = size_of_v_n<D>, kRows = kM + 8, kK = 20;
  Matrix<T, arrangement_of_v_a<D>> a(kRows, kK, 1, 0, false, "A");
  Matrix<T, arrangement_of_v_b<D>> b(kK, kN, 1, 0, false, "B");
  Matrix<C, row_major> c(kRows, kN, 1, 0, true, "C");
  std::mt19937 random(3);
  a.fill(random, -3, 3);
  b.fill(random, -3, 3);
  c.fill(random, 5, 5);
  const auto p = suggest_pipeline<2, D, reusable_accumulator>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const auto out = get_batch(c.tensor(), 0);
  run(sum_kernel<D, std::remove_const_t<decltype(out)>, Handle>, p->launch_config({1, 1, 1}), out,
      p->get_device_handle());
  if (::testing::Test::HasFatalFailure()) return;
  const auto product = [&](int64_t m, int64_t n) {
    double sum = 0;
    for (int64_t x = 0; x < kK && m < kRows; ++x) sum += value_of(a.at(m, x, 0)) * value_of(b.at(x, n, 0));
    return sum;
  };
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t n = 0; n < kN; ++n) {
      ASSERT_EQ(value_of(c.at(m, n, 0)), 5 + 2 * product(m, n) + product(m + kM, n)) << m << ", " << n;
    }
  }
}

// ---- what does not exist

template <class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    outside_kernel(Out flags, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) {
    accumulator.for_each_result([&](int i, Coord at, auto value) {
      flags(at.m, at.n) = accumulator.is_index_in_bounds(i) ? (value == value ? 1 : 2) : (value == 0 ? 3 : 4);
    });
  });
}

template <class D>
void check_outside() {
  using T = canonical_t<typename D::a_value_type>;
  constexpr int64_t kM = size_of_v_m<D>, kN = size_of_v_n<D>, kRows = kM - 12, kColumns = kN - 6;
  Matrix<T, arrangement_of_v_a<D>> a(kRows, 9, 1, 0, false, "A");
  Matrix<T, arrangement_of_v_b<D>> b(9, kColumns, 1, 0, false, "B");
  Matrix<int32_t, row_major> flags(kM, kN, 1, 0, true, "flags");
  std::mt19937 random(3);
  a.fill(random, 1, 3);
  b.fill(random, 1, 3);
  a.at(kRows - 1, 0, 0) = element_from<T>(std::numeric_limits<double>::quiet_NaN());
  const auto p = suggest_pipeline<2, D>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const auto out = get_batch(flags.tensor(), 0);
  run(outside_kernel<std::remove_const_t<decltype(out)>, Handle>, p->launch_config({1, 1, 1}), out,
      p->get_device_handle());
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      // The last row, a NaN, is not repeated: what lies beyond is zero times what is in B.
      ASSERT_EQ(flags.at(i, j, 0), i >= kRows || j >= kColumns ? (i == kRows - 1 ? 4 : 3)
                                   : i == kRows - 1            ? 2
                                                               : 1)
          << i << ", " << j;
    }
  }
}

// ---- coordinates

template <class D, class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    coordinates_kernel(Out reduced, Out results, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  using Value = typename D::c_value_type;
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.reduce_and_store(
        get_tile(reduced, D::c_shape, blockIdx.x, blockIdx.y),
        [](Value value, Value old, Coord at) { return value + old + static_cast<Value>(at.m + 64 * at.n); });
  });
  tile.execute([&](auto& accumulator) {
    const auto view = get_tile(results, D::c_shape, blockIdx.x, blockIdx.y);
    const auto old = accumulator.make_partition_and_copy(view);
    const auto values = accumulator.get_results();
    values.for_each([&](int i, const Value& value) {
      const auto [m, n] = accumulator.map_fragment_index(i);
      if (accumulator.is_index_in_bounds(i)) view(m, n) = value - old[i];
    });
  });
}

/// Every way to an element names the same one: coordinates, fragments of other tensors, stores.
template <class D>
void check_coordinates() {
  using T = canonical_t<typename D::a_value_type>;
  using C = typename D::c_value_type;
  constexpr int64_t kM = size_of_v_m<D>, kN = size_of_v_n<D>, kRows = 2 * kM - 5, kColumns = 2 * kN - 3,
                    kK = 20;
  Matrix<T, arrangement_of_v_a<D>> a(kRows, kK, 1, 0, false, "A");
  Matrix<T, arrangement_of_v_b<D>> b(kK, kColumns, 1, 0, false, "B");
  Matrix<C, row_major> reduced(kRows, kColumns, 1, 0, true, "C"), results(kRows, kColumns, 1, 0, true, "R");
  std::mt19937 random(3);
  a.fill(random, -3, 3);
  b.fill(random, -3, 3);
  const auto old = [](int64_t m, int64_t n) { return static_cast<double>(3 * m + 100 * n); };
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t n = 0; n < kColumns; ++n)
      reduced.at(m, n, 0) = results.at(m, n, 0) = static_cast<C>(old(m, n));
  }
  const auto p = suggest_pipeline<2, D>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  using Out = std::decay_t<decltype(get_batch(reduced.tensor(), 0))>;
  run(coordinates_kernel<D, Out, Handle>, p->launch_config({2, 2, 1}), Out(get_batch(reduced.tensor(), 0)),
      Out(get_batch(results.tensor(), 0)), p->get_device_handle());
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t n = 0; n < kColumns; ++n) {
      double sum = 0;
      for (int64_t x = 0; x < kK; ++x) sum += value_of(a.at(m, x, 0)) * value_of(b.at(x, n, 0));
      const auto place = static_cast<double>(m % kM + 64 * (n % kN));
      ASSERT_EQ(value_of(reduced.at(m, n, 0)), sum + old(m, n) + place) << m << ", " << n;
      ASSERT_EQ(value_of(results.at(m, n, 0)), sum - old(m, n)) << m << ", " << n;
    }
  }
  expect_padding_untouched(reduced);
  expect_padding_untouched(results);
}

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
