#include "explorer.h"

#include <algorithm>

namespace tilewright::emulator {
namespace {

const Explorer::Choice* find(const std::vector<Explorer::Choice>& choices, Explorer::Key process) {
  for (const Explorer::Choice& choice : choices) {
    if (choice.process == process) return &choice;
  }
  return nullptr;
}

}  // namespace

void Explorer::restart() {
  steps_.clear();
  clocks_.clear();
  barriers_.clear();
  running_ = 0;
  cut_ = false;
}

void Explorer::join(Clock& into, const Clock& from) {
  for (const auto& [process, step] : from) {
    size_t& known = into[process];
    known = std::max(known, step);
  }
}

void Explorer::joined(Key process) {
  if (process != running_) join(clocks_[process], clocks_[running_]);
}

void Explorer::completed(Key barrier) {
  Barrier& state = barriers_[barrier];
  join(state.completion, state.arrivals);
  join(state.completion, clocks_[running_]);
  state.arrivals.clear();
  if (!steps_.empty()) steps_.back().completes.insert(barrier);
}

// Waits do not touch each other. Arrivals of one phase add up, whatever their order.
bool Explorer::independent(const Touch& a, const Touch& b) const {
  if (a.barrier != b.barrier || (a.waits && b.waits)) return true;
  return arrivals_commute_ && !a.waits && !b.waits && a.phase == b.phase;
}

// A step that completes a phase moves the arrivals that are still to come to the next one.
bool Explorer::independent(const std::vector<Touch>& sleeping, const Step& step) const {
  return std::all_of(sleeping.begin(), sleeping.end(), [&](const Touch& mine) {
    return std::all_of(step.touches.begin(), step.touches.end(), [&](const Touch& other) {
      const bool moves = mine.barrier == other.barrier && step.completes.count(other.barrier) != 0;
      return !moves && independent(mine, other);
    });
  });
}

// The node below the last one of the path.
Explorer::Node Explorer::descend(const std::vector<Choice>& choices) const {
  Node node;
  node.choices = choices;
  if (nodes_.empty()) return node;
  const Node& parent = nodes_.back();
  const auto keep = [&](Key process, const std::vector<Touch>& touches) {
    if (process != parent.chosen && independent(touches, steps_.back())) node.sleep.emplace(process, touches);
  };
  for (const auto& [process, touches] : parent.sleep) keep(process, touches);
  for (const Key process : parent.done) keep(process, find(parent.choices, process)->touches);
  return node;
}

size_t Explorer::choose(const std::vector<Choice>& choices) {
  const size_t depth = steps_.size();
  if (depth == nodes_.size()) {
    Node node = descend(choices);
    const auto awake = std::find_if(choices.begin(), choices.end(), [&](const Choice& choice) {
      return node.sleep.find(choice.process) == node.sleep.end();
    });
    if (awake == choices.end()) {
      cut_ = true;
      return kCut;
    }
    node.chosen = awake->process;
    node.wanted.insert(node.chosen);
    nodes_.push_back(std::move(node));
  }
  const Choice* chosen = find(choices, nodes_[depth].chosen);
  if (chosen == nullptr) {
    diverged_ = true;
    return kCut;
  }
  running_ = chosen->process;
  Clock& clock = clocks_[running_];
  // A wait never could have come before what completed its phase.
  for (const Touch& touch : chosen->touches) {
    if (touch.waits) join(clock, barriers_[touch.barrier].completion);
  }
  find_races(*chosen, clock);
  order(*chosen, clock);
  steps_.push_back({running_, chosen->touches, {}});
  return static_cast<size_t>(chosen - choices.data());
}

// The step comes after those that it depends on.
void Explorer::order(const Choice& step, Clock& clock) {
  const size_t number = steps_.size();
  for (const Touch& touch : step.touches) {
    const Barrier& state = barriers_[touch.barrier];
    join(clock, state.completion);
    if (!touch.waits) join(clock, state.waits);
    if (touch.waits || !arrivals_commute_) join(clock, state.arrivals);
  }
  clock[step.process] = number + 1;
  for (const Touch& touch : step.touches) {
    Barrier& state = barriers_[touch.barrier];
    join(touch.waits ? state.waits : state.arrivals, clock);
    state.steps.emplace_back(number, touch);
  }
}

// The last step that touches the same and did not have to come before: the other order is wanted too.
void Explorer::find_races(const Choice& step, const Clock& clock) {
  for (const Touch& touch : step.touches) {
    const auto& before = barriers_[touch.barrier].steps;
    for (auto at = before.rbegin(); at != before.rend(); ++at) {
      const auto& [number, other_touch] = *at;
      const Key other = steps_[number].process;
      if (other == step.process || independent(touch, other_touch)) continue;
      const auto known = clock.find(other);
      if (known != clock.end() && known->second > number) continue;
      Node& node = nodes_[number];
      if (find(node.choices, step.process) != nullptr) {
        node.wanted.insert(step.process);
      } else {
        for (const Choice& choice : node.choices) node.wanted.insert(choice.process);
      }
      break;
    }
  }
}

bool Explorer::next() {
  while (!nodes_.empty()) {
    Node& node = nodes_.back();
    node.done.insert(node.chosen);
    const auto left = std::find_if(node.wanted.begin(), node.wanted.end(), [&](Key process) {
      return node.done.find(process) == node.done.end() && node.sleep.find(process) == node.sleep.end();
    });
    if (left != node.wanted.end()) {
      node.chosen = *left;
      return true;
    }
    nodes_.pop_back();
  }
  return false;
}

}  // namespace tilewright::emulator
