// How one block computes one tile with wgmma: who computes what, in how many pieces, with how many registers
// and how much shared memory. Mode-neutral: rules, hosts and kernels read the same numbers.
//
// Warpgroups stand in a grid over the tile. A warpgroup's rows and columns are cut into parts of 64 x part_n,
// one chain of wgmma each.
#pragma once

#include <cstdint>

namespace tilewright::tiles {

inline constexpr int kMaxTileDepth = 16;              // stages of a ring
inline constexpr uint32_t kTileSharedLimit = 232448;  // bytes one block may use on sm_90
inline constexpr int kStageAlignment = 1024;          // bytes: the 128-byte swizzle pattern
inline constexpr uint32_t kStageBarrierBytes = 16;    // a full and an empty barrier

/// What the plan depends on.
struct WgmmaTileShape {
  int m = 0, n = 0, k = 0;        // elements
  int threads = 0;                // that compute
  int bytes_a = 1, bytes_b = 1;   // of an element
  bool integer = false;           // s8 or u8
  bool half_accumulator = false;  // f16 pairs
  int interval = 0;               // MMAs between promotions; 0: never
  bool mn_major_a = false, mn_major_b = false;
  int cluster_m = 1, cluster_n = 1;  // blocks: A is shared along the cluster's N, B along its M
  /// Parts whose sum is an operand, one behind the other in a K tile: k elements each, the high one first.
  /// With two of them products are high x high, high x low and low x high.
  int splits = 1;
  /// Matrices B that A is multiplied with: a product of each.
  int products = 1;
  bool tunable = false;  // cluster (up to cluster_m x cluster_n), stages and groups: numbers of the launch
  bool copied = false;   // operands come by cp.async or through registers (copied_loads.h): any alignment
  bool scaled = false;   // sums of a K tile are multiplied with scales of rows and of columns when promoted

  /// Elements of a row of an operand in a stage.
  constexpr int stage_k() const { return k * splits; }
};

struct WgmmaTilePlan {
  int groups_m = 1, groups_n = 1;  // warpgroups along M and N
  int parts_m = 1, parts_n = 1;    // of a warpgroup
  int part_n = 0;                  // columns of one wgmma; 0: the tile cannot be cut
  int registers = 0;               // 32-bit accumulators of one part, a thread
  int mmas = 0;                    // of one product along the K tile: 32 bytes of K each
  int live_registers = 0;          // accumulators of all parts, and the temporary of a promoted tile
  int register_limit = 0;          // for them, in a block of so many threads
  int shared_register_limit = 0;   // the same where registers are not reallocated between the roles
  uint32_t stage_bytes = 0;        // A tile and B tile, filled up to a multiple of 1024
  uint32_t scale_bytes = 0;  // beside a stage: FP32 scales of its rows, then of up to 4 blocks of columns
  int max_depth = 0;         // stages that fit, barriers included; at most kMaxTileDepth

  /// Shared memory of so many stages.
  constexpr uint32_t ring_bytes(uint32_t stages) const {
    return stages * (stage_bytes + kStageBarrierBytes + scale_bytes);
  }
  /// The same, and where aligned memory begins behind it.
  constexpr uint32_t ring_end(uint32_t stages) const {
    return (ring_bytes(stages) + kStageAlignment - 1) / kStageAlignment * kStageAlignment;
  }

