// The library's FP8 kernels on problems so small that the emulated machine explores a schedule in
// milliseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/schedules.h"
#include "tilewright/emulator/machine.h"
#include "tilewright/gemm.h"

namespace tilewright::faults {

/// A kernel and a problem for it: one cluster works on three tiles of each of its CTAs in every batch, with a
/// ring of a few stages, and the last tile of a batch is ragged in M, N and K.
struct GemmCase {
  const char* name;
  Shape2 tile;
  Shape2 cluster{1, 1};
  DType d = DType::f16;
  Accumulation accumulation = Accumulation::promoted;
  int64_t interval = 4;
  LoadKind load = LoadKind::tma;
  StoreKind store = StoreKind::tma;
  int64_t k_tiles = 3;
  int64_t k_missing = 48;  // of the last K tile; lines of A and B are packed, so it gives their alignment
  int64_t stages = 2;
  int64_t batches = 1;
  bool device_alpha = false;  // alpha comes from global memory
  bool source = false;        // D = A B + C
  ScaleMode scale_mode = ScaleMode::per_tensor;
  bool scales_along_k = false;  // those of a row of A are neighbours: no bulk copy can bring a K tile's
};

extern const GemmCase kPromoted128x256, kPromoted256x128, kPromoted64x64, kPromoted256x64, kGroups64x64,
    kOut8, kOut32;
extern const GemmCase kFast128x128, kFast128x256, kInterval1, kInterval2, kCopy, kCopyOut8;
extern const GemmCase kCopyAhead, kDirect;
extern const GemmCase kSource, kCluster2x1, kCluster1x2, kCluster2x2;
extern const GemmCase kVectors128x128, kVectors128x256, kBlocks64x128, kBlocks128x256, kBlocksCopy,
    kBlocksCluster;
extern const GemmCase kBlocksAlongK, kBlocksBatched;

/// All of the above.
std::vector<const GemmCase*> gemm_cases();

/// Why a test is skipped that has no runner.
constexpr const char* kNotBuilt = "no such kernel in this build";

/// A machine with the case's operands in its memory.
class GemmRunner {
 public:
  /// Nothing when no plan is made for the case: a failure of the test, except where the build was configured
  /// with a list of kernels that lacks the case's.
  static std::optional<GemmRunner> make(const GemmCase& gemm);

  /// Runs the kernel once, on a D filled with a pattern. An error when it cannot start.
  Expected<emulator::LaunchResult> run(const emulator::MachineOptions& options);
  std::vector<std::byte> result() const;
  const PlanInfo& info() const { return plan_.info(); }

 private:
  GemmRunner(const GemmCase& gemm, const Problem& problem, Plan plan);

  std::unique_ptr<emulator::Machine> machine_;
  Plan plan_;
  Buffers buffers_;
  size_t d_bytes_;
};

/// The schedules of a test, arithmetic off: the fair one, and `seeds` of each of the others
/// (TILEWRIGHT_SEEDS, if set, times `share`).
std::vector<emulator::MachineOptions> schedules(uint64_t seeds, double share = 1);

}  // namespace tilewright::faults
