// What L2 does with the lines of a copy (PTX `.L2::cache_hint`), and the instruction that makes such a
// policy. No effect on the emulated machine, which has no caches.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// A policy for the calls that take one. evict_first and evict_last are what the functions below give for the
/// whole copy; normal is that of a copy without a policy.
enum class CachePolicy : uint64_t {
  normal = 0x1000000000000000,
  evict_first = 0x12F0000000000000,
  evict_last = 0x14F0000000000000,
};

#if defined(TILEWRIGHT_EMULATE)
#  define TILEWRIGHT_CREATE_POLICY(PRIORITY, CODE) return detail::encode_policy(CODE, fraction)
namespace detail {
/// What ptxas makes of createpolicy for sm_90a: the priority, and the fraction in sixteenths.
inline CachePolicy encode_policy(uint64_t code, float fraction) {
  emulator::check_cache_fraction(fraction);
  const auto sixteenths = static_cast<uint64_t>(fraction * 15.99f);
  return static_cast<CachePolicy>(code << 56 | (sixteenths & 0xF) << 52);
}
}  // namespace detail
#else
#  define TILEWRIGHT_CREATE_POLICY(PRIORITY, CODE)                                                       \
    uint64_t policy;                                                                                     \
    asm volatile("createpolicy.fractional.L2::" PRIORITY ".b64 %0, %1;" : "=l"(policy) : "f"(fraction)); \
    return static_cast<CachePolicy>(policy)
#endif

/// A `fraction` (0 < fraction <= 1) of the lines is the first to be evicted: data that nobody reads again.
/// The other lines keep the priority they have. PTX `createpolicy.fractional.L2::evict_first` (9.7.9.16). Any
/// thread; once, before the loop that uses it.
TILEWRIGHT_DEVICE CachePolicy make_evict_first_policy(float fraction = 1.0f) {
  TILEWRIGHT_CREATE_POLICY("evict_first", 0x12);
}
/// As make_evict_first_policy; these lines are the last to be evicted: data that other blocks read too. PTX
/// `createpolicy.fractional.L2::evict_last`.
TILEWRIGHT_DEVICE CachePolicy make_evict_last_policy(float fraction = 1.0f) {
  TILEWRIGHT_CREATE_POLICY("evict_last", 0x14);
}
/// As make_evict_first_policy; these lines get the normal priority. PTX
/// `createpolicy.fractional.L2::evict_normal`.
TILEWRIGHT_DEVICE CachePolicy make_evict_normal_policy(float fraction = 1.0f) {
  TILEWRIGHT_CREATE_POLICY("evict_normal", 0x16);
}

#undef TILEWRIGHT_CREATE_POLICY

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
