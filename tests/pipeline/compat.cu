// Kernels in plain CUDA, written as users of the vendor's device-side BLAS write them: __global__, extern
// __shared__, <<<>>>, the toolkit's number types, every name found under the namespace `dx`.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <vector>

#include "tests/pipeline/compat.h"

namespace {

using namespace tilewright::compat;

// ---- one tile a block

template <class BLAS, class Alpha, class Beta, class CTensor, class DevicePipeline>
__launch_bounds__(DevicePipeline::max_threads_per_block, 1) __global__
    void one_tile_kernel(Alpha const alpha, Beta const beta, CTensor global_c,
                         __grid_constant__ DevicePipeline const device_pipeline) {
  extern __shared__ __align__(device_pipeline.buffer_alignment()) dx::byte smem[];
  auto tile_pipeline = device_pipeline.get_tile(smem, blockIdx.x, blockIdx.y);
  auto epilogue_functor = [&](auto& accumulator) {
    auto tile_gmem_c = dx::get_tile(global_c, BLAS::c_shape, blockIdx.x, blockIdx.y);
    accumulator.axpby(alpha, beta, tile_gmem_c);
  };
  tile_pipeline.execute(epilogue_functor);
}

TEST_F(Compat, one_tile_a_block) {
  constexpr unsigned m = 256, n = 256, k = 128;
  using BLAS = decltype(dx::Size<128, 128, 32>() + dx::Precision<__half, __half, float>() +
                        dx::Type<dx::type::real>() + dx::Function<dx::function::MM>() +
                        dx::Arrangement<dx::row_major, dx::col_major, dx::row_major>() + dx::Block() +
                        dx::BlockDim<128>() + dx::StaticBlockDim() + dx::Alignment<16, 16, 16>() +
                        dx::EnableInputStreaming() + dx::WithPipeline() + dx::SM<900, dx::arch_specific>());
  Managed<__half> a(m * k), b(k * n);
  Managed<float> c(m * n);
  fill(a.data, m * k, 1);
  fill(b.data, k * n, 3);
  fill(c.data, m * n, 2);
  std::vector<float> old(c.data, c.data + m * n);

  auto global_a = dx::make_gmem_tensor<dx::row_major>(a.data, m, k, k);
  auto global_b = dx::make_gmem_tensor<dx::col_major>(b.data, k, n, k);
  auto global_c = dx::make_gmem_tensor<dx::row_major>(c.data, m, n, n);
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  auto pipeline = dx::suggest_pipeline<4u, BLAS>(global_a, global_b);
  if (not pipeline) {
    auto const error = pipeline.error();
    FAIL() << dx::pipeline_error_string(error.code) << cudaGetErrorString(error.get_cuda_error());
  }
  auto shared_memory_size =
      dx::make_shared_storage_calculator().add(pipeline->buffer_alignment(), pipeline->buffer_size()).get();
  auto kernel = one_tile_kernel<BLAS, float, float, decltype(global_c),
                                std::decay_t<decltype(pipeline->get_device_handle())>>;
  ASSERT_EQ(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared_memory_size)),
      cudaSuccess);
  kernel<<<dim3(m / 128, n / 128, 1), pipeline->get_block_dim(), shared_memory_size, stream>>>(
      2.0f, 3.0f, global_c, pipeline->get_device_handle());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaStreamDestroy(stream);
  for (unsigned row = 0; row < m; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      float sum = 0;
      for (unsigned i = 0; i < k; ++i)
        sum += __half2float(a.data[row * k + i]) * __half2float(b.data[column * k + i]);
      ASSERT_EQ(c.data[row * n + column], 2 * sum + 3 * old[row * n + column]) << row << ", " << column;
    }
  }
}

// ---- a loop over batches in one block

