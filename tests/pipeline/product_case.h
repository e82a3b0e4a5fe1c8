// One product through a pipeline whose operands a test fills itself, to look at the bits of the sums.
#pragma once

#include <cstdint>
#include <random>
#include <type_traits>

#include "tests/pipeline/gemm_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {

template <class Out, class Handle>
void store_product_kernel(Out out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    using D = typename Handle::descriptor;
    accumulator.partition_and_store(get_tile(out, D::c_shape, blockIdx.x, blockIdx.y));
  });
}

/// A B in the arrangements of D, stored as C row by row.
template <class D, class C = typename D::c_value_type>
struct Product {
  using A = typename D::a_value_type;
  using B = typename D::b_value_type;
  int64_t m, n, k;
  Matrix<A, arrangement_of_v_a<D>> a;
  Matrix<B, arrangement_of_v_b<D>> b;
  Matrix<C, row_major> c;

  Product(int64_t rows, int64_t columns, int64_t depth)
      : m(rows),
        n(columns),
        k(depth),
        a(rows, depth, 1, 0, false, "A"),
        b(depth, columns, 1, 0, false, "B"),
        c(rows, columns, 1, 0, true, "C") {}

  /// make_a(random), make_b(random): an element.
  template <class MakeA, class MakeB>
  void fill(MakeA make_a, MakeB make_b) {
    std::mt19937 random(11);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t x = 0; x < k; ++x) a.at(i, x, 0) = make_a(random);
    }
    for (int64_t x = 0; x < k; ++x) {
      for (int64_t j = 0; j < n; ++j) b.at(x, j, 0) = make_b(random);
    }
  }

  /// Stages: 0 for as many as fit.
  template <int Stages = 0>
  void multiply() {
    const auto p = [&] {
      if constexpr (Stages == 0) {
        return suggest_pipeline<D>(a.const_tensor(), b.const_tensor());
      } else {
        return suggest_pipeline<Stages, D>(a.const_tensor(), b.const_tensor());
      }
    }();
    ASSERT_TRUE(p) << p.error().message;
    const auto out = get_batch(c.tensor(), 0);
    using Handle = std::decay_t<decltype(p->get_device_handle())>;
    const Extent3 grid = p->get_grid_dim();
    run(store_product_kernel<std::remove_const_t<decltype(out)>, Handle>,
        p->launch_config({grid.x, grid.y, 1}), out, p->get_device_handle());
  }
};

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
