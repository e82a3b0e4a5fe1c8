// The K loop of one product in memory that all threads see, without a pipeline of stages.
#pragma once

#include <cstdint>

#include "tilewright/arch/index.h"
#include "tilewright/config.h"
#include "tilewright/layout/tensor_shape.h"
#include "tilewright/mainloop/mma_sync_operands.h"
#include "tilewright/mainloop/mma_sync_product.h"
#include "tilewright/mainloop/mma_sync_tile.h"
#include "tilewright/mainloop/simt_block_plan.h"
#include "tilewright/mainloop/simt_complex.h"
#include "tilewright/mainloop/simt_f32.h"
#include "tilewright/mainloop/simt_tile.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// An operand that lies at a shared address as MmaSyncOperand reads it.
template <class Config, bool IsA>
class MmaSyncStaged {
 public:
  /// Steps may be unrolled.
  static constexpr bool kUnrolls = true;

  TILEWRIGHT_DEVICE MmaSyncStaged(uint32_t first, uint32_t start) : operand_(first), start_(start) {}

  TILEWRIGHT_DEVICE void load(typename MmaSyncOperand<Config, IsA>::Words& words, uint32_t step) const {
    operand_.load(words, start_, step);
  }

 private:
  MmaSyncOperand<Config, IsA> operand_;
  uint32_t start_;
};

/// acc += A B with mma.sync. a, b: load(words, step) for each step of K. Whole warps.
template <class Config, class A, class B>
TILEWRIGHT_DEVICE void multiply_block(typename Config::Accumulators& acc, const A& a, const B& b) {
  using Product = MmaSyncProduct<Config>;
  using Operands = typename Product::Operands;
  constexpr auto kSteps = static_cast<uint32_t>(Config::kPlan.steps);
  constexpr bool kUnrolls = requires { A::kUnrolls; }
  &&requires { B::kUnrolls; };
  if constexpr (kUnrolls && Config::kPlan.buffers == 2 && kSteps <= 16) {
    Operands operands[2];
    a.load(operands[0].a, 0);
    b.load(operands[0].b, 0);
    TILEWRIGHT_UNROLL
    for (uint32_t step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) {
        a.load(operands[(step + 1) % 2].a, step + 1);
        b.load(operands[(step + 1) % 2].b, step + 1);
      }
      Product::multiply(acc, operands[step % 2]);
    }
  } else {
    Operands operands;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t step = 0; step < kSteps; ++step) {
      a.load(operands.a, step);
      b.load(operands.b, step);
      Product::multiply(acc, operands);
    }
  }
}

/// An FP32 product on the ordinary cores, as a type. The pitches are those of operands that lie as
/// SimtTile::load reads them: [k][row], without padding where whole warps cover the tile.
template <tiles::SimtBlockShape BlockShape>
struct SimtBlockConfig {
  using Register = float;
  struct Shape {
    int m, n, threads;
    bool is_complex;
  };
  static constexpr tiles::SimtBlockPlan kPlan = tiles::simt_block_plan(BlockShape);
  static constexpr Shape kShape{kPlan.m, kPlan.n, BlockShape.threads, BlockShape.is_complex};
  static constexpr auto kDepth = static_cast<uint32_t>(BlockShape.k);
  static constexpr bool kComplex = BlockShape.is_complex;
  static constexpr bool kWhole = kPlan.m == BlockShape.m && kPlan.n == BlockShape.n;
  static constexpr auto kPitchA = static_cast<uint32_t>(kPlan.m), kPitchB = static_cast<uint32_t>(kPlan.n);
  using RealTile = SimtTile<kPlan.m, kPlan.n, kPlan.thread_m, kPlan.thread_n, kPitchA, kPitchB>;
  using Tile = std::conditional_t<kComplex, SimtComplexTile<RealTile>, RealTile>;

  /// The calling thread among those that compute.
  static TILEWRIGHT_DEVICE uint32_t thread() { return arch::linear_thread_index(); }
};

/// acc += A B, operands at shared addresses, [k][row].
template <class Config>
TILEWRIGHT_DEVICE void multiply_staged_simt(typename Config::Tile::Accumulators& acc, uint32_t a,
                                            uint32_t b) {
  using Tile = typename Config::Tile;
  const uint32_t thread = Config::thread();
  a += 4 * Tile::row(thread);
  b += 4 * Tile::column(thread);
  constexpr uint32_t kTogether = Config::kDepth % 4 == 0 ? 4 : 1;  // unrolled
  typename Tile::Fragment f;
  TILEWRIGHT_NO_UNROLL
  for (uint32_t first = 0; first < Config::kDepth; first += kTogether) {
    TILEWRIGHT_UNROLL
    for (uint32_t k = 0; k < kTogether; ++k) {
      Tile::load(f, a, b, first + k);
      Tile::multiply(acc, f);
    }
  }
}

/// acc += A B, element by element. a(row, k), b(column, k): elements, zero where there are none.
template <class Config, class GetA, class GetB>
TILEWRIGHT_DEVICE void multiply_block_simt(typename Config::Tile::Accumulators& acc, const GetA& a,
                                           const GetB& b) {
  using Tile = typename Config::Tile;
  const uint32_t row = Tile::row(Config::thread()), column = Tile::column(Config::thread());
  typename Tile::Fragment f;
  TILEWRIGHT_NO_UNROLL
  for (uint32_t k = 0; k < Config::kDepth; ++k) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Config::kPlan.thread_m; ++i) {
      const auto number = a(row + Tile::row_of(i), k);
      if constexpr (Config::kComplex) {
        f.real.a[i] = number.x;
        f.imaginary.a[i] = number.y;
      } else {
        f.a[i] = number;
      }
    }
    TILEWRIGHT_UNROLL
    for (int j = 0; j < Config::kPlan.thread_n; ++j) {
      const auto number = b(column + Tile::column_of(j), k);
      if constexpr (Config::kComplex) {
        f.real.b[j] = number.x;
        f.imaginary.b[j] = number.y;
      } else {
        f.b[j] = number;
      }
    }
    Tile::multiply(acc, f);
  }
}

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
