// The fused sums behind wgmma and mma.sync (tensor_core.h says what they are).
#pragma once

#include <cstdint>

#include "tilewright/emulator/hooks.h"

namespace tilewright::emulator {

/// tensor_core_multiply on `rows` rows of A and of D, at most 64.
void multiply_rows(const WgmmaInstruction& instruction, int rows, const uint8_t* a, const uint8_t* b,
                   uint32_t* d, bool accumulate);

}  // namespace tilewright::emulator
