// A whole persistent FP32 GEMM loop inside a kernel, on sm_90: a producer warpgroup fills a ring of stages,
// another multiplies. Two CTAs share an SM, so that one's epilogue runs beside the other's main loop.
#pragma once

#include "tilewright/arch/grid_dependency.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/registers.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/simt_loads.h"
#include "tilewright/mainloop/simt_loop.h"
#include "tilewright/pipeline/simt_config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline {

/// For kernels launched with kPlan.threads threads and kPlan.shared_bytes of dynamic shared memory. All
/// threads of all CTAs call run() once. The last warpgroup produces. Registers (256 threads, 128 at entry,
/// two CTAs an SM): 32 or 48 for a producing thread, 224 or 208 for a computing one.
template <class Config, class Function>
class SimtProducerPipeline {
 public:
  TILEWRIGHT_DEVICE SimtProducerPipeline(const kernels::SimtGemmParams& params, const Function& function)
      : p_(params), function_(function) {}

  TILEWRIGHT_DEVICE void run() const {
    const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory());
    const mainloop::Ring ring(shared + kStages * kStageBytes, kStages);
    if (arch::thread_index().x == 0) {
      ring.init(Loads::kThreads, kConsumers / 32);
      name_simt_stages<Config>(shared);
      prefetch_maps();
    }
    arch::sync_threads();
    arch::launch_dependents();
    arch::grid_dependency_wait();
    if (arch::warp_index() >= kConsumers / 32) {
      produce(ring, Loads{shared});
    } else {
      compute(ring, shared);
    }
  }

 private:
  using Loads = mainloop::SimtLoads<Config>;
  using Tile = typename Config::Tile;
  static constexpr uint32_t kStages = static_cast<uint32_t>(Config::kPlan.stages);
  static constexpr uint32_t kStageBytes = Config::kPlan.stage_bytes;
  static constexpr uint32_t kConsumers = Config::kPlan.consumers;

  TILEWRIGHT_DEVICE void produce(const mainloop::Ring& ring, const Loads& loads) const {
    arch::name_role("producer");
    arch::setmaxnreg_dec<Config::kPlan.producer_registers>();
    const uint32_t thread = arch::thread_index().x - kConsumers;
    if (thread >= Loads::kThreads) return;
    mainloop::RingPosition at;
    kernels::SimtWork todo = simt_work(p_);
    kernels::SimtSegment segment;
    TILEWRIGHT_NO_UNROLL
    while (todo.take(p_, segment)) {
      loads.load_tile(p_, ring, at, p_.tiles.tile(segment.tile, 0), segment.first, segment.count, thread);
    }
  }

  TILEWRIGHT_DEVICE void compute(const mainloop::Ring& ring, uint32_t shared) const {
    arch::name_role("consumer");
    arch::setmaxnreg_inc<256 - Config::kPlan.producer_registers>();
    const uint32_t thread = arch::thread_index().x;
    const SimtEpilogue<Config, Function> epilogue(p_, function_, thread);
    const uint32_t a = shared + 4 * Tile::row(thread);
    const uint32_t b = shared + Loads::kBytesA + 4 * Tile::column(thread);
    mainloop::RingPosition at;
    kernels::SimtWork todo = simt_work(p_);
    kernels::SimtSegment segment;
    TILEWRIGHT_NO_UNROLL
    while (todo.take(p_, segment)) {
      typename Tile::Accumulators acc;
      Tile::clear(acc);
      if (segment.count != 0) mainloop::SimtLoop<Config>::multiply(acc, ring, at, a, b, segment.count);
      finish_segment(p_, epilogue, acc, segment);
    }
  }

  TILEWRIGHT_DEVICE void prefetch_maps() const {
    if (p_.k_tiles == 0) return;
    if (!Loads::kGatherA) arch::prefetch_tensor_map(&p_.a_map);
    if (!Loads::kGatherB) arch::prefetch_tensor_map(&p_.b_map);
  }

  const kernels::SimtGemmParams& p_;
  const Function& function_;
};

}  // namespace pipeline
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
