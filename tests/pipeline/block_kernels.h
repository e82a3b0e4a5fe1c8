// Kernels as users of the vendor's device-side BLAS write them without a pipeline, on both machines. Sums of
// small integers are exact: results are compared with double for equality.
#include "tests/pipeline/block_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class BlockKernels : public OnMachine {};

/// Matrices, packed but for `pad` elements of each leading dimension.
template <class T, arrangement Order>
struct Packed : Matrix<T, Order> {
  Packed(int64_t rows, int64_t columns, bool writable, const char* name, int64_t pad = 0, int64_t batches = 1)
      : Matrix<T, Order>(rows, columns, batches, pad, writable, name) {
    this->ld = (Order == row_major ? columns : rows) + pad;
    this->batch_stride = this->ld * (Order == row_major ? rows : columns);
  }
};
/// Filled with small integers.
template <class T, arrangement Order>
struct Filled : Packed<T, Order> {
  Filled(int64_t rows, int64_t columns, int seed, bool writable, const char* name, int64_t pad = 0,
         int64_t batches = 1)
      : Packed<T, Order>(rows, columns, writable, name, pad, batches) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    this->fill(random, -3, 3);
  }
};

/// op(A)(r, k) op(B)(k, c) summed over k.
template <class A, class B>
double product(A&& a, B&& b, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) sum += a(i) * b(i);
  return sum;
}

arch::LaunchConfig one_block(uint32_t threads, uint32_t shared_bytes) {
  arch::LaunchConfig config;
  config.grid = {1, 1, 1};
  config.block = {threads, 1, 1};
  config.shared_bytes = shared_bytes;
  return config;
}

// ---- A, B and C in shared memory, leading dimensions of memory given at run time

template <class BLAS, class T, class C>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    introduction_kernel(float alpha, const T* a, unsigned lda, const T* b, unsigned ldb, float beta, C* c,
                        unsigned ldc) {
  TILEWRIGHT_SHARED(smem, 128);
  auto a_global_tensor = make_tensor(a, BLAS::get_layout_gmem_a(lda));
  auto b_global_tensor = make_tensor(b, BLAS::get_layout_gmem_b(ldb));
  auto c_global_tensor = make_tensor(c, BLAS::get_layout_gmem_c(ldc));
  auto [smem_a, smem_b, smem_c] = slice_shared_memory<BLAS>(smem);
  auto a_shared_tensor = make_tensor(smem_a, BLAS::get_layout_smem_a());
  auto b_shared_tensor = make_tensor(smem_b, BLAS::get_layout_smem_b());
  auto c_shared_tensor = make_tensor(smem_c, BLAS::get_layout_smem_c());
  using alignment = alignment_of<BLAS>;
  copy<BLAS, alignment::a>(a_global_tensor, a_shared_tensor);
  copy<BLAS, alignment::b>(b_global_tensor, b_shared_tensor);
  copy<BLAS, alignment::c>(c_global_tensor, c_shared_tensor);
  copy_wait();
  BLAS().execute(alpha, a_shared_tensor, b_shared_tensor, beta, c_shared_tensor);
  __syncthreads();
  copy<BLAS, alignment::c>(c_shared_tensor, c_global_tensor);
}

template <class BLAS>
void check_introduction(int64_t pad) {
  using T = canonical_t<typename BLAS::a_value_type>;
  constexpr int64_t m = blas::size_of<BLAS>::m, n = blas::size_of<BLAS>::n, k = blas::size_of<BLAS>::k;
  Filled<T, row_major> a(m, k, 1, false, "A", pad);
  Filled<T, col_major> b(k, n, 2, false, "B", pad);
  Filled<float, row_major> c(m, n, 3, true, "C", pad);
  std::vector<double> old;
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t j = 0; j < n; ++j) old.push_back(c.at(r, j, 0));
  }
  run(introduction_kernel<BLAS, T, float>,
      one_block(BLAS::max_threads_per_block, get_shared_storage_size<BLAS>()), 2.0f,
      static_cast<const T*>(a.data()), static_cast<unsigned>(a.ld), static_cast<const T*>(b.data()),
      static_cast<unsigned>(b.ld), 3.0f, c.data(), static_cast<unsigned>(c.ld));
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      const double sum = product([&](int64_t i) { return value_of(a.at(r, i, 0)); },
                                 [&](int64_t i) { return value_of(b.at(i, j, 0)); }, k);
      ASSERT_EQ(c.at(r, j, 0), 2 * sum + 3 * old[static_cast<size_t>(r * n + j)]) << r << ", " << j;
    }
  }
  expect_padding_untouched(c);
}

