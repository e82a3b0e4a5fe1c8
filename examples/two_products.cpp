// Without a pipeline: two products chained in one block, D = relu(A B) E, without the product in between ever
// leaving the chip. A block keeps 64 rows of A, and takes 64 columns of B and rows of E at a time.
#include "examples/common/machine.h"

using namespace tilewright;
using namespace tilewright::blas;

using Common =
    decltype(Precision<bf16, bf16, float>() + Block() + BlockDim<128>() + MaxAlignment() + SM<800>());
using First = decltype(Common() + Size<64, 64, 64>());   // P = A B
using Second = decltype(Common() + Size<64, 32, 64>());  // D += relu(P) E

struct Relu {
  TILEWRIGHT_HOST_DEVICE float operator()(float x) const { return x > 0 ? x : 0; }
};

// The layouts that the tensor cores read without bank conflicts; P is stored where the second product reads
// A.
constexpr auto layout_a = First::suggest_layout_smem_a();
constexpr auto layout_b = First::suggest_layout_smem_b();
constexpr auto layout_p = Second::suggest_layout_smem_a();
constexpr auto layout_e = Second::suggest_layout_smem_b();
constexpr uint32_t shared_bytes = make_shared_storage_calculator()
                                      .add(16, sizeof(bf16), layout_a)
                                      .add(16, sizeof(bf16), layout_b)
                                      .add(16, sizeof(bf16), layout_p)
                                      .add(16, sizeof(bf16), layout_e)
                                      .get();

template <class A, class B, class E, class D>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(First::max_threads_per_block)
    two_products(A a, B b, E e, D d, uint32_t steps) {
  TILEWRIGHT_SHARED(smem, 128);
  auto [smem_a, smem_b, smem_p, smem_e] = shared_memory::slice<bf16, bf16, bf16, bf16>(
      smem, 16, First::suggest_layout_smem_a(), 16, First::suggest_layout_smem_b(), 16,
      Second::suggest_layout_smem_a(), 16, Second::suggest_layout_smem_b());
  const auto tile_a = make_tensor(smem_a, First::suggest_layout_smem_a());
  const auto tile_b = make_tensor(smem_b, First::suggest_layout_smem_b());
  const auto tile_p = make_tensor(smem_p, Second::suggest_layout_smem_a());
  const auto tile_e = make_tensor(smem_e, Second::suggest_layout_smem_b());

  auto sum = Second::suggest_accumulator();
  copy<First, 16>(get_tile(a, First::a_shape, blockIdx.x, 0), tile_a);
  for (uint32_t i = 0; i < steps; ++i) {
    copy<First, 16>(get_tile(b, First::b_shape, 0, i), tile_b);
    copy<Second, 16>(get_tile(e, Second::b_shape, i, 0), tile_e);
    copy_wait();
    auto product = First().execute(tile_a, tile_b);
    product.process_and_store(tile_p, Relu{});
    __syncthreads();
    Second().execute(tile_p, tile_e, sum);
    __syncthreads();
  }
  sum.partition_and_store(get_tile(d, Second::c_shape, blockIdx.x, 0));
}

int main() {
  const int64_t m = 150, k = 56, inner = 200, n = 24;  // k and n fit in a tile; nothing has to fill it
  example::Array<bf16> a(m * k), b(k * inner), e(inner * n);
  example::Array<float> d(m * n);
  example::fill_random(a, 1);
  example::fill_random(b, 2);
  example::fill_random(e, 3);
  const auto tensor_a = make_gmem_tensor<row_major>(a.data(), m, k, k);
  const auto tensor_b = make_gmem_tensor<col_major>(b.data(), k, inner, k);
  const auto tensor_e = make_gmem_tensor<col_major>(e.data(), inner, n, inner);
  const auto tensor_d = make_gmem_tensor<row_major>(d.data(), m, n, n);
  const auto kernel = two_products<std::decay_t<decltype(tensor_a)>, std::decay_t<decltype(tensor_b)>,
                                   std::decay_t<decltype(tensor_e)>, std::decay_t<decltype(tensor_d)>>;
  example::check(arch::launch(kernel, make_launch_config<First>({(m + 63) / 64, 1, 1}, shared_bytes),
                              tensor_a, tensor_b, tensor_e, tensor_d,
                              static_cast<uint32_t>((inner + 63) / 64)));
  example::synchronize();

  example::Check result("two_products");
  std::vector<double> row_of_p(static_cast<size_t>(inner));
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t i = 0; i < inner; ++i)
      row_of_p[static_cast<size_t>(i)] =
          static_cast<float>(bf16(static_cast<float>(std::max(0.0, example::dot(a, b, row, i, k)))));
    for (int64_t column = 0; column < n; ++column) {
      double expected = 0;
      for (int64_t i = 0; i < inner; ++i)
        expected += row_of_p[static_cast<size_t>(i)] * static_cast<float>(e[column * inner + i]);
      // An element of P that lies between two bf16 numbers may have been rounded to either.
      result.expect(d[row * n + column], expected, 0.02, row, column);
    }
  }
  return result.report();
}
