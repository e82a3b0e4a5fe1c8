// The TMA descriptor as a value: what it describes, the rules it must satisfy, and the 128 bytes a kernel
// takes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tilewright/error.h"

namespace tilewright {

/// Shared-memory swizzle of a TMA box and of a wgmma operand (PTX ISA, "Swizzling Modes").
enum class Swizzle : uint8_t { none, b32, b64, b128 };

/// Element type of a TMA tensor: decides the element size, and the arithmetic of reductions. e2m1_padded:
/// packed two to a byte in global memory, and in shared memory 16 elements in 8 bytes followed by 8 undefined
/// ones (the driver's 16U4_ALIGN16B): loads only, and they signal the packed bytes.
enum class TmaType : uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, tf32, e2m1_padded };

/// Bytes of an element in shared memory.
constexpr uint32_t bytes_of(TmaType t) {
  switch (t) {
    case TmaType::u8:
    case TmaType::e2m1_padded:
      return 1;
    case TmaType::u16:
    case TmaType::f16:
    case TmaType::bf16:
      return 2;
    case TmaType::u64:
    case TmaType::s64:
    case TmaType::f64:
      return 8;
    default:
      return 4;
  }
}

/// Bytes that one row of a box may span under a swizzle; also the width of the swizzle atom.
constexpr uint32_t swizzle_width(Swizzle s) {
  switch (s) {
    case Swizzle::b32:
      return 32;
    case Swizzle::b64:
      return 64;
    case Swizzle::b128:
      return 128;
    default:
      return 16;
  }
}

inline constexpr uint64_t tensor_map_max_extent = uint64_t{1} << 32;    // elements
inline constexpr uint64_t tensor_map_stride_limit = uint64_t{1} << 40;  // bytes, excluded
inline constexpr uint32_t tensor_map_max_box = 256;                     // elements, each dimension

/// What a tensor map describes. Dimension 0 is the contiguous one; strides[i] is the byte distance between
/// neighbours in dimension i + 1, and is not looked at when that dimension has extent 1.
struct TensorMapSpec {
  void* base = nullptr;
  TmaType type = TmaType::u8;
  int rank = 0;                       // 1..5
  std::array<uint64_t, 5> extent{};   // elements, 1..2^32
  std::array<uint64_t, 4> strides{};  // bytes, multiples of 16, below 2^40
  std::array<uint32_t, 5> box{};      // elements, 1..256
  Swizzle swizzle = Swizzle::none;
};

/// A rule of tensor maps: its name, as in Error::rule, and what it asks for.
struct TensorMapRule {
  const char* name;
  const char* requirement;
};

/// Every rule that `check` applies, in its order.
const std::array<TensorMapRule, 10>& tensor_map_rules();

/// The rules of cuTensorMapEncodeTiled, checked before the driver sees them: the error names the rule, the
/// value found and the nearest legal one.
std::optional<Error> check(const TensorMapSpec& spec);

/// Opaque 128-byte descriptor. Pass it to a kernel by value as a `__grid_constant__` parameter (directly or
/// in a struct). On a GPU the bytes are a CUtensorMap; for the emulated machine they hold the spec.
struct alignas(128) TensorMap {
  std::array<uint64_t, 16> words{};
};
static_assert(sizeof(TensorMap) == 128);

/// Encodes for the emulated machine (no driver). Errors: the rules of `check`.
Expected<TensorMap> encode_for_emulator(const TensorMapSpec& spec);
/// The spec that encode_for_emulator stored; rank 0 when the bytes do not come from there.
TensorMapSpec decode_for_emulator(const TensorMap& map);

/// Encodes for the GPU through the driver's entry point, fetched at run time (libcuda is never linked).
/// Errors: the rules of `check`; no driver; the driver's own refusal.
Expected<TensorMap> encode_for_gpu(const TensorMapSpec& spec);

}  // namespace tilewright
