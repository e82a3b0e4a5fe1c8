// The FP32 kernels on problems so small that the emulated machine explores a schedule in a tenth of a second,
// and the faults that are planted in them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tests/faults/planting.h"

namespace tilewright::faults {

/// Two CTAs work on two tiles of 32 x 128 each; rings of three stages, five K tiles, the last tile ragged in
/// M, N and K.
struct SimtCase {
  const char* name;
  LoadKind load = LoadKind::tma;
  PipelineKind pipeline = PipelineKind::producer;
  Layout a = Layout::column_major;  // row_major: K-major
  int64_t splits = 1;
};

extern const SimtCase kSimtTma, kSimtGather, kSimtGatherAlongK, kSimtMixed, kSimtRepack, kSimtShared,
    kSimtAsync, kSimtAsyncAlongK;
std::vector<const SimtCase*> simt_fault_cases();

/// A machine with the case's operands in its memory.
class SimtRunner {
 public:
  explicit SimtRunner(const SimtCase& simt);

  /// Plans for extents that are `more` larger than the operands in memory.
  void plan_beyond(int64_t more_m, int64_t more_n, int64_t more_k);
  /// Runs all kernels of the plan, up to the first report. An error when one cannot start.
  Expected<emulator::LaunchResult> run(const emulator::MachineOptions& options);
  std::vector<std::byte> result() const;
  const PlanInfo& info() const { return plan_->info(); }

 private:
  void place_operands();

  SimtCase case_;
  Problem problem_;
  std::unique_ptr<emulator::Machine> machine_;
  std::optional<Plan> plan_;
  Buffers buffers_;
  size_t d_bytes_ = 0;
};

using SimtFault = Planted<SimtCase>;

void plant_in_simt_ring(std::vector<SimtFault>& table);    // barriers, producer, consumers
void plant_in_simt_copies(std::vector<SimtFault>& table);  // cp.async, repacking, sums of several CTAs

}  // namespace tilewright::faults
