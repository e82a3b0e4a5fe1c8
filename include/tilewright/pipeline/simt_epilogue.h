// What happens to an FP32 tile after its K loop: sums of several CTAs are added, alpha, beta and C applied,
// then the caller's function, and the results stored.
#pragma once

#include "tilewright/arch/math.h"
#include "tilewright/mainloop/simt_f32.h"
#include "tilewright/mainloop/simt_gemm_params.h"
#include "tilewright/mainloop/simt_work.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline {

/// The function applied to each result by default: none.
struct Identity {
  /// value: alpha * sum + beta * C of D's element (row, column) in the batch.
  TILEWRIGHT_DEVICE float operator()(float value, uint32_t /*row*/, uint32_t /*column*/,
                                     uint32_t /*batch*/) const {
    return value;
  }
};

/// Config::Tile gives the shape of a thread's accumulators.
template <class Config, class Function>
class SimtEpilogue {
 public:
  using Tile = typename Config::Tile;
  using Accumulators = typename Tile::Accumulators;
  static constexpr int kThreadM = Config::kPlan.thread_m, kThreadN = Config::kPlan.thread_n;
  static constexpr uint32_t kConsumers = Config::kPlan.consumers;
  static constexpr uint32_t kElements = kConsumers * kThreadM * kThreadN;  // of a tile

  /// thread: of the consumers.
  TILEWRIGHT_DEVICE SimtEpilogue(const kernels::SimtGemmParams& p, const Function& function, uint32_t thread)
      : p_(p), function_(function), thread_(thread) {}