template <class BLAS, dx::arrangement ArrC, class Alpha, class CValueType, class DevicePipeline>
__launch_bounds__(DevicePipeline::max_threads_per_block, 1) __global__
    void batched_kernel(Alpha const alpha, CValueType* c_ptr, unsigned m, unsigned n, unsigned ldc,
                        unsigned batch_count, __grid_constant__ DevicePipeline const device_pipeline) {
  extern __shared__ __align__(device_pipeline.buffer_alignment()) dx::byte smem[];
  auto tile_pipeline = device_pipeline.get_tile(smem, dx::make_coord(blockIdx.x, blockIdx.z),
                                                dx::make_coord(blockIdx.y, blockIdx.z));
  for (unsigned batch = blockIdx.z; batch < batch_count;) {
    auto tile_gmem_c = dx::get_tile(dx::make_gmem_tensor<ArrC>(c_ptr + batch * m * n, m, n, ldc),
                                    BLAS::c_shape, blockIdx.x, blockIdx.y);
    tile_pipeline.execute([&](auto& accumulator) { accumulator.axpby(alpha, Alpha(0), tile_gmem_c); });
    batch += gridDim.z;
    device_pipeline.reset_tile(tile_pipeline, dx::make_coord(blockIdx.x, batch),
                               dx::make_coord(blockIdx.y, batch));
  }
}

TEST_F(Compat, a_loop_over_batches) {
  constexpr unsigned m = 128, n = 128, k = 64, batches = 5;
  using BLAS = decltype(dx::Size<64, 64, 32>() + dx::Precision<__nv_bfloat16, __nv_bfloat16, float>() +
                        dx::BlockDim<128>() + dx::MaxAlignment() + dx::EnableInputStreaming() +
                        dx::WithPipeline() + dx::SM<900, dx::arch_specific>());
  Managed<__nv_bfloat16> a(m * k * batches), b(k * n * batches);
  Managed<float> c(m * n * batches);
  fill(a.data, m * k * batches, 1);
  fill(b.data, k * n * batches, 3);
  auto global_a = dx::make_gmem_tensor_batched<dx::row_major>(a.data, m, k, batches);
  auto global_b = dx::make_gmem_tensor_batched<dx::col_major>(b.data, k, n, batches);
  auto pipeline = dx::suggest_pipeline<2, BLAS>(global_a, global_b);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  auto kernel = batched_kernel<BLAS, dx::row_major, float, float,
                               std::decay_t<decltype(pipeline->get_device_handle())>>;
  const auto size = pipeline->buffer_size();
  ASSERT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(size)),
            cudaSuccess);
  kernel<<<dim3(m / 64, n / 64, 2), pipeline->get_block_dim(), size>>>(1.0f, c.data, m, n, n, batches,
                                                                       pipeline->get_device_handle());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned batch = 0; batch < batches; ++batch) {
    for (unsigned row = 0; row < m; ++row) {
      for (unsigned column = 0; column < n; ++column) {
        float sum = 0;
        for (unsigned i = 0; i < k; ++i) {
          sum += __bfloat162float(a.data[(batch * m + row) * k + i]) *
                 __bfloat162float(b.data[(batch * n + column) * k + i]);
        }
        ASSERT_EQ(c.data[(batch * m + row) * n + column], sum) << batch << ": " << row << ", " << column;
      }
    }
  }
}

// ---- a reusable accumulator, fragments

template <class BLAS, class Alpha, class Beta, class CTensor, class Pipeline>
__launch_bounds__(Pipeline::max_threads_per_block, 1) __global__
    void reusable_kernel(Alpha const alpha, Beta const beta, CTensor global_c,
                         __grid_constant__ Pipeline const device_pipeline) {
  extern __shared__ __align__(1024) dx::byte smem[];
  auto tile_c = dx::get_tile(global_c, BLAS::c_shape, blockIdx.x, blockIdx.y);
  auto tile_pipeline = device_pipeline.get_tile(smem, blockIdx.x, blockIdx.y);
  auto accumulator = tile_pipeline.get_accumulator();
  tile_pipeline.execute(accumulator);
  if (accumulator.is_thread_active()) {
    auto c_fragment = accumulator.get_results();
    auto d_fragment = accumulator.make_partition_and_copy(tile_c);
    dx::axpby(alpha, c_fragment, beta, d_fragment);
    accumulator.partition_and_copy(d_fragment, tile_c);
  }
}

