// A whole persistent GEMM loop inside a kernel: role split, ring, main loop, and a two-phase epilogue whose
// stores run under the main loop of the next tile.
#pragma once

#include <type_traits>

#include "tilewright/arch/cluster.h"
#include "tilewright/arch/grid_dependency.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/registers.h"
#include "tilewright/arch/shared.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/wgmma_fp8.h"
#include "tilewright/pipeline/linear_epilogue.h"
#include "tilewright/pipeline/vector_scales.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline {

/// Keeps the packed results of one tile and stores them in pieces while MMAs of the next tile run.
template <class Config, class Epilogue>
struct StoreInShadow {
  /// Whether packed results can live in registers beside the next tile's accumulators and temporary. A
  /// temporary that parts share is not in use before the first two slabs are stored.
  static constexpr int kMain = Config::kParts * Config::kRegisters;
  static constexpr int kTemporary = Config::kPromoted ? Config::kRegisters : 0;
  static constexpr int kPacked = Config::kParts * Epilogue::kPackedRegisters;
  static constexpr int kStoredFirst =
      Config::kPromoted && Config::kParts == 2 ? kPacked * 2 / Epilogue::kSlabs : 0;
  static constexpr bool kDefer =
      Epilogue::kSlabs <= 4 && kMain + kTemporary + kPacked - kStoredFirst <= 224 && kMain + kPacked <= 192;

  Epilogue& epilogue;
  [[no_unique_address]] std::conditional_t<Config::kVectorScales, VectorScales<Config>, NoVectorScales>
      scales;
  typename Epilogue::Packed packed;
  schedule::TileCoord tile{};  // of the packed results
  uint32_t packed_index = 0;   // position of their tile in the schedule
  uint32_t current_index = 0;  // of the tile being computed
  bool waiting[4] = {};  // [i]: the piece of the packed results that begins with slab i is still to be stored

  TILEWRIGHT_DEVICE StoreInShadow(Epilogue& e, const kernels::Fp8GemmParams& p,
                                  const EpilogueScalars& scalars)
      : epilogue(e), scales(p, scalars) {}

  /// Stores slabs [First, First + Count) of the previous tile, if they wait, and frees their registers. In
  /// order; a caller always uses the same pieces.
  template <int First, int Count, bool Forget = true>
  TILEWRIGHT_DEVICE void store() {
    if constexpr (kDefer && First < Epilogue::kSlabs) {
      if (waiting[First]) {
        if constexpr (First == 0) tile = epilogue.tile(packed_index);
        epilogue.template store<First, Count>(packed, tile);
        waiting[First] = false;
        if constexpr (First + Count < Epilogue::kSlabs) waiting[First + Count] = true;
      }
      if constexpr (Forget) Epilogue::template forget<First, Count>(packed);
    }
  }

  /// Whether a part may be packed while another is being computed: then C cannot be read between.
  TILEWRIGHT_DEVICE bool packs_early() const { return kDefer && !epilogue.has_source(); }
  template <int Registers, int PackedRegisters>
  TILEWRIGHT_DEVICE void pack(const float (&acc)[Registers], uint32_t (&to)[PackedRegisters]) {
    epilogue.pack(acc, to, scales.present());
  }
  TILEWRIGHT_DEVICE void pack_all(mainloop::Accumulators<Config>& acc) {
    const bool source = epilogue.has_source();
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Config::kParts; ++part) {
      scale(part, acc[part]);
      if (source) epilogue.add_source(part, acc[part], epilogue.tile(current_index), scales.present());
      epilogue.pack(acc[part], packed[part], source || scales.present());
    }
  }

  /// Vectors of scales, of kernels that take them: loads those of the current tile, under its first MMAs.
  TILEWRIGHT_DEVICE void load_scales() {
    if constexpr (Config::kVectorScales) scales.load(epilogue.tile(current_index));
  }
  TILEWRIGHT_DEVICE void clear_scales() { scales.clear(); }
  /// Multiplies a complete part with them, before it is packed.
  TILEWRIGHT_DEVICE void scale(int part, float (&acc)[Config::kRegisters]) const { scales.apply(part, acc); }

  /// After packing: keeps the results for later, or stores them now.
  TILEWRIGHT_DEVICE void finish_tile(bool d_tma) {
    if (!d_tma) {
      epilogue.store_direct(packed, epilogue.tile(current_index));
    } else if constexpr (kDefer) {
      packed_index = current_index;
      waiting[0] = true;
    } else {
      epilogue.template store<0, Epilogue::kSlabs>(packed, epilogue.tile(current_index));
    }
  }
};

