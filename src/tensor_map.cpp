// Rules and encodings of TMA descriptors.
#include "tilewright/tensor_map.h"

#include <dlfcn.h>

#include <bit>
#include <iterator>
#include <string>
#include <string_view>

namespace tilewright {
namespace {

constexpr uint64_t kAlignment = 16;  // of the base address and of every stride, bytes

std::string dimension_text(int dimension) { return "dimension " + std::to_string(dimension); }

uint64_t box_row_bytes(const TensorMapSpec& spec) { return uint64_t{spec.box[0]} * bytes_of(spec.type); }

// ---- the rules: each says what is wrong, or nothing

using Violation = std::optional<std::string>;

Violation rank_violation(const TensorMapSpec& spec) {
  if (spec.rank >= 1 && spec.rank <= 5) return std::nullopt;
  return "rank " + std::to_string(spec.rank) + "; the nearest legal value is " + (spec.rank < 1 ? "1" : "5");
}

Violation base_null_violation(const TensorMapSpec& spec) {
  if (spec.base != nullptr) return std::nullopt;
  return "the base address is null";
}

Violation base_alignment_violation(const TensorMapSpec& spec) {
  const uint64_t address = std::bit_cast<uint64_t>(spec.base);
  const uint64_t past = address % kAlignment;
  if (past == 0) return std::nullopt;
  return "the base address is " + std::to_string(past) + " modulo 16; the nearest legal one is " +
         (past < 8 ? std::to_string(past) + " bytes lower" : std::to_string(16 - past) + " bytes higher");
}

Violation extent_violation(const TensorMapSpec& spec) {
  for (int i = 0; i < spec.rank; ++i) {
    const uint64_t extent = spec.extent[static_cast<size_t>(i)];
    if (extent >= 1 && extent <= tensor_map_max_extent) continue;
    return dimension_text(i) + ": extent " + std::to_string(extent) + "; the nearest legal value is " +
           std::to_string(extent == 0 ? 1 : tensor_map_max_extent);
  }
  return std::nullopt;
}

// Calls f(dimension, stride) for the strides that count until it returns something: a dimension of extent 1
// has none.
template <class F>
Violation first_stride(const TensorMapSpec& spec, F f) {
  for (int i = 1; i < spec.rank; ++i) {
    if (spec.extent[static_cast<size_t>(i)] <= 1) continue;
    if (Violation violation = f(i, spec.strides[static_cast<size_t>(i) - 1])) return violation;
  }
  return std::nullopt;
}

Violation stride_alignment_violation(const TensorMapSpec& spec) {
  return first_stride(spec, [](int dimension, uint64_t stride) -> Violation {
    if (stride % kAlignment == 0) return std::nullopt;
    return dimension_text(dimension) + ": stride " + std::to_string(stride) + " bytes is " +
           std::to_string(stride % kAlignment) +
           " modulo 16; the nearest legal value that is not smaller is " +
           std::to_string((stride / kAlignment + 1) * kAlignment);
  });
}

Violation stride_size_violation(const TensorMapSpec& spec) {
  return first_stride(spec, [](int dimension, uint64_t stride) -> Violation {
    if (stride < tensor_map_stride_limit) return std::nullopt;
    return dimension_text(dimension) + ": stride " + std::to_string(stride) +
           " bytes; the nearest legal value is " + std::to_string(tensor_map_stride_limit - kAlignment);
  });
}

Violation box_violation(const TensorMapSpec& spec) {
  for (int i = 0; i < spec.rank; ++i) {
    const uint32_t box = spec.box[static_cast<size_t>(i)];
    if (box >= 1 && box <= tensor_map_max_box) continue;
    return dimension_text(i) + ": box " + std::to_string(box) + "; the nearest legal value is " +
           std::to_string(box == 0 ? 1 : tensor_map_max_box);
  }
  return std::nullopt;
}

Violation box_row_violation(const TensorMapSpec& spec) {
  const uint64_t bytes = box_row_bytes(spec);
  if (bytes % kAlignment == 0) return std::nullopt;
  return "a row of the box is " + std::to_string(spec.box[0]) + " elements, " + std::to_string(bytes) +
         " bytes; the nearest legal value above is " +
         std::to_string((bytes / kAlignment + 1) * kAlignment / bytes_of(spec.type)) + " elements";
}

Violation swizzle_violation(const TensorMapSpec& spec) {
  const uint64_t bytes = box_row_bytes(spec);
  const uint32_t width = swizzle_width(spec.swizzle);
  if (spec.swizzle == Swizzle::none || bytes <= width) return std::nullopt;
  return "a row of the box is " + std::to_string(spec.box[0]) + " elements, " + std::to_string(bytes) +
         " bytes, under a " + std::to_string(width) + "-byte swizzle; the nearest legal value is " +
         std::to_string(width / bytes_of(spec.type)) + " elements";
}

// Rules of the driver for its type 16U4_ALIGN16B.
Violation padded_e2m1_violation(const TensorMapSpec& spec) {
  if (spec.type != TmaType::e2m1_padded) return std::nullopt;
  if (spec.extent[0] % 128 != 0) {
    return "extent 0 is " + std::to_string(spec.extent[0]) + "; the nearest legal value above is " +
           std::to_string((spec.extent[0] / 128 + 1) * 128);
  }
  if (spec.box[0] != 128) return "box 0 is " + std::to_string(spec.box[0]) + "; the only legal value is 128";
  if (std::bit_cast<uint64_t>(spec.base) % 32 != 0) return "the base address is 16 modulo 32";
  if (spec.swizzle != Swizzle::none && spec.swizzle != Swizzle::b128) {
    return "a " + std::to_string(swizzle_width(spec.swizzle)) + "-byte swizzle; legal are 128 bytes and none";
  }
  return first_stride(spec, [](int dimension, uint64_t stride) -> Violation {
    if (stride % 32 == 0) return std::nullopt;
    return dimension_text(dimension) + ": stride " + std::to_string(stride) +
           " bytes; the nearest legal value above is " + std::to_string(stride + 16);
  });
}

struct CheckedRule {
  TensorMapRule rule;
  Violation (*violation)(const TensorMapSpec&);
};

// A rule may rely on those before it.
constexpr CheckedRule kRules[] = {
    {{"tensor_map.rank", "the rank is 1 to 5"}, rank_violation},
    {{"tensor_map.base_not_null", "the base address is not null"}, base_null_violation},
    {{"tensor_map.base_alignment", "the base address is a multiple of 16"}, base_alignment_violation},
    {{"tensor_map.extent", "every extent is 1 to 2^32 elements"}, extent_violation},
    {{"tensor_map.stride_alignment", "every stride is a multiple of 16 bytes"}, stride_alignment_violation},
    {{"tensor_map.stride_size", "every stride is less than 2^40 bytes"}, stride_size_violation},
    {{"tensor_map.box", "every box extent is 1 to 256 elements"}, box_violation},
    {{"tensor_map.box_row", "a row of the box is a multiple of 16 bytes"}, box_row_violation},
    {{"tensor_map.swizzle_width", "a row of the box is no wider than the swizzle"}, swizzle_violation},
    {{"tensor_map.padded_e2m1",
      "padded e2m1 has an extent 0 that is a multiple of 128, boxes of 128, base and strides that are "
      "multiples of "
      "32 bytes, and a 128-byte swizzle or none"},
     padded_e2m1_violation},
};
constexpr size_t kRuleCount = std::size(kRules);

ErrorCode code_of(const TensorMapRule& rule) {
  const std::string_view name = rule.name;
  if (name.ends_with("alignment")) return ErrorCode::alignment;
  if (name.ends_with("extent") || name.ends_with("stride_size")) return ErrorCode::out_of_range;
  return ErrorCode::invalid_argument;
}

// The spec with a legal stride in place of each one that is never used.
TensorMapSpec with_used_strides(TensorMapSpec spec) {
  for (size_t i = 1; i < static_cast<size_t>(spec.rank); ++i) {
    if (spec.extent[i] == 1) spec.strides[i - 1] = 2 * kAlignment;
  }
  return spec;
}

// ---- the driver's encoder, under the names and values of cuda.h

using EncodeTiled = int (*)(void* map, int type, uint32_t rank, void* base, const uint64_t* extents,
                            const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                            int interleave, int swizzle, int l2_promotion, int out_of_bounds_fill);
using GetErrorString = int (*)(int status, const char** text);

constexpr int kPromoteL2To256Bytes = 3;

int driver_type(TmaType type) {
  switch (type) {
    case TmaType::u8:
      return 0;
    case TmaType::u16:
      return 1;
    case TmaType::u32:
      return 2;
    case TmaType::s32:
      return 3;
    case TmaType::u64:
      return 4;
    case TmaType::s64:
      return 5;
    case TmaType::f16:
      return 6;
    case TmaType::f32:
      return 7;
    case TmaType::f64:
      return 8;
    case TmaType::bf16:
      return 9;
    case TmaType::e2m1_padded:
      return 14;
    default:
      return 11;  // tf32
  }
}

int driver_swizzle(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::b32:
      return 1;
    case Swizzle::b64:
      return 2;
    case Swizzle::b128:
      return 3;
    default:
      return 0;
  }
}

struct Driver {
  EncodeTiled encode_tiled = nullptr;
  GetErrorString error_string = nullptr;
};

const Driver& driver() {
  static const Driver loaded = [] {
    Driver d;
    // Stays loaded for the life of the process, like the runtime's own copy.
    if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
      d.encode_tiled = reinterpret_cast<EncodeTiled>(dlsym(library, "cuTensorMapEncodeTiled"));
      d.error_string = reinterpret_cast<GetErrorString>(dlsym(library, "cuGetErrorString"));
    }
    return d;
  }();
  return loaded;
}

