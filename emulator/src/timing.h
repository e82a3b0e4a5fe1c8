// Modelled time of one cluster (SchedulePolicy::timed): the units of its multiprocessors, and when each is
// free.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "async.h"
#include "tilewright/emulator/clock_model.h"

namespace tilewright::emulator {

/// Modelled time, in fractions of a clock.
using Ticks = uint64_t;
constexpr Ticks kTicksPerClock = 64;

/// When something begins and ends.
struct Interval {
  Ticks begin = 0, end = 0;
};

class Timing {
 public:
  /// `share`: CTAs that divide a multiprocessor among them.
  Timing(const ClockModel& model, size_t ctas, uint32_t share) : model_(model), share_(share), units_(ctas) {}

  const ClockModel& model() const { return model_; }
  static Ticks clocks(uint64_t count) { return count * kTicksPerClock; }
  static double nanoseconds(const ClockModel& model, Ticks ticks) {
    return static_cast<double>(ticks) / kTicksPerClock / model.gigahertz;
  }

  /// The thread issues an operation, after what its ordinary code did since the last one.
  void issue(Thread& thread);
  /// An ordinary access of the thread, or its share of one of its warp.
  enum class Memory : uint8_t { shared, global_load, global_store };
  void access(Thread& thread, Memory memory, uint32_t bytes);
  /// Whether the next access will be the first of its warp.
  static bool leads(const Thread& thread, uint32_t bytes);
  /// A warp's tcgen05.ld or st; `port`: when its last one ends.
  Interval move_tensor(const Thread& thread, Ticks& port, uint32_t columns) const;
  /// An asynchronous operation that is issued at `now`: when a unit works on it. A store: its first step.
  Interval schedule(const AsyncOperation& operation, Ticks now);
  /// A store whose first step ended at `now`.
  Ticks store_end(Ticks now) const { return now + clocks(model_.load_latency); }

 private:
  static constexpr uint32_t kSchedulers = 4;

  // When each unit of a multiprocessor is free.
  struct Units {
    std::array<Ticks, kSchedulers> issue{};
    Ticks shared = 0;  // ordinary accesses
    Ticks from_l2 = 0, to_l2 = 0;
    Ticks tensor = 0;
  };

  Ticks duration(uint64_t amount, uint32_t per_clock) const {
    return (amount * share_ * kTicksPerClock + per_clock - 1) / per_clock;
  }
  static Interval occupy(Ticks& unit, Ticks from, Ticks duration) {
    const Ticks begin = std::max(unit, from);
    unit = begin + duration;
    return {begin, unit};
  }
  Interval load(const AsyncOperation& operation, uint32_t bytes, Ticks now);
  Interval multiply(const AsyncOperation& operation, Ticks now);
  Interval tensor_operation(const AsyncOperation& operation, Ticks now);

  ClockModel model_;
  uint32_t share_;
  std::vector<Units> units_;  // by rank
};

}  // namespace tilewright::emulator