TEST_F(BlockKernels, introduction) {
  using Half = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + Type<type::real>() +
                        Function<function::MM>() + Arrangement<row_major, col_major, row_major>() + Block() +
                        BlockDim<64>() + StaticBlockDim() + SM<800>());
  check_introduction<Half>(0);
  check_introduction<Half>(5);
  check_introduction<decltype(Size<32, 64, 16>() + Precision<float>() + Block() + BlockDim<128>() +
                              SM<900>())>(3);
  // Alignment is a promise that this one keeps.
  check_introduction<decltype(Half() + MaxAlignment())>(0);
}

// ---- the pointer forms

template <class BLAS, class T>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    pointers_kernel(const T* a, const T* b, float* c, unsigned ld) {
  TILEWRIGHT_SHARED(smem, 128);
  auto layout_a = BLAS::get_layout_smem_a(ld);
  auto layout_b = BLAS::get_layout_smem_b(ld);
  auto layout_c = BLAS::get_layout_smem_c(ld);
  auto [smem_a, smem_b, smem_c] = slice_shared_memory<BLAS>(smem, layout_a, layout_b, layout_c);
  copy<BLAS, 2>(make_tensor(a, BLAS::get_layout_gmem_a()), make_tensor(smem_a, layout_a));
  copy<BLAS, 2>(make_tensor(b, BLAS::get_layout_gmem_b()), make_tensor(smem_b, layout_b));
  copy<BLAS::max_threads_per_block, 4>(threadIdx.x, make_tensor(c, BLAS::get_layout_gmem_c()),
                                       make_tensor(smem_c, layout_c));
  copy_wait();
  BLAS().execute(1, smem_a, ld, smem_b, ld, 2, smem_c, ld);
  __syncthreads();
  copy<BLAS, 4>(make_tensor(smem_c, layout_c), make_tensor(c, BLAS::get_layout_gmem_c()));
  __syncthreads();
  // Packed: again, onto that.
  copy<BLAS, 2>(make_tensor(a, BLAS::get_layout_gmem_a()), make_tensor(smem_a, BLAS::get_layout_smem_a()));
  copy<BLAS, 2>(make_tensor(b, BLAS::get_layout_gmem_b()), make_tensor(smem_b, BLAS::get_layout_smem_b()));
  copy<BLAS, 4>(make_tensor(c, BLAS::get_layout_gmem_c()), make_tensor(smem_c, BLAS::get_layout_smem_c()));
  copy_wait();
  BLAS().execute(1.0f, smem_a, smem_b, 1.0f, smem_c);
  __syncthreads();
  copy<BLAS, 4>(make_tensor(smem_c, BLAS::get_layout_smem_c()), make_tensor(c, BLAS::get_layout_gmem_c()));
}

TEST_F(BlockKernels, leading_dimensions_at_run_time) {
  using BLAS = decltype(Size<16, 16, 16>() + Precision<f16, f16, float>() + BlockDim<32>() + SM<900>());
  constexpr int64_t n = 16;
  constexpr unsigned ld = 21;
  Filled<f16, row_major> a(n, n, 1, false, "A");
  Filled<f16, col_major> b(n, n, 2, false, "B");
  Filled<float, row_major> c(n, n, 3, true, "C");
  std::vector<double> old;
  for (int64_t i = 0; i < n * n; ++i) old.push_back(c.at(i / n, i % n, 0));
  const uint32_t bytes = get_shared_storage_size<BLAS>(
      BLAS::get_layout_smem_a(ld), BLAS::get_layout_smem_b(ld), BLAS::get_layout_smem_c(ld));
  EXPECT_GE(bytes, (2 + 2 + 4) * (15 * ld + 16));
  run(pointers_kernel<BLAS, f16>, one_block(32, bytes), static_cast<const f16*>(a.data()),
      static_cast<const f16*>(b.data()), c.data(), ld);
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      const double sum = product([&](int64_t i) { return value_of(a.at(r, i, 0)); },
                                 [&](int64_t i) { return value_of(b.at(i, j, 0)); }, n);
      ASSERT_EQ(c.at(r, j, 0), 2 * sum + 2 * old[static_cast<size_t>(r * n + j)]) << r << ", " << j;
    }
  }
}

