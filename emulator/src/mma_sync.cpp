// mma.sync: the fragments of a warp (PTX ISA 9.7.14.5) and their product.
#include <array>
#include <cmath>
#include <cstring>

#include "collectives.h"
#include "text.h"
#include "tilewright/emulator/tensor_core.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kM = 16, kN = 8;
constexpr uint32_t kAllLanes = ~0u;

uint32_t element_bytes(MmaType type) {
  return type == MmaType::tf32 ? 4 : type == MmaType::f16 || type == MmaType::bf16 ? 2 : 1;
}

// Where register r of a lane lies in an operand of `k` elements a row, `each` of them in a register: the row
// (of B: the column) and the first k. B has no rows from 8 on, so that all its registers are in row `lane /
// 4`.
struct Place {
  uint32_t row, k;
};
Place place_in_a(uint32_t lane, uint32_t r, uint32_t rows, uint32_t each) {
  const uint32_t tall = rows / 8 - 1;  // 16 rows: two registers for each four times `each` k
  return {lane / 4 + 8 * (r & tall), each * (lane % 4 + 4 * (r >> tall))};
}
Place place_in_b(uint32_t lane, uint32_t r, uint32_t each) { return {lane / 4, each * (lane % 4 + 4 * r)}; }
// Row and column of element i of C and D.
Place place_in_c(uint32_t lane, uint32_t i) { return {lane / 4 + 8 * (i >> 1), 2 * (lane % 4) + (i & 1)}; }

template <class T>
T* registers_of(Thread& lane) {
  return static_cast<T*>(lane.exchange.pointer);
}
template <class T>
const T* a_of(const Thread& lane) {
  return static_cast<const T*>(lane.exchange.operand);
}
template <class T>
const T* b_of(const Thread& lane) {
  return reinterpret_cast<const T*>(static_cast<uintptr_t>(lane.exchange.desc_b));
}

void multiply(Thread& thread, const MmaSyncInstruction& instruction) {
  constexpr uint32_t kMaxRowBytes = 32;
  std::array<uint8_t, kM * kMaxRowBytes> a;
  std::array<uint8_t, kN * kMaxRowBytes> b;
  std::array<uint32_t, kM * kN> d;
  const bool packed = instruction.d == AccumulatorType::f16;
  const uint32_t bytes = element_bytes(instruction.a), each = 4 / bytes;
  const uint32_t row_bytes = static_cast<uint32_t>(instruction.k) * bytes;
  for_each_lane(thread, kAllLanes, [&](Thread& lane) {
    for (uint32_t r = 0; r < row_bytes / 8; ++r) {
      const Place at = place_in_a(lane.lane, r, kM, each);
      std::memcpy(&a[at.row * row_bytes + at.k * bytes], a_of<uint32_t>(lane) + r, 4);
    }
    for (uint32_t r = 0; r < row_bytes / 16; ++r) {
      const Place at = place_in_b(lane.lane, r, each);
      std::memcpy(&b[at.row * row_bytes + at.k * bytes], b_of<uint32_t>(lane) + r, 4);
    }
    for (uint32_t i = 0; i < 4; ++i) {
      const Place at = place_in_c(lane.lane, i);
      const uint32_t* c = registers_of<uint32_t>(lane);
      d[at.row * kN + at.k] = packed ? c[i / 2] >> 16 * (i % 2) & 0xFFFF : c[i];
    }
  });
  tensor_core_mma_sync(instruction, a.data(), b.data(), d.data());
  for_each_lane(thread, kAllLanes, [&](Thread& lane) {
    const auto value = [&](uint32_t i) {
      const Place at = place_in_c(lane.lane, i);
      return d[at.row * kN + at.k];
    };
    uint32_t* out = registers_of<uint32_t>(lane);
    if (packed) {
      for (uint32_t i = 0; i < 2; ++i) out[i] = (value(2 * i) & 0xFFFF) | value(2 * i + 1) << 16;
    } else {
      for (uint32_t i = 0; i < 4; ++i) out[i] = value(i);
    }
  });
}

// A chain of fused multiply-adds in the order of k.
void multiply_f64(Thread& thread, uint32_t m, uint32_t k) {
  constexpr uint32_t kMaxDepth = 16;
  std::array<std::array<double, kMaxDepth>, kM> a;
  std::array<std::array<double, kMaxDepth>, kN> b;
  for_each_lane(thread, kAllLanes, [&](Thread& lane) {
    for (uint32_t r = 0; r < m * k / kWarpLanes; ++r) {
      const Place at = place_in_a(lane.lane, r, m, 1);
      a[at.row][at.k] = a_of<double>(lane)[r];
    }
    for (uint32_t r = 0; r < k / 4; ++r) {
      const Place at = place_in_b(lane.lane, r, 1);
      b[at.row][at.k] = b_of<double>(lane)[r];
    }
  });
  for_each_lane(thread, kAllLanes, [&](Thread& lane) {
    for (uint32_t i = 0; i < m / 4; ++i) {
      const Place at = place_in_c(lane.lane, i);
      double& sum = registers_of<double>(lane)[i];
      for (uint32_t j = 0; j < k; ++j) sum = std::fma(a[at.row][j], b[at.k][j], sum);
    }
  });
}

