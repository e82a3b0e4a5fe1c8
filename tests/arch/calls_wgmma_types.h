// wgmma for every pair of types and with every option.
#include "tests/arch/wgmma_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

template TILEWRIGHT_GLOBAL void some_n<Case<e4m3, e5m2, float>>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<e5m2, e4m3, float>>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<e5m2, e5m2, float>>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<e4m3, e4m3, uint32_t>>(uint32_t*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<e5m2, e4m3, uint32_t>>(uint32_t*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<f16, f16, float>>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<bf16, bf16, float>>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<tf32, tf32, float>>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<int8_t, int8_t, int32_t>>(int32_t*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Case<uint8_t, uint8_t, int32_t>>(int32_t*, uint64_t, uint64_t, bool);

// The options.
using MnMajor = Case<bf16, bf16, float, WgmmaOptions{Major::mn, Major::mn}>;
using Negated = Case<tf32, tf32, float, WgmmaOptions{.negate_a = true, .negate_b = true}>;
using Saturating = Case<uint8_t, int8_t, int32_t, WgmmaOptions{.saturate = true}>;
template TILEWRIGHT_GLOBAL void some_n<MnMajor>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Negated>(float*, uint64_t, uint64_t, bool);
template TILEWRIGHT_GLOBAL void some_n<Saturating>(int32_t*, uint64_t, uint64_t, bool);

/// The first MMA of a group, which does not read its accumulators.
template <class A, class B>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) overwrite(float* out, uint64_t a, uint64_t b) {
  float d[128];
  arch::wgmma_fence();
  arch::wgmma_overwrite<256, A, B>(d, a, b);
  arch::wgmma_commit();
  arch::wgmma_wait<0>();
  arch::fence_operand(d);
  TILEWRIGHT_UNROLL
  for (int i = 0; i < 128; ++i) out[i] = d[i];
}
template TILEWRIGHT_GLOBAL void overwrite<e4m3, e4m3>(float*, uint64_t, uint64_t);

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
