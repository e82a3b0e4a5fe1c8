// D = alpha A B + beta C through a pipeline, for any descriptor and any shape, against a reference in double.
//
// Operands are small integers, so that every sum is exact in every accumulator: results are compared for
// equality. Padding is poisoned, bands around every buffer are watched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/pipeline/machine.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {

using namespace tilewright::blas;

using Hopper = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() +
                        RequirePath<path::wgmma>());

/// A tile of the wgmma path.
template <class A, class B, class C, int M, int N, int K, int Threads = 128, class... More>
using Tile =
    decltype(((Size<M, N, K>() + Precision<A, B, C>() + BlockDim<Threads>() + Hopper()) + ... + More()));

/// Value of an element on the host.
template <class T>
double value_of(const T& x) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(x);
  } else {
    return static_cast<double>(static_cast<float>(x));
  }
}
template <class T>
T element_from(double x) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(x);
  } else {
    return T(static_cast<float>(x));
  }
}

struct GemmShape {
  int64_t m, n, k;
  int64_t batches = 1;
  int64_t pad = 0;  // elements added to every leading dimension, in units of 16 bytes of A and B
  double alpha = 1, beta = 0;
  uint32_t blocks = 3;  // of the grid: fewer than tiles, so that blocks are persistent
  int alignment = 16;   // of A and B, bytes: no more than that
};

/// A matrix of a batch with poisoned padding. Below 16 bytes, `alignment` is exactly that of its base and of
/// its leading dimension.
template <class T, arrangement Order>
struct Matrix {
  int64_t rows, columns, batches, ld, batch_stride, start;
  Buffer<T> buffer;

  Matrix(int64_t r, int64_t c, int64_t b, int64_t pad, bool writable, const char* name, int alignment = 16)
      : rows(r),
        columns(c),
        batches(b),
        ld(padded(Order == row_major ? c : r, alignment) + pad),
        batch_stride(ld * (Order == row_major ? r : c) + pad),
        start(alignment < 16 ? unit(alignment) : 0),
        buffer(static_cast<size_t>(start + std::max<int64_t>(1, b * batch_stride)), writable, name) {}

  static int64_t unit(int alignment) {
    return std::max<int64_t>(1, alignment / static_cast<int64_t>(sizeof(T)));
  }
  static int64_t padded(int64_t n, int alignment) {
    const int64_t of = unit(alignment), units = std::max<int64_t>(1, (n + of - 1) / of);
    return of * (alignment < 16 ? units | 1 : units);
  }
  T* data() { return buffer.data() + start; }
  T& at(int64_t r, int64_t c, int64_t b) {
    return data()[b * batch_stride + (Order == row_major ? r * ld + c : c * ld + r)];
  }
  auto tensor() { return make_gmem_tensor_batched<Order>(data(), rows, columns, batches, ld, batch_stride); }
  auto const_tensor() {
    return make_gmem_tensor_batched<Order>(static_cast<const T*>(data()), rows, columns, batches, ld,
                                           batch_stride);
  }
  template <class Random>
  void fill(Random& random, int lowest, int highest) {
    std::uniform_int_distribution<int> values(lowest, highest);
    for (int64_t b = 0; b < batches; ++b) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) at(r, c, b) = element_from<T>(values(random));
      }
    }
  }
};

/// What the kernels below do at the end of a tile.
enum class Finish { axpby, store };

template <class D, Finish How, class Alpha, class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    gemm_kernel(Alpha alpha, Alpha beta, Out c, uint32_t tiles_m, uint32_t tiles_n, uint32_t tiles,
                const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  const auto coord = [=](uint32_t i) {
    return arch::Index3{i % tiles_m, i / tiles_m % tiles_n, i / tiles_m / tiles_n};
  };
  arch::Index3 at = coord(blockIdx.x);
  auto tile = pipeline.get_tile(shared, make_coord(at.x, at.z), make_coord(at.y, at.z));
  for (uint32_t i = blockIdx.x; i < tiles;) {
    tile.execute([&](auto& accumulator) {
      const auto out = get_tile(c, D::c_shape, at.x, at.y, at.z);
      if constexpr (How == Finish::axpby) {
        accumulator.axpby(alpha, beta, out);
      } else {
        accumulator.partition_and_store(out);
      }
    });
    i += gridDim.x;
    at = coord(i);
    pipeline.reset_tile(tile, make_coord(at.x, at.z), make_coord(at.y, at.z));
  }
}

