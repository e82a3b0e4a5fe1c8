// The element-wise arithmetic of reductions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/emulator/hooks.h"
#include "tilewright/tensor_map.h"

namespace tilewright::emulator {

/// memory = op(memory, source), element by element, for `bytes` bytes of elements of `type`.
void reduce_elements(TmaType type, std::byte* memory, const std::byte* source, uint32_t bytes, Reduction op);

}  // namespace tilewright::emulator