// ---- several products in a block

template <class BLAS>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    batched_kernel(const f16* a, const f16* b, float* c) {
  TILEWRIGHT_SHARED(smem, 128);
  const auto layout_a = BLAS::suggest_layout_smem_a();
  const auto layout_b = BLAS::suggest_layout_smem_b();
  auto [smem_a, smem_b, smem_c] =
      slice_shared_memory<BLAS>(smem, layout_a, layout_b, BLAS::get_layout_smem_c());
  auto tiles_a = make_tensor(smem_a, layout_a);
  auto tiles_b = make_tensor(smem_b, layout_b);
  auto tiles_c = make_tensor(smem_c, BLAS::get_layout_smem_c());
  auto out = make_tensor(c, BLAS::get_layout_gmem_c());
  copy<BLAS, 16>(make_tensor(a, BLAS::get_layout_gmem_a()), tiles_a);
  copy<BLAS, 16>(make_tensor(b, BLAS::get_layout_gmem_b()), tiles_b);
  copy_wait();
  BLAS().execute(2.0f, tiles_a, tiles_b, 0.0f, tiles_c);
  __syncthreads();
  copy<BLAS, 16>(tiles_c, out);
  __syncthreads();
  // The last one again, in registers.
  constexpr int last = static_cast<int>(BLAS::batches_per_block) - 1;
  auto accumulator = BLAS().execute(get_batch(tiles_a, last), slice(tiles_b, last));
  accumulator.reduce_and_store(get_batch(out, last),
                               [](float sum, float twice, Coord) { return twice - sum; });
}

template <class BLAS>
void check_batches() {
  constexpr int64_t m = blas::size_of<BLAS>::m, n = blas::size_of<BLAS>::n, k = blas::size_of<BLAS>::k;
  constexpr int64_t batches = BLAS::batches_per_block;
  Filled<f16, row_major> a(m, k, 1, false, "A", 0, batches);
  Filled<f16, col_major> b(k, n, 2, false, "B", 0, batches);
  Filled<float, row_major> c(m, n, 3, true, "C", 0, batches);
  const uint32_t bytes = get_shared_storage_size<BLAS>(
      BLAS::suggest_layout_smem_a(), BLAS::suggest_layout_smem_b(), BLAS::get_layout_smem_c());
  run(batched_kernel<BLAS>, one_block(BLAS::max_threads_per_block, bytes), static_cast<const f16*>(a.data()),
      static_cast<const f16*>(b.data()), c.data());
  for (int64_t i = 0; i < batches; ++i) {
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t j = 0; j < n; ++j) {
        const double sum = product([&](int64_t x) { return value_of(a.at(r, x, i)); },
                                   [&](int64_t x) { return value_of(b.at(x, j, i)); }, k);
        ASSERT_EQ(c.at(r, j, i), (i == batches - 1 ? 1 : 2) * sum) << r << ", " << j << ", " << i;
      }
    }
  }
}

TEST_F(BlockKernels, batches) {
  check_batches<decltype(Size<32, 16, 16>() + Precision<f16, f16, float>() + BlockDim<64>() +
                         BatchesPerBlock<3>() + SM<900>())>();
  check_batches<decltype(Size<5, 7, 9>() + Precision<f16, f16, float>() + BlockDim<32>() +
                         BatchesPerBlock<4>() + SM<900>())>();
}

// ---- functions of elements on their way, and storage of another type than arithmetic

struct Twice {
  template <class T>
  TILEWRIGHT_HOST_DEVICE float operator()(const T& x) const {
    return 2 * static_cast<float>(x);
  }
};
struct PlusOne {
  TILEWRIGHT_HOST_DEVICE float operator()(const f16& x) const { return static_cast<float>(x) + 1; }
};
struct Negative {
  TILEWRIGHT_HOST_DEVICE float operator()(float x) const { return -x; }
};
struct Relu {
  TILEWRIGHT_HOST_DEVICE float operator()(float x) const { return x > 0 ? x : 0; }
};