TEST_F(Compat, a_reusable_accumulator_and_fragments) {
  constexpr unsigned m = 128, n = 128, k = 256;
  using BLAS = decltype(dx::Size<64, 128, 128>() + dx::Precision<__nv_fp8_e4m3, __nv_fp8_e4m3, float>() +
                        dx::BlockDim<128>() + dx::MaxAlignment() + dx::EnableInputStreaming() +
                        dx::WithPipeline() + dx::SM<900, dx::arch_specific>());
  Managed<__nv_fp8_e4m3> a(m * k), b(k * n);
  Managed<float> c(m * n);
  fill(a.data, m * k, 1);
  fill(b.data, k * n, 3);
  fill(c.data, m * n, 2);
  std::vector<float> old(c.data, c.data + m * n);
  auto global_c = dx::make_gmem_tensor<dx::row_major>(c.data, m, n, n);
  cudaStream_t stream = nullptr;
  auto pipeline = dx::suggest_pipeline<BLAS, dx::reusable_accumulator>(
      dx::make_gmem_tensor<dx::row_major>(a.data, m, k, k),
      dx::make_gmem_tensor<dx::col_major>(b.data, k, n, k), stream);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  auto kernel = reusable_kernel<BLAS, float, float, decltype(global_c),
                                std::decay_t<decltype(pipeline->get_device_handle())>>;
  const auto size = pipeline->buffer_size();
  ASSERT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(size)),
            cudaSuccess);
  kernel<<<dim3(2, 1, 1), pipeline->get_block_dim(), size>>>(2.0f, 1.0f, global_c,
                                                             pipeline->get_device_handle());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned row = 0; row < m; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      float sum = 0;
      for (unsigned i = 0; i < k; ++i) sum += float(a.data[row * k + i]) * float(b.data[column * k + i]);
      ASSERT_EQ(c.data[row * n + column], 2 * sum + old[row * n + column]) << row << ", " << column;
    }
  }
}

// ---- a whole-device product: a persistent loop over clusters of tiles, in bands for reuse in L2

struct tile_coord {
  unsigned row, col;
};
/// Tile of a block: clusters go down the rows of a band of `band` columns of clusters.
__device__ tile_coord rasterize(unsigned index, unsigned rows, unsigned cols, unsigned band) {
  const unsigned of_band = rows * band, first = index / of_band * band;
  const unsigned left = first < cols ? cols - first : band;
  const unsigned width = left < band ? left : band;
  return {index % of_band / width, first + index % of_band % width};
}

template <class BLAS, class Alpha, class Beta, class CTensor, class DevicePipeline>
__launch_bounds__(DevicePipeline::max_threads_per_block, 1) __global__
    void device_gemm_kernel(Alpha const alpha, Beta const beta, CTensor global_c, unsigned cluster_rows,
                            unsigned cluster_cols, __grid_constant__ DevicePipeline const device_pipeline) {
  extern __shared__ __align__(device_pipeline.buffer_alignment()) dx::byte smem[];
  constexpr unsigned cluster_m = dx::blocks_per_cluster_of_v_m<BLAS>,
                     cluster_n = dx::blocks_per_cluster_of_v_n<BLAS>;
  const unsigned rank_m = blockIdx.x % cluster_m, rank_n = blockIdx.y % cluster_n;
  const unsigned count = cluster_rows * cluster_cols, step = gridDim.x / cluster_m;
  const auto tile_of = [&](unsigned index) {
    const tile_coord cluster = rasterize(index, cluster_rows, cluster_cols, 2);
    return tile_coord{cluster.row * cluster_m + rank_m, cluster.col * cluster_n + rank_n};
  };
  unsigned index = blockIdx.x / cluster_m;
  tile_coord at = tile_of(index);
  auto tile_pipeline = device_pipeline.get_tile(smem, at.row, at.col);
  while (index < count) {
    tile_pipeline.execute([&](auto& accumulator) {
      auto tile_gmem_c = dx::get_tile(global_c, BLAS::c_shape, at.row, at.col);
      if (accumulator.is_predicated()) {
        // A tile over the edge, by hand.
        const auto results = accumulator.get_results();
        static_assert(dx::size(results) == 64 * 64 / 128);
        results.for_each([&](int i, float result) {
          if (!accumulator.is_index_in_bounds(i)) return;
          const auto [m, n] = accumulator.map_fragment_index(i);
          tile_gmem_c(m, n) = alpha * result + beta * tile_gmem_c(m, n);
        });
      } else {
        accumulator.axpby(alpha, beta, tile_gmem_c);
      }
    });
    index += step;
    at = tile_of(index);
    device_pipeline.reset_tile(tile_pipeline, at.row, at.col);
  }
}

