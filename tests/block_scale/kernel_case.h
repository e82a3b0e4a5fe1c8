// Block-scaled GEMMs on the emulated machine: operands, guard bands, one run, the judgement.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "src/block_scale_gemm.h"
#include "src/block_scale_kernel_table.h"
#include "src/block_scale_random.h"
#include "src/block_scale_reference.h"
#include "src/matrix_init.h"
#include "tests/block_scale/format_pairs.h"
#include "tests/faults/schedules.h"
#include "tilewright/emulator/machine.h"
#include "tilewright/numeric/element.h"

namespace tilewright {

/// A problem, and a chip for it. Three tiles and more for each pair of CTAs by default.
struct KernelCase {
  BlockFormat a = BlockFormat::mxfp8, b = BlockFormat::mxfp8;
  bool overlap = true;
  int64_t m = 300, n = 520, k = 256, batches = 1;
  DType d_type = DType::f16;
  int multiprocessors = 2;  // one pair
  BlockInit init = BlockInit::full_range;
  float alpha = 1, beta = 0;
  bool bias = false;
  int64_t d_padding = 0;  // columns between rows of D
  schedule::TileScheduler scheduler = schedule::TileScheduler::static_persistent;
  uint8_t scale_padding = 0xFF;  // code in the padding of scales: a NaN in e8m0, and in e4m3 with its sign
};

inline std::string name_of(const KernelCase& c) {
  return std::string(name_of(c.a)) + " x " + name_of(c.b) + (c.overlap ? " overlap" : " single") + " " +
         std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) + "x" +
         std::to_string(c.batches);
}

/// Bytes on a boundary of 128, as device memory has them.
struct AlignedBytes {
  explicit AlignedBytes(const std::vector<uint8_t>& bytes) : storage(bytes.size() + 128), size(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), data());
  }
  uint8_t* data() { return storage.data() + (128 - reinterpret_cast<uintptr_t>(storage.data()) % 128) % 128; }

  std::vector<uint8_t> storage;
  size_t size;
};

/// The case in a machine's memory.
class KernelRun {
 public:
  explicit KernelRun(const KernelCase& c)
      : case_(c),
        a(*random_block_scaled(c.a, c.m, c.k, c.batches, c.init, 11, multiple())),
        b(*random_block_scaled(c.b, c.n, c.k, c.batches, c.init, 22, multiple())),
        a_elements(a.elements),
        b_elements(b.elements),
        a_scales(packed_scale_bytes(a, c.scale_padding)),
        b_scales(packed_scale_bytes(b, c.scale_padding)),
        d(static_cast<size_t>(c.batches * c.m * d_ld() * bytes() + 2 * kGuard)),
        c_matrix(static_cast<size_t>(c.batches * c.m * c.n)),
        bias(static_cast<size_t>(c.n)) {
    if (c.a == BlockFormat::nvfp4) a.tensor_scale = 0.5f, b.tensor_scale = 0.75f;
    fill_matrix(c_matrix.data(), {DType::f32, c.m, c.n, c.batches, c.n, 1, c.m * c.n}, Init::integers, 3);
    fill_matrix(bias.data(), {DType::f32, 1, c.n, 1, c.n, 1, 0}, Init::integers, 4);
    // Room before and after D, which nobody may write.
    guarded_ = d.data() + kGuard + (64 - reinterpret_cast<uintptr_t>(d.data()) % 64) % 64;
  }

  int64_t d_ld() const { return case_.n + case_.d_padding; }
  int64_t bytes() const { return bits_of(case_.d_type) / 8; }

  BlockScaledProblem problem() {
    const auto operand = [](const BlockScaledTensor& t, AlignedBytes& elements, AlignedBytes& scales) {
      return BlockScaledOperand{.format = t.format,
                                .elements = elements.data(),
                                .ld = t.padded_k,
                                .batch_stride = t.rows * t.padded_k,
                                .scales = packed(t, scales)};
    };
    return {.m = case_.m,
            .n = case_.n,
            .k = case_.k,
            .batches = case_.batches,
            .a = operand(a, a_elements, a_scales),
            .b = operand(b, b_elements, b_scales),
            .alpha = case_.alpha * a.tensor_scale * b.tensor_scale,
            .beta = case_.beta,
            .bias = case_.bias ? bias.data() : nullptr,
            .c = case_.beta != 0 ? c_matrix.data() : nullptr,
            .c_ld = case_.n,
            .c_batch_stride = case_.m * case_.n,
            .d = guarded_,
            .d_type = case_.d_type,
            .d_ld = d_ld(),
            .d_batch_stride = case_.m * d_ld(),
            .overlap = case_.overlap,
            .scheduler = case_.scheduler};
  }

