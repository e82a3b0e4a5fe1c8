// Which of the two machines a translation unit is compiled for, and the spelling of the CUDA keywords in it.
//
// TILEWRIGHT_EMULATE defined:  kernels run on the emulated machine (any C++20 compiler).
// compiled by nvcc otherwise:  kernels run on the GPU.
// One translation unit is one mode. Everything that contains or touches kernel code lives in the inline
// namespace TILEWRIGHT_MODE, so that one program may link both builds of the same templates.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(TILEWRIGHT_EMULATE)
#  define TILEWRIGHT_MODE emulated
#else
#  define TILEWRIGHT_MODE device
#endif

#if defined(__CUDACC__) && !defined(TILEWRIGHT_EMULATE)
#  define TILEWRIGHT_DEVICE __device__ __forceinline__
#  define TILEWRIGHT_HOST_DEVICE __host__ __device__ __forceinline__
#  define TILEWRIGHT_GLOBAL __global__
#  define TILEWRIGHT_GRID_CONSTANT __grid_constant__
#  define TILEWRIGHT_LAUNCH_BOUNDS(threads) __launch_bounds__(threads, 1)
#  define TILEWRIGHT_LAUNCH_BOUNDS_CTAS(threads, ctas_per_sm) __launch_bounds__(threads, ctas_per_sm)
#  define TILEWRIGHT_UNROLL _Pragma("unroll")
#  define TILEWRIGHT_NO_UNROLL _Pragma("unroll 1")
#else
#  define TILEWRIGHT_DEVICE inline
#  define TILEWRIGHT_HOST_DEVICE inline
#  define TILEWRIGHT_GLOBAL
#  define TILEWRIGHT_GRID_CONSTANT
#  define TILEWRIGHT_LAUNCH_BOUNDS(threads)
#  define TILEWRIGHT_LAUNCH_BOUNDS_CTAS(threads, ctas_per_sm)
#  define TILEWRIGHT_UNROLL
#  define TILEWRIGHT_NO_UNROLL
#endif
