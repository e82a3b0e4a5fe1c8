// Kernels in plain CUDA without a pipeline, written as users of the vendor's device-side BLAS write them:
// __global__, extern __shared__, <<<>>>, the toolkit's number types, every name found under the namespace
// `dx`.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <vector>

#include "tests/pipeline/compat.h"

namespace {

using namespace tilewright::compat;

// ---- shared memory, then registers

template <class GEMM, class ValueType = typename GEMM::c_value_type>
__launch_bounds__(GEMM::max_threads_per_block) __global__
    void introduction_kernel(ValueType const alpha, typename GEMM::a_value_type const* a,
                             typename GEMM::b_value_type const* b, ValueType const beta, ValueType* c,
                             ValueType* d) {
  TILEWRIGHT_SKIP_IF_NOT_APPLICABLE_SM(GEMM);
  extern __shared__ __align__(16) dx::byte smem[];

  auto a_global_tensor = dx::make_tensor(a, GEMM::get_layout_gmem_a());
  auto b_global_tensor = dx::make_tensor(b, GEMM::get_layout_gmem_b());
  auto c_global_tensor = dx::make_tensor(c, GEMM::get_layout_gmem_c());
  auto d_global_tensor = dx::make_tensor(d, GEMM::get_layout_gmem_c());

  auto [smem_a, smem_b, smem_c] = dx::slice_shared_memory<GEMM>(smem);
  auto a_shared_tensor = dx::make_tensor(smem_a, GEMM::get_layout_smem_a());
  auto b_shared_tensor = dx::make_tensor(smem_b, GEMM::get_layout_smem_b());
  auto c_shared_tensor = dx::make_tensor(smem_c, GEMM::get_layout_smem_c());

  using alignment = dx::alignment_of<GEMM>;
  dx::copy<GEMM, alignment::a>(a_global_tensor, a_shared_tensor);
  dx::copy<GEMM, alignment::b>(b_global_tensor, b_shared_tensor);
  dx::copy<GEMM, alignment::c>(c_global_tensor, c_shared_tensor);
  dx::copy_wait();

  // C in registers: D = alpha A B + beta C.
  auto accumulator = GEMM().execute(a_shared_tensor, b_shared_tensor);
  if (accumulator.is_thread_active()) {
    auto c_fragment = accumulator.get_results();
    auto d_fragment = dx::make_fragment_like(c_fragment);
    accumulator.partition_and_copy(c_global_tensor, d_fragment);
    dx::axpby(alpha, c_fragment, beta, d_fragment);
    accumulator.partition_and_copy(d_fragment, d_global_tensor);
  }
  __syncthreads();

  // C in shared memory: C = alpha A B + beta C.
  GEMM().execute(alpha, a_shared_tensor, b_shared_tensor, beta, c_shared_tensor);
  __syncthreads();
  dx::copy<GEMM, alignment::c>(c_shared_tensor, c_global_tensor);
}

template <class GEMM>
void check_introduction() {
  constexpr unsigned m = dx::size_of_v_m<GEMM>, n = dx::size_of_v_n<GEMM>, k = dx::size_of_v_k<GEMM>;
  Managed<typename GEMM::a_value_type> a(m * k);
  Managed<typename GEMM::b_value_type> b(k * n);
  Managed<float> c(m * n), d(m * n);
  fill(a.data, m * k, 1);
  fill(b.data, k * n, 3);
  fill(c.data, m * n, 2);
  std::vector<float> old(c.data, c.data + m * n);
  constexpr auto size = dx::get_shared_storage_size<GEMM>();
  ASSERT_EQ(
      cudaFuncSetAttribute(introduction_kernel<GEMM>, cudaFuncAttributeMaxDynamicSharedMemorySize, size),
      cudaSuccess);
  introduction_kernel<GEMM><<<1, GEMM::block_dim, size>>>(2.0f, a.data, b.data, 3.0f, c.data, d.data);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned row = 0; row < m; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      float sum = 0;
      for (unsigned i = 0; i < k; ++i) sum += float(a.data[row * k + i]) * float(b.data[column * k + i]);
      ASSERT_EQ(c.data[row * n + column], 2 * sum + 3 * old[row * n + column]) << row << ", " << column;
      ASSERT_EQ(d.data[row * n + column], 2 * sum + 3 * old[row * n + column]) << row << ", " << column;
    }
  }
}

TEST_F(Compat, introduction) {
  using Half =
      decltype(dx::Size<32, 32, 32>() + dx::Precision<__half, __half, float>() + dx::Type<dx::type::real>() +
               dx::Arrangement<dx::row_major, dx::col_major, dx::row_major>() +
               dx::Function<dx::function::MM>() + dx::SM<900>() + dx::Block() + dx::BlockDim<256>());
  check_introduction<Half>();
  check_introduction<decltype(Half() + dx::MaxAlignment())>();
  check_introduction<decltype(dx::Size<64, 64, 64>() + dx::Precision<float>() + dx::SM<900>() + dx::Block() +
                              dx::BlockDim<16, 16>())>();
  check_introduction<decltype(dx::Size<33, 20, 17>() + dx::Precision<__nv_bfloat16, __nv_bfloat16, float>() +
                              dx::SM<900>() + dx::Block() + dx::BlockDim<64>())>();
}