  /// Binds and launches on a machine with these options. The reports of the launch. `given`: instead of the
  /// table's kernel.
  emulator::LaunchResult run(emulator::MachineOptions options,
                             const kernels::BlockScaledKernel* given = nullptr) {
    options.multiprocessors = static_cast<uint32_t>(case_.multiprocessors);
    std::fill(d.begin(), d.end(), uint8_t{0xA5});
    const auto bound = bind_block_scaled(problem(), encode_for_emulator, case_.multiprocessors);
    EXPECT_TRUE(bound) << bound.error().message;
    if (!bound) return {};
    const auto* kernel = given != nullptr ? given : kernels::block_scaled_kernels_emulated().find(bound->id);
    EXPECT_NE(kernel, nullptr);
    if (kernel == nullptr || bound->grid_ctas == 0) return {};
    emulator::Machine machine(options);
    const auto readable = [&](void* data, size_t bytes, const char* name) {
      if (bytes != 0) machine.register_global(data, bytes, {.name = name, .writable = false});
    };
    readable(a_elements.data(), a_elements.size, "A");
    readable(b_elements.data(), b_elements.size, "B");
    readable(a_scales.data(), a_scales.size, "A scales");
    readable(b_scales.data(), b_scales.size, "B scales");
    readable(c_matrix.data(), c_matrix.size() * sizeof(float), "C");
    readable(bias.data(), bias.size() * sizeof(float), "bias");
    machine.register_global(guarded_, d_bytes(), {.name = "D", .initialised = false});
    const Status status = kernel->launch(bound->params, {bound->grid_ctas, &machine});
    EXPECT_EQ(status.has_value(), !machine.last_result().reports.empty());
    return machine.last_result();
  }

  /// The FP64 reference, computed once.
  const BlockScaledReference& reference() {
    if (reference_ == nullptr) {
      const MatrixView c{c_matrix.data(), DType::f32, case_.n, 1, case_.m * case_.n};
      reference_ =
          std::make_unique<BlockScaledReference>(*reference_block_scaled(a, b, c, case_.alpha, case_.beta));
      // reference_block_scaled has no bias.
      for (size_t i = 0; case_.bias && i < reference_->d.size(); ++i) {
        reference_->d[i] += bias[i % static_cast<size_t>(case_.n)];
      }
    }
    return *reference_;
  }

  testing::AssertionResult is_right() {
    const BlockScaledReference& r = reference();
    ComparisonRules rules{.accumulation = r.bound, .saturate = false};
    // The sum of bias and product rounds once more, relative to its parts.
    if (case_.bias) rules.accumulation.absolute += 0x1p-20;
    const MatrixView got{guarded_, case_.d_type, d_ld(), 1, case_.m * d_ld()};
    const Comparison comparison = compare(r.gemm, r.d.data(), r.abs_sum.data(), got, rules);
    if (!comparison.passed()) {
      return testing::AssertionFailure()
             << comparison.failures << " of " << comparison.elements << " wrong, first at "
             << comparison.batch << "," << comparison.row << "," << comparison.column << ": got "
             << comparison.got << ", want " << comparison.reference << " +- " << comparison.bound;
    }
    return guard_is_untouched();
  }

  /// Nothing outside of D, nor between its rows.
  testing::AssertionResult guard_is_untouched() const {
    for (const uint8_t* byte = d.data(); byte < d.data() + d.size(); ++byte) {
      const int64_t at = byte - guarded_;
      const bool inside = at >= 0 && at < static_cast<int64_t>(d_bytes()) && at / bytes() % d_ld() < case_.n;
      if (!inside && *byte != 0xA5) return testing::AssertionFailure() << "wrote at byte " << at << " of D";
    }
    return testing::AssertionSuccess();
  }

  std::vector<uint8_t> result() const { return {guarded_, guarded_ + d_bytes()}; }

  const KernelCase case_;
  BlockScaledTensor a, b;
  AlignedBytes a_elements, b_elements, a_scales, b_scales;
  std::vector<uint8_t> d;
  std::vector<float> c_matrix, bias;

 private:
  static constexpr int64_t kGuard = 256;

  // What K is padded to in memory: rows of 16 bytes, or of 32 for padded FP4.
  static constexpr int64_t multiple() { return 128; }
  size_t d_bytes() const {
    const int64_t rows = case_.batches * case_.m;
    return static_cast<size_t>(rows == 0 ? 0 : ((rows - 1) * d_ld() + case_.n) * bytes());
  }

  static PackedBlockScales packed(const BlockScaledTensor& t, AlignedBytes& bytes) {
    const auto size = static_cast<int64_t>(bytes.size);
    if (t.format == BlockFormat::nvfp4) {
      return *PackedScales<const e4m3>::make(reinterpret_cast<const e4m3*>(bytes.data()), size,
                                             t.scale_shape());
    }
    return *PackedScales<const e8m0>::make(reinterpret_cast<const e8m0*>(bytes.data()), size,
                                           t.scale_shape());
  }

  uint8_t* guarded_ = nullptr;
  std::unique_ptr<BlockScaledReference> reference_;
};

}  // namespace tilewright
