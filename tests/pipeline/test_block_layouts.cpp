// Layouts, tensors and traits of products without a pipeline, and mistakes in their use that the emulated
// machine names.
#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <vector>

#include "tests/pipeline/machine.h"
#include "tilewright/blas.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

using namespace tilewright::blas;

template <class A, int M, int N, int K, int Threads, arrangement OrderA = row_major,
          arrangement OrderB = col_major>
using InBlock = decltype(Size<M, N, K>() + Precision<A, A, float>() + Block() + BlockDim<Threads>() +
                         Arrangement<OrderA, OrderB>() + SM<900>());

/// Every element has a place of its own within cosize().
template <class View, class Layout>
void expect_one_place_each(const View& view, const Layout& layout) {
  std::set<int64_t> places;
  for (uint32_t r = 0; r < view.rows(); ++r) {
    for (uint32_t c = 0; c < view.columns(); ++c) places.insert(&view(r, c) - view.data());
  }
  EXPECT_EQ(places.size(), size(layout));
  EXPECT_GE(*places.begin(), 0);
  EXPECT_LT(*places.rbegin(), static_cast<int64_t>(cosize(layout)));
}

template <class D>
void expect_layouts_of() {
  using T = typename D::a_value_type;
  static std::vector<T> memory(1 << 16);
  const auto a = D::suggest_layout_smem_a();
  const auto b = D::suggest_layout_smem_b();
  expect_one_place_each(make_tensor(memory.data(), a), a);
  expect_one_place_each(make_tensor(memory.data(), b), b);
  expect_one_place_each(transpose_view(make_tensor(memory.data(), a)), a);
  const auto plain = D::get_layout_smem_a();
  expect_one_place_each(make_tensor(memory.data(), plain), plain);
  const auto tile = make_tensor(memory.data(), a), turned = transpose_view(tile);
  EXPECT_EQ(&tile(3, 5), &turned(5, 3));
}

TEST(BlockLayouts, give_every_element_a_place) {
  expect_layouts_of<InBlock<f16, 32, 48, 16, 64>>();
  expect_layouts_of<InBlock<f16, 32, 48, 16, 64, col_major, row_major>>();
  expect_layouts_of<InBlock<e4m3, 32, 32, 64, 32, col_major, row_major>>();
  expect_layouts_of<InBlock<tf32, 16, 16, 8, 32, col_major, col_major>>();
  expect_layouts_of<InBlock<float, 30, 50, 9, 64>>();
  expect_layouts_of<InBlock<f16, 31, 47, 15, 64>>();
}

TEST(BlockLayouts, have_the_leading_dimension_that_is_asked_for) {
  using D = InBlock<f16, 32, 48, 16, 64>;
  EXPECT_EQ(D::get_layout_smem_a().leading_dimension(), 16);
  EXPECT_EQ(D::get_layout_smem_a(20).leading_dimension(), 20);
  EXPECT_EQ(D::get_layout_smem_b(static_ld<24>).leading_dimension(), 24);
  EXPECT_EQ(D::get_layout_smem_c().leading_dimension(), 48);
  EXPECT_EQ(D::get_layout_gmem_a(1000).leading_dimension(), 1000);
  EXPECT_EQ(D::get_layout_gmem_c(static_ld<100>).leading_dimension(), 100);
  static_assert(std::is_same_v<decltype(D::suggest_layout_smem_c()), decltype(D::get_layout_smem_c())>);
  using Padded = decltype(D() + LeadingDimension<18, 19, 50>());
  EXPECT_EQ(Padded::get_layout_smem_a().leading_dimension(), 18);
  EXPECT_EQ(Padded::get_layout_smem_b().leading_dimension(), 19);
  EXPECT_EQ(Padded::get_layout_smem_c().leading_dimension(), 50);
  EXPECT_EQ(Padded::get_layout_gmem_a().leading_dimension(), 16) << "global memory has its own";
  static_assert(leading_dimension_of_v_a<Padded> == 18 && leading_dimension_of_v_b<Padded> == 19 &&
                leading_dimension_of_v_c<Padded> == 50);
  static_assert(leading_dimension_of_v_a<D> == 16 && leading_dimension_of_v_b<D> == 16 &&
                leading_dimension_of_v_c<D> == 48);
  using Batched = decltype(Padded() + BatchesPerBlock<3>());
  EXPECT_EQ(cosize(Batched::get_layout_smem_a()), 2u * 32 * 18 + 31 * 18 + 16);
  EXPECT_EQ(size(Batched::get_layout_smem_a()), 3u * 32 * 16);
}

