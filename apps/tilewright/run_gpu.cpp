#include <algorithm>
#include <utility>
#include <vector>

#include "gpu.h"
#include "progress.h"
#include "run_problem.h"
#include "src/device_info.h"

namespace tilewright::cli {
namespace {

/// The operands of one run in device memory.
struct DeviceSet {
  GpuBuffer a, b, c, d, a_scales, b_scales, bias, aux, amax;

  Buffers buffers(const GpuBuffer& workspace) const {
    return {.a = a.data(),
            .b = b.data(),
            .c = c.data(),
            .d = d.data(),
            .scale_a = static_cast<const float*>(a_scales.data()),
            .scale_b = static_cast<const float*>(b_scales.data()),
            .bias = bias.data(),
            .aux = aux.data(),
            .amax_d = static_cast<float*>(amax.data()),
            .workspace = workspace.data()};
  }
};

Expected<DeviceSet> upload(const Operands& operands) {
  DeviceSet set;
  // What a problem has not got is null.
  const auto copy = [](const auto& host, GpuBuffer& device) -> Status {
    if (host.empty()) return {};
    Expected<GpuBuffer> buffer = GpuBuffer::allocate(host.size() * sizeof(host[0]));
    if (!buffer) return buffer.error();
    device = std::move(*buffer);
    return device.upload(host.data());
  };
  for (const auto& [host, device] :
       {std::pair{&operands.a, &set.a}, std::pair{&operands.b, &set.b}, std::pair{&operands.c, &set.c},
        std::pair{&operands.d, &set.d}, std::pair{&operands.bias, &set.bias},
        std::pair{&operands.aux, &set.aux}})
    if (Status s = copy(*host, *device)) return *s;
  if (Status s = copy(operands.a_scales, set.a_scales)) return *s;
  if (Status s = copy(operands.b_scales, set.b_scales)) return *s;
  if (Status s = copy(operands.amax, set.amax)) return *s;
  return set;
}

}  // namespace

Expected<RunResult> run_on_gpu(const Plan& plan, Operands& operands, const RunOptions& options) {
  const Progress progress("running on the GPU");
  const Expected<GpuStream> stream = GpuStream::create();
  if (!stream) return stream.error();
  int64_t count = 1;
  if (options.cold_l2) {
    const Expected<GpuLimits> gpu = current_gpu();
    if (!gpu) return gpu.error();
    const Operands& o = operands;
    count = sets_beyond_l2(gpu->l2_bytes, o.a.size() + o.b.size() + o.c.size() + o.d.size());
  }
  std::vector<DeviceSet> sets;
  for (int64_t i = 0; i < std::max<int64_t>(1, count); ++i) {
    Expected<DeviceSet> set = upload(operands);
    if (!set) return set.error();
    sets.push_back(std::move(*set));
  }
  // Runs of one stream follow each other: they share it.
  const Expected<GpuBuffer> workspace = GpuBuffer::allocate(static_cast<size_t>(plan.workspace_bytes()));
  if (!workspace) return workspace.error();
  // The run that is checked comes first: the matrices are as they were made, and D is poisoned.
  if (Status s = plan.run(sets[0].buffers(*workspace), stream->get())) return *s;
  if (Status s = stream->synchronize()) return *s;
  if (!operands.d.empty())
    if (Status s = sets[0].d.download(operands.d.data())) return *s;
  if (!operands.aux.empty())
    if (Status s = sets[0].aux.download(operands.aux.data())) return *s;
  if (!operands.amax.empty())
    if (Status s = sets[0].amax.download(operands.amax.data())) return *s;

  size_t next = 1;  // of several sets, the one that lay in L2 longest ago
  const auto enqueue = [&](int64_t runs) -> Status {
    for (int64_t i = 0; i < runs; ++i)
      if (Status s = plan.run(sets[next++ % sets.size()].buffers(*workspace), stream->get())) return s;
    return {};
  };
  RunResult result;
  if (options.iterations < 1) return result;
  if (Status s = enqueue(options.warmup_iterations)) return *s;
  const Expected<double> ms = stream->milliseconds([&] { return enqueue(options.iterations); });
  if (!ms) return ms.error();
  result.time_us = *ms * 1000 / static_cast<double>(options.iterations);
  return result;
}

}  // namespace tilewright::cli
