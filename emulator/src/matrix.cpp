// ldmatrix and stmatrix: 8 x 8 matrices of 16-bit elements, rows of 16 bytes.
#include <array>
#include <cstring>

#include "collectives.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kSide = 8;
constexpr uint32_t kRowBytes = 16;

using Matrix = std::array<std::array<uint16_t, kSide>, kSide>;

// The 16-bit half `half` of the register that lane l holds of a matrix.
uint16_t& element_of(Matrix& matrix, uint32_t l, uint32_t half, bool transpose) {
  const uint32_t major = l / 4, minor = 2 * (l % 4) + half;
  return transpose ? matrix[minor][major] : matrix[major][minor];
}

// Moves the matrices of a warp; the addresses and register pointers lie in the lanes' exchanges.
void move_matrices(Thread& thread, uint32_t count, bool transpose, bool store) {
  Cluster& cluster = *thread.cluster;
  const char* what = store ? "stmatrix" : "ldmatrix";
  for (uint32_t j = 0; j < count; ++j) {
    Matrix matrix{};
    for (uint32_t l = 0; store && l < kWarpLanes; ++l) {
      const uint32_t word = static_cast<const uint32_t*>(lane_at(thread, l).exchange.pointer)[j];
      element_of(matrix, l, 0, transpose) = static_cast<uint16_t>(word);
      element_of(matrix, l, 1, transpose) = static_cast<uint16_t>(word >> 16);
    }
    for (uint32_t row = 0; row < kSide; ++row) {
      Thread& lane = lane_at(thread, j * kSide + row);
      const SharedPlace place = cluster.locate(lane, lane.exchange.address, Space::cta, what);
      if (place.cta == nullptr) return;
      if (place.offset % kRowBytes != 0) {
        cluster.report_at(ReportKind::misaligned, lane, place,
                          text(what, ": the row at ", cluster.describe(*place.cta, place.offset),
                               " is not aligned to ", kRowBytes, " bytes"));
        return;
      }
      if (!cluster.check_shared(lane, place, kRowBytes, store, what)) return;
      std::byte* memory = place.cta->window + place.offset;
      if (store) {
        std::memcpy(memory, matrix[row].data(), kRowBytes);
      } else {
        std::memcpy(matrix[row].data(), memory, kRowBytes);
      }
    }
    for (uint32_t l = 0; !store && l < kWarpLanes; ++l) {
      auto* registers = static_cast<uint32_t*>(lane_at(thread, l).exchange.pointer);
      registers[j] = element_of(matrix, l, 0, transpose) | uint32_t{element_of(matrix, l, 1, transpose)}
                                                               << 16;
    }
  }
}

void move(uint32_t row_address, uint32_t* registers, int count, bool transpose, Op op) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, op, row_address);
  if (skipped(fault)) return;
  change(fault, row_address);
  if (count != 1 && count != 2 && count != 4) {
    cluster.report(ReportKind::invalid_argument, thread, text(name_of(op), " of ", count, " matrices"));
    return;
  }
  cluster.touch_registers(*thread, reinterpret_cast<const std::byte*>(registers),
                          static_cast<uint32_t>(count) * 4, op == Op::ldmatrix);
  if (op == Op::ldmatrix) thread->note_write(registers, static_cast<uint32_t>(count) * 4);
  thread->exchange.address = row_address;
  thread->exchange.pointer = registers;
  constexpr uint32_t kAllLanes = ~0u;
  if (!meet_warp(*thread, op, kAllLanes)) return;
  if (thread->warp->lanes == kAllLanes) {
    cluster.launch.count(op);
    cluster.charge_shared(*thread, static_cast<uint32_t>(count) * 4);
    move_matrices(*thread, static_cast<uint32_t>(count), transpose, op == Op::stmatrix);
  } else {
    cluster.report(ReportKind::non_uniform, thread, text(name_of(op), " in a warp of fewer than 32 lanes"));
  }
  part_warp(*thread, kAllLanes);
}

}  // namespace

void stmatrix(uint32_t row_address, const uint32_t* registers, int count, bool transpose) {
  move(row_address, const_cast<uint32_t*>(registers), count, transpose, Op::stmatrix);
}

void ldmatrix(uint32_t row_address, uint32_t* registers, int count, bool transpose) {
  move(row_address, registers, count, transpose, Op::ldmatrix);
}

}  // namespace tilewright::emulator