// ---- words of an emulated map: 0 tag, 1 base, 2 type, rank and swizzle, 3-7 extents, 8-11 strides, 12-14
// box

constexpr uint64_t kEmulatedTag = 0x70616d2d75656c74;

}  // namespace

const std::array<TensorMapRule, kRuleCount>& tensor_map_rules() {
  static const auto rules = [] {
    std::array<TensorMapRule, kRuleCount> list{};
    for (size_t i = 0; i < kRuleCount; ++i) list[i] = kRules[i].rule;
    return list;
  }();
  return rules;
}

std::optional<Error> check(const TensorMapSpec& spec) {
  for (const CheckedRule& checked : kRules) {
    if (const Violation violation = checked.violation(spec)) {
      return Error{code_of(checked.rule), checked.rule.name,
                   *violation + " (" + checked.rule.requirement + ")"};
    }
  }
  return std::nullopt;
}

Expected<TensorMap> encode_for_emulator(const TensorMapSpec& requested) {
  if (auto error = check(requested)) return *error;
  const TensorMapSpec spec = with_used_strides(requested);
  TensorMap map;
  map.words[0] = kEmulatedTag;
  map.words[1] = std::bit_cast<uint64_t>(spec.base);
  map.words[2] = static_cast<uint64_t>(spec.type) | static_cast<uint64_t>(spec.rank) << 8 |
                 static_cast<uint64_t>(spec.swizzle) << 16;
  for (size_t i = 0; i < 5; ++i) map.words[3 + i] = spec.extent[i];
  for (size_t i = 0; i < 4; ++i) map.words[8 + i] = spec.strides[i];
  for (size_t i = 0; i < 5; ++i) map.words[12 + i / 2] |= uint64_t{spec.box[i]} << (32 * (i % 2));
  return map;
}