// ---- several matrices in a block, leading dimensions of shared memory, the layouts that are read fastest

template <class GEMM>
__launch_bounds__(GEMM::max_threads_per_block) __global__
    void batched_kernel(double alpha, double const* a, double const* b, double* c) {
  extern __shared__ __align__(16) dx::byte smem[];
  auto [smem_a, smem_b, smem_c] = dx::slice_shared_memory<GEMM>(smem);
  auto tiles_a = dx::make_tensor(smem_a, GEMM::get_layout_smem_a());
  auto tiles_b = dx::make_tensor(smem_b, GEMM::get_layout_smem_b());
  auto tiles_c = dx::make_tensor(smem_c, GEMM::get_layout_smem_c());
  dx::copy<GEMM, 8>(dx::make_tensor(a, GEMM::get_layout_gmem_a()), tiles_a);
  dx::copy<GEMM, 8>(dx::make_tensor(b, GEMM::get_layout_gmem_b()), tiles_b);
  dx::copy_wait();
  GEMM().execute(alpha, tiles_a, tiles_b, 0.0, tiles_c);
  __syncthreads();
  dx::copy<GEMM, 8>(tiles_c, dx::make_tensor(c, GEMM::get_layout_gmem_c()));
}

TEST_F(Compat, batches_with_leading_dimensions) {
  constexpr unsigned m = 16, n = 24, k = 8, batches = 3;
  using GEMM = decltype(dx::Size<m, n, k>() + dx::Precision<double>() + dx::SM<900>() + dx::Block() +
                        dx::BlockDim<64>() + dx::LeadingDimension<k + 1, k + 1, n + 2>() +
                        dx::BatchesPerBlock<batches>());
  static_assert(dx::leading_dimension_of<GEMM>::a == k + 1 && dx::leading_dimension_of_v_b<GEMM> == k + 1 &&
                dx::leading_dimension_of_v_c<GEMM> == n + 2);
  Managed<double> a(m * k * batches), b(k * n * batches), c(m * n * batches);
  fill(a.data, m * k * batches, 1);
  fill(b.data, k * n * batches, 3);
  constexpr auto size = dx::get_shared_storage_size<GEMM>();
  static_assert(size <= dx::device_info<900>::shared_memory() && dx::is_supported_smem_v<GEMM, 900>);
  batched_kernel<GEMM><<<1, GEMM::block_dim, size>>>(2.0, a.data, b.data, c.data);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned i = 0; i < batches * m * n; ++i) {
    const unsigned batch = i / (m * n), row = i / n % m, column = i % n;
    double sum = 0;
    for (unsigned x = 0; x < k; ++x)
      sum += a.data[(batch * m + row) * k + x] * b.data[(batch * n + column) * k + x];
    ASSERT_EQ(c.data[i], 2 * sum) << batch << ": " << row << ", " << column;
  }
}

// ---- a tile of a large matrix, K in steps, A A^T, functions of elements

struct times_two {
  template <class T>
  __host__ __device__ float operator()(T const& x) const {
    return 2 * float(x);
  }
};

template <class GEMM, class ATensor, class CTensor>
__launch_bounds__(GEMM::max_threads_per_block) __global__
    void square_kernel(ATensor global_a, CTensor global_c, CTensor global_twice) {
  extern __shared__ __align__(16) dx::byte smem[];
  auto layout_a = GEMM::suggest_layout_smem_a();
  auto layout_b = GEMM::suggest_layout_smem_b();
  auto [smem_a, smem_b] = dx::slice_shared_memory_ab<GEMM>(smem, layout_a, layout_b);
  auto tile_a = dx::make_tensor(smem_a, layout_a);
  auto tile_b = dx::make_tensor(smem_b, layout_b);
  auto accumulator = GEMM::suggest_accumulator();
  auto twice = GEMM::get_accumulator();
  auto row = dx::get_tile_row(global_a, GEMM::a_shape, blockIdx.x);
  auto column = dx::get_tile_row(global_a, GEMM::a_shape, blockIdx.y);
  for (unsigned i = 0; i < row.count(); ++i) {
    dx::copy<GEMM, 16>(dx::slice(row, i), tile_a);
    dx::copy<GEMM, 16>(dx::slice(column, i), dx::transpose_view(tile_b));
    dx::copy_wait();
    GEMM().execute(tile_a, tile_b, accumulator);
    GEMM().execute(tile_a, tile_b, twice, times_two{}, dx::identity{});
    __syncthreads();
  }
  accumulator.partition_and_store(dx::get_tile(global_c, GEMM::c_shape, blockIdx.x, blockIdx.y));
  twice.partition_and_store(dx::get_tile(global_twice, GEMM::c_shape, blockIdx.x, blockIdx.y));
}

