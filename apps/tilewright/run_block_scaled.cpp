#include "run_block_scaled.h"

#include <array>
#include <cstring>

#include "emulated_run.h"
#include "gpu.h"

namespace tilewright::cli {
namespace {

// A, its scales, B, its scales, C and D.
constexpr size_t kMatrices = 6;

std::array<std::vector<uint8_t>*, kMatrices> matrices_of(BlockScaledOperands& o) {
  return {&o.a.elements, &o.a_scales, &o.b.elements, &o.b_scales, &o.c, &o.d};
}

Buffers buffers_at(const BlockScaledOperands& o, const std::array<void*, kMatrices>& memory,
                   void* workspace) {
  return {.a = memory[0],
          .b = memory[2],
          .c = memory[4],
          .d = memory[5],
          .a_scales = BlockScaledOperands::scales_at(o.a, memory[1]),
          .b_scales = BlockScaledOperands::scales_at(o.b, memory[3]),
          .workspace = workspace};
}

Expected<RunResult> run_emulated(const Plan& plan, BlockScaledOperands& operands, const RunOptions& options,
                                 bool arithmetic) {
  EmulatedRun run(plan, options, arithmetic);
  constexpr std::array<const char*, kMatrices> kNames{"A", "A scales", "B", "B scales", "C", "D"};
  std::array<void*, kMatrices> memory{};
  const auto matrices = matrices_of(operands);
  for (size_t i = 0; i < kMatrices; ++i) {
    const bool output = i == kMatrices - 1;
    const Expected<void*> placed =
        run.place(*matrices[i], kNames[i], output ? EmulatedRun::Use::result : EmulatedRun::Use::input);
    if (!placed) return placed.error();
    memory[i] = *placed;
  }
  const Expected<void*> workspace = run.workspace();
  if (!workspace) return workspace.error();
  const Expected<RunResult> result = run.run(buffers_at(operands, memory, *workspace));
  if (!result) return result;
  if (!operands.d.empty()) std::memcpy(operands.d.data(), memory[kMatrices - 1], operands.d.size());
  return result;
}

Expected<RunResult> run_on_gpu(const Plan& plan, BlockScaledOperands& operands, const RunOptions& options) {
  const Expected<GpuStream> stream = GpuStream::create();
  if (!stream) return stream.error();
  std::array<GpuBuffer, kMatrices> buffers;
  std::array<void*, kMatrices> memory{};
  const auto matrices = matrices_of(operands);
  for (size_t i = 0; i < kMatrices; ++i) {
    if (matrices[i]->empty()) continue;
    Expected<GpuBuffer> buffer = GpuBuffer::allocate(matrices[i]->size());
    if (!buffer) return buffer.error();
    buffers[i] = std::move(*buffer);
    if (Status s = buffers[i].upload(matrices[i]->data())) return *s;
    memory[i] = buffers[i].data();
  }
  const Expected<GpuBuffer> workspace = GpuBuffer::allocate(static_cast<size_t>(plan.workspace_bytes()));
  if (!workspace) return workspace.error();
  const Buffers bound = buffers_at(operands, memory, workspace->data());
  const auto launch = [&](int64_t times) -> Status {
    for (int64_t i = 0; i < times; ++i)
      if (Status s = plan.run(bound, stream->get())) return s;
    return {};
  };
  // The run that is checked comes first, on poisoned D.
  if (Status s = launch(1)) return *s;
  if (Status s = stream->synchronize()) return *s;
  if (!operands.d.empty())
    if (Status s = buffers[kMatrices - 1].download(operands.d.data())) return *s;
  RunResult result;
  if (options.iterations == 0 || plan.info().launches == 0) return result;
  if (Status s = launch(options.warmup_iterations)) return *s;
  const Expected<GpuGraph> graph = GpuGraph::record(*stream, [&] { return launch(options.iterations); });
  if (!graph) return graph.error();
  const Expected<double> ms = stream->milliseconds([&] { return graph->launch(*stream); });
  if (!ms) return ms.error();
  result.time_us = *ms * 1000 / static_cast<double>(options.iterations);
  return result;
}

}  // namespace

Expected<RunResult> run_block_scaled(const Plan& plan, BlockScaledOperands& operands,
                                     const RunOptions& options, bool arithmetic) {
  if (plan.info().device == Device::gpu) return run_on_gpu(plan, operands, options);
  return run_emulated(plan, operands, options, arithmetic);
}

}  // namespace tilewright::cli
