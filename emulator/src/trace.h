// The timeline of a machine: what each warp and each asynchronous unit did, launch after launch.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tilewright/emulator/hooks.h"

namespace tilewright::emulator {

class Trace {
 public:
  enum class Unit : uint8_t { warp, loads, copies, tensor_core, tensor_memory, stores };
  enum class Kind : uint8_t { load, copy, multiply, tensor_memory, store, wait, count_ };
  /// What an operation touches, as name_shared, name_barrier or a buffer's name say it; copied.
  struct Place {
    const char* name = nullptr;
    int stage = -1;
  };
  struct Span {
    const char* name;  // a literal
    Kind kind;
    uint32_t cta;  // linear block index
    Unit unit;
    uint32_t index;  // of the warp or the warpgroup in its CTA, or kWhole
    uint64_t begin, end;
    Place place, second = {};
    uint64_t bytes = 0;
  };

  static constexpr uint32_t kWhole = ~0u;  // a unit that all warps share

  /// Spans on one track, in lanes: spans of one lane do not overlap.
  struct Entry {
    Span span;
    double begin, end;  // in units of the whole timeline
  };
  struct Track {
    std::string name;
    std::vector<std::vector<const Entry*>> lanes;
  };
  struct Process {
    std::string name;
    uint32_t launch, cta;
    std::vector<Track> tracks;  // loads, products, stores: as data passes
  };

  /// Forgets everything.
  void clear();
  /// A launch that follows the ones before it. A unit of its timeline is so many microseconds.
  void start(const char* kernel, Index3 grid, Index3 cluster, double microseconds);
  /// It has ended.
  void finish(uint64_t end);

  /// An operation of an asynchronous unit: it may overlap others.
  void add(const Span& span);
  /// What a warp does: accesses, and waits between them. The same access again, soon, is the same span.
  void add_in_turn(const Span& span);
  /// One of the operations of a group: the group is one span.
  void add_to_group(const Span& span, uint32_t group);
  void name_warp(uint32_t cta, uint32_t warp, const char* role);

  bool empty() const { return entries_.empty(); }
  std::vector<Process> processes() const;
  static std::string label(const Span& span);
  /// Chrome trace events.
  std::string json() const;
  /// A picture of the first CTA of each launch, and of one more of its cluster.
  std::string svg() const;

 private:
  struct Launch {
    std::string kernel;
    Index3 grid, cluster;
    double microseconds = 1, offset = 0;
  };
  using TrackKey = std::tuple<uint32_t, uint32_t, Unit, uint32_t>;  // launch, CTA, unit, index

  uint32_t launch() const { return static_cast<uint32_t>(launches_.size() - 1); }
  TrackKey key_of(const Span& span) const { return {launch(), span.cta, span.unit, span.index}; }
  Place copied(Place place);
  void extend(Entry& entry, const Span& span) const;
  std::string name_of(const TrackKey& track) const;
  int rank_of(const TrackKey& track) const;
  std::string name_of_process(uint32_t launch, uint32_t cta) const;

  std::vector<Launch> launches_;
  std::vector<Entry> entries_;
  std::map<TrackKey, std::vector<size_t>> tracks_;  // their entries
  std::map<std::pair<TrackKey, uint32_t>, size_t> groups_;
  std::map<TrackKey, std::string> roles_;
  std::set<std::string, std::less<>> places_;
};

}  // namespace tilewright::emulator
