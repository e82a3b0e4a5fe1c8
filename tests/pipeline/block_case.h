// Products of one block without a pipeline, for any descriptor and any shape, against a reference in double.
#pragma once

#include "tests/pipeline/complex_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {

/// How operands lie in shared memory.
enum class Lie { suggested, plain };

template <class D, Lie How>
TILEWRIGHT_HOST_DEVICE constexpr auto layout_a() {
  if constexpr (How == Lie::suggested) {
    return D::suggest_layout_smem_a();
  } else {
    return D::get_layout_smem_a();
  }
}
template <class D, Lie How>
TILEWRIGHT_HOST_DEVICE constexpr auto layout_b() {
  if constexpr (How == Lie::suggested) {
    return D::suggest_layout_smem_b();
  } else {
    return D::get_layout_smem_b();
  }
}

/// The tile of C at the block's place: a loop over K tiles with one buffer, the sum in registers.
template <class D, Lie How, class Scalar, class A, class B, class C>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(D::max_threads_per_block)
    block_sum_kernel(Scalar alpha, Scalar beta, A a, B b, C c, uint32_t k_tiles) {
  TILEWRIGHT_SHARED(smem, 128);
  using Align = alignment_of<D>;
  auto [smem_a, smem_b] = slice_shared_memory_ab<D>(smem, layout_a<D, How>(), layout_b<D, How>());
  auto tile_a = make_tensor(smem_a, layout_a<D, How>());
  auto tile_b = make_tensor(smem_b, layout_b<D, How>());
  auto accumulator = D::suggest_accumulator();
  for (uint32_t k = 0; k < k_tiles; ++k) {
    copy<D, Align::a>(get_tile(a, D::a_shape, blockIdx.x, k, blockIdx.z), tile_a);
    copy<D, Align::b>(get_tile(b, D::b_shape, k, blockIdx.y, blockIdx.z), tile_b);
    copy_wait();
    D().execute(tile_a, tile_b, accumulator);
    __syncthreads();
  }
  if (accumulator.is_thread_active())
    accumulator.axpby(alpha, beta, get_tile(c, D::c_shape, blockIdx.x, blockIdx.y, blockIdx.z));
}

/// The same with A, B and C in shared memory: one K tile.
template <class D, Lie How, class Scalar, class A, class B, class C>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(D::max_threads_per_block)
    block_memory_kernel(Scalar alpha, Scalar beta, A a, B b, C c, uint32_t) {
  TILEWRIGHT_SHARED(smem, 128);
  using Align = alignment_of<D>;
  auto [smem_a, smem_b, smem_c] =
      slice_shared_memory<D>(smem, layout_a<D, How>(), layout_b<D, How>(), D::get_layout_smem_c());
  auto tile_a = make_tensor(smem_a, layout_a<D, How>());
  auto tile_b = make_tensor(smem_b, layout_b<D, How>());
  auto tile_c = make_tensor(smem_c, D::get_layout_smem_c());
  auto out = get_tile(c, D::c_shape, blockIdx.x, blockIdx.y, blockIdx.z);
  copy<D, Align::a>(get_tile(a, D::a_shape, blockIdx.x, 0, blockIdx.z), tile_a);
  copy<D, Align::b>(get_tile(b, D::b_shape, 0, blockIdx.y, blockIdx.z), tile_b);
  if (beta != Scalar{}) copy<D, Align::c>(out, tile_c);
  copy_wait();
  D().execute(alpha, tile_a, tile_b, beta, tile_c);
  __syncthreads();
  copy<D, Align::c>(tile_c, out);
}

/// Which of the two.
enum class Into { registers, memory };