TEST(BlockLayouts, that_are_suggested_have_the_alignment_of_their_lines) {
  const auto of = [](auto layout) { return decltype(layout)::alignment; };
  using Odd = InBlock<float, 30, 50, 9, 64>;
  EXPECT_EQ(of(Odd::suggest_layout_smem_a()), 16u) << "lines are padded to 16 bytes";
  EXPECT_EQ(of(Odd::suggest_layout_smem_b()), 16u);
  using Complex = decltype(Odd() + Type<type::complex>() + BatchesPerBlock<2>());
  EXPECT_EQ(of(Complex::suggest_layout_smem_a()), 16u);
  EXPECT_EQ(of(Complex::suggest_layout_smem_b()), 16u);
  // Not whole MMAs: plain, with the leading dimensions of the descriptor.
  using Halves = InBlock<f16, 31, 20, 14, 64>;
  EXPECT_EQ(of(Halves::suggest_layout_smem_a()), 4u) << "28 bytes";
  using Padded = decltype(Halves() + LeadingDimension<20, 24, 20>());
  EXPECT_EQ(of(Padded::suggest_layout_smem_a()), 8u) << "40 bytes";
  EXPECT_EQ(of(Padded::suggest_layout_smem_b()), 16u) << "48 bytes";
  EXPECT_EQ(Padded::suggest_layout_smem_b().leading_dimension(), 24);
  EXPECT_EQ(of(InBlock<f16, 32, 48, 16, 64>::suggest_layout_smem_a()), 16u);
  EXPECT_EQ(of(Odd::get_layout_smem_a()), 1u) << "asked for as it is";
}

TEST(BlockLayouts, add_up_to_the_shared_memory_of_a_kernel) {
  using D = decltype(InBlock<f16, 32, 48, 16, 64>() + Alignment<16, 8, 4>());
  static_assert(get_shared_storage_size_ab<D>() == 2 * (32 * 16 + 16 * 48));
  static_assert(get_shared_storage_size<D>() == 2 * (32 * 16 + 16 * 48) + 4 * 32 * 48);
  alignas(128) static std::byte memory[16384];
  const auto [a, b, c] = slice_shared_memory<D>(memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(a), memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(b), memory + 2 * 32 * 16);
  EXPECT_EQ(reinterpret_cast<std::byte*>(c), memory + 2 * (32 * 16 + 16 * 48));
  // A piece begins where its alignment, or that of a suggested layout, lets it.
  const auto [x, y, z] =
      shared_memory::slice<std::byte, f16, float>(memory, 1, 3, 2, D::suggest_layout_smem_b(), 64, 5u);
  EXPECT_EQ(reinterpret_cast<std::byte*>(x), memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(y), memory + 16);
  EXPECT_EQ(reinterpret_cast<std::byte*>(z), memory + 1600);
  EXPECT_EQ(make_shared_storage_calculator()
                .add(1, 3)
                .add(2, sizeof(f16), D::suggest_layout_smem_b())
                .add(64, sizeof(float), 5)
                .get(),
            1620u);
  static_assert(device_info<900>::shared_memory() == 232448 && device_info<890>::shared_memory() == 101376);
  using Large = decltype(Size<128, 256, 128>() + Precision<f16, f16, float>() + BlockDim<256>() + SM<900>());
  static_assert(is_supported_rmem_v<Large, 900> && !is_supported_smem_v<Large, 890> &&
                is_supported_smem_v<D, 890>);
  static_assert(is_supported_rmem_v<Large, 890>);
}