template <class BLAS>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    transform_kernel(const int8_t* a, const f16* b, float* c, float beta) {
  TILEWRIGHT_SHARED(smem, 128);
  const auto layout_a = BLAS::get_layout_smem_a();
  const auto layout_b = BLAS::suggest_layout_smem_b();
  const auto layout_c = BLAS::get_layout_smem_c();
  auto [smem_a, smem_b, smem_c] =
      shared_memory::slice<int8_t, f16, float>(smem, 4, layout_a, 16, layout_b, 16, layout_c);
  auto tile_a = make_tensor(smem_a, layout_a);
  auto tile_b = make_tensor(smem_b, layout_b);
  auto tile_c = make_tensor(smem_c, layout_c);
  auto out = make_tensor(c, BLAS::get_layout_gmem_c());
  copy<BLAS, 4>(make_tensor(a, BLAS::get_layout_gmem_a()), tile_a);
  copy<BLAS, 16>(make_tensor(b, BLAS::get_layout_gmem_b()), tile_b);
  copy<BLAS, 16>(out, tile_c);
  copy_wait();
  BLAS().execute(1.0f, tile_a, tile_b, beta, tile_c, Twice{}, PlusOne{}, Negative{}, Relu{});
  __syncthreads();
  copy<BLAS, 16>(tile_c, out);
}

TEST_F(BlockKernels, functions_of_elements_and_storage_of_another_type) {
  using BLAS = decltype(Size<32, 16, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
  constexpr int64_t m = 32, n = 16, k = 32;
  for (const float beta : {0.0f, 2.0f}) {
    Filled<int8_t, row_major> a(m, k, 1, false, "A");
    Filled<f16, col_major> b(k, n, 2, false, "B");
    Filled<float, row_major> c(m, n, 3, true, "C");
    std::vector<double> old;
    for (int64_t i = 0; i < m * n; ++i) old.push_back(c.at(i / n, i % n, 0));
    const uint32_t bytes = make_shared_storage_calculator()
                               .add(4, sizeof(int8_t), BLAS::get_layout_smem_a())
                               .add(16, sizeof(f16), BLAS::suggest_layout_smem_b())
                               .add(16, sizeof(float), BLAS::get_layout_smem_c())
                               .get();
    run(transform_kernel<BLAS>, one_block(64, bytes), static_cast<const int8_t*>(a.data()),
        static_cast<const f16*>(b.data()), c.data(), beta);
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t j = 0; j < n; ++j) {
        const double sum = product([&](int64_t i) { return 2 * value_of(a.at(r, i, 0)); },
                                   [&](int64_t i) { return value_of(b.at(i, j, 0)) + 1; }, k);
        const double expected = sum - beta * old[static_cast<size_t>(r * n + j)];
        ASSERT_EQ(c.at(r, j, 0), expected > 0 ? expected : 0) << r << ", " << j;
      }
    }
  }
}

// ---- a function after a product of no whole fragment

struct SquareRoot {
  TILEWRIGHT_HOST_DEVICE float operator()(float x) const { return sqrtf(x); }
};

template <class BLAS, class T>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    root_kernel(const T* a, const T* b, float* c) {
  TILEWRIGHT_SHARED(smem, 128);
  auto [smem_a, smem_b, smem_c] = slice_shared_memory<BLAS>(smem);
  auto tile_a = make_tensor(smem_a, BLAS::get_layout_smem_a());
  auto tile_b = make_tensor(smem_b, BLAS::get_layout_smem_b());
  auto tile_c = make_tensor(smem_c, BLAS::get_layout_smem_c());
  using alignment = alignment_of<BLAS>;
  copy<BLAS, alignment::a>(make_tensor(a, BLAS::get_layout_gmem_a()), tile_a);
  copy<BLAS, alignment::b>(make_tensor(b, BLAS::get_layout_gmem_b()), tile_b);
  copy_wait();
  BLAS().execute(1.0f, tile_a, tile_b, 0.0f, tile_c, identity{}, identity{}, identity{}, SquareRoot{});
  __syncthreads();
  copy<BLAS, alignment::c>(tile_c, make_tensor(c, BLAS::get_layout_gmem_c()));
}

template <class T>
void check_root_of_ones() {
  using BLAS = decltype(Size<4, 4, 4>() + Precision<T, T, float>() + LeadingDimension<5, 7, 6>() +
                        BlockDim<32>() + SM<900>());
  Packed<T, row_major> a(4, 4, false, "A");
  Packed<T, col_major> b(4, 4, false, "B");
  Packed<float, row_major> c(4, 4, true, "C");
  for (int64_t i = 0; i < 16; ++i) a.at(i / 4, i % 4, 0) = b.at(i / 4, i % 4, 0) = T(1.0f);
  run(root_kernel<BLAS, T>, one_block(32, get_shared_storage_size<BLAS>()), static_cast<const T*>(a.data()),
      static_cast<const T*>(b.data()), c.data());
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(c.at(i / 4, i % 4, 0), 2.0f) << i;
}

