// Every call of shared.h, matrix.h, cp_async.h, atomics.h, convert.h, bf16x2.h and global_access.h.
#include "tilewright/arch/atomics.h"
#include "tilewright/arch/bf16x2.h"
#include "tilewright/arch/convert.h"
#include "tilewright/arch/cp_async.h"
#include "tilewright/arch/global_access.h"
#include "tilewright/arch/matrix.h"
#include "tilewright/arch/shared.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

template <int Bytes>
struct alignas(Bytes) Bits {
  unsigned char bytes[Bytes];
};

template <int Bytes>
TILEWRIGHT_DEVICE void pass_on(uint32_t address) {
  arch::store_shared(address, arch::load_shared<Bits<Bytes>>(address + 64));
  const uint32_t peer = arch::map_shared(address, 1);
  arch::store_shared_cluster(peer, arch::load_shared_cluster<Bits<Bytes>>(peer + 64));
  if constexpr (Bytes >= 4) arch::store_async(peer, arch::load_shared<Bits<Bytes>>(address), peer + 128);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) shared_calls() {
  const uint32_t address = arch::shared_address(arch::dynamic_shared_memory());
  pass_on<1>(address);
  pass_on<2>(address);
  pass_on<4>(address);
  pass_on<8>(address);
  pass_on<16>(address);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) matrix_calls() {
  const uint32_t address = arch::shared_address(arch::dynamic_shared_memory());
  uint32_t one[1], two[2], four[4];
  arch::ldmatrix_x1(address, one);
  arch::ldmatrix_x2(address, two);
  arch::ldmatrix_x4(address, four);
  one[0] = arch::movmatrix_trans(one[0]);
  arch::stmatrix_x1_trans(address, one);
  arch::stmatrix_x2_trans(address, two);
  arch::stmatrix_x4_trans(address, four);
  arch::ldmatrix_x1_trans(address, one);
  arch::ldmatrix_x2_trans(address, two);
  arch::ldmatrix_x4_trans(address, four);
  arch::stmatrix_x1(address, one);
  arch::stmatrix_x2(address, two);
  arch::stmatrix_x4(address, four);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) cp_async_calls(const void* source, uint32_t bytes) {
  const uint32_t address = arch::shared_address(arch::dynamic_shared_memory());
  arch::cp_async_4(address, source);
  arch::cp_async_8(address, source, bytes);
  arch::cp_async_16(address, source, 0);
  arch::cp_async_commit();
  arch::cp_async_wait<1>();
  arch::cp_async_mbarrier_arrive(address + 64);
  arch::cp_async_mbarrier_arrive_noinc(address + 64);
}

template <class T>
TILEWRIGHT_DEVICE void update(T* value) {
  arch::store_release(value, arch::load_acquire(value));
  T sum = arch::atomic_add(value, T{1});
  if constexpr (!std::is_same_v<T, float>) {
    sum = static_cast<T>(sum + arch::atomic_min(value, T{2}) + arch::atomic_max(value, T{3}));
    sum = static_cast<T>(sum + arch::atomic_exchange(value, T{4}) +
                         arch::atomic_compare_exchange(value, T{5}, T{6}));
  }
  value[1] = sum;
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128)
    atomic_calls(uint32_t* u32, int32_t* s32, uint64_t* u64, float* f32) {
  update(u32);
  update(s32);
  update(u64);
  update(f32);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128) convert_calls(uint32_t* out, float lo, float hi) {
  out[0] = arch::pack_f16x2(lo, hi);
  out[1] = arch::pack_bf16x2(lo, hi);
  out[2] = arch::pack_e4m3x2(lo, hi);
  out[3] = arch::pack_e5m2x2(lo, hi);
  out[4] = arch::pack_e4m3x2_nonsaturating(lo, hi);
  out[5] = arch::pack_e5m2x2_nonsaturating(lo, hi);
  out[6] = arch::to_tf32(lo);
  uint32_t one[1], two[2];
  arch::load_past_l1(out, one);
  arch::load_past_l1(out + 2, two, arch::CachePolicy::evict_first);
  out[9] = one[0] + two[0] + two[1];
  arch::store_16(out + 12, arch::mul_bf16x2(out[1], out[1]), out[2], out[3], out[4],
                 arch::CachePolicy::evict_last);
  const uint16_t half = static_cast<uint16_t>(out[7]);
  const arch::FloatPair pairs[] = {arch::unpack_f16x2(out[8]), arch::unpack_bf16x2(out[8]),
                                   arch::unpack_e4m3x2(half), arch::unpack_e5m2x2(half)};
  for (const arch::FloatPair& pair : pairs) *out++ = static_cast<uint32_t>(pair.lo + pair.hi);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
