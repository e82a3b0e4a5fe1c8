// How the operands of an FP8 GEMM reach the stages of the ring: the producer's half of the main loop.
#pragma once

#include "tilewright/arch/cluster.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/mainloop/fp8_block_scales.h"
#include "tilewright/mainloop/fp8_gemm_params.h"
#include "tilewright/mainloop/ring.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

using kernels::Fp8GemmParams;
using schedule::TileCoord;

/// Compile-time shape of an FP8 kernel. kInterval: MMAs per promotion; 0 is whole K tiles at run time.
template <int TileM, int TileN, class TypeA, class TypeB, int OutBytes, bool Promoted, int Interval,
          kernels::Load LoadKind, kernels::Scales ScalesKind = kernels::Scales::none>
struct Fp8Config {
  using A = TypeA;
  using B = TypeB;
  static constexpr int kTileM = TileM, kTileN = TileN, kOutBytes = OutBytes, kInterval = Interval;
  /// Whether there is a temporary. A kernel with vectors that does not promote has one that it never uses: as
  /// two parts, it has the registers to apply them.
  static constexpr bool kPromoted = Promoted || ScalesKind == kernels::Scales::vectors;
  static constexpr kernels::Load kLoad = LoadKind;
  static constexpr kernels::Scales kScales = ScalesKind;
  static constexpr bool kBlockScales = ScalesKind == kernels::Scales::blocks;
  static constexpr bool kVectorScales = kernels::fp8_takes_vectors(TileM, TileN, OutBytes, ScalesKind);
  static constexpr kernels::Fp8Plan kPlan = kernels::fp8_plan(TileM, TileN, OutBytes, kPromoted, ScalesKind);
  static constexpr int kParts = kPlan.parts;
  static constexpr bool kThroughTemporary = kernels::fp8_first_through_temporary(
      {TileM, TileN, DType::e4m3, DType::e4m3, OutBytes, Promoted, Interval, LoadKind, ScalesKind});
  static constexpr int kPartN = kPlan.part_n;
  static constexpr int kRegisters = kPartN / 2;  // accumulators of one part, per thread
  static constexpr int kConsumers = kPlan.consumer_warpgroups;

  static_assert(TileM == 64 || TileM == 128 || TileM == 256, "tile M is 64, 128 or 256");
  static_assert(TileN % 64 == 0 && TileN >= 64 && TileN <= 256, "tile N is 64, 128, 192 or 256");
  static_assert(Interval == 0 || Interval == 1 || Interval == 2,
                "a promotion interval is 1, 2 or whole K tiles of 4 MMAs");
  static_assert(Interval == 0 || kParts == 1, "an interval below one K tile needs one part per warpgroup");
  static_assert(ScalesKind == kernels::Scales::none || Interval == 0,
                "kernels with scales promote after whole K tiles");
  static_assert(ScalesKind != kernels::Scales::blocks || Promoted, "block scales are applied at promotion");
  static_assert(kParts * kRegisters + (kPromoted ? kRegisters : 0) <= 192,
                "main and temporary accumulators exceed 192 registers a thread");
};

/// A stage is the A tile [m][k], then the B tile [n][k], rows of 128 bytes in the 128-byte swizzle.
template <class Config>
struct Fp8Loads {
  static constexpr uint32_t kStageBytes = Config::kPlan.stage_bytes;
  static constexpr uint32_t kBytesA = Config::kTileM * kernels::kFp8TileK;
  /// Threads that arrive on a full barrier, besides those that bring block scales.
  static constexpr uint32_t kFullArrivals = Config::kLoad == kernels::Load::tma ? 1 : 128;

  uint32_t stages;           // shared address of the first
  uint32_t scale_slots = 0;  // of Fp8BlockScales