TensorMapSpec decode_for_emulator(const TensorMap& map) {
  TensorMapSpec spec;
  if (map.words[0] != kEmulatedTag) return spec;
  spec.base = std::bit_cast<void*>(map.words[1]);
  spec.type = static_cast<TmaType>(map.words[2] & 0xFF);
  spec.rank = static_cast<int>(map.words[2] >> 8 & 0xFF);
  spec.swizzle = static_cast<Swizzle>(map.words[2] >> 16 & 0xFF);
  for (size_t i = 0; i < 5; ++i) spec.extent[i] = map.words[3 + i];
  for (size_t i = 0; i < 4; ++i) spec.strides[i] = map.words[8 + i];
  for (size_t i = 0; i < 5; ++i) spec.box[i] = static_cast<uint32_t>(map.words[12 + i / 2] >> (32 * (i % 2)));
  return spec;
}

Expected<TensorMap> encode_for_gpu(const TensorMapSpec& requested) {
  if (auto error = check(requested)) return *error;
  if (driver().encode_tiled == nullptr) {
    return Error{ErrorCode::no_device, "tensor_map.driver",
                 "no NVIDIA driver that encodes tensor maps (libcuda.so.1 with cuTensorMapEncodeTiled, 12.0 "
                 "or later)"};
  }
  const TensorMapSpec spec = with_used_strides(requested);
  constexpr uint32_t dense[5] = {1, 1, 1, 1, 1};
  TensorMap map;
  const int status = driver().encode_tiled(
      &map, driver_type(spec.type), static_cast<uint32_t>(spec.rank), spec.base, spec.extent.data(),
      spec.strides.data(), spec.box.data(), dense, 0, driver_swizzle(spec.swizzle), kPromoteL2To256Bytes, 0);
  if (status == 0) return map;
  const char* text = nullptr;
  if (driver().error_string != nullptr) driver().error_string(status, &text);
  return Error{
      ErrorCode::cuda, "tensor_map.refused",
      "the driver refused the tensor map: " + (text != nullptr ? std::string(text) : std::to_string(status))};
}

}  // namespace tilewright
