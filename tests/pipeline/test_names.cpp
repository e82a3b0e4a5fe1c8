// Every public name, unqualified, where both namespaces are used and both headers included.
#include <gtest/gtest.h>

#include <type_traits>

#include "tilewright/blas.h"
#include "tilewright/gemm.h"

namespace {

using namespace tilewright;
using namespace tilewright::blas;

// ---- operators. Accumulation alone is said with its namespace: the library's own choice has that name too.
using Common = decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + Type<type::real>() +
                        Function<function::MM>() + Arrangement<row_major, col_major, row_major>() + Block() +
                        BlockDim<128>() + StaticBlockDim() + SM<900, arch_specific>());
using Piped =
    decltype(Common() + MaxAlignment() + WithPipeline() + EnableInputStreaming() + BlocksPerCluster<2, 1>() +
             RequireMulticast() + blas::Accumulation<fast>() + Products<2>() + RequirePath<path::wgmma>());
using InBlock = decltype(Common() + Alignment<16, 16, 16>() + LeadingDimension<72, 72, 68>() +
                         BatchesPerBlock<2>() + AllowPaths<path::mma_sync, path::simt>());
using Split = decltype(Size<128, 128, 32>() + Precision<float>() + BlockDim<256>() + MaxAlignment() +
                       WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() +
                       RequiredMantissaBits<23>() + SplitInto<tf32>());
using Fp8 = decltype(Size<64, 128, 128>() + Precision<e4m3, e5m2, float>() + BlockDim<128>() +
                     WithPipeline() + SM<900, arch_specific>());
using Tuned = decltype(Fp8() + MaxAlignment() + EnableInputStreaming() + Tunable<2, 1>() + ScaledPromotion() +
                       blas::Accumulation<promoted<4>>());
using Copied = decltype(Fp8() + CopiedInput());
using Scaled = decltype(Size<256, 256, 256>() + Precision<e2m1, e2m1, float>() + BlockScale<16, e4m3>() +
                        MaxAlignment() + WithPipeline() + EnableInputStreaming() + SM<1000, arch_specific>() +
                        BlocksPerCluster<2, 1>());
using Old = decltype(Size<8, 8, 8>() + Precision<double>() + SM<800, generic>() +
                     TransposeMode<transpose_mode::transposed, transpose_mode::non_transposed>());

TEST(Names, of_descriptors_are_one_in_both_namespaces) {
  static_assert(path_of_v<Piped> == path::wgmma && path_of_v<InBlock> == path::mma_sync);
  static_assert(path_of_v<Split> == path::wgmma && path_of_v<Tuned> == path::wgmma);
  static_assert(path_of_v<Copied> == path::wgmma && path_of_v<Scaled> == path::tcgen05);
  static_assert(path_count == 4 && path_of_v<Old> == path::mma_sync);
  static_assert(is_blas_v<Piped> && is_complete_blas_v<Piped> && is_blas_execution_v<Piped> &&
                is_complete_blas_execution_v<Piped>);
  static_assert(size_of<Piped>::m == 64 &&
                size_of_v_m<Piped> + size_of_v_n<Piped> + size_of_v_k<Piped> == 192);
  static_assert(std::is_same_v<precision_of<Piped>::a_type, bf16> && type_of_v<Piped> == type::real &&
                function_of_v<Piped> == function::MM);
  static_assert(arrangement_of<Piped>::b == col_major && arrangement_of_v_a<Piped> == row_major &&
                arrangement_of_v_b<Piped> == col_major &&
                arrangement_of_v_c<Piped> == arrangement::row_major);
  static_assert(transpose_mode_of_a<Old> == transpose_mode::transposed &&
                transpose_mode_of_b<Old> == transpose_mode::non_transposed);
  static_assert(alignment_of<Piped>::a == max_alignment && alignment_of_v_a<Piped> == 16 &&
                alignment_of_v_b<Piped> == 16 && alignment_of_v_c<Piped> == 16);
  static_assert(leading_dimension_of<InBlock>::a == 72 && leading_dimension_of_v_a<InBlock> == 72 &&
                leading_dimension_of_v_b<InBlock> == 72 && leading_dimension_of_v_c<InBlock> == 68);
  static_assert(block_dim_of_v<Piped> == Extent3{128, 1, 1} && has_static_block_dim_v<Piped> &&
                batches_per_block_of_v<InBlock> == 2);
  static_assert(is_with_pipeline_v<Piped> && is_input_streaming_enabled_v<Piped> && sm_of_v<Piped> == 900 &&
                sm_modifier_of_v<Piped> == sm_modifier::arch_specific);
  static_assert(is_supported_smem_v<InBlock, 900> && is_supported_rmem_v<InBlock, 900>);
  static_assert(promotion_interval_of_v<Tuned> == 4 && required_mantissa_bits_of_v<Split> == 23);
  static_assert(has_blocks_per_cluster_v<Piped> && uses_blocks_per_cluster_v<Piped> &&
                blocks_per_cluster_of_v_m<Piped> == 2 && blocks_per_cluster_of_v_n<Piped> == 1 &&
                blocks_per_cluster_of_v_k<Piped> == 1);
  static_assert(has_block_scale_v<Scaled> && scale_vector_of_v<Scaled> == 16 &&
                std::is_same_v<scale_type_of<Scaled>, e4m3>);
  static_assert(std::is_same_v<half_t, f16> && std::is_same_v<bfloat16_t, bf16> &&
                std::is_same_v<tfloat32_t, tf32> && std::is_same_v<float_e4m3_t, e4m3> &&
                std::is_same_v<float_e5m2_t, e5m2> && sizeof(blas::byte) == 1 &&
                is_complex_v<complex<float>>);
  EXPECT_FALSE(explain<Piped>().empty());
  EXPECT_STREQ(name_of(path::simt), "simt");
  EXPECT_STREQ(name_of(Element::bf16), "bf16");
}

