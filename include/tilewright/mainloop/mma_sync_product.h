// One step of K of a tile with mma.sync, operands in registers.
#pragma once

#include <type_traits>

#include "tilewright/arch/convert.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/mma_sync.h"
#include "tilewright/config.h"
#include "tilewright/mainloop/mma_sync_operands.h"
#include "tilewright/mainloop/mma_sync_tile.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// One warp's MMAs of a step.
template <class Config>
class MmaSyncProduct {
  using Word = typename MmaSyncOperand<Config, true>::Word;
  using Register = typename Config::Register;
  using Tile = Register[Config::kRegisters];

 public:
  using Accumulators = typename Config::Accumulators;

  struct Operands {
    typename MmaSyncOperand<Config, true>::Words a;
    typename MmaSyncOperand<Config, false>::Words b;
  };

  TILEWRIGHT_DEVICE static void clear(Accumulators& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Config::kParts; ++part) {
      TILEWRIGHT_UNROLL
      for (int m = 0; m < Config::kTilesM; ++m) {
        TILEWRIGHT_UNROLL
        for (int n = 0; n < Config::kTilesN; ++n) {
          TILEWRIGHT_UNROLL
          for (int i = 0; i < Config::kRegisters; ++i) acc[part][m][n][i] = 0;
        }
      }
    }
  }

  /// acc += a b. Whole warps.
  TILEWRIGHT_DEVICE static void multiply(Accumulators& acc, const Operands& with) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Config::kParts; ++part) {
      TILEWRIGHT_UNROLL
      for (int n = 0; n < Config::kTilesN; ++n) {
        Word b[2];
        factor(b, with.b[n], part);
        TILEWRIGHT_UNROLL
        for (int m = 0; m < Config::kTilesM; ++m) multiply(acc[part][m][n], with.a[m], b);
      }
    }
  }

 private:
  /// What A's parts (real, imaginary) are multiplied with so that their sum is the real part of the product
  /// (B's real part, minus its imaginary one) or its imaginary part (B's imaginary part, its real one).
  TILEWRIGHT_DEVICE static void factor(Word (&to)[2], const Word (&b)[2], int part) {
    if constexpr (!Config::kShape.is_complex) {
      to[0] = b[0];
      to[1] = b[1];
    } else if constexpr (Config::kShape.number_bytes == 2) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 2; ++i)
        to[i] = part == 0 ? b[i] ^ 0x80000000u : arch::permute_bytes(b[i], 0, 0x1032);
    } else {
      to[0] = part == 0 ? b[0] : b[1];
      if constexpr (std::is_same_v<Word, double>) {
        to[1] = part == 0 ? -b[1] : b[0];
      } else {
        to[1] = part == 0 ? b[1] ^ 0x80000000u : b[0];
      }
    }
  }

  /// One MMA of 16 x 8 and a step of K.
  TILEWRIGHT_DEVICE static void multiply(Tile& acc, const Word (&a)[4], const Word (&b)[2]) {
    using A = typename Config::A;
    using B = typename Config::B;
    if constexpr (std::is_same_v<Word, double>) {
      multiply_doubles(acc, a, b);
    } else {
      constexpr arch::MmaShape kShape = sizeof(A) == 4   ? arch::m16n8k8
                                        : sizeof(A) == 2 ? arch::m16n8k16
                                                         : arch::m16n8k32;
      if constexpr (Config::kShape.promote) {
        Tile sum = {};
        arch::mma_sync<kShape, A, B>(sum, a, b, sum);
        TILEWRIGHT_UNROLL
        for (int i = 0; i < Config::kRegisters; ++i) acc[i] = arch::add_rn(acc[i], sum[i]);
      } else {
        arch::mma_sync<kShape, A, B>(acc, a, b, acc);
      }
    }
  }

  /// Before sm_90 the only shape of doubles is 8 x 8 x 4; the chain of multiply-adds is the same.
  TILEWRIGHT_DEVICE static void multiply_doubles(double (&acc)[4], const double (&a)[4],
                                                 const double (&b)[2]) {
    if constexpr (Config::kShape.sm >= 900) {
      arch::mma_sync<arch::m16n8k8, double, double>(acc, a, b, acc);
    } else {
      TILEWRIGHT_UNROLL
      for (int half = 0; half < 2; ++half) {
        double sum[2] = {acc[2 * half], acc[2 * half + 1]};
        TILEWRIGHT_UNROLL
        for (int k = 0; k < 2; ++k) {
          const double a_of_k[1] = {a[2 * k + half]}, b_of_k[1] = {b[k]};
          arch::mma_sync<arch::m8n8k4, double, double>(sum, a_of_k, b_of_k, sum);
        }
        acc[2 * half] = sum[0];
        acc[2 * half + 1] = sum[1];
      }
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