TEST(BlockTensors, know_their_sizes_and_tiles) {
  std::vector<float> memory(1000);
  const auto t = make_gmem_tensor<row_major>(memory.data(), 10, 20, 25);
  EXPECT_EQ(size(t), 200);
  EXPECT_EQ(cosize(t), 9 * 25 + 20);
  const auto row = get_tile_row(t, Shape<4, 8>{}, 2);
  EXPECT_EQ(row.count(), 3);
  const auto last = slice(row, 2);
  EXPECT_EQ(&last(0, 0), &t(8, 16));
  EXPECT_EQ(last.rows(), 2u);
  EXPECT_EQ(last.columns(), 4u);
  EXPECT_EQ(size(last), 8);
  EXPECT_EQ(cosize(last), 25 + 4);
  const auto column = get_tile_col(t, Shape<4, 8>{}, 1);
  EXPECT_EQ(column.count(), 3);
  EXPECT_EQ(&slice(column, 1)(0, 0), &t(4, 8));
  const auto batches = make_gmem_tensor_batched<col_major>(memory.data(), 3, 4, 5);
  EXPECT_EQ(&slice(batches, 2)(1, 1), &batches(1, 1, 2));
  EXPECT_EQ(size(batches), 60);
}

TEST(BlockTensors, are_conjugated_by_a_view_and_by_a_function) {
  using Z = complex<float>;
  std::vector<Z> memory{{1, 2}, {3, -4}, {5, 0}, {7, 8}, {9, 10}, {11, 12}};
  using D =
      decltype(Size<2, 8, 3>() + Precision<float>() + Type<type::complex>() + BlockDim<32>() + SM<900>());
  const auto a = make_tensor(memory.data(), D::get_layout_gmem_a());
  const auto view = conj_transpose_view(a);
  EXPECT_EQ(view.rows(), 3u);
  EXPECT_EQ(view.columns(), 2u);
  EXPECT_EQ(view(1, 0), (Z{3, 4}));
  EXPECT_EQ(conjugate{}(complex<double>{1, 2}), (complex<double>{1, -2}));
  EXPECT_EQ(static_cast<float>(conjugate{}(complex<f16>{f16(1.0f), f16(-2.0f)}).y), 2.0f);
  EXPECT_EQ(conjugate{}(3.0f), 3.0f);
  EXPECT_EQ(identity{}(3), 3);
}

TEST(BlockDescriptors, are_told_from_those_of_pipelines) {
  using D = InBlock<f16, 32, 48, 16, 64>;
  static_assert(path_of_v<D> == path::mma_sync && path_of_v<InBlock<float, 3, 5, 7, 32>> == path::simt);
  static_assert(is_blas_execution_v<D> && is_complete_blas_execution_v<D>);
  static_assert(!is_blas_execution_v<int> && !is_blas_execution_v<decltype(Size<1, 1, 1>() + SM<900>())>);
  static_assert(!is_complete_blas_execution_v<decltype(Size<1, 1, 1>() + Block())>);
  static_assert(D::batches_per_block == 1 &&
                batches_per_block_of_v<decltype(D() + BatchesPerBlock<4>())> == 4);
  static_assert(alignment_of<D>::a == 2 && alignment_of<D>::b == 2 && alignment_of<D>::c == 4);
  // TransposeMode is Arrangement by another name.
  using Modes = TransposeMode<transpose_mode::transposed, transpose_mode::non_transposed>;
  static_assert(std::is_same_v<Modes, Arrangement<row_major, col_major, col_major>>);
  static_assert(transpose_mode_of_a<D> == transpose_mode::transposed &&
                transpose_mode_of_b<D> == transpose_mode::non_transposed);
  static_assert(std::is_same_v<tfloat32_t, tf32> && std::is_same_v<bfloat16_t, bf16> &&
                std::is_same_v<precision_of<D>::a_type, f16> && std::is_same_v<byte, std::byte>);
  EXPECT_NE(explain<D>().find("mma_sync taken"), std::string::npos) << explain<D>();
}

