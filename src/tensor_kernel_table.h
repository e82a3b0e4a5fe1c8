// The compiled tensor-core kernels of a machine, as the planner and the generated tables see them.
// Mode-neutral.
#pragma once

#include <cstdint>
#include <string>

#include "src/kernel_launch.h"
#include "tilewright/error.h"
#include "tilewright/numeric/dtype.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::kernels {

/// Which instructions multiply.
enum class TensorPath : uint8_t { wgmma, mma_sync, simt };

/// One compiled kernel. The table of all of them is src/tensor_kernels.def.
struct TensorKernelId {
  int tile_m, tile_n;
  DType a, b, d;
  bool k_major_a, k_major_b;  // K is the contiguous index, or else M or N
  int cluster_m, cluster_n;
  TensorPath path;
  int alignment;  // bytes that bases, leading dimensions and batch strides of A and B are multiples of

  /// Whether the kernel stores D of a type. One of FP8 operands stores all types of a size.
  constexpr bool stores(DType type) const {
    if (is_fp8(a)) return bits_of(type) == bits_of(d);
    const DType wide = is_complex(a) ? DType::cf32 : DType::f32;
    return type == d || (path == TensorPath::mma_sync && real_type_of(a) != DType::f64 && type == wide);
  }
};

/// Short name of a kernel, for one line of output: "tensor_128x256_bf16_f32_kn_2x1",
/// "mma_sync_128x128_bf16_bf16_kn_a2".
std::string tensor_kernel_name(const TensorKernelId& id);

/// Strides in elements: between lines, and between batches (0: all are the same).
struct TensorOperand {
  const void* data = nullptr;
  int64_t ld = 0, batch_stride = 0;
};

/// Per batch, D[m][n] = alpha * sum_k A[m][k] B[k][n] + beta * C[m][n], with row-major C and D, or
/// column-major ones.
struct TensorGemmArguments {
  schedule::TileSchedule tiles;
  int64_t m = 0, n = 0, batches = 0;
  int64_t k = 0;  // 0: A and B are not read
  TensorOperand a, b;
  TensorOperand c;  // read only when beta is not zero
  TensorOperand d;
  /// Not of wgmma: C and D are column-major; their `ld` lies between columns.
  bool d_by_columns = false;
  DType d_type{};
  bool d_bulk = false;  // D is stored by TMA
  float alpha = 1, beta = 0;
  const float *alpha_device = nullptr, *beta_device = nullptr;  // multiply alpha and beta; may be null

  /// D is the product as it is, by TMA: the stores run under the next tile.
  bool plain() const { return d_bulk && alpha == 1 && beta == 0 && alpha_device == nullptr; }
};

/// One row of a machine's kernel table.
struct TensorKernel {
  TensorKernelId id;
  int stages;
  uint32_t shared_bytes;  // of a CTA
  Status (*launch)(const TensorGemmArguments&, const Launch&);
  /// Clusters of the kernel that the current device holds at once.
  Expected<int> (*max_active_clusters)();
};

/// The kernels of each machine; a machine that is not built in has none.
struct TensorKernelTable {
  const TensorKernel* kernels = nullptr;
  int count = 0;
};
TensorKernelTable tensor_kernels_gpu();
TensorKernelTable tensor_kernels_emulated();

/// Elements of K in a stage.
constexpr int64_t tensor_tile_k(const TensorKernelId& id) { return 1024 / bits_of(id.a); }

}  // namespace tilewright::kernels
