// Rows of the table of planted faults of the block-scaled kernels, and the words that they are made of.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/block_scale/kernel_case.h"
#include "tests/faults/symptom.h"
#include "tests/faults/words.h"

namespace tilewright::fault_rows {

using emulator::FaultSpec;
using emulator::Op;
using Kind = emulator::ReportKind;

// The same race may be found by the one who reads or by the one who writes.
struct PlantedFault {
  std::string name;
  FaultSpec fault;
  faults::Symptom symptom;
  int64_t k_tiles = 1;
  bool overlap = true;
  bool launch_control = false;
  uint32_t tiles = 0;  // that one cluster must get from launch control for the fault to matter
  BlockFormat a = BlockFormat::nvfp4, b = BlockFormat::nvfp4;
  bool all_formats = false;  // planted in the kernels of the other formats too
};

inline std::ostream& operator<<(std::ostream& out, const PlantedFault& row) { return out << row.name; }

// ---- words of the table

using faults::add;
using faults::become;
using faults::cta;
using faults::flip;
using faults::from;
using faults::mask;
using faults::nth;
using faults::reports;
using faults::second;
using faults::skip;
using faults::thread;

inline constexpr int kMmaThread = 128;
inline constexpr int64_t kOtherCta = 1 << 24;  // from a cluster address of CTA 0 to that of CTA 1
inline constexpr const char *kLoad = "load", *kMma = "mma", *kEpilogue = "epilogue";
inline constexpr const char *kReady = "accumulator ready", *kEmpty = "accumulator empty",
                            *kShared = "shared columns";

/// The same row for every pair of formats.
inline PlantedFault in_all_formats(PlantedFault row) {
  row.all_formats = true;
  return row;
}

/// Four tiles for one pair, or two with a ring that wraps.
inline KernelCase case_of(BlockFormat a, BlockFormat b, int64_t k_tiles, bool overlap) {
  return {.a = a,
          .b = b,
          .overlap = overlap,
          .m = 200,
          .n = k_tiles <= 1 ? 1000 : 520,
          .k = k_tiles * kernels::block_scaled_tile_k(a, b)};
}

/// Of the adversarial schedule: early, late and two mixtures; a fifth of the seeds that TILEWRIGHT_SEEDS asks
/// for.
inline const uint64_t kSeeds = faults::seeds_or(4, 0.2);

/// Of the tiles that cluster launch control hands out.
std::vector<PlantedFault> faults_of_launch_control();

}  // namespace tilewright::fault_rows
