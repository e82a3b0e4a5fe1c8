// The device-side pipeline API: describe a tile, get a pipeline, fuse an epilogue. See docs/pipeline.md.
#pragma once

#if !defined(__CUDACC__) && !defined(TILEWRIGHT_EMULATE)
#  error \
      "tilewright/blas.h is kernel code: compile it with nvcc, or for the emulated machine (docs/emulator.md; CMake: link tilewright::kernel_build)"
#endif

#include "tilewright/layout/tensor.h"
#include "tilewright/pipeline/block_copy.h"
#include "tilewright/pipeline/block_execute.h"
#include "tilewright/pipeline/block_storage.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/functors.h"
#include "tilewright/pipeline/fused_store.h"
#include "tilewright/pipeline/kernel_names.h"
#include "tilewright/pipeline/launch.h"
#include "tilewright/pipeline/linear_store.h"
#include "tilewright/pipeline/store_through_smem.h"
#include "tilewright/pipeline/suggest_pipeline.h"
#include "tilewright/pipeline/suggest_schedule.h"