TEST_F(Compat, a_whole_device_product) {
  constexpr unsigned m = 600, n = 328, k = 144;
  using BLAS = decltype(dx::Size<64, 64, 32>() + dx::Precision<__half, __half, float>() +
                        dx::BlockDim<128>() + dx::MaxAlignment() + dx::EnableInputStreaming() +
                        dx::WithPipeline() + dx::SM<900, dx::arch_specific>() + dx::BlocksPerCluster<2, 1>());
  Managed<__half> a(m * k), b(k * n);
  Managed<float> c(m * n);
  fill(a.data, m * k, 1);
  fill(b.data, k * n, 3);
  fill(c.data, m * n, 2);
  std::vector<float> old(c.data, c.data + m * n);
  auto global_c = dx::make_gmem_tensor<dx::row_major>(c.data, m, n, n);
  auto pipeline = dx::make_pipeline<4, BLAS, dx::internal_accumulator>(
      dx::make_gmem_tensor<dx::row_major>(a.data, m, k, k),
      dx::make_gmem_tensor<dx::col_major>(b.data, k, n, k));
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  using Pipeline = std::decay_t<decltype(*pipeline)>;
  static_assert(Pipeline::uses_cluster && Pipeline::uses_multicast);
  constexpr unsigned stage = 2 * (BLAS::a_size + BLAS::b_size) + sizeof(dx::pipeline_stage_scratch_t);
  ASSERT_EQ(pipeline->buffer_size(), 4 * stage);

  auto kernel = device_gemm_kernel<BLAS, float, float, decltype(global_c),
                                   std::decay_t<decltype(pipeline->get_device_handle())>>;
  const auto size = pipeline->buffer_size();
  ASSERT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(size)),
            cudaSuccess);
  const auto cluster = pipeline->get_cluster_dim(), tiles = pipeline->get_grid_dim();
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(3 * cluster.x, 1, 1);  // fewer than there are tiles
  config.blockDim = pipeline->get_block_dim();
  config.dynamicSmemBytes = size;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  config.attrs = &attribute;
  config.numAttrs = 1;
  ASSERT_EQ(cudaLaunchKernelEx(&config, kernel, 2.0f, 3.0f, global_c, tiles.x / cluster.x,
                               tiles.y / cluster.y, pipeline->get_device_handle()),
            cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned row = 0; row < m; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      float sum = 0;
      for (unsigned i = 0; i < k; ++i)
        sum += __half2float(a.data[row * k + i]) * __half2float(b.data[column * k + i]);
      ASSERT_EQ(c.data[row * n + column], 2 * sum + 3 * old[row * n + column]) << row << ", " << column;
    }
  }
}

// ---- FP32 on tensor cores, an epilogue of a reusable accumulator