TEST(BlockDescriptors, are_launched_with_their_threads) {
  using D = decltype(InBlock<f16, 32, 48, 16, 64>() + StaticBlockDim());
  int stream = 0;
  const arch::LaunchConfig config = make_launch_config<D>({3, 4, 5}, 1000, &stream, "name");
  EXPECT_TRUE(config.grid.x == 3 && config.grid.y == 4 && config.grid.z == 5);
  EXPECT_TRUE(config.block.x == 64 && config.block.y == 1 && config.block.z == 1);
  EXPECT_EQ(config.shared_bytes, 1000u);
  EXPECT_EQ(config.stream, &stream);
  EXPECT_STREQ(config.name, "name");
}

// ---- mistakes

using Small = InBlock<f16, 16, 16, 16, 64>;

void too_few_threads(const f16* a, const f16* b, float* c) {
  TILEWRIGHT_SKIP_IF_NOT_APPLICABLE_SM(Small);
  auto accumulator =
      Small().execute(make_tensor(a, Small::get_layout_gmem_a()), make_tensor(b, Small::get_layout_gmem_b()));
  accumulator.partition_and_store(make_tensor(c, Small::get_layout_gmem_c()));
}
void read_twice(const f16* a, const f16* b, float* c) {
  auto accumulator =
      Small().execute(make_tensor(a, Small::get_layout_gmem_a()), make_tensor(b, Small::get_layout_gmem_b()));
  accumulator.partition_and_store(make_tensor(c, Small::get_layout_gmem_c()));
  accumulator.partition_and_store(make_tensor(c, Small::get_layout_gmem_c()));
}
void forgotten(const f16* a, const f16* b, float*) {
  auto accumulator =
      Small().execute(make_tensor(a, Small::get_layout_gmem_a()), make_tensor(b, Small::get_layout_gmem_b()));
}
void no_wait(const f16* a, const f16* b, float* c) {
  TILEWRIGHT_SHARED(smem, 16);
  auto [smem_a] = shared_memory::slice<f16>(smem, 16, Small::suggest_layout_smem_a());
  auto tile_a = make_tensor(smem_a, Small::suggest_layout_smem_a());
  copy<Small, 16>(make_tensor(a, Small::get_layout_gmem_a()), tile_a);
  auto accumulator = Small().execute(tile_a, make_tensor(b, Small::get_layout_gmem_b()));
  accumulator.partition_and_store(make_tensor(c, Small::get_layout_gmem_c()));
}

// ---- leading dimensions that are known at run time only

