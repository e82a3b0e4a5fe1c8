// A kernel of two tiles on one CTA or a pair, for tests of tensor memory: ordinary stores fill the operands,
// one thread copies the scales and multiplies, four warps read the accumulator back.
#pragma once

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "emulator/src/swizzle.h"
#include "tests/emulator/micro.h"
#include "tilewright/arch/cluster.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tcgen05.h"
#include "tilewright/emulator/tcgen05_core.h"
#include "tilewright/layout/scale_factors.h"

namespace tilewright::emulator {

/// Operands of `groups` CTAs: rows of 128 bytes, and four scales for every row and instruction.
struct TensorData {
  static constexpr int kSteps = 4;  // instructions of 32 bytes in a row

  TensorData(int cta_group, int columns) : groups(cta_group), n(columns), a(128 * groups * 128), b(n * 128) {
    std::mt19937 random(7);
    // Small numbers in every 8-bit type, any nibbles.
    for (auto* bytes : {&a, &b}) {
      for (uint8_t& byte : *bytes) byte = static_cast<uint8_t>(random() & 0xB3);
    }
    for (int step = 0; step < kSteps; ++step) {
      a_scales[static_cast<size_t>(step)].resize(static_cast<size_t>(128 * groups));
      b_scales[static_cast<size_t>(step)].resize(256);
      for (auto* scales : {&a_scales[static_cast<size_t>(step)], &b_scales[static_cast<size_t>(step)]}) {
        for (auto& codes : *scales) {
          for (uint8_t& code : codes) code = static_cast<uint8_t>(0x70 + random() % 14);
        }
      }
    }
  }

  int groups, n;
  std::vector<uint8_t> a, b;                                                   // [row][128]
  std::array<std::vector<std::array<uint8_t, 4>>, kSteps> a_scales, b_scales;  // [step][row]
};

template <arch::Tcgen05Kind kKind, class A, class B, int kGroup>
struct TwoTiles {
  static constexpr uint32_t kN = 64;
  static constexpr uint32_t kBRows = kN / kGroup;
  // Shared memory.
  static constexpr uint32_t kDone = kSharedBase, kFree = kSharedBase + 8, kSlot = kSharedBase + 16;
  static constexpr uint32_t kA = kSharedBase + 1024, kB = kA + 16384, kScalesA = kB + 8192;
  static constexpr uint32_t kScalesB = kScalesA + 4 * 512, kEnd = kScalesB + 4 * 512;
  // Tensor memory: accumulators of both tiles in the same columns, scales behind.
  static constexpr uint32_t kColumns = 128, kColumnA = 64, kColumnB = 80;
  static constexpr int kScales = arch::mma_scales(kKind);

  static Grid grid() {
    return {.threads = 128, .ctas = kGroup, .cluster = kGroup, .shared_bytes = kEnd - kSharedBase};
  }

  const TensorData* data;
  std::vector<float>* result;  // [tile][row][column]

  void fill_shared() const {
    const uint32_t rank = cluster_rank();
    for (uint32_t row = thread_id(); row < 128; row += 128) {
      for (uint32_t byte = 0; byte < 128; byte += 16) {
        const uint32_t at = row / 8 * 1024 + row % 8 * 128 + byte;
        store_shared(swizzled(kA + at, Swizzle::b128), &data->a[(rank * 128 + row) * 128 + byte], 16);
        if (row < kBRows) {
          store_shared(swizzled(kB + at, Swizzle::b128), &data->b[(rank * kBRows + row) * 128 + byte], 16);
        }
      }
      // A packed block for every step: only the first kScales columns count.
      for (uint32_t step = 0; step < 4; ++step) {
        const auto at = static_cast<uint32_t>(512 * step + offset_in_scale_block(row, 0));
        store_shared(kScalesA + at, data->a_scales[step][rank * 128 + row].data(), 4);
        store_shared(kScalesB + at, data->b_scales[step][row].data(), 4);
      }
    }
    fence_proxy_async(ProxyFence::shared_cta);
  }

  void multiply(uint32_t base) const {
    constexpr uint32_t instruction = arch::make_instruction_descriptor<kKind, A, B>(kGroup, kN);
    for (uint32_t step = 0; step < 4; ++step) {
      const uint64_t a = arch::make_tcgen05_descriptor(kA + 32 * step, Swizzle::b128, 0, 1024);
      const uint64_t b = arch::make_tcgen05_descriptor(kB + 32 * step, Swizzle::b128, 0, 1024);
      if constexpr (kScales != 0) {
        const auto block = [](uint32_t address) {
          return arch::make_tcgen05_descriptor(address, Swizzle::none, 0, 128);
        };
        arch::tcgen05_cp_32x128b<kGroup>(base + kColumnA + 4 * step, block(kScalesA + 512 * step));
        arch::tcgen05_cp_32x128b<kGroup>(base + kColumnB + 4 * step, block(kScalesB + 512 * step));
        arch::tcgen05_mma_block_scaled<kKind, kGroup>(base, a, b, instruction, base + kColumnA + 4 * step,
                                                      base + kColumnB + 4 * step, step != 0);
      } else {
        arch::tcgen05_mma<kKind, kGroup>(base, a, b, instruction, step != 0);
      }
    }
    if constexpr (kGroup == 1) arch::tcgen05_commit<kGroup>(kDone);
    if constexpr (kGroup == 2) arch::tcgen05_commit_multicast<kGroup>(kDone, 3);
  }

