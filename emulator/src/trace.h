// The timeline of a launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/emulator/hooks.h"

namespace tilewright::emulator {

/// Spans on tracks, in machine steps.
class Trace {
 public:
  struct Span {
    const char* name;
    uint32_t process;  // linear block index
    uint32_t track;
    uint64_t begin, end;
    const char* place;  // may be null
    int stage;
    uint64_t bytes;
  };
  /// Tracks of asynchronous units, beyond those of warps.
  static constexpr uint32_t kLoads = 1000, kStores = 1001, kTensorCore = 1100;  // + warpgroup

  void clear();
  void add(const Span& span) { spans_.push_back(span); }
  /// The track shows the name; the last one wins.
  void name_track(uint32_t process, uint32_t track, const std::string& name);
  std::string json() const;

 private:
  struct TrackName {
    uint32_t process, track;
    std::string name;
  };
  std::vector<Span> spans_;
  std::vector<TrackName> names_;
};

}  // namespace tilewright::emulator
