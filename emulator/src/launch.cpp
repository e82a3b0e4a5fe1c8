#include "launch.h"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>

#include "cluster.h"

namespace tilewright::emulator {
namespace {

// What the compiler gives a thread under launch bounds, `threads` being those of all CTAs that share the
// registers.
uint32_t default_registers(uint32_t threads) {
  const uint32_t share = kRegistersPerMultiprocessor / std::max(threads, 1u) / 8 * 8;
  return std::min(share, 256u);
}

}  // namespace

ClusterStorage::~ClusterStorage() {
  if (windows_ != nullptr) munmap(windows_, window_bytes_);
}

bool ClusterStorage::reserve(uint32_t threads, size_t window_bytes) {
  if (!stacks.reserve(threads)) return false;
  if (window_bytes <= window_bytes_) return true;
  if (windows_ != nullptr) munmap(windows_, window_bytes_);
  windows_ = nullptr;
  window_bytes_ = 0;
  void* memory =
      mmap(nullptr, window_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  windows_ = static_cast<std::byte*>(memory);
  window_bytes_ = window_bytes;
  return true;
}

Launch::Launch(MachineState& state, const LaunchConfig& launch_config, void (*kernel)(void*), void* argument)
    : machine(state),
      config(launch_config),
      body(kernel),
      closure(argument),
      random(state.options.seed),
      options_(state.options) {
  threads_per_cta = config.block.x * config.block.y * config.block.z;
  ctas_per_cluster = config.cluster.x * config.cluster.y * config.cluster.z;
  registers_at_entry = config.registers_at_entry != 0
                           ? config.registers_at_entry
                           : default_registers(threads_per_cta * config.ctas_per_sm);
}

GlobalMemory& Launch::memory() { return machine.memory; }
Trace* Launch::trace() { return machine.options.trace ? &machine.trace : nullptr; }

const char* Launch::intern(const char* name) {
  return name == nullptr ? nullptr : names.insert(name).first->c_str();
}

void Launch::file(Report report) {
  if (stopped) return;
  result.reports.push_back(std::move(report));
  if (result.reports.size() >= options().max_reports) stopped = true;
}

// The order in which clusters start: any, where the schedule is not fair.
std::vector<uint32_t> Launch::start_order(uint32_t clusters) {
  std::vector<uint32_t> order(clusters);
  std::iota(order.begin(), order.end(), 0u);
  if (options().schedule == SchedulePolicy::fair || options().schedule == SchedulePolicy::timed) return order;
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(static_cast<uint32_t>(i))]);
  }
  return order;
}

// Clusters that run at a time.
uint32_t Launch::places() const {
  return std::max(options().multiprocessors * config.ctas_per_sm / ctas_per_cluster, 1u);
}

// When each place for a cluster is free, in modelled time. A grid that is not timed has one.
std::vector<Ticks> Launch::free_multiprocessors() const {
  return std::vector<Ticks>(options().schedule == SchedulePolicy::timed ? places() : 1, 0);
}

Index3 Launch::first_block(uint32_t cluster) const {
  const uint32_t across = config.grid.x / config.cluster.x, down = config.grid.y / config.cluster.y;
  return {cluster % across * config.cluster.x, cluster / across % down * config.cluster.y,
          cluster / across / down * config.cluster.z};
}

// As many clusters as have places count as started, although they run one after another here. Each of them
// gets its share of the others, as if all were equally fast. The random schedules give to any of them what
// they like, refuse what they could give, as a chip may, and then start another cluster when one ends.
std::optional<Index3> Launch::cancel_one(uint32_t taken) {
  const bool random_answers =
      options().explorer == nullptr &&
      (options().schedule == SchedulePolicy::random || options().schedule == SchedulePolicy::adversarial);
  const size_t begun = std::max<size_t>(started_, places() + (random_answers ? finished_ : 0));
  if (order_.size() <= begun) return std::nullopt;
  if (random_answers ? random.one_in(8) : taken >= fair_share_) return std::nullopt;
  const auto next = order_.begin() + static_cast<ptrdiff_t>(begun);
  const Index3 first = first_block(*next);
  order_.erase(next);
  ++result.statistics.clusters_canceled;
  return first;
}

void Launch::note_end(Ticks end) {
  this->end = end;
  const ClockModel model = clock_model(options().chip);
  result.statistics.clocks = static_cast<double>(end) / Timing::clocks(1);
  result.statistics.nanoseconds = Timing::nanoseconds(model, end);
}

bool Launch::run() {
  const uint32_t across = config.grid.x / config.cluster.x, down = config.grid.y / config.cluster.y;
  const uint32_t deep = config.grid.z / config.cluster.z;
  order_ = start_order(across * down * deep);
  const size_t waiting = order_.size() - std::min<size_t>(order_.size(), places());
  fair_share_ = static_cast<uint32_t>((waiting + places() - 1) / places());

  struct Running {
    std::unique_ptr<ClusterStorage> storage;
    std::unique_ptr<Cluster> cluster;
    size_t place = 0;  // in `free`
  };
  std::vector<Running> running;
  std::vector<Ticks> free = free_multiprocessors();
  const auto start_next = [&] {
    Running next;
    if (machine.free_storage.empty()) {
      next.storage = std::make_unique<ClusterStorage>();
    } else {
      next.storage = std::move(machine.free_storage.back());
      machine.free_storage.pop_back();
    }
    if (!next.storage->reserve(threads_per_cta * ctas_per_cluster,
                               size_t{kWindowStride} * ctas_per_cluster)) {
      return false;
    }
    const uint32_t id = order_[started_++];
    const auto first_free = std::min_element(free.begin(), free.end());
    next.place = static_cast<size_t>(first_free - free.begin());
    next.cluster = std::make_unique<Cluster>(*this, *next.storage, id, first_block(id), *first_free);
    running.push_back(std::move(next));
    ++result.statistics.clusters;
    return true;
  };

  // One cluster at a time; another joins only when all that run wait for memory that it may write.
  while (!stopped && (!running.empty() || started_ < order_.size())) {
    bool moved = false;
    for (size_t i = 0; i < running.size() && !stopped; ++i) {
      const uint64_t before = progress;
      const Cluster::Status status = running[i].cluster->run();
      moved = moved || progress != before;
      if (status != Cluster::Status::finished) continue;
      free[running[i].place] = running[i].cluster->end_time();
      running[i].cluster.reset();
      machine.free_storage.push_back(std::move(running[i].storage));
      running.erase(running.begin() + static_cast<ptrdiff_t>(i--));
      ++finished_;
      moved = true;
    }
    if (stopped || (moved && !running.empty())) continue;
    if (started_ < order_.size()) {
      if (!start_next()) return false;
    } else if (!running.empty()) {
      running.front().cluster->report_livelock();
      stopped = true;
    }
  }
  note_end(*std::max_element(free.begin(), free.end()));
  for (Running& left : running) machine.free_storage.push_back(std::move(left.storage));
  return true;
}

}  // namespace tilewright::emulator
