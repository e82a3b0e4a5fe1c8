#include <cstring>
#include <iterator>
#include <span>

#include "emulated_run.h"

namespace tilewright::cli {

Expected<RunResult> run_on_emulator(const Plan& plan, Operands& operands, const RunOptions& options) {
  EmulatedRun run(plan, options);
  const auto bytes_of_floats = [](const std::vector<float>& floats) {
    return std::span(reinterpret_cast<const uint8_t*>(floats.data()), floats.size() * sizeof(float));
  };
  using Use = EmulatedRun::Use;
  const struct {
    std::span<const uint8_t> bytes;
    const char* name;
    Use use;
  } sources[] = {{operands.a, "A", Use::input},
                 {operands.b, "B", Use::input},
                 {operands.c, "C", Use::input},
                 {operands.d, "D", Use::result},
                 {bytes_of_floats(operands.a_scales), "scales of A", Use::input},
                 {bytes_of_floats(operands.b_scales), "scales of B", Use::input},
                 {operands.bias, "bias", Use::input},
                 {operands.aux, "aux", Use::output},
                 {bytes_of_floats(operands.amax), "amax", Use::updated_output}};
  void* memory[std::size(sources)] = {};
  for (size_t i = 0; i < std::size(sources); ++i) {
    const Expected<void*> placed = run.place(sources[i].bytes, sources[i].name, sources[i].use);
    if (!placed) return placed.error();
    memory[i] = *placed;
  }
  const Expected<void*> workspace = run.workspace();
  if (!workspace) return workspace.error();
  Expected<RunResult> result = run.run({.a = memory[0],
                                        .b = memory[1],
                                        .c = memory[2],
                                        .d = memory[3],
                                        .scale_a = static_cast<const float*>(memory[4]),
                                        .scale_b = static_cast<const float*>(memory[5]),
                                        .bias = memory[6],
                                        .aux = memory[7],
                                        .amax_d = static_cast<float*>(memory[8]),
                                        .workspace = *workspace});
  if (!result) return result;
  if (!operands.d.empty()) std::memcpy(operands.d.data(), memory[3], operands.d.size());
  if (!operands.aux.empty()) std::memcpy(operands.aux.data(), memory[7], operands.aux.size());
  if (!operands.amax.empty()) std::memcpy(operands.amax.data(), memory[8], sizeof(float));
  return result;
}

}  // namespace tilewright::cli
