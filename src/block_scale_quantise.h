// The rules of quantising, of host memory and of a device's.
#pragma once

#include "tilewright/error.h"
#include "tilewright/layout/scale_tensor.h"

namespace tilewright {

/// The source's type and strides, and a scale of the tensor for a format that has none.
Status check_quantise(const QuantiseSource& source, BlockFormat format, bool tensor_scale);

}  // namespace tilewright