struct Ld {
  int64_t a = 16, b = 16, c = 16;
};
void product_of(const f16* a, const f16* b, float* c, Ld ld) {
  Small().execute(1.0f, make_tensor(a, Small::get_layout_gmem_a(ld.a)),
                  make_tensor(b, Small::get_layout_gmem_b(ld.b)), 0.0f,
                  make_tensor(c, Small::get_layout_gmem_c(ld.c)));
}
void pointers_to(const f16* a, const f16* b, float* c, Ld ld) {
  Small().execute(1.0f, a, static_cast<unsigned>(ld.a), b, static_cast<unsigned>(ld.b), 0.0f, c,
                  static_cast<unsigned>(ld.c));
}
void product_of_views(const f16* a, const f16* b, float* c, Ld ld) {
  auto accumulator = Small().execute(conj_transpose_view(make_tensor(a, Small::get_layout_gmem_b(ld.a))),
                                     transpose_view(make_tensor(b, Small::get_layout_gmem_a(ld.b))));
  accumulator.partition_and_store(make_tensor(c, Small::get_layout_gmem_c()));
}
// a: of the source, b: of the destination
void copy_of(const f16* a, const f16*, float*, Ld ld) {
  TILEWRIGHT_SHARED(smem, 16);
  copy<Small, 16>(make_tensor(a, Small::get_layout_gmem_a(ld.a)),
                  make_tensor(reinterpret_cast<f16*>(smem), Small::get_layout_smem_a(ld.b)));
  copy_wait();
}
void batches_of(const f16* a, const f16* b, float* c, Ld ld) {
  using Two = decltype(InBlock<f16, 8, 8, 8, 64>() + BatchesPerBlock<2>());
  Two().execute(1.0f, make_tensor(a, Two::get_layout_gmem_a(ld.a)),
                make_tensor(b, Two::get_layout_gmem_b(ld.b)), 0.0f,
                make_tensor(c, Two::get_layout_gmem_c(ld.c)));
}
void arithmetic_of_one_thread(const f16* a, const f16*, float* c, Ld ld) {
  if (threadIdx.x != 0) return;
  const auto out = make_tensor(c, Small::get_layout_gmem_c(ld.c));
  if (ld.b == 0) return clear(out);
  axpby(1.0f, make_tensor(a, Small::get_layout_gmem_a(ld.a)), 0.0f, out);
}

template <class Kernel, class... More>
emulator::Report report_of(Kernel kernel, uint32_t threads, More... more) {
  Buffer<f16> a(256, false, "A"), b(256, false, "B");
  Buffer<float> c(256, true, "C");
  for (size_t i = 0; i < 256; ++i) a[i] = b[i] = f16(1.0f);
  arch::LaunchConfig config;
  config.grid = {1, 1, 1};
  config.block = {threads, 1, 1};
  config.shared_bytes = 1024;
  const Status failed = arch::launch(kernel, config, static_cast<const f16*>(a.data()),
                                     static_cast<const f16*>(b.data()), c.data(), more...);
  const auto& reports = emulator::Machine::default_machine().last_result().reports;
  return failed && !reports.empty() ? reports[0] : emulator::Report{};
}

TEST(BlockMisuse, is_named) {
  EXPECT_EQ(report_of(too_few_threads, 32).place, "block.threads");
  EXPECT_EQ(report_of(read_twice, 64).place, "accumulator.second_read");
  EXPECT_EQ(report_of(forgotten, 64).place, "accumulator.unfinished");
  EXPECT_NE(report_of(no_wait, 64).message, "");
  EXPECT_EQ(report_of(too_few_threads, 64).message, "");
}

template <class Kernel>
void expect_refused(Kernel kernel, Ld ld, const char* sentence) {
  const emulator::Report report = report_of(kernel, 64, ld);
  EXPECT_EQ(report.place, "block.leading_dimension") << report.message;
  EXPECT_NE(report.message.find(sentence), std::string::npos) << report.message;
}