/// A persistent loop over the tiles of a schedule, for kernels launched with Config::kPlan.threads threads
/// and fp8_shared_bytes() of dynamic shared memory. All threads of all CTAs call run() once.
///
/// The last warpgroup produces; the others compute. Registers (384 threads, 168 at entry): 24 and 240 a
/// thread.
template <class Config, class Epilogue>
class DevicePipeline {
 public:
  TILEWRIGHT_DEVICE explicit DevicePipeline(const kernels::Fp8GemmParams& params) : p_(params) {}

  TILEWRIGHT_DEVICE void run() const {
    const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory());
    const uint32_t staging = shared + p_.stages * Config::kPlan.stage_bytes;
    const uint32_t barriers = staging + Config::kPlan.staging_bytes;
    const uint32_t scale_slots = barriers + Config::kPlan.barrier_bytes;
    const mainloop::Ring ring(barriers, p_.stages);
    const uint32_t cluster_m = p_.tiles.cluster_m, cluster_n = p_.tiles.cluster_n;

    if (arch::thread_index().x == 0) {
      constexpr uint32_t kConsumerWarps = 4 * Config::kConsumers;
      uint32_t full_arrivals = mainloop::Fp8Loads<Config>::kFullArrivals;
      if constexpr (Config::kBlockScales) {
        if (p_.block_scales) full_arrivals += mainloop::Fp8BlockScales<Config>::kArrivals;
      }
      ring.init(full_arrivals, kConsumerWarps * (cluster_m + cluster_n - 1));
      name_stages(shared, scale_slots);
      prefetch_maps();
    }
    if (cluster_m * cluster_n > 1) {
      arch::cluster_arrive();
      arch::cluster_wait();
    } else {
      arch::sync_threads();
    }
    arch::launch_dependents();
    arch::grid_dependency_wait();

    if (arch::warp_index() >= 4 * Config::kConsumers) {
      produce_tiles(ring, mainloop::Fp8Loads<Config>{shared, scale_slots});
    } else {
      compute_tiles(ring, mainloop::WgmmaFp8<Config>{shared, scale_slots, p_.block_scales}, staging);
    }