  /// Keeps the sums of a segment for simt_fixup. Accumulator i of all threads lies together.
  TILEWRIGHT_DEVICE void keep(const Accumulators& acc, uint32_t cta, uint32_t place) const {
    float* to = partials(cta, place);
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kThreadM * kThreadN; ++i) {
      to[static_cast<uint32_t>(i) * kConsumers] = acc[i / kThreadN][i % kThreadN];
    }
  }

  /// `Count` neighbours in a row of this thread's accumulators, the `group`-th, of a tile that several CTAs
  /// computed: adds up their sums in the order of K and stores them. tile: index among the shared tiles.
  template <uint32_t Count>
  TILEWRIGHT_DEVICE void add_and_store(uint32_t tile, uint32_t group) const {
    using kernels::SimtWork;
    const uint32_t begin = tile * p_.k_tiles;
    const uint32_t first = SimtWork::cta_of(p_, begin), last = SimtWork::cta_of(p_, begin + p_.k_tiles - 1);
    if (first == last) return;  // the CTA that computed it alone has stored it
    // Only the first may have begun the tile.
    const float* from =
        partials(first, SimtWork::piece_begin(p_, first) <= begin ? 1 : 0) + Count * group * kConsumers;
    float sum[Count];
    TILEWRIGHT_UNROLL
    for (uint32_t j = 0; j < Count; ++j) sum[j] = from[j * kConsumers];
    from = partials(first + 1, 0) + Count * group * kConsumers;
    // Loads of a batch are under way together; what counts here is their latency.
    constexpr uint32_t kBatch = Count == 1 ? 32 : 8;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t cta = first + 1; cta <= last; cta += kBatch) {
      float part[kBatch][Count];
      TILEWRIGHT_UNROLL
      for (uint32_t c = 0; c < kBatch; ++c) {
        TILEWRIGHT_UNROLL
        for (uint32_t j = 0; j < Count; ++j) {
          part[c][j] = cta + c <= last ? from[2 * kElements * c + j * kConsumers] : 0.0f;
        }
      }
      TILEWRIGHT_UNROLL
      for (uint32_t c = 0; c < kBatch; ++c) {
        if (cta + c > last) break;
        TILEWRIGHT_UNROLL
        for (uint32_t j = 0; j < Count; ++j) sum[j] = arch::add_rn(sum[j], part[c][j]);
      }
      from += 2 * kElements * kBatch;
    }
    const Place at = place(p_.tiles.tile(p_.whole_tiles + tile, 0));
    const auto i = static_cast<int>(Count * group / kThreadN), j = static_cast<int>(Count * group % kThreadN);
    const uint32_t row = at.row + Tile::row_of(i);
    if (Config::kWhole || row < p_.m)
      store_part<static_cast<int>(Count)>(sum, {row, at.column + Tile::column_of(j), at.batch}, alpha(),
                                          beta());
  }

  /// Stores a complete tile.
  TILEWRIGHT_DEVICE void store(const Accumulators& acc, schedule::TileCoord tile) const {
    const Place at = place(tile);
    const float scale = alpha(), add = beta();
    const bool inside = Config::kWhole || (at.row + Tile::row_of(kThreadM - 1) < p_.m &&
                                           at.column + Tile::column_of(kThreadN - 1) < p_.n);
    if (add == 0 && inside) {
      store_inside(acc, at, scale);
      return;
    }
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kThreadM; ++i) {
      const uint32_t row = at.row + Tile::row_of(i);
      if (Config::kWhole || row < p_.m) store_part<kThreadN>(acc[i], {row, at.column, at.batch}, scale, add);
    }
  }

 private:
  /// A thread's first element of D, or of a row of it.
  struct Place {
    uint32_t row, column, batch;
  };

  TILEWRIGHT_DEVICE float alpha() const { return scalar(p_.alpha, p_.alpha_device); }
  TILEWRIGHT_DEVICE float beta() const { return scalar(p_.beta, p_.beta_device); }
  TILEWRIGHT_DEVICE static float scalar(float host, const float* device) {
    return device == nullptr ? host : arch::mul_rn(host, *device);
  }
  TILEWRIGHT_DEVICE Place place(schedule::TileCoord tile) const {
    return {tile.m * Config::kTileM + Tile::row(thread_), tile.n * Config::kTileN + Tile::column(thread_),
            tile.batch};
  }
  TILEWRIGHT_DEVICE float* partials(uint32_t cta, uint32_t place) const {
    return p_.partials + static_cast<int64_t>(2 * cta + place) * kElements + thread_;
  }
  TILEWRIGHT_DEVICE float* destination(Place at) const {
    return p_.d + static_cast<int64_t>(at.batch) * p_.d_batch_stride +
           static_cast<int64_t>(at.row) * p_.d_row_stride + at.column * column_stride();
  }
  TILEWRIGHT_DEVICE int64_t column_stride() const { return Config::kTileM <= 32 ? p_.d_column_stride : 1; }

  TILEWRIGHT_DEVICE void store_inside(const Accumulators& acc, Place at, float scale) const {
    float* const first = destination(at);
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kThreadM; ++i) {
      float* d = first + static_cast<int64_t>(Tile::row_of(i)) * p_.d_row_stride;
      TILEWRIGHT_UNROLL
      for (int j = 0; j < kThreadN; ++j) {
        d[Tile::column_of(j) * column_stride()] =
            function_(arch::mul_rn(scale, acc[i][j]), at.row + Tile::row_of(i),
                      at.column + Tile::column_of(j), at.batch);
      }
    }
  }

  /// A row of results, or four neighbours, at the edges of D or with C.
  template <int Count>
  TILEWRIGHT_DEVICE void store_part(const float (&sum)[Count], Place at, float scale, float add) const {
    float* const d = destination(at);
    const float* const c = p_.c + static_cast<int64_t>(at.batch) * p_.c_batch_stride +
                           static_cast<int64_t>(at.row) * p_.c_row_stride +
                           static_cast<int64_t>(at.column) * p_.c_column_stride;
    TILEWRIGHT_UNROLL
    for (int j = 0; j < Count; ++j) {
      const uint32_t column = at.column + Tile::column_of(j);
      if (!Config::kWhole && column >= p_.n) continue;
      float value = arch::mul_rn(scale, sum[j]);
      if (add != 0) value = arch::fma_rn(add, c[Tile::column_of(j) * p_.c_column_stride], value);
      d[Tile::column_of(j) * column_stride()] = function_(value, at.row, column, at.batch);
    }
  }

  const kernels::SimtGemmParams& p_;
  const Function& function_;
  uint32_t thread_;
};

}  // namespace pipeline
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