TEST_F(BlockKernels, C91_square_roots_of_a_small_product_of_ones_are_two) {
  check_root_of_ones<f16>();
  check_root_of_ones<bf16>();
  check_root_of_ones<e4m3>();
}

// ---- A A^T from one buffer

template <class BLAS, Lie How>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    square_kernel(const f16* a, float* c) {
  TILEWRIGHT_SHARED(smem, 128);
  auto [smem_a] = shared_memory::slice<f16>(smem, 16, layout_a<BLAS, How>());
  auto tile_a = make_tensor(smem_a, layout_a<BLAS, How>());
  copy<BLAS, 16>(make_tensor(a, BLAS::get_layout_gmem_a()), tile_a);
  copy_wait();
  auto accumulator = BLAS().execute(tile_a, transpose_view(tile_a));
  accumulator.partition_and_store(make_tensor(c, BLAS::get_layout_gmem_c()));
}

template <class BLAS, Lie How>
void check_square() {
  constexpr int64_t n = blas::size_of<BLAS>::m, k = blas::size_of<BLAS>::k;
  Filled<f16, arrangement_of_v_a<BLAS>> a(n, k, 1, false, "A");
  Filled<float, row_major> c(n, n, 3, true, "C");
  run(square_kernel<BLAS, How>, one_block(BLAS::max_threads_per_block, 2 * cosize(layout_a<BLAS, How>())),
      static_cast<const f16*>(a.data()), c.data());
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(c.at(r, j, 0), product([&](int64_t i) { return value_of(a.at(r, i, 0)); },
                                       [&](int64_t i) { return value_of(a.at(j, i, 0)); }, k));
    }
  }
}

TEST_F(BlockKernels, a_times_its_transpose_from_one_buffer) {
  using ByRows = decltype(Size<32, 32, 48>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
  using ByColumns = decltype(ByRows() + Arrangement<col_major, row_major>());
  check_square<ByRows, Lie::suggested>();
  check_square<ByRows, Lie::plain>();
  check_square<ByColumns, Lie::suggested>();
  check_square<decltype(Size<20, 20, 11>() + Precision<f16, f16, float>() + BlockDim<32>() + SM<900>()),
               Lie::plain>();
}

// ---- conj(A)^T B of complex numbers

template <class BLAS, class T, class C, class Transposed>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    conjugate_kernel(const T* a, const T* b, C* c) {
  TILEWRIGHT_SHARED(smem, 128);
  auto [smem_a, smem_b] =
      slice_shared_memory_ab<BLAS>(smem, Transposed::get_layout_smem_a(), BLAS::suggest_layout_smem_b());
  auto tile_a = make_tensor(smem_a, Transposed::get_layout_smem_a());  // K x M
  auto tile_b = make_tensor(smem_b, BLAS::suggest_layout_smem_b());
  copy<BLAS, sizeof(T)>(make_tensor(a, Transposed::get_layout_gmem_a()), tile_a);
  copy<BLAS, sizeof(T)>(make_tensor(b, BLAS::get_layout_gmem_b()), tile_b);
  copy_wait();
  auto accumulator = BLAS::get_accumulator();
  BLAS().execute(conj_transpose_view(tile_a), tile_b, accumulator);
  BLAS().execute(transpose_view(tile_a), tile_b, accumulator, conjugate{}, identity{});
  BLAS().execute(transpose_view(tile_a), tile_b, accumulator, identity{}, conjugate{});
  accumulator.partition_and_store(make_tensor(c, BLAS::get_layout_gmem_c()));
}

template <class BLAS, class Transposed>
void check_conjugates() {
  using T = canonical_t<typename BLAS::a_value_type>;
  using C = typename BLAS::c_value_type;
  constexpr int64_t m = blas::size_of<BLAS>::m, n = blas::size_of<BLAS>::n, k = blas::size_of<BLAS>::k;
  Packed<T, row_major> a(k, m, false, "A");
  Packed<T, col_major> b(k, n, false, "B");
  Packed<C, row_major> c(m, n, true, "C");
  std::mt19937 random(4);
  fill_complex(a, random);
  fill_complex(b, random);
  const uint32_t bytes =
      get_shared_storage_size_ab<BLAS>(Transposed::get_layout_smem_a(), BLAS::suggest_layout_smem_b());
  run(conjugate_kernel<BLAS, T, C, Transposed>, one_block(BLAS::max_threads_per_block, bytes),
      static_cast<const T*>(a.data()), static_cast<const T*>(b.data()), c.data());
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      std::complex<double> sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        const auto x = complex_of(a.at(i, r, 0)), y = complex_of(b.at(i, j, 0));
        sum += 2.0 * std::conj(x) * y + x * std::conj(y);
      }
      ASSERT_EQ(complex_of(c.at(r, j, 0)), sum) << r << ", " << j;
    }
  }
}