    // Peers may still multicast into this CTA's stages and arrive on its barriers.
    if (cluster_m * cluster_n > 1) {
      arch::cluster_arrive();
      arch::cluster_wait();
    }
  }

 private:
  static constexpr bool kReallocate = Config::kConsumers == 2;

  TILEWRIGHT_DEVICE uint32_t first_cluster() const {
    return arch::block_index().x / (p_.tiles.cluster_m * p_.tiles.cluster_n);
  }
  TILEWRIGHT_DEVICE uint32_t clusters() const {
    return arch::grid_dim().x / (p_.tiles.cluster_m * p_.tiles.cluster_n);
  }

  TILEWRIGHT_DEVICE void produce_tiles(const mainloop::Ring& ring,
                                       const mainloop::Fp8Loads<Config>& loads) const {
    arch::name_role("producer");
    if constexpr (kReallocate) arch::setmaxnreg_dec<24>();
    constexpr bool kTma = Config::kLoad == kernels::Load::tma;
    if constexpr (kTma && Config::kBlockScales) {
      using Scales = mainloop::Fp8BlockScales<Config>;
      if (p_.block_scales && Scales::is_loader()) return produce_scales(ring, Scales{loads.scale_slots});
    }
    if (kTma && arch::warp_index() != 4 * Config::kConsumers) return;
    if (kTma && !arch::elect_one()) return;
    const uint32_t k_tiles = EpilogueScalars(p_).k_tiles(p_);
    const uint32_t rank = arch::cluster_rank(), step = clusters();
    mainloop::RingPosition at;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = first_cluster(); i < p_.tiles.clusters_total; i += step) {
      const schedule::TileCoord tile = p_.tiles.tile(i, rank);
      if constexpr (kTma) {
        loads.load_tile(p_, ring, at, tile, k_tiles);
      } else {
        loads.copy_tile(p_, ring, at, tile, k_tiles);
      }
    }
  }

  /// The warp that brings block scales beside the tiles that one thread loads.
  template <class Scales>
  TILEWRIGHT_DEVICE void produce_scales(const mainloop::Ring& ring, const Scales& scales) const {
    arch::name_role("scales");
    const uint32_t k_tiles = EpilogueScalars(p_).k_tiles(p_);
    const uint32_t rank = arch::cluster_rank(), step = clusters();
    mainloop::RingPosition at;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = first_cluster(); i < p_.tiles.clusters_total; i += step)
      scales.load_tile(p_, ring, at, p_.tiles.tile(i, rank), k_tiles);
  }

  TILEWRIGHT_DEVICE void compute_tiles(const mainloop::Ring& ring, const mainloop::WgmmaFp8<Config>& loop,
                                       uint32_t staging) const {
    arch::name_role("consumer");
    if constexpr (kReallocate) arch::setmaxnreg_inc<240>();
    const EpilogueScalars scalars(p_);
    const uint32_t k_tiles = scalars.k_tiles(p_);
    const mainloop::Releaser releaser(ring, p_.tiles.cluster_m, p_.tiles.cluster_n);
    const uint32_t step = clusters();
    Epilogue epilogue(p_, scalars, staging);
    StoreInShadow<Config, Epilogue> shadow(epilogue, p_, scalars);
    mainloop::RingPosition at;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = first_cluster(); i < p_.tiles.clusters_total; i += step) {
      shadow.current_index = i;
      loop.multiply(ring, releaser, at, k_tiles, p_.group_tiles, shadow);
      shadow.finish_tile(p_.d_tma);
    }
    loop.store_rest(shadow);
    epilogue.finish();
  }

  /// Descriptors into the descriptor cache before the first copy asks for them.
  TILEWRIGHT_DEVICE void prefetch_maps() const {
    if (Config::kLoad == kernels::Load::tma && p_.k_tiles != 0) {
      arch::prefetch_tensor_map(&p_.a_map);
      arch::prefetch_tensor_map(&p_.b_map);
    }
    if (p_.d_tma) arch::prefetch_tensor_map(&p_.d_map);
  }

  TILEWRIGHT_DEVICE void name_stages(uint32_t shared, uint32_t scale_slots) const {
    constexpr uint32_t kBytesA = Config::kTileM * kernels::kFp8TileK;
    constexpr uint32_t kBytesB = Config::kTileN * kernels::kFp8TileK;
    for (uint32_t s = 0; s < p_.stages; ++s) {
      const uint32_t stage = shared + s * Config::kPlan.stage_bytes;
      arch::name_shared(stage, kBytesA, "A", static_cast<int>(s));
      arch::name_shared(stage + kBytesA, kBytesB, "B", static_cast<int>(s));
      constexpr uint32_t kSlot = Config::kPlan.scale_bytes;
      if (kSlot != 0) arch::name_shared(scale_slots + s * kSlot, kSlot, "scales", static_cast<int>(s));
    }
  }

  const kernels::Fp8GemmParams& p_;
};

}  // namespace pipeline
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
