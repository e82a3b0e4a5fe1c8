// Descriptors of tcgen05 against the bit tables of PTX, "Instruction descriptor" and "Shared memory
// descriptor".
#define TILEWRIGHT_EMULATE
#include <gtest/gtest.h>

#include "tilewright/arch/tcgen05_descriptor.h"

namespace tilewright {
namespace {

using arch::make_instruction_descriptor;
using arch::Tcgen05Kind;

// Fields by their bit positions.
constexpr uint32_t dense(uint32_t d, uint32_t a, uint32_t b, uint32_t n, uint32_t m) {
  return d << 4 | a << 7 | b << 10 | (n / 8) << 17 | (m / 16) << 24;
}
constexpr uint32_t scaled(uint32_t a, uint32_t b, uint32_t n, uint32_t m, uint32_t e8m0) {
  return a << 7 | b << 10 | (n / 8) << 17 | e8m0 << 23 | (m / 128) << 27;
}

static_assert(make_instruction_descriptor<Tcgen05Kind::f16, f16, f16>(1, 256) == dense(1, 0, 0, 256, 128));
static_assert(make_instruction_descriptor<Tcgen05Kind::f16, bf16, bf16>(2, 64) == dense(1, 1, 1, 64, 256));
static_assert(make_instruction_descriptor<Tcgen05Kind::tf32, tf32, tf32>(1, 16) == dense(1, 2, 2, 16, 128));
static_assert(make_instruction_descriptor<Tcgen05Kind::f8f6f4, e4m3, e2m1>(1, 16) == dense(1, 0, 5, 16, 128));
static_assert(make_instruction_descriptor<Tcgen05Kind::i8, int8_t, uint8_t>(1, 32) ==
              dense(2, 1, 0, 32, 128));
static_assert(make_instruction_descriptor<Tcgen05Kind::mxf8f6f4, e5m2, e2m1>(2, 256) ==
              scaled(1, 5, 256, 256, 1));
static_assert(make_instruction_descriptor<Tcgen05Kind::mxf4, e2m1, e2m1>(1, 128) ==
              scaled(1, 1, 128, 128, 1));
static_assert(make_instruction_descriptor<Tcgen05Kind::mxf4nvf4, e2m1, e2m1>(2, 256) ==
              scaled(1, 1, 256, 256, 0));

TEST(Tcgen05Descriptor, major_bits_and_scale_ids) {
  const uint32_t plain = make_instruction_descriptor<Tcgen05Kind::f16, f16, f16>(1, 64);
  EXPECT_EQ((make_instruction_descriptor<Tcgen05Kind::f16, f16, f16>(1, 64, arch::Major::mn, arch::Major::k)),
            plain | 1u << 15);
  EXPECT_EQ((make_instruction_descriptor<Tcgen05Kind::f16, f16, f16>(1, 64, arch::Major::k, arch::Major::mn)),
            plain | 1u << 16);
  EXPECT_EQ(arch::with_scale_ids(plain, 3, 2), plain | 3u << 29 | 2u << 4);
}

TEST(Tcgen05Descriptor, an_operand_is_that_of_wgmma_with_bit_46) {
  for (Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    const uint64_t old = arch::make_smem_descriptor(0x12340, swizzle, 256, 1024);
    const uint64_t descriptor = arch::make_tcgen05_descriptor(0x12340, swizzle, 256, 1024);
    EXPECT_EQ(descriptor ^ old, uint64_t{1} << 46);
    EXPECT_EQ(descriptor & 0x3FFF, 0x12340u >> 4);
  }
  // 0, 6, 4, 2 in bits 61-63.
  EXPECT_EQ(arch::make_tcgen05_descriptor(0, Swizzle::b32, 0, 0) >> 61, 6u);
  EXPECT_EQ(arch::make_tcgen05_descriptor(0, Swizzle::b64, 0, 0) >> 61, 4u);
  EXPECT_EQ(arch::make_tcgen05_descriptor(0, Swizzle::b128, 0, 0) >> 61, 2u);
}

TEST(Tcgen05Descriptor, depth_and_scales_of_every_kind) {
  EXPECT_EQ(arch::mma_depth(Tcgen05Kind::mxf8f6f4) / arch::mma_scales(Tcgen05Kind::mxf8f6f4), 32);
  EXPECT_EQ(arch::mma_depth(Tcgen05Kind::mxf4) / arch::mma_scales(Tcgen05Kind::mxf4), 32);
  EXPECT_EQ(arch::mma_depth(Tcgen05Kind::mxf4nvf4) / arch::mma_scales(Tcgen05Kind::mxf4nvf4), 16);
  EXPECT_EQ(arch::mma_scales(Tcgen05Kind::f8f6f4), 0);
  EXPECT_EQ(arch::tmem_address(0x100, 64, 3), 0x400103u);
}

}  // namespace
}  // namespace tilewright