template <int M, int N, int K, class T, class C, int Threads>
void check_conjugates_of() {
  using Common = decltype(Precision<T, T, C>() + Type<type::complex>() + BlockDim<Threads>() + SM<900>());
  check_conjugates<decltype(Common() + Size<M, N, K>()), decltype(Common() + Size<K, N, M>())>();
}

TEST_F(BlockKernels, conjugate_transposes) {
  check_conjugates_of<32, 16, 8, f16, float, 32>();
  check_conjugates_of<20, 10, 9, f16, float, 64>();
  check_conjugates_of<16, 16, 8, tf32, float, 32>();
  check_conjugates_of<16, 24, 5, double, double, 64>();
  check_conjugates_of<20, 40, 6, float, float, 32>();
}

// ---- two products in a block: D = (A B) E

template <class First, class Second>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(First::max_threads_per_block)
    fused_kernel(const f16* a, const f16* b, const f16* e, float* d) {
  TILEWRIGHT_SHARED(smem, 128);
  const auto layout_a = First::suggest_layout_smem_a();
  const auto layout_b = First::suggest_layout_smem_b();
  const auto layout_p = Second::suggest_layout_smem_a();
  const auto layout_e = Second::suggest_layout_smem_b();
  auto [smem_a, smem_b, smem_p, smem_e] =
      shared_memory::slice<f16, f16, f16, f16>(smem, 16, layout_a, 16, layout_b, 16, layout_p, 16, layout_e);
  auto tile_a = make_tensor(smem_a, layout_a);
  auto tile_b = make_tensor(smem_b, layout_b);
  auto tile_p = make_tensor(smem_p, layout_p);
  auto tile_e = make_tensor(smem_e, layout_e);
  copy<First, 16>(make_tensor(a, First::get_layout_gmem_a()), tile_a);
  copy<First, 16>(make_tensor(b, First::get_layout_gmem_b()), tile_b);
  copy<Second, 16>(make_tensor(e, Second::get_layout_gmem_b()), tile_e);
  copy_wait();
  auto partial = First().execute(tile_a, tile_b);
  partial.process_and_store(tile_p, Relu{});  // f16, where the second product reads it
  __syncthreads();
  auto accumulator = Second().execute(tile_p, tile_e);
  auto out = make_tensor(d, Second::get_layout_gmem_c());
  auto results = accumulator.get_results();
  auto halves = make_fragment_like<float>(results);
  transform_fragment(results, halves, [](float x) { return x / 2; });
  accumulator.partition_and_copy(halves, out);
}

template <class First, class Second>
void check_fused() {
  constexpr int64_t m = blas::size_of<First>::m, k = blas::size_of<First>::k, inner = blas::size_of<First>::n,
                    n = blas::size_of<Second>::n;
  static_assert(blas::size_of<Second>::k == inner && blas::size_of<Second>::m == m);
  Filled<f16, row_major> a(m, k, 1, false, "A");
  Filled<f16, col_major> b(k, inner, 2, false, "B");
  Filled<f16, col_major> e(inner, n, 3, false, "E");
  Filled<float, row_major> d(m, n, 4, true, "D");
  const auto calculator = make_shared_storage_calculator()
                              .add(16, 2, First::suggest_layout_smem_a())
                              .add(16, 2, First::suggest_layout_smem_b())
                              .add(16, 2, Second::suggest_layout_smem_a())
                              .add(16, 2, Second::suggest_layout_smem_b());
  run(fused_kernel<First, Second>, one_block(First::max_threads_per_block, calculator.get()),
      static_cast<const f16*>(a.data()), static_cast<const f16*>(b.data()), static_cast<const f16*>(e.data()),
      d.data());
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < inner; ++x) {
        const double partial = product([&](int64_t i) { return value_of(a.at(r, i, 0)); },
                                       [&](int64_t i) { return value_of(b.at(i, x, 0)); }, k);
        sum += std::max(partial, 0.0) * value_of(e.at(x, j, 0));
      }
      ASSERT_EQ(d.at(r, j, 0), sum / 2) << r << ", " << j;
    }
  }
}