  /// One thread: loads the K tiles of one output tile by TMA. In a cluster each CTA loads its share of the
  /// rows and multicasts it to the CTAs that need the same rows: A along the cluster's N, B along its M.
  TILEWRIGHT_DEVICE void load_tile(const Fp8GemmParams& p, const Ring& ring, RingPosition& at, TileCoord tile,
                                   uint32_t k_tiles) const {
    const uint32_t cluster_m = p.tiles.cluster_m, cluster_n = p.tiles.cluster_n;
    const uint32_t rank = arch::cluster_rank();
    const uint32_t rank_n = rank / cluster_m, rank_m = rank - rank_n * cluster_m;
    const uint32_t rows_a = Config::kTileM / cluster_n, rows_b = Config::kTileN / cluster_m;
    const int row_a = static_cast<int>(tile.m * Config::kTileM + rank_n * rows_a);
    const int row_b = static_cast<int>(tile.n * Config::kTileN + rank_m * rows_b);
    const int batch_a = static_cast<int>(tile.batch * p.a_batch_step);
    const int batch_b = static_cast<int>(tile.batch * p.b_batch_step);
    // Ranks run M fastest: a row of the cluster is every cluster_m-th rank, a column is cluster_m adjacent
    // ones.
    const uint32_t row_of_ranks = cluster_n == 1 ? 1 : 1 | (1u << cluster_m);
    const auto mask_a = static_cast<uint16_t>(row_of_ranks << rank_m);
    const auto mask_b = static_cast<uint16_t>(((1u << cluster_m) - 1) << (rank_n * cluster_m));
    const uint32_t to_a = stages + rank_n * rows_a * kernels::kFp8TileK;
    const uint32_t to_b = stages + kBytesA + rank_m * rows_b * kernels::kFp8TileK;

    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      const uint32_t full = ring.full_barrier(at);
      const uint32_t stage = at.stage * kStageBytes;
      const int k = static_cast<int>(kt * kernels::kFp8TileK);
      arch::mbarrier_arrive_expect_tx(full, kStageBytes);
      if (cluster_n > 1) {
        arch::tma_load_multicast_3d(to_a + stage, &p.a_map, full, mask_a, k, row_a, batch_a);
      } else {
        arch::tma_load_3d(to_a + stage, &p.a_map, full, k, row_a, batch_a);
      }
      if (cluster_m > 1) {
        arch::tma_load_multicast_3d(to_b + stage, &p.b_map, full, mask_b, k, row_b, batch_b);
      } else {
        arch::tma_load_3d(to_b + stage, &p.b_map, full, k, row_b, batch_b);
      }
      at.advance(ring.stages);
    }
  }

  /// The producer warpgroup: the same by ordinary loads, for operands that TMA cannot address. Rows and
  /// columns past the edge are filled with zeros, as TMA does.
  TILEWRIGHT_DEVICE void copy_tile(const Fp8GemmParams& p, const Ring& ring, RingPosition& at, TileCoord tile,
                                   uint32_t k_tiles) const {
    const uint8_t* a = p.a + static_cast<int64_t>(tile.batch) * p.a_batch_stride;
    const uint8_t* b = p.b + static_cast<int64_t>(tile.batch) * p.b_batch_stride;
    const uint32_t row_a = tile.m * Config::kTileM, row_b = tile.n * Config::kTileN;
    [[maybe_unused]] typename Fp8BlockScales<Config>::Ahead ahead{};
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      const uint32_t stage = stages + at.stage * kStageBytes;
      copy_rows(stage, a, p.lda, row_a, Config::kTileM, p.m, kt * kernels::kFp8TileK, p.k);
      copy_rows(stage + kBytesA, b, p.ldb, row_b, Config::kTileN, p.n, kt * kernels::kFp8TileK, p.k);
      if constexpr (Config::kBlockScales) {
        using Scales = Fp8BlockScales<Config>;
        if (p.block_scales && Scales::is_loader()) Scales{scale_slots}.load(p, ring, at, tile, kt, ahead);
      }
      arch::fence_proxy_async_shared();
      arch::mbarrier_arrive(ring.full_barrier(at));
      at.advance(ring.stages);
    }
  }

 private:
  /// `rows` rows of 128 bytes from K index k0 on, into a swizzled tile.
  TILEWRIGHT_DEVICE static void copy_rows(uint32_t to, const uint8_t* from, int64_t ld, uint32_t first_row,
                                          int rows, uint32_t row_limit, uint32_t k0, uint32_t k_limit) {
    struct alignas(16) Chunk {
      uint32_t words[4];
    };
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = arch::thread_index().x % 128; i < static_cast<uint32_t>(rows) * 8; i += 128) {
      const uint32_t row = i / 8, k = k0 + i % 8 * 16;
      const uint32_t global_row = first_row + row;
      Chunk chunk{};
      if (global_row < row_limit && k < k_limit) {
        const uint8_t* source = from + static_cast<int64_t>(global_row) * ld + k;
        const uint32_t bytes = k_limit - k < 16 ? k_limit - k : 16;
        TILEWRIGHT_UNROLL
        for (uint32_t byte = 0; byte < 16; ++byte) {
          if (byte < bytes) chunk.words[byte / 4] |= static_cast<uint32_t>(source[byte]) << (8 * (byte % 4));
        }
      }
      arch::store_shared(to + row * 128 + ((i % 8 ^ row % 8) * 16), chunk);
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
