// Every call of arch/tcgen05*.h and arch/cluster_launch.h, to be compiled for both machines.
#include "tilewright/arch/cluster_launch.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tcgen05.h"
#include "tilewright/arch/tcgen05_tma.h"
#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

struct CallOperands {
  TensorMap map;
  uint32_t bar, dst, instruction;
  uint64_t a, b;
  uint32_t* out;
};

#if TILEWRIGHT_HAS_TCGEN05

template <int CtaGroup>
TILEWRIGHT_DEVICE void issue_all(const CallOperands& p) {
  using arch::Tcgen05Kind;
  arch::tcgen05_cp_32x128b<CtaGroup>(500, p.a);
  arch::tcgen05_cp_128x128b<CtaGroup>(500, p.a);
  arch::tcgen05_cp_128x256b<CtaGroup>(500, p.a);
  arch::tcgen05_mma<Tcgen05Kind::f16, CtaGroup>(0, p.a, p.b, p.instruction, false);
  arch::tcgen05_mma<Tcgen05Kind::tf32, CtaGroup>(0, p.a, p.b, p.instruction, true);
  arch::tcgen05_mma<Tcgen05Kind::f8f6f4, CtaGroup>(0, p.a, p.b, p.instruction, p.dst != 0);
  arch::tcgen05_mma<Tcgen05Kind::i8, CtaGroup>(0, p.a, p.b, p.instruction, true);
  arch::tcgen05_mma_block_scaled<Tcgen05Kind::mxf8f6f4, CtaGroup>(0, p.a, p.b, p.instruction, 500, 504, true);
  arch::tcgen05_mma_block_scaled<Tcgen05Kind::mxf4, CtaGroup>(0, p.a, p.b, p.instruction, 500, 504, true);
  arch::tcgen05_mma_block_scaled<Tcgen05Kind::mxf4nvf4, CtaGroup>(0, p.a, p.b, p.instruction, 500, 504, true);
  arch::tcgen05_commit<CtaGroup>(p.bar);
  arch::tcgen05_commit_multicast<CtaGroup>(p.bar, 3);
}

template <class Word, int Count>
TILEWRIGHT_DEVICE void load(const CallOperands& p, Word (&words)[Count]) {
  arch::tcgen05_ld_32x32b(words, p.dst);
  arch::tcgen05_wait_ld(words);
}

template <int Count>
TILEWRIGHT_DEVICE void move(const CallOperands& p) {
  float values[Count];
  load(p, values);
  TILEWRIGHT_UNROLL
  for (int i = 0; i < Count; ++i) p.out[i] = arch::float_bits(values[i]);
  uint32_t words[Count];
  load(p, words);
  arch::tcgen05_st_32x32b(words, p.dst + Count);
  TILEWRIGHT_UNROLL
  for (int i = 0; i < Count; ++i) p.out[i] = words[i];
}

#endif

template <int CtaGroup>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128)
    all_calls([[maybe_unused]] const TILEWRIGHT_GRID_CONSTANT CallOperands p) {
#if TILEWRIGHT_HAS_TCGEN05
  arch::tcgen05_alloc<CtaGroup>(p.dst, 512);
  arch::tcgen05_relinquish<CtaGroup>();
  arch::tcgen05_fence_after();
  arch::name_tensor_memory(0, 256, "accumulator");
  if (arch::thread_index().x == 0) {
    arch::tma_load_pair_3d(p.dst, &p.map, p.bar, 0, 1, 2);
    arch::tma_load_pair_4d(p.dst, &p.map, p.bar, 0, 1, 2, 3);
    arch::tma_load_pair_multicast_4d(p.dst, &p.map, p.bar, 3, 0, 1, 2, 3);
    issue_all<CtaGroup>(p);
  }
  move<1>(p);
  move<2>(p);
  move<4>(p);
  move<8>(p);
  move<16>(p);
  move<32>(p);
  move<64>(p);
  move<128>(p);
  const auto response = arch::load_shared<arch::ClusterLaunchResponse>(p.dst);
  if (arch::thread_index().x == 0) {
    arch::cluster_launch_try_cancel(p.dst, p.bar);
    arch::cluster_launch_try_cancel_multicast(p.dst, p.bar);
  }
  if (arch::cluster_launch_is_canceled(response)) p.out[0] = arch::cluster_launch_first_block_x(response);
  arch::tcgen05_wait_st();
  arch::tcgen05_fence_before();
  arch::tcgen05_dealloc<CtaGroup>(0, 512);
#endif
}
template TILEWRIGHT_GLOBAL void all_calls<1>(const TILEWRIGHT_GRID_CONSTANT CallOperands);
template TILEWRIGHT_GLOBAL void all_calls<2>(const TILEWRIGHT_GRID_CONSTANT CallOperands);

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