// A result that costs nothing: 1 in the accumulator's type.
void store_ones(Thread& thread, AccumulatorType type) {
  const uint32_t one = type == AccumulatorType::f32   ? 0x3F800000u
                       : type == AccumulatorType::f16 ? 0x3C003C00u
                                                      : 1u;
  for_each_lane(thread, kAllLanes, [&](Thread& lane) {
    for (uint32_t i = 0; i < (type == AccumulatorType::f16 ? 2u : 4u); ++i)
      registers_of<uint32_t>(lane)[i] = one;
  });
}

// The type and shape tables of PTX, "mma.sync"; null when the instruction exists.
const char* illegal(const MmaSyncInstruction& in) {
  const auto integer = [](MmaType type) { return type == MmaType::s8 || type == MmaType::u8; };
  const auto fp8 = [](MmaType type) { return type == MmaType::e4m3 || type == MmaType::e5m2; };
  if (in.a != in.b && !(integer(in.a) && integer(in.b)) && !(fp8(in.a) && fp8(in.b)))
    return "A and B types do not go together";
  const uint32_t each = 4 / element_bytes(in.a), k = static_cast<uint32_t>(in.k);
  if (k != 4 * each && k != 8 * each) return "K must fill one or two registers of B";
  if (integer(in.a) != (in.d == AccumulatorType::s32)) return "s8 and u8, and only they, accumulate in s32";
  if (in.d == AccumulatorType::f16 && in.a != MmaType::f16 && !fp8(in.a))
    return "only f16 and FP8 accumulate in f16";
  if (in.saturate && !integer(in.a)) return "only integers saturate";
  return nullptr;
}

// Meets the other lanes; `work` runs once, when all are there with the same `shape`.
template <class Work>
void together(Thread& thread, void* d, const void* a, const void* b, uint64_t shape, Work&& work) {
  Cluster& cluster = *thread.cluster;
  thread.exchange.pointer = d;
  thread.exchange.operand = a;
  thread.exchange.desc_b = reinterpret_cast<uintptr_t>(b);
  thread.exchange.value = shape;
  if (!meet_warp(thread, Op::mma_sync, kAllLanes)) return;
  bool same = true;
  for_each_lane(thread, kAllLanes, [&](Thread& lane) { same = same && lane.exchange.value == shape; });
  if (thread.warp->lanes != kAllLanes) {
    cluster.report(ReportKind::non_uniform, &thread, "mma_sync in a warp of fewer than 32 lanes");
  } else if (!same) {
    cluster.report(ReportKind::non_uniform, &thread,
                   "mma_sync of another shape or other types than the other lanes of its warp");
  } else {
    cluster.launch.count(Op::mma_sync);
    cluster.trace_in_turn(thread, "mma.sync", Trace::Kind::multiply, {}, 0);
    work();
  }
  part_warp(thread, kAllLanes);
}

}  // namespace

void mma_sync(const MmaSyncInstruction& instruction, void* d, const uint32_t* a, const uint32_t* b) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::mma_sync))) return;
  if (const char* rule = illegal(instruction); rule != nullptr) {
    cluster.report(ReportKind::invalid_argument, thread, text("mma_sync m16n8k", instruction.k, ": ", rule));
    return;
  }
  const uint64_t shape = static_cast<uint64_t>(instruction.k) | static_cast<uint64_t>(instruction.a) << 16 |
                         static_cast<uint64_t>(instruction.b) << 24 |
                         static_cast<uint64_t>(instruction.d) << 32 |
                         static_cast<uint64_t>(instruction.saturate) << 40;
  together(*thread, d, a, b, shape, [&] {
    if (cluster.launch.options().arithmetic) {
      multiply(*thread, instruction);
    } else {
      store_ones(*thread, instruction.d);
    }
  });
}

void mma_sync_f64(int m, int k, double* d, const double* a, const double* b) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::mma_sync))) return;
  if (!((m == 8 && k == 4) || (m == 16 && (k == 4 || k == 8 || k == 16)))) {
    cluster.report(
        ReportKind::invalid_argument, thread,
        text("mma_sync m", m, "n8k", k, " of f64; the shapes are m8n8k4, m16n8k4, m16n8k8, m16n8k16"));
    return;
  }
  constexpr uint64_t kWide = uint64_t{1} << 48;
  together(*thread, d, a, b, kWide | static_cast<uint64_t>(m) << 8 | static_cast<uint64_t>(k), [&] {
    if (cluster.launch.options().arithmetic) {
      multiply_f64(*thread, static_cast<uint32_t>(m), static_cast<uint32_t>(k));
    } else {
      for_each_lane(*thread, kAllLanes, [&](Thread& lane) {
        for (int i = 0; i < m / 4; ++i) registers_of<double>(lane)[i] = 1;
      });
    }
  });
}

}  // namespace tilewright::emulator
