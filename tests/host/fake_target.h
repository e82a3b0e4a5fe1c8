// A target with the whole kernel list whose launches are only recorded: plans are made and run without any
// machine.
#pragma once

#include <vector>

#include "src/gemm_plan.h"

namespace tilewright::testing {

struct RecordedLaunch {
  kernels::Fp8GemmArguments arguments;
  kernels::Launch launch;
};

inline std::vector<RecordedLaunch>& launches() {
  static thread_local std::vector<RecordedLaunch> recorded;
  return recorded;
}

/// How many clusters of each size fit on the fake chip.
inline int& fake_resident(uint32_t cluster_ctas) {
  static int one = 132, two = 66, four = 30;
  return cluster_ctas == 1 ? one : cluster_ctas == 2 ? two : four;
}

inline Status record(const kernels::Fp8GemmArguments& arguments, const kernels::Launch& launch) {
  launches().push_back({arguments, launch});
  return {};
}
inline Expected<int> fake_max_active(uint32_t cluster_ctas, uint32_t) { return fake_resident(cluster_ctas); }

inline kernels::Fp8KernelTable fake_kernels() {
  using kernels::Load;
  using kernels::Scales;
#define TILEWRIGHT_FP8_KERNEL(m, n, a, b, out, promoted, interval, load, ...)                         \
  {{m, n, DType::a, DType::b, out, promoted, interval, Load::load __VA_OPT__(, Scales::__VA_ARGS__)}, \
   record,                                                                                            \
   fake_max_active},
  static const kernels::Fp8Kernel rows[] = {
#include "src/fp8_kernels.def"
  };
#undef TILEWRIGHT_FP8_KERNEL
  return {rows, static_cast<int>(std::size(rows))};
}

/// What the FP32 kernels were launched with, in order: the repacking kernel, the product, the fix-up.
struct RecordedSimtLaunch {
  enum class Kernel : uint8_t { repack, gemm, fixup } kernel;
  kernels::SimtGemmParams gemm{};
  kernels::SimtRepackParams repack{};
  kernels::Launch launch{};
};

inline std::vector<RecordedSimtLaunch>& simt_launches() {
  static thread_local std::vector<RecordedSimtLaunch> recorded;
  return recorded;
}

template <RecordedSimtLaunch::Kernel Kernel>
Status record_simt(const kernels::SimtGemmParams& params, const kernels::Launch& launch) {
  simt_launches().push_back({Kernel, params, {}, launch});
  return {};
}
inline Status record_repack(const kernels::SimtRepackParams& params, const kernels::Launch& launch) {
  simt_launches().push_back({RecordedSimtLaunch::Kernel::repack, {}, params, launch});
  return {};
}

inline kernels::SimtKernelTable fake_simt_kernels() {
  using kernels::SimtLoad;
  using kernels::SimtPipeline;
#define TILEWRIGHT_SIMT_KERNEL(m, n, pipeline, a, b, whole)         \
  {{m, n, SimtPipeline::pipeline, SimtLoad::a, SimtLoad::b, whole}, \
   record_simt<RecordedSimtLaunch::Kernel::gemm>,                   \
   record_simt<RecordedSimtLaunch::Kernel::fixup>},
  static const kernels::SimtKernel rows[] = {
#include "src/simt_kernels.def"
  };
#undef TILEWRIGHT_SIMT_KERNEL
  return {rows, static_cast<int>(std::size(rows)), record_repack};
}

/// What the tensor-core kernels were launched with.
struct RecordedTensorLaunch {
  kernels::TensorGemmArguments arguments;
  kernels::Launch launch;
};

inline std::vector<RecordedTensorLaunch>& tensor_launches() {
  static thread_local std::vector<RecordedTensorLaunch> recorded;
  return recorded;
}

inline Status record_tensor(const kernels::TensorGemmArguments& arguments, const kernels::Launch& launch) {
  tensor_launches().push_back({arguments, launch});
  return {};
}

inline kernels::TensorKernelTable fake_tensor_kernels() {
  struct Contiguous {
    bool k = true, m = false, n = false;
  };
  constexpr Contiguous is;
  using kernels::TensorPath;
#define TILEWRIGHT_TENSOR_KERNEL(m, n, a, b, d, ka, kb, cm, cn, path, align)            \
  {{m, n, DType::a, DType::b, DType::d, is.ka, is.kb, cm, cn, TensorPath::path, align}, \
   4,                                                                                   \
   200 * 1024,                                                                          \
   record_tensor,                                                                       \
   [] { return Expected<int>(fake_resident(cm * cn)); }},
  static const kernels::TensorKernel rows[] = {
#include "src/tensor_kernels.def"
  };
#undef TILEWRIGHT_TENSOR_KERNEL
  return {rows, static_cast<int>(std::size(rows))};
}

/// What the kernels with fused epilogues were launched with.
struct RecordedFusedLaunch {
  kernels::FusedArguments arguments;
  kernels::Launch launch;
};

inline std::vector<RecordedFusedLaunch>& fused_launches() {
  static thread_local std::vector<RecordedFusedLaunch> recorded;
  return recorded;
}

inline Status record_fused(const kernels::FusedArguments& arguments, const kernels::Launch& launch) {
  fused_launches().push_back({arguments, launch});
  return {};
}

inline kernels::FusedKernelTable fake_fused_kernels() {
#define TILEWRIGHT_FUSED_KERNEL(m, n, a, b, d)                                              \
  {{{m, n, DType::a, DType::b, DType::d, true, true, 1, 1, kernels::TensorPath::wgmma, 16}, \
    4,                                                                                      \
    200 * 1024,                                                                             \
    nullptr,                                                                                \
    [] { return Expected<int>(fake_resident(1)); }},                                        \
   record_fused},
  static const kernels::FusedKernel rows[] = {
#include "src/fused_kernels.def"
  };
#undef TILEWRIGHT_FUSED_KERNEL
  return {rows, static_cast<int>(std::size(rows))};
}

inline Target fake_gpu() {
  Target target;
  target.device = Device::gpu;
  target.sms = 132;
  target.fp8 = fake_kernels();
  target.simt = fake_simt_kernels();
  target.tensor = fake_tensor_kernels();
  target.fused = fake_fused_kernels();
  target.encode = encode_for_emulator;
  return target;
}

inline Target fake_emulator() {
  Target target = fake_gpu();
  target.device = Device::emulator;
  target.sms = 0;
  return target;
}

inline Problem small_problem() {
  Problem p;
  p.m = 512;
  p.n = 768;
  p.k = 1024;
  return p;
}

/// A f32 problem, all operands M/N-major and packed: bulk copies address them as they are.
inline Problem simt_problem(int64_t m = 512, int64_t n = 768, int64_t k = 1024) {
  Problem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = {.type = DType::f32, .layout = Layout::column_major};
  p.b = {.type = DType::f32};
  p.c = {.type = DType::f32};
  p.d = {.type = DType::f32};
  return p;
}

/// A K-major problem of a type whose usual output is D, packed.
inline Problem tensor_problem(DType type, DType d, int64_t m = 512, int64_t n = 768, int64_t k = 1024) {
  Problem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a.type = p.b.type = type;
  p.c.type = p.d.type = d;
  return p;
}

/// With every operation of an epilogue.
inline Problem fused_problem(DType type = DType::e4m3, DType d = DType::f16) {
  Problem p = tensor_problem(type, d);
  p.epilogue = {.bias = BiasKind::column, .activation = Activation::gelu, .amax_d = true};
  p.epilogue.aux = Operand{.type = DType::bf16};
  return p;
}

/// With FP32 scales.
inline Problem scaled_problem(ScaleMode mode) {
  Problem p = small_problem();
  p.scale_mode = mode;
  return p;
}

/// Addresses that nothing reads or writes.
inline Buffers fake_buffers() {
  return {.a = reinterpret_cast<void*>(0x100000),
          .b = reinterpret_cast<void*>(0x200000),
          .c = reinterpret_cast<void*>(0x300000),
          .d = reinterpret_cast<void*>(0x400000),
          .workspace = reinterpret_cast<void*>(0x500000)};
}
/// With those of fused_problem().
inline Buffers fake_fused_buffers() {
  Buffers buffers = fake_buffers();
  buffers.bias = reinterpret_cast<void*>(0x600000);
  buffers.aux = reinterpret_cast<void*>(0x700000);
  buffers.amax_d = reinterpret_cast<float*>(0x800000);
  return buffers;
}

}  // namespace tilewright::testing