TEST(Names, of_the_library_are_one_in_both_namespaces) {
  Problem problem;
  problem.accumulation = tilewright::Accumulation::fast;
  EXPECT_STREQ(name_of(DType::f16), "f16");
  const Options options{.device = Device::emulator};
  static_assert(std::is_same_v<decltype(can_run(problem, options)), Status>);
  const Status none;
  EXPECT_FALSE(none);
  static_assert(std::is_class_v<Plan> && std::is_class_v<Buffers> && std::is_class_v<Error>);
}

// ---- kernels

template <class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    pipeline_kernel(float* c, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, make_coord(blockIdx.x, 0), make_coord(blockIdx.y, 0));
  tile.execute([&](auto& accumulator) {
    const auto out = get_tile(make_gmem_tensor<row_major>(c, 64, 64, static_ld<64>), Shape<64, 64>(), 0, 0);
    auto fragment = make_fragment_like(accumulator.get_results());
    clear(fragment);
    auto sum = accumulator.make_partition_and_copy(out);
    axpby(1.0f, fragment, 2.0f, sum);
    transform_fragment(sum, fragment, identity{});
    if (accumulator.is_coord_in_bounds(Coord{0, 0}) && size(fragment) > 0)
      accumulator.partition_and_copy(fragment, out);
    tile.epilogue_sync();
  });
}

template <class D>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(D::max_threads_per_block)
    block_kernel(const bf16* a, const bf16* b, float* c) {
  TILEWRIGHT_SKIP_IF_NOT_APPLICABLE_SM(D);
  TILEWRIGHT_SHARED(shared, 16);
  auto [smem_a, smem_b, smem_c] = slice_shared_memory<D>(shared);
  const auto tile_a = make_tensor(smem_a, D::suggest_layout_smem_a());
  const auto tile_b = make_tensor(smem_b, D::get_layout_smem_b());
  const auto tile_c = make_tensor(smem_c, D::get_layout_smem_c());
  copy<D, 16>(make_tensor(a, D::get_layout_gmem_a()), tile_a);
  copy<D, 16>(make_tensor(b, D::get_layout_gmem_b()), tile_b);
  copy_wait();
  D().execute(1.0f, tile_a, conj_transpose_view(transpose_view(tile_b)), 0.0f, tile_c, identity{},
              conjugate{});
  __syncthreads();
  copy<D, 16>(tile_c, make_tensor(c, D::get_layout_gmem_c()));
}

TEST(Names, of_pipelines_are_one_in_both_namespaces) {
  alignas(1024) static bf16 data[64 * 64];
  alignas(1024) static float results[64 * 64];
  using D = decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() + MaxAlignment() +
                     WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>());
  const auto a = make_gmem_tensor<row_major>(data, 64, 64), b = a;
  const auto column_b = make_gmem_tensor_batched<col_major>(data, 64, 64, 1);
  auto p = suggest_pipeline<2, D>(a, column_b);
  ASSERT_TRUE(p) << pipeline_error_string(p.error().code);
  const auto q = make_pipeline<2, D, reusable_accumulator>(a, get_batch(column_b, 0));
  ASSERT_TRUE(q);
  const pipeline_status bound = p->rebind(a, column_b);
  EXPECT_TRUE(bound);
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  static_assert(std::is_same_v<Handle, DevicePipeline<D, 2, internal_accumulator>>);
  static_assert(std::is_same_v<std::decay_t<decltype(*p)>, blas::Pipeline<Handle>>);
  EXPECT_EQ(make_shared_storage_calculator().add(16, sizeof(pipeline_stage_scratch_t)).get(), 16u);
  EXPECT_EQ(cosize(b.layout()), 64 * 64);
  EXPECT_EQ(pipeline_error{}.code, pipeline_error_code::none);
  EXPECT_TRUE(make_store_through_smem<D>(make_gmem_tensor<row_major>(results, 64, 64)));
  const ScheduleChoice choice = suggest_schedule<D>(64, 64, 64);
  EXPECT_GE(choice.strip, 1u);
  EXPECT_EQ(suggest_descriptor<D>(64, 64, 64), 0);
  EXPECT_EQ(with_suggested_descriptor<D>([]<class Of> { return size_of_v_m<Of>; }, 64, 64, 64), 64u);
  const Tuning tuning;
  const LinearFactors factors;
  EXPECT_EQ(tuning.stages, 0u);
  EXPECT_EQ(factors.beta, 0.0f);
  EXPECT_NE(&pipeline_kernel<Handle>, nullptr);
  using Product = decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() + SM<900>());
  static_assert(get_shared_storage_size<Product>() <= device_info<900>::shared_memory());
  EXPECT_EQ(make_launch_config<Product>({1, 1, 1}, 16).block.x, 128u);
  EXPECT_NE(&block_kernel<Product>, nullptr);
}

}  // namespace
