#include "tilewright/emulator/machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cluster.h"
#include "launch.h"
#include "text.h"
#include "tilewright/detail/whole_file.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxClusterSize = 16;

Error refuse(const char* rule, std::string message) {
  return Error{ErrorCode::invalid_argument, rule, std::move(message)};
}

std::optional<Error> check(const LaunchConfig& config) {
  const uint64_t threads = uint64_t{config.block.x} * config.block.y * config.block.z;
  if (threads == 0 || threads > kMaxThreads) {
    return refuse("launch.threads",
                  text("a block of ", threads, " threads; the legal range is 1..", kMaxThreads));
  }
  if (uint64_t{config.grid.x} * config.grid.y * config.grid.z == 0) {
    return refuse("launch.grid", "a grid without blocks");
  }
  const uint64_t ctas = uint64_t{config.cluster.x} * config.cluster.y * config.cluster.z;
  if (ctas == 0 || ctas > kMaxClusterSize) {
    return refuse("launch.cluster",
                  text("a cluster of ", ctas, " CTAs; the legal range is 1..", kMaxClusterSize));
  }
  if (config.grid.x % config.cluster.x != 0 || config.grid.y % config.cluster.y != 0 ||
      config.grid.z % config.cluster.z != 0) {
    return refuse("launch.cluster_divides_grid",
                  text("grid ", config.grid.x, 'x', config.grid.y, 'x', config.grid.z,
                       " is not a whole number of clusters ", config.cluster.x, 'x', config.cluster.y, 'x',
                       config.cluster.z));
  }
  if (config.shared_bytes > kMaxDynamicShared) {
    return refuse(
        "launch.shared_memory",
        text(config.shared_bytes, " bytes of dynamic shared memory; a CTA has at most ", kMaxDynamicShared));
  }
  return std::nullopt;
}

}  // namespace

Machine::Machine(MachineOptions options) : state_(std::make_unique<MachineState>()) {
  state_->options = std::move(options);
}

Machine::~Machine() = default;

Machine& Machine::default_machine() {
  thread_local Machine machine;
  return machine;
}

const MachineOptions& Machine::options() const { return state_->options; }
void Machine::set_options(MachineOptions options) { state_->options = std::move(options); }
const LaunchResult& Machine::last_result() const { return state_->last; }
const Statistics& Machine::total_statistics() const { return state_->total; }

void Machine::forget_launches() {
  state_->total = {};
  state_->trace.clear();
}

Statistics& Statistics::operator+=(const Statistics& more) {
  for (size_t i = 0; i < operations.size(); ++i) operations[i] += more.operations[i];
  fiber_switches += more.fiber_switches;
  asynchronous_operations += more.asynchronous_operations;
  interleavings += more.interleavings;
  clusters += more.clusters;
  clusters_canceled += more.clusters_canceled;
  bytes_loaded += more.bytes_loaded;
  bytes_stored += more.bytes_stored;
  most_barrier_phases = std::max(most_barrier_phases, more.most_barrier_phases);
  faults_planted += more.faults_planted;
  clocks += more.clocks;
  nanoseconds += more.nanoseconds;
  return *this;
}

Expected<LaunchResult> Machine::launch(const LaunchConfig& config, void (*body)(void*), void* closure) {
  if (std::optional<Error> error = check(config)) return *std::move(error);
  if (current_thread != nullptr) return refuse("launch.from_kernel", "a kernel cannot launch a kernel");
  state_->memory.forget_accesses();
  const MachineOptions& options = state_->options;
  const bool timed = options.schedule == SchedulePolicy::timed && options.explorer == nullptr;
  if (options.trace) {
    state_->trace.start(config.kernel_name, config.grid, config.cluster,
                        timed ? Timing::nanoseconds(clock_model(options.chip), 1) / 1000 : 1);
  }
  Launch launch(*state_, config, body, closure);
  if (!launch.run()) {
    return Error{ErrorCode::emulator, "launch.memory", "not enough host memory for the threads of a cluster"};
  }
  if (options.trace) state_->trace.finish(timed ? launch.end : launch.step);
  state_->last = std::move(launch.result);
  state_->total += state_->last.statistics;
  return state_->last;
}

void* Machine::allocate_global(size_t bytes, GlobalBufferOptions options) {
  return state_->memory.allocate(bytes, std::move(options));
}

void Machine::free_global(void* pointer) { state_->memory.remove(pointer); }

void Machine::register_global(void* pointer, size_t bytes, GlobalBufferOptions options) {
  state_->memory.add(pointer, bytes, std::move(options));
}

void Machine::unregister_global(void* pointer) { state_->memory.remove(pointer); }

bool Machine::trace_is_empty() const { return state_->trace.empty(); }

std::string Machine::trace_json() const {
  return state_->options.trace ? state_->trace.json() : std::string();
}

std::string Machine::trace_svg() const { return state_->options.trace ? state_->trace.svg() : std::string(); }

Status Machine::write_trace(const std::string& path) const {
  return detail::write_whole_file(path, "trace.write", {path.ends_with(".svg") ? trace_svg() : trace_json()});
}

namespace {

Machine& machine_of(Machine* named) { return named != nullptr ? *named : Machine::default_machine(); }

}  // namespace

Expected<void*> allocate(Machine* machine, size_t bytes, bool zeroed) {
  void* pointer = machine_of(machine).allocate_global(bytes, {.name = "workspace", .initialised = zeroed});
  if (pointer == nullptr) {
    return Error{ErrorCode::emulator, "memory.allocate", text("no host memory for ", bytes, " bytes")};
  }
  if (zeroed) std::memset(pointer, 0, bytes);
  return pointer;
}

void release(Machine* machine, void* pointer) { machine_of(machine).free_global(pointer); }

Status launch(const LaunchConfig& config, void (*body)(void*), void* closure) {
  Machine& machine = machine_of(config.machine);
  Expected<LaunchResult> result = machine.launch(config, body, closure);
  if (!result) return result.error();
  if (result->reports.empty()) return std::nullopt;
  const Report& first = result->reports.front();
  return Error{ErrorCode::emulator, name_of(first.kind), text(config.kernel_name, ": ", first.message)};
}

}  // namespace tilewright::emulator
