// The whole-grid FP8 GEMM kernel.
#pragma once

#include "tilewright/pipeline/device_pipeline.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

template <class Config>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Config::kPlan.threads)
    fp8_gemm(const TILEWRIGHT_GRID_CONSTANT kernels::Fp8GemmParams params) {
  pipeline::DevicePipeline<Config, pipeline::LinearEpilogue<Config>>(params).run();
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