/// C = alpha A B + beta C in blocks of one tile, on operands that are exact sums in every accumulator.
/// threads: of a block, in three extents; 0: those of the descriptor.
template <class D, Lie How, Into Where = Into::registers>
void check_block(const GemmShape& s, arch::Index3 threads = {0, 1, 1}, int largest = 2) {
  SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k << ", batches " << s.batches);
  using A = canonical_t<typename D::a_value_type>;
  using B = canonical_t<typename D::b_value_type>;
  using C = typename D::c_value_type;
  using Scalar = std::conditional_t<std::is_integral_v<C>, int32_t, float>;
  constexpr bool is_unsigned = std::is_unsigned_v<A> || std::is_unsigned_v<B>;
  std::mt19937 random(static_cast<uint32_t>(s.m * 31 + s.n * 7 + s.k));
  const auto padding = [&](size_t bytes) { return s.pad * 16 / static_cast<int64_t>(bytes); };
  Matrix<A, arrangement_of_v_a<D>> a(s.m, s.k, s.batches, padding(sizeof(A)), false, "A", s.alignment);
  Matrix<B, arrangement_of_v_b<D>> b(s.k, s.n, s.batches, padding(sizeof(B)), false, "B", s.alignment);
  Matrix<C, arrangement_of_v_c<D>> c(s.m, s.n, s.batches, padding(sizeof(C)), true, "C", s.alignment);
  a.fill(random, is_unsigned ? 0 : -largest, largest);
  b.fill(random, is_unsigned ? 0 : -largest, largest);
  if (s.beta != 0) c.fill(random, -4, 4);
  std::vector<double> expected;
  for (int64_t i = 0; i < s.batches; ++i) {
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < s.k; ++k) sum += value_of(a.at(m, k, i)) * value_of(b.at(k, n, i));
        expected.push_back(s.alpha * sum + (s.beta != 0 ? s.beta * value_of(c.at(m, n, i)) : 0.0));
      }
    }
  }
  const auto tiles = [](int64_t extent, int tile) {
    return static_cast<uint32_t>((extent + tile - 1) / tile);
  };
  arch::LaunchConfig config;
  config.grid = {tiles(s.m, D::c_shape.rows), tiles(s.n, D::c_shape.columns),
                 static_cast<uint32_t>(s.batches)};
  config.block = threads.x != 0 ? threads : arch::Index3{D::max_threads_per_block, 1, 1};
  config.shared_bytes =
      Where == Into::memory
          ? get_shared_storage_size<D>(layout_a<D, How>(), layout_b<D, How>(), D::get_layout_smem_c())
          : get_shared_storage_size_ab<D>(layout_a<D, How>(), layout_b<D, How>());
  const uint32_t k_tiles = tiles(s.k, D::a_shape.columns);
  const auto kernel = [] {
    using TensorA = decltype(a.const_tensor());
    using TensorB = decltype(b.const_tensor());
    if constexpr (Where == Into::memory) {
      return block_memory_kernel<D, How, Scalar, TensorA, TensorB, decltype(c.tensor())>;
    } else {
      return block_sum_kernel<D, How, Scalar, TensorA, TensorB, decltype(c.tensor())>;
    }
  }();
  ASSERT_TRUE(Where == Into::registers || k_tiles == 1);
  run(kernel, config, static_cast<Scalar>(s.alpha), static_cast<Scalar>(s.beta), a.const_tensor(),
      b.const_tensor(), c.tensor(), k_tiles);
  if (::testing::Test::HasFatalFailure()) return;
  size_t next = 0;
  for (int64_t i = 0; i < s.batches; ++i) {
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        ASSERT_EQ(value_of(c.at(m, n, i)), value_of(element_from<C>(expected[next++])))
            << m << ", " << n << ", " << i;
      }
    }
  }
  EXPECT_TRUE(a.buffer.guards_are_intact() && b.buffer.guards_are_intact() && c.buffer.guards_are_intact());
  expect_padding_untouched(c);
}

template <class A, class B, class C, int M, int N, int K, int Threads, arrangement OrderA = row_major,
          arrangement OrderB = col_major, int Bytes = 16, int Architecture = 900>
using InBlock =
    decltype(Size<M, N, K>() + Precision<A, B, C>() + Block() + BlockDim<Threads>() +
             Arrangement<OrderA, OrderB>() + Alignment<Bytes, Bytes, sizeof(C)>() + SM<Architecture>());

/// Both ways to lie, in each of the four arrangements.
template <class A, class B, class C, int M, int N, int K, int Threads, int Bytes = 16>
void check_block_arrangements(GemmShape s, int largest = 2) {
  s.alignment = Bytes;
  const auto check = [&]<arrangement OrderA, arrangement OrderB>() {
    using D = InBlock<A, B, C, M, N, K, Threads, OrderA, OrderB, Bytes>;
    check_block<D, Lie::suggested>(s, {0, 1, 1}, largest);
    check_block<D, Lie::plain>(s, {0, 1, 1}, largest);
  };
  check.template operator()<row_major, col_major>();
  check.template operator()<col_major, col_major>();
  check.template operator()<row_major, row_major>();
  check.template operator()<col_major, row_major>();
}

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
