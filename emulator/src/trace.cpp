#include "trace.h"

#include <algorithm>
#include <cstring>

#include "text.h"

namespace tilewright::emulator {
namespace {

// Between accesses that count as one span, in units of the timeline: some turns of all warps, or some hundred
// clocks.
constexpr uint64_t kLongestPause = 16384;
constexpr size_t kInterleaved = 4;  // kinds of accesses that alternate and count so

bool equal(Trace::Place a, Trace::Place b) {
  if (a.stage != b.stage || (a.name == nullptr) != (b.name == nullptr)) return false;
  return a.name == nullptr || std::strcmp(a.name, b.name) == 0;
}

std::string label(Trace::Place place) {
  if (place.name == nullptr) return {};
  return place.stage < 0 ? text(' ', place.name) : text(' ', place.name, '[', place.stage, ']');
}

// The first lane that is free takes the next span.
std::vector<std::vector<const Trace::Entry*>> lanes_of(std::vector<const Trace::Entry*> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  std::vector<std::vector<const Trace::Entry*>> lanes;
  for (const Trace::Entry* entry : entries) {
    const auto free = std::find_if(lanes.begin(), lanes.end(),
                                   [&](const auto& lane) { return lane.back()->end <= entry->begin; });
    if (free != lanes.end()) {
      free->push_back(entry);
    } else {
      lanes.push_back({entry});
    }
  }
  return lanes;
}

}  // namespace

void Trace::clear() { *this = Trace(); }

void Trace::start(const char* kernel, Index3 grid, Index3 cluster, double microseconds) {
  const double offset = launches_.empty() ? 0 : launches_.back().offset;
  launches_.push_back({kernel, grid, cluster, microseconds, offset});
  groups_.clear();
}

// Kept as where the next one starts; what is filed has its times already.
void Trace::finish(uint64_t end) {
  Launch& last = launches_.back();
  last.offset += static_cast<double>(end) * last.microseconds;
}

Trace::Place Trace::copied(Place place) {
  if (place.name == nullptr) return place;
  auto found = places_.find(std::string_view(place.name));
  if (found == places_.end()) found = places_.emplace(place.name).first;
  return {found->c_str(), place.stage};
}

void Trace::extend(Entry& entry, const Span& span) const {
  const Launch& now = launches_.back();
  entry.span.begin = std::min(entry.span.begin, span.begin);
  entry.span.end = std::max(entry.span.end, std::max(span.end, span.begin + 1));
  entry.span.bytes += span.bytes;
  entry.begin = now.offset + static_cast<double>(entry.span.begin) * now.microseconds;
  entry.end = now.offset + static_cast<double>(entry.span.end) * now.microseconds;
}

void Trace::add(const Span& span) {
  Entry entry{span, 0, 0};
  entry.span.place = copied(span.place);
  entry.span.second = copied(span.second);
  entry.span.bytes = 0;
  extend(entry, span);
  tracks_[key_of(span)].push_back(entries_.size());
  entries_.push_back(entry);
}

void Trace::add_in_turn(const Span& span) {
  const std::vector<size_t>& track = tracks_[key_of(span)];
  Span next = span;
  // Accesses of several buffers alternate; a wait ends them all.
  for (size_t back = 0; back < std::min<size_t>(track.size(), kInterleaved); ++back) {
    Entry& last = entries_[track[track.size() - 1 - back]];
    const bool again = span.kind != Kind::wait && std::strcmp(last.span.name, span.name) == 0 &&
                       equal(last.span.place, span.place);
    if (again && span.begin <= last.span.end + kLongestPause) return extend(last, span);
    if (span.kind == Kind::wait || last.span.kind == Kind::wait) {
      next.begin = std::max(next.begin, last.span.end);
      if (last.span.kind == Kind::wait) break;
    }
  }
  if (next.begin < next.end || next.kind != Kind::wait) add(next);
}

void Trace::add_to_group(const Span& span, uint32_t group) {
  const auto [found, first] = groups_.try_emplace({key_of(span), group}, entries_.size());
  if (first) return add(span);
  Entry& entry = entries_[found->second];
  extend(entry, span);
  if (entry.span.second.name == nullptr && !equal(entry.span.place, span.place))
    entry.span.second = copied(span.place);
}

void Trace::name_warp(uint32_t cta, uint32_t warp, const char* role) {
  roles_[{launch(), cta, Unit::warp, warp}] = role;
}

std::string Trace::label(const Span& span) {
  std::string result = span.name + emulator::label(span.place);
  const char* join = span.kind == Kind::multiply ? " x" : " and";
  if (span.second.name != nullptr) result += join + emulator::label(span.second);
  return result;
}

std::string Trace::name_of(const TrackKey& track) const {
  const auto& [launch, cta, unit, index] = track;
  const auto role = roles_.find({launch, cta, Unit::warp, index});
  const std::string warp =
      role == roles_.end() ? text("warp ", index) : text("warp ", index, ' ', role->second);
  switch (unit) {
    case Unit::loads:
      return "TMA loads";
    case Unit::stores:
      return "TMA stores";
    case Unit::tensor_core:
      return index == kWhole ? "tensor core" : text("tensor core, warpgroup ", index);
    case Unit::copies:
      return "cp.async, " + warp;
    case Unit::tensor_memory:
      return "tensor memory, " + warp;
    case Unit::warp:
      break;
  }
  return warp;
}

// As data passes: who loads, loads, who multiplies, products, who stores, stores.
int Trace::rank_of(const TrackKey& track) const {
  const auto& [launch, cta, unit, index] = track;
  switch (unit) {
    case Unit::loads:
      return 2;
    case Unit::copies:
      return 3;
    case Unit::tensor_core:
      return 5;
    case Unit::tensor_memory:
      return 6;
    case Unit::stores:
      return 8;
    case Unit::warp:
      break;
  }
  const auto role = roles_.find(track);
  if (role == roles_.end()) return 0;
  if (role->second == "mma") return 4;
  return role->second == "consumer" || role->second == "epilogue" ? 7 : 1;
}

std::string Trace::name_of_process(uint32_t launch, uint32_t cta) const {
  const Launch& of = launches_[launch];
  const uint32_t x = cta % of.grid.x, y = cta / of.grid.x % of.grid.y, z = cta / of.grid.x / of.grid.y;
  const std::string name = text("CTA ", cta, " (block ", x, ',', y, ',', z, ')');
  return launches_.size() == 1 ? name : text("launch ", launch + 1, ", ", of.kernel, ": ", name);
}

std::vector<Trace::Process> Trace::processes() const {
  std::vector<Process> result;
  std::vector<std::pair<int, Track>> ranked;
  const auto finish_process = [&] {
    if (ranked.empty()) return;
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [rank, track] : ranked) result.back().tracks.push_back(std::move(track));
    ranked.clear();
  };
  for (const auto& [key, indices] : tracks_) {
    const auto& [launch, cta, unit, index] = key;
    if (result.empty() || result.back().launch != launch || result.back().cta != cta) {
      finish_process();
      result.push_back({name_of_process(launch, cta), launch, cta, {}});
    }
    std::vector<const Entry*> entries;
    for (const size_t i : indices) entries.push_back(&entries_[i]);
    ranked.emplace_back(rank_of(key), Track{name_of(key), lanes_of(std::move(entries))});
  }
  finish_process();
  return result;
}

}  // namespace tilewright::emulator