TEST_F(Compat, a_times_its_transpose) {
  constexpr unsigned n = 100, k = 70, ld = 72;
  using GEMM = decltype(dx::Size<64, 64, 32>() + dx::Precision<__half, __half, float>() + dx::SM<900>() +
                        dx::Block() + dx::BlockDim<128>());
  Managed<__half> a(n * ld);
  Managed<float> c(n * n), twice(n * n);
  fill(a.data, n * ld, 1);
  auto global_a = dx::make_gmem_tensor<dx::row_major>(a.data, n, k, ld);
  auto global_c = dx::make_gmem_tensor<dx::row_major>(c.data, n, n, n);
  auto global_twice = dx::make_gmem_tensor<dx::row_major>(twice.data, n, n, n);
  const auto size =
      dx::get_shared_storage_size_ab<GEMM>(GEMM::suggest_layout_smem_a(), GEMM::suggest_layout_smem_b());
  square_kernel<GEMM><<<dim3(2, 2), GEMM::block_dim, size>>>(global_a, global_c, global_twice);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned row = 0; row < n; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      float sum = 0;
      for (unsigned i = 0; i < k; ++i)
        sum += __half2float(a.data[row * ld + i]) * __half2float(a.data[column * ld + i]);
      ASSERT_EQ(c.data[row * n + column], sum) << row << ", " << column;
      ASSERT_EQ(twice.data[row * n + column], 2 * sum) << row << ", " << column;
    }
  }
}

// ---- two products in a block

template <class First, class Second>
__launch_bounds__(First::max_threads_per_block) __global__
    void fused_kernel(__half const* a, __half const* b, __half const* e, float* d) {
  extern __shared__ __align__(16) dx::byte smem[];
  auto [smem_a, smem_b, smem_p, smem_e] = dx::shared_memory::slice<__half, __half, __half, __half>(
      smem, 16, First::suggest_layout_smem_a(), 16, First::suggest_layout_smem_b(), 16,
      Second::suggest_layout_smem_a(), 16, Second::suggest_layout_smem_b());
  auto tile_a = dx::make_tensor(smem_a, First::suggest_layout_smem_a());
  auto tile_b = dx::make_tensor(smem_b, First::suggest_layout_smem_b());
  auto tile_p = dx::make_tensor(smem_p, Second::suggest_layout_smem_a());
  auto tile_e = dx::make_tensor(smem_e, Second::suggest_layout_smem_b());
  dx::copy<First, 16>(dx::make_tensor(a, First::get_layout_gmem_a()), tile_a);
  dx::copy<First, 16>(dx::make_tensor(b, First::get_layout_gmem_b()), tile_b);
  dx::copy<Second, 16>(dx::make_tensor(e, Second::get_layout_gmem_b()), tile_e);
  dx::copy_wait();
  auto partial = First().execute(tile_a, tile_b);
  partial.partition_and_store(tile_p);
  __syncthreads();
  auto accumulator = Second().execute(tile_p, tile_e);
  accumulator.partition_and_store(dx::make_tensor(d, Second::get_layout_gmem_c()));
}

TEST_F(Compat, two_products_in_a_block) {
  constexpr unsigned m = 64, k = 32, inner = 48, n = 16;
  using Common =
      decltype(dx::Precision<__half, __half, float>() + dx::SM<900>() + dx::Block() + dx::BlockDim<128>());
  using First = decltype(Common() + dx::Size<m, inner, k>());
  using Second = decltype(Common() + dx::Size<m, n, inner>());
  Managed<__half> a(m * k), b(k * inner), e(inner * n);
  Managed<float> d(m * n);
  fill(a.data, m * k, 1);
  fill(b.data, k * inner, 3);
  fill(e.data, inner * n, 2);
  const auto size = dx::make_shared_storage_calculator()
                        .add(16, sizeof(__half), First::suggest_layout_smem_a())
                        .add(16, sizeof(__half), First::suggest_layout_smem_b())
                        .add(16, sizeof(__half), Second::suggest_layout_smem_a())
                        .add(16, sizeof(__half), Second::suggest_layout_smem_b())
                        .get();
  fused_kernel<First, Second><<<1, First::block_dim, size>>>(a.data, b.data, e.data, d.data);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned row = 0; row < m; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      float sum = 0;
      for (unsigned x = 0; x < inner; ++x) {
        float partial = 0;
        for (unsigned i = 0; i < k; ++i)
          partial += __half2float(a.data[row * k + i]) * __half2float(b.data[x * k + i]);
        sum += partial * __half2float(e.data[column * inner + x]);
      }
      ASSERT_EQ(d.data[row * n + column], sum) << row << ", " << column;
    }
  }
}

}  // namespace
