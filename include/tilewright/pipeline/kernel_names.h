// The names that CUDA gives to kernels, for kernels that are also compiled for the emulated machine.
//
// A kernel of the device build may use CUDA's own names. To compile for both machines it uses
// TILEWRIGHT_SHARED for its dynamic shared memory, launch() instead of <<<>>>, and includes this file, which
// supplies threadIdx, blockIdx, blockDim, gridDim, __syncthreads and __syncwarp where there is no CUDA.
#pragma once

#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/warp.h"
#include "tilewright/config.h"

/// First statement of a kernel: returns from it where its code is compiled for an older architecture than
/// SM<> of the descriptor D names. For programs that are built for several.
#if defined(__CUDA_ARCH__)
#  define TILEWRIGHT_SKIP_IF_NOT_APPLICABLE_SM(D) \
    if constexpr (__CUDA_ARCH__ < ::tilewright::blas::sm_of_v<D>) return
#else
#  define TILEWRIGHT_SKIP_IF_NOT_APPLICABLE_SM(D) static_cast<void>(0)
#endif

#if defined(TILEWRIGHT_EMULATE)

/// Declares `name`: the block's dynamic shared memory as bytes, aligned to `alignment` (at most 1024).
#  define TILEWRIGHT_SHARED(name, alignment)                                                      \
    static_assert((alignment) <= 1024, "dynamic shared memory is aligned to at most 1024 bytes"); \
    ::std::byte* const name = ::tilewright::arch::dynamic_shared_memory()

#  define threadIdx (::tilewright::arch::thread_index())
#  define blockIdx (::tilewright::arch::block_index())
#  define blockDim (::tilewright::arch::block_dim())
#  define gridDim (::tilewright::arch::grid_dim())
#  define __syncthreads() ::tilewright::arch::sync_threads()
#  define __syncwarp(...) ::tilewright::arch::sync_warp(__VA_ARGS__)

#else

#  define TILEWRIGHT_SHARED(name, alignment) extern __shared__ __align__(alignment)::std::byte name[]

#endif