/// Elements of D are of type Out; D is compared with the reference exactly.
template <class D, int Depth, class Out, Finish How = Finish::axpby, arrangement OrderC = row_major>
void check_gemm(const GemmShape& s, int largest = 2) {
  SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k << ", batches " << s.batches);
  using A = canonical_t<typename D::a_value_type>;
  using B = canonical_t<typename D::b_value_type>;
  constexpr bool is_unsigned = std::is_unsigned_v<A> || std::is_unsigned_v<B>;
  std::mt19937 random(static_cast<uint32_t>(s.m * 31 + s.n * 7 + s.k));
  Matrix<A, arrangement_of_v_a<D>> a(s.m, s.k, s.batches, s.pad * 16 / static_cast<int64_t>(sizeof(A)), false,
                                     "A", s.alignment);
  Matrix<B, arrangement_of_v_b<D>> b(s.k, s.n, s.batches, s.pad * 16 / static_cast<int64_t>(sizeof(B)), false,
                                     "B", s.alignment);
  Matrix<Out, OrderC> c(s.m, s.n, s.batches, s.pad * 3, true, "C");
  a.fill(random, is_unsigned ? 0 : -largest, largest);
  b.fill(random, is_unsigned ? 0 : -largest, largest);
  if (s.beta != 0) c.fill(random, -4, 4);

  std::vector<double> expected(static_cast<size_t>(s.m * s.n * s.batches));
  for (int64_t i = 0; i < s.batches; ++i) {
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < s.k; ++k) sum += value_of(a.at(m, k, i)) * value_of(b.at(k, n, i));
        double& e = expected[static_cast<size_t>((i * s.m + m) * s.n + n)];
        e = s.alpha * sum + (s.beta != 0 ? s.beta * value_of(c.at(m, n, i)) : 0.0);
        if (How == Finish::store) e = sum;
      }
    }
  }

  auto p = suggest_pipeline<Depth, D>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  using Scalar = std::conditional_t<std::is_integral_v<typename D::c_value_type>, int32_t, float>;
  const Extent3 grid = p->get_grid_dim();
  const uint32_t tiles = grid.x * grid.y * static_cast<uint32_t>(s.batches);
  const Status failed =
      launch(gemm_kernel<D, How, Scalar, decltype(c.tensor()), Handle>, *p,
             p->launch_config({std::min(s.blocks, tiles), 1, 1}), static_cast<Scalar>(s.alpha),
             static_cast<Scalar>(s.beta), c.tensor(), grid.x, grid.y, tiles, p->get_device_handle());
  ASSERT_FALSE(failed) << failed->message;
  finish();

  int wrong = 0;
  for (int64_t i = 0; i < s.batches; ++i) {
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        const double found = value_of(c.at(m, n, i));
        const double e = value_of(element_from<Out>(expected[static_cast<size_t>((i * s.m + m) * s.n + n)]));
        if (found == e || ++wrong > 5) continue;
        ADD_FAILURE() << "D(" << m << ", " << n << ", " << i << ") is " << found << ", not " << e;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(a.buffer.guards_are_intact() && b.buffer.guards_are_intact() && c.buffer.guards_are_intact());
  expect_padding_untouched(c);
}

template <class T, arrangement Order>
void expect_padding_untouched(Matrix<T, Order>& c) {
  std::vector<bool> inside(c.buffer.size());
  for (int64_t i = 0; i < c.batches; ++i) {
    for (int64_t m = 0; m < c.rows; ++m) {
      for (int64_t n = 0; n < c.columns; ++n)
        inside[static_cast<size_t>(&c.at(m, n, i) - c.buffer.data())] = true;
    }
  }
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i]) continue;
    const auto* bytes = reinterpret_cast<const uint8_t*>(c.buffer.data() + i);
    for (size_t byte = 0; byte < sizeof(T); ++byte) ASSERT_EQ(bytes[byte], 0xFF) << "padding element " << i;
  }
}

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