  int products = 1;  // of the tile
  constexpr int parts_of_product() const { return parts_m * parts_n; }
  constexpr int parts() const { return parts_of_product() * products; }
};

/// Rows and columns that a block of so many threads computes in whole wgmmas (0: no such block).
constexpr int wgmma_granularity_m(int threads) {
  return threads == 128 ? 64 : threads == 256 || threads == 512 ? 128 : threads == 1024 ? 256 : 0;
}
constexpr int wgmma_granularity_n(int threads) {
  return threads == 128 || threads == 256 ? 8 : threads == 512 || threads == 1024 ? 16 : 0;
}

/// Registers a thread may hold as accumulators, so that addresses and epilogues fit beside them. A block of
/// 128 computing threads has 255 a thread; 256 have 240 of reallocated ones, or 168; 512 have 112, or 96.
constexpr int wgmma_register_limit(int threads, bool reallocated) {
  if (threads == 128) return 192;
  if (threads == 256) return reallocated ? 192 : 128;
  return reallocated ? 64 : 32;
}

namespace detail {

constexpr bool is_part_n(int n, bool integer) {
  return n >= 8 && n <= 256 && n % 8 == 0 && (!integer || n <= 24 || n % 16 == 0);
}

}  // namespace detail

/// Columns of B that share a scale of a scaled tile.
inline constexpr int kScaleColumns = 128;
/// FP32 scales of an operand: that of line i (a row of A, kScaleColumns columns of B) and K tile j of a batch
/// is data[batch * batch_stride + i * line_stride + j * k_stride].
struct ScaleLines {
  const float* data = nullptr;
  int64_t line_stride = 0, k_stride = 0, batch_stride = 0;
};

/// Whole tiles only: m and n multiples of the granularities, k of 32 bytes.
constexpr WgmmaTilePlan wgmma_tile_plan(const WgmmaTileShape& s) {
  WgmmaTilePlan p;
  p.register_limit = wgmma_register_limit(s.threads, true);
  p.shared_register_limit = wgmma_register_limit(s.threads, false);
  p.products = s.products;
  const int bytes = s.m * s.stage_k() * s.bytes_a + s.products * s.n * s.stage_k() * s.bytes_b;
  p.stage_bytes = static_cast<uint32_t>((bytes + kStageAlignment - 1) / kStageAlignment * kStageAlignment);
  if (s.scaled) p.scale_bytes = static_cast<uint32_t>(4 * s.m + 16);
  const uint32_t fit = kTileSharedLimit / p.ring_bytes(1);
  p.max_depth = fit < kMaxTileDepth ? static_cast<int>(fit) : kMaxTileDepth;
  p.mmas = s.k * s.bytes_a / 32;

  const int granularity = wgmma_granularity_m(s.threads);
  if (granularity == 0) return p;
  p.groups_m = granularity / 64;
  p.groups_n = wgmma_granularity_n(s.threads) / 8;
  p.parts_m = s.m / granularity;
  const int columns = s.n / p.groups_n;
  // The widest parts that fit: a promoted tile needs one more part as its temporary.
  for (int parts = 1; parts <= columns / 8; ++parts) {
    if (columns % parts != 0 || !detail::is_part_n(columns / parts, s.integer)) continue;
    p.parts_n = parts;
    p.part_n = columns / parts;
    p.registers = p.part_n / (s.half_accumulator ? 4 : 2);
    p.live_registers = (p.parts() + (s.interval != 0 ? 1 : 0)) * p.registers;
    if (p.live_registers <= p.register_limit) break;
    if (s.interval == 0 || p.part_n <= 64) break;  // narrower parts would not help
  }
  return p;
}

/// Whether a promotion after every `interval` MMAs is possible: a part of a K tile, or whole K tiles where
/// one part has the temporary to itself.
constexpr bool wgmma_interval_fits(const WgmmaTilePlan& p, int interval) {
  if (interval == 0 || p.mmas == 0) return true;
  if (interval <= p.mmas) return p.mmas % interval == 0;
  return interval % p.mmas == 0 && p.parts() == 1;
}

/// Whether a tile can be tuned by the launch: one copy brings what a block loads of an operand, K tiles are
/// 128 bytes.
constexpr bool wgmma_tunable_fits(const WgmmaTileShape& s) {
  const auto is_extent = [](int blocks) { return (blocks & (blocks - 1)) == 0; };
  return s.k * s.bytes_a == 128 && s.splits == 1 && s.products == 1 && !s.mn_major_a && !s.mn_major_b &&
         s.threads <= 256 && s.m <= 256 && s.n <= 256 && is_extent(s.cluster_m) && is_extent(s.cluster_n) &&
         s.m % (8 * s.cluster_n) == 0 && s.n % (8 * s.cluster_m) == 0;
}

/// Whether the first group of a promoted sum goes through the temporary (mainloop/wgmma_tile.h). Then no
/// group spans K tiles; a tunable tile that is not a large one is rather free in that.
constexpr bool wgmma_begins_in_temporary(const WgmmaTileShape& s) {
  const WgmmaTilePlan p = wgmma_tile_plan(s);
  return s.interval == p.mmas && p.parts() == 2 && !s.half_accumulator && !s.integer &&
         (!s.tunable || s.m * s.n == 128 * 256);
}

}  // namespace tilewright::tiles