TEST(BlockMisuse, of_leading_dimensions_is_named) {
  const auto below = [](const char* name, int64_t ld, const char* lines) {
    return "the leading dimension of " + std::string(name) + " is " + std::to_string(ld) + ", below its " +
           lines + " elements";
  };
  for (const int64_t bad : {int64_t{15}, int64_t{1}, int64_t{0}, int64_t{-1}, int64_t{-16}}) {
    expect_refused(product_of, {.a = bad}, below("A", bad, "rows of 16").c_str());
    expect_refused(product_of, {.b = bad}, below("B", bad, "columns of 16").c_str());
    expect_refused(product_of, {.c = bad}, below("C", bad, "rows of 16").c_str());
    expect_refused(product_of_views, {.a = bad}, below("A", bad, "rows of 16").c_str());
    expect_refused(product_of_views, {.b = bad}, below("B", bad, "columns of 16").c_str());
    expect_refused(copy_of, {.a = bad}, below("the tile copied from", bad, "rows of 16").c_str());
    expect_refused(copy_of, {.b = bad}, below("the tile copied to", bad, "rows of 16").c_str());
    expect_refused(arithmetic_of_one_thread, {.a = bad}, below("x", bad, "rows of 16").c_str());
    expect_refused(arithmetic_of_one_thread, {.c = bad}, below("y", bad, "rows of 16").c_str());
    expect_refused(arithmetic_of_one_thread, {.b = 0, .c = bad},
                   below("a cleared tile", bad, "rows of 16").c_str());
  }
  expect_refused(pointers_to, {.a = 15}, below("A", 15, "rows of 16").c_str());
  expect_refused(pointers_to, {.b = 3}, below("B", 3, "columns of 16").c_str());
  expect_refused(pointers_to, {.c = 0}, below("C", 0, "rows of 16").c_str());
  expect_refused(batches_of, {.a = 7, .b = 8, .c = 8}, below("A", 7, "rows of 8").c_str());
  for (const auto& kernel : {product_of, product_of_views, copy_of, arithmetic_of_one_thread, pointers_to})
    EXPECT_EQ(report_of(kernel, 64, Ld{}).message, "");
  EXPECT_EQ(report_of(batches_of, 64, Ld{.a = 9, .b = 8, .c = 10}).message, "");
}

// ---- what suggested layouts are worth

using Single = InBlock<float, 16, 32, 8, 32, col_major, row_major>;

// The suggested tiles lie behind a byte.
void product_behind_a_byte(const float* a, const float* b, float* c) {
  TILEWRIGHT_SHARED(smem, 16);
  const auto layout_a = Single::suggest_layout_smem_a();
  const auto layout_b = Single::suggest_layout_smem_b();
  auto [byte, smem_a, smem_b] =
      shared_memory::slice<std::byte, float, float>(smem, 1, 1, 4, layout_a, 4, layout_b);
  const auto tile_a = make_tensor(smem_a, layout_a);
  const auto tile_b = make_tensor(smem_b, layout_b);
  copy<Single, 16>(make_tensor(a, Single::get_layout_gmem_a()), tile_a);
  copy<Single, 16>(make_tensor(b, Single::get_layout_gmem_b()), tile_b);
  copy_wait();
  auto accumulator = Single().execute(tile_a, tile_b);
  accumulator.partition_and_store(make_tensor(c, Single::get_layout_gmem_c()));
}

TEST(BlockLayouts, suggested_ones_are_copied_and_read_16_bytes_at_a_time) {
  constexpr int m = 16, n = 32, k = 8;
  Buffer<float> a(m * k, false, "A"), b(k * n, false, "B"), c(m * n, true, "C");
  for (size_t i = 0; i < m * k; ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < k * n; ++i) b[i] = static_cast<float>(i % 5) - 2;
  arch::LaunchConfig config;
  config.grid = {1, 1, 1};
  config.block = {32, 1, 1};
  config.shared_bytes = make_shared_storage_calculator()
                            .add(1, 1)
                            .add(4, sizeof(float), Single::suggest_layout_smem_a())
                            .add(4, sizeof(float), Single::suggest_layout_smem_b())
                            .get();
  run(product_behind_a_byte, config, static_cast<const float*>(a.data()), static_cast<const float*>(b.data()),
      c.data());
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (size_t x = 0; x < k; ++x) sum += a[x * m + i] * b[x * n + j];
      ASSERT_EQ(c[i * n + j], sum) << i << ", " << j;
    }
  }
  const auto& operations = emulator::Machine::default_machine().last_result().statistics.operations;
  const auto count = [&](emulator::Op op) { return operations[static_cast<size_t>(op)]; };
  EXPECT_EQ(count(emulator::Op::cp_async), k * (m + n) / 4u);
  // A thread reads four rows and four columns of each k.
  EXPECT_EQ(count(emulator::Op::load_shared), 32u * k * 2);
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
