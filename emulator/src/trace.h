// The timeline of a launch.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::emulator {

/// Spans on tracks, on the timeline: machine steps or modelled time.
class Trace {
 public:
  struct Span {
    const char* name;  // a literal
    uint32_t process;  // linear block index
    uint32_t track;
    uint64_t begin, end;
    const char* place;  // may be null; copied
    int stage;
    uint64_t bytes;
  };
  /// Tracks of asynchronous units, beyond those of warps.
  static constexpr uint32_t kLoads = 1000, kStores = 1001, kTensorCore = 1100;  // + warpgroup

  /// Forgets the last launch. A unit of the timeline is shown as so many microseconds.
  void start(double microseconds);
  void add(Span span);
  /// The track shows the name; the last one wins.
  void name_track(uint32_t process, uint32_t track, const std::string& name);
  std::string json() const;

 private:
  std::string time(uint64_t units) const;

  double microseconds_ = 1;
  std::vector<Span> spans_;
  std::set<std::string> places_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> names_;
};

}  // namespace tilewright::emulator