  void read_back(uint32_t base, uint32_t tile) const {
    for (uint32_t column = 0; column < kN; column += 32) {
      uint32_t words[32];
      arch::tcgen05_ld_32x32b(words, arch::tmem_address(base, warp_id() % 4 * 32, column));
      arch::tcgen05_wait_ld(words);
      const uint32_t row = cluster_rank() * 128 + thread_id();
      for (uint32_t i = 0; i < 32; ++i) {
        (*result)[(tile * 128 * kGroup + row) * kN + column + i] = __builtin_bit_cast(float, words[i]);
      }
    }
  }

  void operator()() const {
    arch::name_barrier(kDone, "done");
    arch::name_barrier(kFree, "free");
    init_barriers(kDone, {1, 128 * kGroup}, kGroup == 2);
    if (warp_id() == 0) {
      arch::tcgen05_alloc<kGroup>(kSlot, kColumns);
      arch::tcgen05_relinquish<kGroup>();
    }
    fill_shared();
    arch::tcgen05_fence_before();
    synchronise();
    arch::tcgen05_fence_after();
    const uint32_t base = arch::load_shared<uint32_t>(kSlot);
    arch::name_tensor_memory(base, kN, "accumulator");
    arch::name_tensor_memory(base + kColumnA, 32, "scales");
    const uint32_t leader_free = kGroup == 1 ? kFree : arch::map_shared(kFree, 0);
    for (uint32_t tile = 0; tile < 2; ++tile) {
      if (thread_id() == 0 && cluster_rank() == 0) {
        if (tile != 0) {
          arch::mbarrier_wait_parity(kFree, 0);
          arch::tcgen05_fence_after();
        }
        multiply(base);
      }
      arch::mbarrier_wait_parity(kDone, tile % 2);
      arch::tcgen05_fence_after();
      read_back(base, tile);
      arch::tcgen05_fence_before();
      if (tile == 0) arch::mbarrier_arrive_cluster(leader_free);
    }
    synchronise();
    if (warp_id() == 0) arch::tcgen05_dealloc<kGroup>(base, kColumns);
  }

  static void synchronise() {
    if constexpr (kGroup == 2) arch::cluster_sync();
    if constexpr (kGroup == 1) sync_threads();
  }

  /// What both tiles must hold.
  std::vector<float> expected() const {
    std::vector<uint32_t> d(size_t{128} * kGroup * kN);
    std::vector<uint8_t> a(size_t{128} * kGroup * 32), b(size_t{kN} * 32);
    for (size_t step = 0; step < 4; ++step) {
      for (size_t row = 0; row < 128 * kGroup; ++row) {
        std::memcpy(&a[row * 32], &data->a[row * 128 + 32 * step], 32);
      }
      for (size_t row = 0; row < kN; ++row) std::memcpy(&b[row * 32], &data->b[row * 128 + 32 * step], 32);
      const Tcgen05Product product{.kind = arch::detail::emulated_kind<kKind>,
                                   .a_type = type_of<A>(),
                                   .b_type = type_of<B>(),
                                   .e4m3_scales = kKind == arch::Tcgen05Kind::mxf4nvf4,
                                   .scales = kScales,
                                   .rows = 128 * kGroup,
                                   .columns = kN,
                                   .a = a.data(),
                                   .b = b.data(),
                                   .a_scales = data->a_scales[step].data(),
                                   .b_scales = data->b_scales[step].data()};
      tcgen05_multiply(product, d.data(), kN, step != 0);
    }
    std::vector<float> both;
    for (int tile = 0; tile < 2; ++tile) {
      for (uint32_t word : d) both.push_back(__builtin_bit_cast(float, word));
    }
    return both;
  }

  template <class T>
  static constexpr Tcgen05Type type_of() {
    if (std::is_same_v<T, e5m2>) return Tcgen05Type::e5m2;
    if (std::is_same_v<T, e2m1>) return Tcgen05Type::e2m1;
    if (std::is_same_v<T, f16>) return Tcgen05Type::f16;
    return Tcgen05Type::e4m3;
  }
};

}  // namespace tilewright::emulator
