// Quantising, and packing scales, on any machine: beside the host, bit for bit.
#pragma once

#include "tests/kernels/test_machine.h"
#include "tilewright/numeric/block_format.h"
#include "tilewright/numeric/dtype.h"

namespace tilewright::testing {

/// Elements and packed scales of ragged matrices with values of every kind are quantise()'s, and nothing
/// around them is written. nvfp4: with and without a scale of the tensor.
void expect_quantised_as_on_host(BlockFormat format, DType source, TestMachine& machine);

/// Scales of ragged shapes, packed and unpacked. T: e8m0 or e4m3.
template <class T>
void expect_packed_as_on_host(TestMachine& machine);

}  // namespace tilewright::testing
