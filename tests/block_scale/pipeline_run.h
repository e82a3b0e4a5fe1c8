// A block-scaled product through the pipeline API on the emulated machine: operands, a kernel with a given
// epilogue, the judgement. Kernel code.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "src/block_scale_random.h"
#include "tests/block_scale/kernel_case.h"
#include "tilewright/blas.h"

namespace tilewright::blas::testing {

/// The descriptor of two formats.
template <BlockFormat A, BlockFormat B>
using Scaled =
    decltype(Size<256, 256, kernels::block_scaled_tile_k(A, B)>() +
             Precision<typename BlockTraits<A>::Element, typename BlockTraits<B>::Element, float>() +
             BlockScale<BlockTraits<A>::vector, typename BlockTraits<A>::Scale>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<1000, arch_specific>() + BlocksPerCluster<2, 1>() +
             RequirePath<path::tcgen05>());

template <class DevicePipeline, class Schedule, class Epilogue>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    scaled_product(const TILEWRIGHT_GRID_CONSTANT Schedule tiles,
                   const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline,
                   const TILEWRIGHT_GRID_CONSTANT Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

/// A or B in host memory: elements, packed scales with NaN in their padding, and what they stand for.
template <BlockFormat Format>
struct ScaledOperand {
  using Element = typename BlockTraits<Format>::Element;
  using Scale = typename BlockTraits<Format>::Scale;

  ScaledOperand(int64_t rows, int64_t k, int64_t batches, uint64_t seed)
      : values(*random_block_scaled(Format, rows, k, batches, BlockInit::moderate, seed, 128)),
        elements(values.elements),
        scale_bytes(packed_scale_bytes(values, 0xFF)) {}

  const Element* data() { return reinterpret_cast<const Element*>(elements.data()); }
  PackedScales<const Scale> scales() {
    return *PackedScales<const Scale>::make(reinterpret_cast<const Scale*>(scale_bytes.data()),
                                            static_cast<int64_t>(scale_bytes.size), values.scale_shape());
  }

  BlockScaledTensor values;
  AlignedBytes elements, scale_bytes;
};

/// A product m x n x k of `batches` matrices A and one or as many matrices B.
template <BlockFormat A, BlockFormat B, class Tag = internal_accumulator>
class ScaledProduct {
 public:
  using D = Scaled<A, B>;

  ScaledProduct(int64_t m_, int64_t n_, int64_t k_, int64_t batches_ = 1, bool one_b = false)
      : m(m_),
        n(n_),
        k(k_),
        batches(batches_),
        a(m, k, batches, 11),
        b(n, k, one_b ? 1 : batches, 22),
        d(static_cast<size_t>(m * n * batches) + 2 * kGuard, kUntouched) {}

  auto tensor_a() {
    return make_gmem_tensor_batched<row_major>(a.data(), m, k, batches, a.values.padded_k,
                                               m * a.values.padded_k);
  }
  /// B is K x N: its columns are the rows in memory.
  auto tensor_b() {
    return make_gmem_tensor_batched<col_major>(b.data(), k, n, b.values.batches, b.values.padded_k,
                                               n * b.values.padded_k);
  }
  auto one_b() { return make_gmem_tensor<col_major>(b.data(), k, n, b.values.padded_k); }
  auto tensor_d() { return make_gmem_tensor_batched<row_major>(d.data() + kGuard, m, n, batches); }

  auto pipeline() {
    auto made = suggest_pipeline<D, Tag>(tensor_a(), tensor_b(), a.scales(), b.scales());
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }

  /// Launches with the epilogue. `clusters`: at most so many (0: as many as tiles).
  template <class Pipeline, class Schedule, class Epilogue>
  emulator::LaunchResult run(const Pipeline& p, const Schedule& tiles, const Epilogue& epilogue,
                             emulator::MachineOptions options = {}, uint32_t clusters = 1,
                             uint32_t scratch = 0) {
    emulator::Machine machine(options);
    const auto readable = [&](AlignedBytes& bytes, const char* name) {
      if (bytes.size != 0)
        machine.register_global(bytes.data(), bytes.size, {.name = name, .writable = false});
    };
    readable(a.elements, "A");
    readable(b.elements, "B");
    readable(a.scale_bytes, "A scales");
    readable(b.scale_bytes, "B scales");
    machine.register_global(d.data() + kGuard, (d.size() - 2 * kGuard) * sizeof(float), {.name = "D"});
    const auto kernel = scaled_product<typename Pipeline::handle_type, Schedule, Epilogue>;
    const auto config = p.persistent_config(kernel, tiles, scratch, &machine, clusters);
    EXPECT_TRUE(config) << config.error().message;
    if (!config) return {};
    const Status failed = launch(kernel, p, *config, tiles, p.get_device_handle(), epilogue);
    EXPECT_EQ(failed.has_value(), !machine.last_result().reports.empty()) << failed->message;
    return machine.last_result();
  }

  double product(int64_t batch, int64_t row, int64_t column) const {
    double sum = 0;
    const int64_t b_batch = b.values.batches == 1 ? 0 : batch;
    for (int64_t i = 0; i < k; ++i) sum += a.values.value(batch, row, i) * b.values.value(b_batch, column, i);
    return sum;
  }
  float stored(int64_t batch, int64_t row, int64_t column) const {
    return d[kGuard + static_cast<size_t>((batch * m + row) * n + column)];
  }

  /// Every `step`-th element is expected(batch, row, column) but for the rounding of FP32 sums, and nobody
  /// wrote outside of D.
  template <class Expected>
  ::testing::AssertionResult is(const Expected& expected, int64_t step = 7) const {
    for (int64_t i = 0; i < m * n * batches; i += step) {
      const int64_t batch = i / (m * n), row = i / n % m, column = i % n;
      const double want = expected(batch, row, column), got = stored(batch, row, column);
      if (!(std::abs(got - want) <= 2e-3 + 1e-3 * std::abs(want)))
        return ::testing::AssertionFailure()
               << batch << ", " << row << ", " << column << ": got " << got << ", want " << want;
    }
    for (size_t i = 0; i < kGuard; ++i)
      if (d[i] != kUntouched || d[d.size() - 1 - i] != kUntouched)
        return ::testing::AssertionFailure() << "wrote outside of D";
    return ::testing::AssertionSuccess();
  }
  ::testing::AssertionResult is_product() const {
    return is([&](int64_t batch, int64_t row, int64_t column) { return product(batch, row, column); });
  }

  static constexpr size_t kGuard = 64;
  static constexpr float kUntouched = -123456.0f;

  int64_t m, n, k, batches;
  ScaledOperand<A> a;
  ScaledOperand<B> b;
  std::vector<float> d;
};

/// D = op(result), of a batched tensor.
template <class DTensor>
struct StoreResult {
  DTensor d;

  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator& accumulator, schedule::TileCoord tile) const {
    constexpr Shape<Accumulator::rows, Accumulator::columns> block;
    accumulator.partition_and_store(get_tile(d, block, tile.m, tile.n, tile.batch));
  }
};
template <class DTensor>
StoreResult(DTensor) -> StoreResult<DTensor>;

}  // namespace tilewright::blas::testing
