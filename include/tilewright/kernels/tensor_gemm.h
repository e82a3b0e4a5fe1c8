// The whole-grid kernels of FP8, 16-bit, TF32, FP64, integer and complex products: users of the pipeline API.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/blas.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// The type of a number's parts.
template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<blas::complex<T>> {
  using type = T;
};

/// A kernel of the table. TypeA, TypeB, TypeD: elements of A, B, D. KA, KB: K is the contiguous index of A,
/// of B. Path: wgmma, mma_sync or simt (complex FP32); Alignment: of A and B, bytes.
template <int M, int N, class TypeA, class TypeB, class TypeD, bool KA, bool KB, int ClusterM, int ClusterN,
          blas::path Path, int Alignment>
struct TensorConfig {
  using A = TypeA;
  using B = TypeB;
  using D = TypeD;
  using PartA = typename PartOf<A>::type;
  using PartB = typename PartOf<B>::type;
  static constexpr bool kWgmma = Path == blas::path::wgmma, kComplex = blas::is_complex_v<A>;
  static constexpr blas::arrangement kOrderA = KA ? blas::row_major : blas::col_major,
                                     kOrderB = KB ? blas::col_major : blas::row_major;
  static constexpr int kTileK = 128 / static_cast<int>(sizeof(A));  // the width of the widest swizzle
  /// wgmma: a warpgroup for each 64 rows. The ordinary cores: one.
  static constexpr int kThreads = Path == blas::path::mma_sync || (kWgmma && M >= 128) ? 256 : 128;
  using Sum = std::conditional_t<std::is_integral_v<A>, int32_t,
                                 std::conditional_t<std::is_same_v<PartA, double>, double, float>>;
  static constexpr blas::type kType = kComplex ? blas::type::complex : blas::type::real;
  using Descriptor =
      decltype(blas::Size<M, N, kTileK>() + blas::Precision<PartA, PartB, Sum>() + blas::Type<kType>() +
               blas::Arrangement<kOrderA, kOrderB, blas::row_major>() + blas::BlockDim<kThreads>() +
               blas::Alignment<Alignment, Alignment, sizeof(Sum)>() + blas::WithPipeline() +
               blas::EnableInputStreaming() + blas::SM<900, blas::arch_specific>() +
               blas::BlocksPerCluster<ClusterM, ClusterN>() + blas::RequirePath<Path>());

  /// Stages: for wgmma as many as fit beside the epilogue's scratch.
  static constexpr int depth() {
    if constexpr (!kWgmma) {
      return 4;
    } else {
      constexpr uint32_t scratch = blas::LinearStore<Descriptor, D>::scratch_bytes();
      constexpr uint32_t room =
          (tiles::kTileSharedLimit - scratch) / tiles::kStageAlignment * tiles::kStageAlignment;
      constexpr uint32_t stage =
          blas::impl::PathPlan<Descriptor>::template Loop<1>::Config::kPlan.stage_bytes;
      constexpr auto fit = static_cast<int>(room / (stage + tiles::kStageBarrierBytes));
      return fit < tiles::kMaxTileDepth ? fit : tiles::kMaxTileDepth;
    }
  }
};

/// D = epilogue(A B) over all tiles of a schedule. pipeline: its handle; epilogue: one for run(), whose
/// scratch lies at scratch_offset(). As many clusters as are resident at once, or fewer.
template <class Pipeline, class Epilogue>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Pipeline::max_threads_per_block)
    tensor_gemm(const schedule::TileSchedule tiles, const TILEWRIGHT_GRID_CONSTANT Pipeline pipeline,
                const TILEWRIGHT_GRID_CONSTANT Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
