// Launches of the kernels that make block-scaled operands.
#include "tilewright/quantise.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/block_scale_quantise.h"
#include "src/device_info.h"
#include "src/plan_text.h"
#include "src/quantise_kernel_table.h"
#include "src/rounding.h"

namespace tilewright {
namespace {

constexpr int64_t kOperandAlignment = 16;

struct Machine {
  kernels::QuantiseKernels kernels;
  int64_t most_blocks;  // each then does several rounds; the emulated machine is a small chip
};

Expected<Machine> machine_of(Device device) {
  if (device != Device::emulator) {
    const Expected<int> gpu = current_gpu_ordinal();
    if (gpu) return Machine{kernels::quantise_kernels_gpu(), int64_t{1} << 16};
    if (device == Device::gpu) return gpu.error();
  }
  return Machine{kernels::quantise_kernels_emulated(), 2};
}

kernels::Launch launch_of(const Machine& machine, int64_t threads, void* stream) {
  const int64_t blocks = std::min(ceil_div(threads, machine.kernels.block_threads), machine.most_blocks);
  return {.grid_ctas = static_cast<uint32_t>(blocks), .stream = stream};
}

Error invalid(const char* rule, const std::string& sentence) {
  return {ErrorCode::invalid_argument, rule, sentence};
}

Status check_pointer(const char* name, const void* pointer, int64_t alignment) {
  if (pointer == nullptr)
    return invalid("quantise.null", std::string(name) + " is null; it must be memory of the device");
  const auto past =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(alignment));
  if (past == 0) return {};
  return invalid("quantise.alignment", std::string(name) + ": the address is " + text(past) + " modulo " +
                                           text(alignment) + "; it must be a multiple of " + text(alignment));
}

const char* scale_name(const WritableBlockScales& scales) {
  return name_of(std::holds_alternative<PackedScales<e4m3>>(scales) ? DType::e4m3 : DType::e8m0);
}

Status check_scales(const QuantiseSource& source, BlockFormat format, const WritableBlockScales& scales) {
  const bool wants_e4m3 = scale_type(format) == DType::e4m3;
  if (wants_e4m3 != std::holds_alternative<PackedScales<e4m3>>(scales))
    return invalid("quantise.scale_type", std::string("scales of ") + scale_name(scales) + "; those of " +
                                              name_of(format) + " are " + name_of(scale_type(format)));
  const ScaleShape shape = std::visit([](const auto& s) { return s.shape(); }, scales);
  const int64_t vector = scale_vector(format);
  if (source.k >= 0 && source.k <= shape.columns * vector && shape.rows == source.rows &&
      shape.batches == source.batches)
    return {};
  const int64_t least = source.k / vector + (source.k % vector > 0);  // of any K: the sum in ceil_div wraps
  return invalid("quantise.scale_shape",
                 "scales of " + text(shape.batches) + " batches, " + text(shape.rows) + " rows, " +
                     text(shape.columns) + " columns for " + text(source.batches) + " batches of " +
                     text(source.rows) + " rows and K = " + text(source.k) + "; " + name_of(format) +
                     " takes " + text(source.batches) + ", " + text(source.rows) + " and at least " +
                     text(std::max<int64_t>(least, 0)));
}

Status check_pointers(const QuantiseKernelParams& p, DType source) {
  if (p.k > 0)
    if (Status s = check_pointer("the source", p.source, bits_of(source) / 8)) return s;
  if (Status s = check_pointer("elements", p.elements, kOperandAlignment)) return s;
  if (Status s = check_pointer("scales", p.scales.data(), kOperandAlignment)) return s;
  return p.tensor_scale == nullptr ? Status{} : check_pointer("tensor_scale", p.tensor_scale, sizeof(float));
}

}  // namespace

Status quantise_on_device(const QuantiseSource& source, BlockFormat format, const QuantisedMatrices& to,
                          const QuantiseLaunch& how) {
  if (Status s = check_quantise(source, format, how.tensor_scale != nullptr)) return s;
  if (Status s = check_scales(source, format, to.scales)) return s;
  const ScaleShape shape = std::visit([](const auto& s) { return s.shape(); }, to.scales);
  const int64_t threads = scale_bytes<ScaleLayout::packed>(shape);
  if (threads == 0) return {};
  const QuantiseKernelParams params{
      .source = source.data,
      .source_ld = source.row_stride,
      .source_batch_stride = source.batch_stride,
      .rows = source.rows,
      .k = source.k,
      .batches = source.batches,
      .padded_k = shape.columns * scale_vector(format),
      .elements = to.elements,
      .scales = std::visit([](const auto& s) { return PackedScaleCodes<uint8_t>(s); }, to.scales),
      .tensor_scale = how.tensor_scale};
  if (Status s = check_pointers(params, source.type)) return s;
  const Expected<Machine> machine = machine_of(how.device);
  if (!machine) return machine.error();
  return machine->kernels.quantise(params, format, source.type, launch_of(*machine, threads, how.stream));
}

namespace detail {

Status convert_scales(bool pack, const ScalePackingParams& params, Device device, void* stream) {
  const int64_t threads = scale_packing_threads(params);
  if (threads == 0) return {};
  if (Status s = check_pointer("the scales to read", params.from, pack ? 1 : kOperandAlignment)) return s;
  if (Status s = check_pointer("the scales to write", params.to, pack ? kOperandAlignment : 1)) return s;
  const Expected<Machine> machine = machine_of(device);
  if (!machine) return machine.error();
  const auto launch = pack ? machine->kernels.pack : machine->kernels.unpack;
  return launch(params, launch_of(*machine, threads, stream));
}

}  // namespace detail
}  // namespace tilewright
