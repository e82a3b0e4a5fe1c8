// Tiles of the mma_sync path, in every arrangement.
#pragma once

#include "tests/pipeline/run_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
template <class A, class B, class C, int M, int N, int K, int Threads, arrangement OrderA, arrangement OrderB,
          int Bytes = 16>
using Sync = decltype(Size<M, N, K>() + Precision<A, B, C>() + BlockDim<Threads>() +
                      Arrangement<OrderA, OrderB>() + Alignment<Bytes, Bytes, sizeof(C)>() + WithPipeline() +
                      SM<900, arch_specific>() + RequirePath<path::mma_sync>());

/// A tile in each of the four arrangements.
template <class A, class B, class C, int M, int N, int K, int Threads, int Depth, int Bytes = 16>
void check_arrangements(const GemmShape& s, int largest = 2) {
  check_gemm<Sync<A, B, C, M, N, K, Threads, row_major, col_major, Bytes>, Depth, C>(s, largest);
  check_gemm<Sync<A, B, C, M, N, K, Threads, col_major, col_major, Bytes>, Depth, C>(s, largest);
  check_gemm<Sync<A, B, C, M, N, K, Threads, row_major, row_major, Bytes>, Depth, C>(s, largest);
  check_gemm<Sync<A, B, C, M, N, K, Threads, col_major, row_major, Bytes>, Depth, C>(s, largest);
}

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