template <class BLAS, class CTensor, class Pipeline>
__launch_bounds__(Pipeline::max_threads_per_block, 1) __global__
    void emulated_kernel(CTensor global_c, __grid_constant__ Pipeline const device_pipeline) {
  extern __shared__ __align__(1024) dx::byte smem[];
  auto tile_pipeline = device_pipeline.get_tile(smem, blockIdx.x, blockIdx.y);
  auto accumulator = tile_pipeline.get_accumulator();
  tile_pipeline.execute(accumulator);
  tile_pipeline.epilogue(accumulator, [&](auto& acc) {
    auto tile_c = dx::get_tile(global_c, BLAS::c_shape, blockIdx.x, blockIdx.y);
    auto fragment = acc.make_empty_fragment();
    acc.reduce_and_store(fragment, [&](float result, float, auto coord) {
      return acc.is_coord_in_bounds(coord) ? result + float(dx::get<0>(coord)) : 0.0f;
    });
    acc.partition_and_copy(fragment, tile_c);
  });
}

TEST_F(Compat, fp32_on_tensor_cores) {
  constexpr unsigned m = 70, n = 90, k = 40;
  using BLAS = decltype(dx::Size<64, 64, 32>() + dx::Precision<float>() + dx::BlockDim<128>() +
                        dx::EnableInputStreaming() + dx::WithPipeline() + dx::SM<900, dx::arch_specific>() +
                        dx::RequiredMantissaBits<23>());
  Managed<float> a(m * k), b(k * n), c(m * n);
  fill(a.data, m * k, 1);
  fill(b.data, k * n, 3);
  auto global_c = dx::make_gmem_tensor<dx::row_major>(c.data, m, n, n);
  cudaStream_t stream = nullptr;
  auto pipeline = dx::suggest_pipeline<2, BLAS, dx::reusable_accumulator>(
      dx::make_gmem_tensor<dx::row_major>(a.data, m, k, k),
      dx::make_gmem_tensor<dx::col_major>(b.data, k, n, k), stream);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  auto kernel =
      emulated_kernel<BLAS, decltype(global_c), std::decay_t<decltype(pipeline->get_device_handle())>>;
  const auto size = pipeline->buffer_size();
  ASSERT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(size)),
            cudaSuccess);
  kernel<<<dim3(2, 2, 1), pipeline->get_block_dim(), size, stream>>>(global_c, pipeline->get_device_handle());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (unsigned row = 0; row < m; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      float sum = float(row % 64);
      for (unsigned i = 0; i < k; ++i) sum += a.data[row * k + i] * b.data[column * k + i];
      ASSERT_EQ(c.data[row * n + column], sum) << row << ", " << column;
    }
  }
}

// ---- a kernel without its launch bounds

template <class Pipeline>
__global__ void unbounded_kernel(__grid_constant__ Pipeline const device_pipeline) {
  extern __shared__ __align__(1024) dx::byte smem[];
  auto tile = device_pipeline.get_tile(smem, 0, 0);
  tile.execute([](auto& accumulator) { accumulator.discard(); });
}

TEST_F(Compat, a_kernel_without_launch_bounds_is_refused) {
  using BLAS = decltype(dx::Size<64, 64, 64>() + dx::Precision<__half, __half, float>() + dx::MaxAlignment() +
                        dx::EnableInputStreaming() + dx::WithPipeline() + dx::SM<900, dx::arch_specific>());
  Managed<__half> a(64 * 64), b(64 * 64);
  auto pipeline = dx::suggest_pipeline<2, BLAS>(dx::make_gmem_tensor<dx::row_major>(a.data, 64, 64),
                                                dx::make_gmem_tensor<dx::col_major>(b.data, 64, 64));
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  using Handle = std::decay_t<decltype(pipeline->get_device_handle())>;
  const tilewright::Status refused = dx::launch(
      unbounded_kernel<Handle>, *pipeline, pipeline->launch_config({1, 1, 1}), pipeline->get_device_handle());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->rule, "launch.bounds");
}

}  // namespace