TEST_F(BlockKernels, two_products_in_a_block) {
  using Common = decltype(Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
  check_fused<decltype(Common() + Size<32, 48, 16>()), decltype(Common() + Size<32, 16, 48>())>();
  check_fused<decltype(Common() + Size<30, 21, 16>()), decltype(Common() + Size<30, 17, 21>())>();
}

// ---- a layout of one's own: A A^T from one buffer whose columns are rotated in every row

template <int Rows, int Columns>
struct Rotated {
  static constexpr int rows = Rows, columns = Columns;
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t cosize() { return Rows * Columns; }
  /// As if there were a table of the rows.
  TILEWRIGHT_HOST_DEVICE constexpr int64_t offset(uint32_t row, uint32_t column) const {
    if (row >= static_cast<uint32_t>(Rows) || column >= static_cast<uint32_t>(Columns))
      return int64_t{1} << 60;
    return row * static_cast<uint32_t>(Columns) + (column + row) % static_cast<uint32_t>(Columns);
  }
};

template <class BLAS>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    rotated_kernel(const f16* a, float* c) {
  TILEWRIGHT_SHARED(smem, 128);
  const Rotated<BLAS::a_shape.rows, BLAS::a_shape.columns> layout_a;
  const Rotated<BLAS::c_shape.rows, BLAS::c_shape.columns> layout_c;
  auto [smem_a, smem_c] = shared_memory::slice<f16, float>(smem, 16, layout_a, 16, layout_c);
  auto tile_a = make_tensor(smem_a, layout_a);
  auto tile_c = make_tensor(smem_c, layout_c);
  copy<BLAS, 16>(make_tensor(a, BLAS::get_layout_gmem_a()), tile_a);
  copy_wait();
  BLAS().execute(1.0f, tile_a, transpose_view(tile_a), 0.0f, tile_c);
  __syncthreads();
  copy<BLAS, 16>(tile_c, make_tensor(c, BLAS::get_layout_gmem_c()));
}

template <class BLAS>
void check_rotated() {
  constexpr int64_t n = blas::size_of<BLAS>::m, k = blas::size_of<BLAS>::k;
  Filled<f16, row_major> a(n, k, 1, false, "A");
  Filled<float, row_major> c(n, n, 3, true, "C");
  run(rotated_kernel<BLAS>, one_block(64, 2 * n * k + 16 + 4 * n * n), static_cast<const f16*>(a.data()),
      c.data());
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(c.at(r, j, 0), product([&](int64_t i) { return value_of(a.at(r, i, 0)); },
                                       [&](int64_t i) { return value_of(a.at(j, i, 0)); }, k));
    }
  }
}

TEST_F(BlockKernels, layouts_of_ones_own) {
  using Common = decltype(Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
  check_rotated<decltype(Common() + Size<32, 32, 24>())>();
  check_rotated<decltype(Common() + Size<19, 19, 9>())>();
}

// ---- rows of tiles, and arithmetic of one thread

template <class BLAS, class A, class B, class C>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block) tile_row_kernel(A a, B b, C c) {
  TILEWRIGHT_SHARED(smem, 128);
  auto row = get_tile_row(a, BLAS::a_shape, blockIdx.x);
  auto column = get_tile_col(b, BLAS::b_shape, blockIdx.y);
  auto [smem_a, smem_b, smem_c] = slice_shared_memory<BLAS>(smem);
  auto tile_a = make_tensor(smem_a, BLAS::get_layout_smem_a());
  auto tile_b = make_tensor(smem_b, BLAS::get_layout_smem_b());
  auto tile_c = make_tensor(smem_c, BLAS::get_layout_smem_c());
  if (threadIdx.x == 0) clear(tile_c);
  for (int64_t i = 0; i < row.count(); ++i) {
    copy<BLAS, 2>(slice(row, i), tile_a);
    copy<BLAS, 2>(slice(column, i), tile_b);
    copy_wait();
    BLAS().execute(1.0f, tile_a, tile_b, 1.0f, tile_c);
    __syncthreads();
  }
  if (threadIdx.x == 0) axpby(2.0f, tile_c, 3.0f, get_tile(c, BLAS::c_shape, blockIdx.x, blockIdx.y));
}

