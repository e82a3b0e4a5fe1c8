#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "tilewright/detail/parallel.h"
#include "tilewright/emulator/tensor_core.h"

namespace tilewright::emulator {
namespace {

constexpr int64_t kTileRows = 64;
constexpr int64_t kTileColumns = 256;
constexpr int64_t kMmaDepth = 32;

Status check(const ModelGemm& gemm) {
  const auto is_fp8 = [](MmaType type) { return type == MmaType::e4m3 || type == MmaType::e5m2; };
  if (!is_fp8(gemm.a_type) || !is_fp8(gemm.b_type)) {
    return Error{ErrorCode::not_supported, "model_gemm.type",
                 "the FP8 model takes e4m3 and e5m2 operands only"};
  }
  if (gemm.m < 0 || gemm.n < 0 || gemm.k < 0) {
    return Error{ErrorCode::invalid_argument, "model_gemm.extent",
                 "extents " + std::to_string(gemm.m) + " x " + std::to_string(gemm.n) + " x " +
                     std::to_string(gemm.k) + ": none may be negative"};
  }
  if (gemm.m > int64_t{std::numeric_limits<int>::max()}) {
    return Error{ErrorCode::out_of_range, "model_gemm.extent", "M is above 2^31 - 1"};
  }
  if (!gemm.fast && gemm.interval < 1) {
    return Error{ErrorCode::invalid_argument, "accumulation.interval",
                 "promotion interval " + std::to_string(gemm.interval) +
                     " is below 1 MMA; the nearest legal value is 1"};
  }
  return std::nullopt;
}

// out[tile_rows][32] = codes[row .. row + rows)[k .. k + 32), zeros (code 0) outside the matrix.
void gather(const uint8_t* codes, int64_t ld, int64_t row, int64_t rows, int64_t k, int64_t depth,
            int64_t tile_rows, uint8_t* out) {
  std::memset(out, 0, static_cast<size_t>(tile_rows * kMmaDepth));
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(out + r * kMmaDepth, codes + (row + r) * ld + k, static_cast<size_t>(depth));
  }
}

struct Scratch {
  std::array<uint8_t, kTileRows * kMmaDepth> a;
  std::array<uint8_t, kTileColumns * kMmaDepth> b;
  std::array<uint32_t, kTileRows * kTileColumns> group;
  std::array<float, kTileRows * kTileColumns> total;
};

// Promotes the results of block `block` along K, multiplied by their scales.
void add_scaled(const ModelGemm& gemm, int64_t row, int64_t rows, int64_t column, int64_t columns,
                int64_t block, Scratch& scratch) {
  const int64_t tile_columns = (columns + 7) / 8 * 8;
  const auto scale = [&](const ModelScales& s, int64_t line) {
    return s.data[line / s.lines * s.line_stride + block * s.k_stride];
  };
  for (int64_t r = 0; r < rows; ++r) {
    const float a = scale(gemm.a_scales, row + r);
    for (int64_t c = 0; c < columns; ++c) {
      const float factor = a * scale(gemm.b_scales, column + c);
      const auto at = static_cast<size_t>(r * tile_columns + c);
      const float group = __builtin_bit_cast(float, scratch.group[at]);
      scratch.total[at] = block == 0 ? group * factor : std::fma(group, factor, scratch.total[at]);
    }
  }
}

// One tile of at most 64 x 256 results, at (row, column).
void model_tile(const ModelGemm& gemm, int64_t row, int64_t column, float* d, int64_t ldd, Scratch& scratch) {
  const int64_t rows = std::min(kTileRows, gemm.m - row);
  const int64_t columns = std::min(kTileColumns, gemm.n - column);
  const int64_t tile_columns = (columns + 7) / 8 * 8;
  const WgmmaInstruction mma{static_cast<int>(tile_columns), gemm.a_type, gemm.b_type, AccumulatorType::f32};
  const int64_t mmas = (gemm.k + kMmaDepth - 1) / kMmaDepth;
  const int64_t interval = gemm.fast ? mmas : gemm.interval;

  scratch.total.fill(0.0f);
  for (int64_t i = 0; i < mmas; ++i) {
    const int64_t k = i * kMmaDepth;
    const int64_t depth = std::min(kMmaDepth, gemm.k - k);
    gather(gemm.a, gemm.lda, row, rows, k, depth, kTileRows, scratch.a.data());
    gather(gemm.b, gemm.ldb, column, columns, k, depth, tile_columns, scratch.b.data());
    tensor_core_multiply(mma, scratch.a.data(), scratch.b.data(), scratch.group.data(), i % interval != 0);
    if ((i + 1) % interval != 0 && i + 1 != mmas) continue;
    if (gemm.a_scales.data != nullptr) {
      add_scaled(gemm, row, rows, column, columns, i / interval, scratch);
      continue;
    }
    for (int64_t e = 0; e < kTileRows * tile_columns; ++e) {
      const auto at = static_cast<size_t>(e);
      const float group = __builtin_bit_cast(float, scratch.group[at]);
      scratch.total[at] = i < interval ? group : scratch.total[at] + group;
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(&scratch.total[static_cast<size_t>(r * tile_columns)], columns, d + (row + r) * ldd + column);
  }
}

}  // namespace

Status model_gemm_fp8(const ModelGemm& gemm, float* d, int64_t ldd,
                      const std::function<void(int, int)>& progress) {
  if (Status error = check(gemm)) return error;
  const auto row_blocks = static_cast<int>((gemm.m + kTileRows - 1) / kTileRows);
  const auto work = [&](int block) {
    const auto scratch = std::make_unique<Scratch>();
    for (int64_t column = 0; column < gemm.n; column += kTileColumns) {
      model_tile(gemm, block * kTileRows, column, d, ldd, *scratch);
    }
  };
  detail::parallel_blocks(row_blocks, gemm.threads, work, progress);
  return std::nullopt;
}

}  // namespace tilewright::emulator
