// Errors of pipelines as errors of the library. Mode-neutral.
#pragma once

#include "tilewright/error.h"
#include "tilewright/pipeline/pipeline_error.h"

namespace tilewright {

inline Error error_of(const blas::pipeline_error& e) {
  return {ErrorCode::invalid_argument, "pipeline", e.message};
}

}  // namespace tilewright