TEST_F(BlockKernels, rows_of_tiles) {
  using BLAS = decltype(Size<16, 8, 16>() + Precision<f16, f16, float>() + BlockDim<32>() + SM<900>());
  constexpr int64_t m = 21, n = 13, k = 37;
  Filled<f16, row_major> a(m, k, 1, false, "A", 2);
  Filled<f16, col_major> b(k, n, 2, false, "B", 2);
  Filled<float, row_major> c(m, n, 3, true, "C", 2);
  std::vector<double> old;
  for (int64_t i = 0; i < m * n; ++i) old.push_back(c.at(i / n, i % n, 0));
  const auto tensor_a = get_batch(a.const_tensor(), 0);
  const auto tensor_b = get_batch(b.const_tensor(), 0);
  const auto tensor_c = get_batch(c.tensor(), 0);
  arch::LaunchConfig config = one_block(32, get_shared_storage_size<BLAS>());
  config.grid = {2, 2, 1};
  run(tile_row_kernel<BLAS, std::decay_t<decltype(tensor_a)>, std::decay_t<decltype(tensor_b)>,
                      std::decay_t<decltype(tensor_c)>>,
      config, tensor_a, tensor_b, tensor_c);
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      const double sum = product([&](int64_t i) { return value_of(a.at(r, i, 0)); },
                                 [&](int64_t i) { return value_of(b.at(i, j, 0)); }, k);
      ASSERT_EQ(c.at(r, j, 0), 2 * sum + 3 * old[static_cast<size_t>(r * n + j)]) << r << ", " << j;
    }
  }
  expect_padding_untouched(c);
}

// ---- integers

template <class BLAS>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(BLAS::max_threads_per_block)
    integer_kernel(const int8_t* a, const int8_t* b, float* c, int32_t* hundredfold) {
  TILEWRIGHT_SHARED(smem, 128);
  auto [smem_a, smem_b] = slice_shared_memory_ab<BLAS>(smem);
  auto tile_a = make_tensor(smem_a, BLAS::get_layout_smem_a());
  auto tile_b = make_tensor(smem_b, BLAS::get_layout_smem_b());
  copy<BLAS, 1>(make_tensor(a, BLAS::get_layout_gmem_a()), tile_a);
  copy<BLAS, 1>(make_tensor(b, BLAS::get_layout_gmem_b()), tile_b);
  copy_wait();
  const auto half = [](float old) { return old / 2; };
  BLAS().execute(3, tile_a, tile_b, 1, make_tensor(c, BLAS::get_layout_gmem_c()), identity{}, identity{},
                 half, identity{});
  if (threadIdx.x == 0) axpby(100, tile_a, 0, make_tensor(hundredfold, BLAS::get_layout_gmem_a()));
}

TEST_F(BlockKernels, integer_factors_do_not_round_what_they_meet) {
  using BLAS =
      decltype(Size<16, 8, 32>() + Precision<int8_t, int8_t, int32_t>() + BlockDim<32>() + SM<900>());
  Filled<int8_t, row_major> a(16, 32, 1, false, "A");
  Filled<int8_t, col_major> b(32, 8, 2, false, "B");
  Matrix<float, row_major> c(16, 8, 1, 0, true, "C");
  Matrix<int32_t, row_major> hundredfold(16, 32, 1, 0, true, "100 A");
  for (int64_t i = 0; i < 16 * 8; ++i) c.at(i / 8, i % 8, 0) = 1 + static_cast<float>(i);
  run(integer_kernel<BLAS>, one_block(32, get_shared_storage_size_ab<BLAS>()),
      static_cast<const int8_t*>(a.data()), static_cast<const int8_t*>(b.data()), c.data(),
      hundredfold.data());
  for (int64_t r = 0; r < 16; ++r) {
    for (int64_t j = 0; j < 8; ++j) {
      const double sum = product([&](int64_t i) { return value_of(a.at(r, i, 0)); },
                                 [&](int64_t i) { return value_of(b.at(i, j, 0)); }, 32);
      ASSERT_EQ(c.at(r, j, 0), 3 * sum + static_cast<double>(1 + r * 8 + j) / 2) << r << ", " << j;
    }
    for (int64_t i = 0; i < 32; ++i)
      ASSERT_EQ(hundredfold.at(r, i, 0), 100 * a.at(r, i, 0)) << r << ", " << i;
  }
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
