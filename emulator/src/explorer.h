// Depth-first search over the orders of steps: dynamic partial-order reduction (Flanagan and Godefroid) with
// sleep sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tilewright::emulator {

class Explorer {
 public:
  /// Names a process (threads that step together, asynchronous operation) or an mbarrier alike in every
  /// execution.
  using Key = uint64_t;

  /// What a step does to an mbarrier: it waits for a phase that has completed, or it brings arrivals or bytes
  /// to phase `phase`.
  struct Touch {
    Key barrier = 0;
    bool waits = false;
    uint32_t phase = 0;
  };
  /// The next step of a process that could go on.
  struct Choice {
    Key process = 0;
    std::vector<Touch> touches;
  };

  /// `arrivals_commute`: arrivals of one phase are independent of each other; `each_warp`: every warp is a
  /// process of its own.
  Explorer(bool arrivals_commute, bool each_warp)
      : arrivals_commute_(arrivals_commute), each_warp_(each_warp) {}
  bool each_warp() const { return each_warp_; }

  /// Before each execution.
  void restart();
  /// The index of the step to do next; none when every one of them leads to what was seen before.
  static constexpr size_t kCut = ~size_t{0};
  size_t choose(const std::vector<Choice>& choices);
  /// The running step completed a phase of the mbarrier; started the process; let the process go on.
  void completed(Key barrier);
  void started(Key process) { joined(process); }
  void woke(Key process) { joined(process); }

  /// After an execution: sets up the next one. False when there is none.
  bool next();

  size_t steps() const { return steps_.size(); }
  /// The execution was given up.
  bool was_cut() const { return cut_; }
  /// An execution did not repeat what an earlier one did up to the same point: it depends on more than order.
  bool diverged() const { return diverged_; }

 private:
  using Clock = std::map<Key, size_t>;  // per process: steps (by number, from 1) that happened before

  struct Node {
    std::vector<Choice> choices;
    std::map<Key, std::vector<Touch>> sleep;  // processes whose next step was explored, and what it touches
    std::set<Key> done, wanted;
    Key chosen = 0;
  };
  struct Step {
    Key process;
    std::vector<Touch> touches;
    std::set<Key> completes;  // mbarriers
  };
  struct Barrier {
    std::vector<std::pair<size_t, Touch>> steps;
    Clock arrivals;    // in the phase that runs
    Clock completion;  // of the phase before, and of those before that
    Clock waits;
  };

  static void join(Clock& into, const Clock& from);
  void joined(Key process);
  bool independent(const std::vector<Touch>& sleeping, const Step& step) const;
  bool independent(const Touch& a, const Touch& b) const;
  Node descend(const std::vector<Choice>& choices) const;
  void find_races(const Choice& step, const Clock& clock);
  void order(const Choice& step, Clock& clock);

  bool arrivals_commute_, each_warp_;
  std::vector<Node> nodes_;  // of the path that is explored
  // Of the running execution.
  std::vector<Step> steps_;
  std::map<Key, Clock> clocks_;
  std::map<Key, Barrier> barriers_;
  Key running_ = 0;
  bool cut_ = false, diverged_ = false;
};

}  // namespace tilewright::emulator
