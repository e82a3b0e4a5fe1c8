// Block-scaled operands made where they are used, on a GPU or on the emulated machine: matrices are
// quantised, scales brought from the linear layout into the packed one and back. All pointers are to memory
// of that machine (host memory for the emulated one). layout/scale_tensor.h and layout/scale_factors.h have
// the same for host memory.
#pragma once

#include <cstdint>
#include <variant>

#include "tilewright/error.h"
#include "tilewright/gemm.h"
#include "tilewright/layout/scale_factors.h"
#include "tilewright/layout/scale_quantise.h"
#include "tilewright/layout/scale_tensor.h"

namespace tilewright {

/// PackedBlockScales to be written.
using WritableBlockScales = std::variant<PackedScales<e8m0>, PackedScales<e4m3>>;

/// Where quantised matrices go: what Buffers::a and a_scales (or b and b_scales, of columns) then are.
struct QuantisedMatrices {
  /// [batch][row][padded K], at a multiple of 16; e2m1 two to a byte, even index in the low nibble.
  uint8_t* elements = nullptr;
  /// Of {rows, padded K / scale_vector(format), batches}, at a multiple of 16. Columns from K to padded K
  /// hold zeros; the padding of the scales holds zero_block_scale, as blocks of zeros do.
  WritableBlockScales scales{};
};

/// How quantise_on_device runs.
struct QuantiseLaunch {
  /// nvfp4: what elements are multiples of besides their blocks' scales (tensor_scale_for). Read by the
  /// kernel. Null: 1. A product's factor of it is Problem::scale_a or scale_b.
  const float* tensor_scale = nullptr;
  /// Automatic: the current GPU where there is one, whatever its chip; one that has no such kernels is
  /// refused (launch.kernel_image). A plan takes that GPU only if it can run the product: for a plan's
  /// operands, give its PlanInfo::device.
  Device device = Device::automatic;
  void* stream = nullptr;  // as Plan::run has it
};

/// Quantises f32, f16 or bf16 matrices by the rule of numeric/block_format.h: the bits of quantise(). One
/// kernel on the stream, no allocation, no synchronisation; nothing when there are no scales. Errors, before
/// anything is launched: a source type or strides that cannot be; a tensor scale for e8m0 scales; scales of
/// another type, rows or batches than the matrices', or too few for K; a pointer that is null or less aligned
/// than it must be; the launch's own.
[[nodiscard]] Status quantise_on_device(const QuantiseSource& source, BlockFormat format,
                                        const QuantisedMatrices& to, const QuantiseLaunch& how = {});

namespace detail {

/// What pack_scales_on_device (`pack`) and unpack_scales_on_device do with scales of one shape.
Status convert_scales(bool pack, const ScalePackingParams& params, Device device, void* stream);

template <class From, class To>
Status convert_scales(const From& from, const To& to, Device device, void* stream) {
  if (Status error = same_shape(from.shape(), to.shape())) return error;
  return convert_scales(To::layout == ScaleLayout::packed,
                        {.shape = to.shape(),
                         .from = reinterpret_cast<const uint8_t*>(from.data()),
                         .to = reinterpret_cast<uint8_t*>(to.data()),
                         .padding = zero_block_scale<typename To::value_type>().bits},
                        device, stream);
}

}  // namespace detail

/// Linear to packed, with zero_block_scale in the padding, on a stream and a device as quantise_on_device.
/// Errors: different shapes; a pointer that is null, or packed scales that are not at a multiple of 16; the
/// launch's own.
template <class T>
[[nodiscard]] Status pack_scales_on_device(LinearScales<const T> from, PackedScales<T> to,
                                           void* stream = nullptr, Device device = Device::automatic) {
  return detail::convert_scales(from, to, device, stream);
}

/// Packed to linear; padding is not looked at. Errors: as above.
template <class T>
[[nodiscard]] Status unpack_scales_on_device(PackedScales<const T> from, LinearScales<T> to,
                                             void* stream = nullptr, Device device = Device::automatic) {
  return detail::convert_scales(from, to, device, stream);
}

}  // namespace tilewright
