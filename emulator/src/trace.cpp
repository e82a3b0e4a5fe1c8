#include "trace.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "text.h"

namespace tilewright::emulator {
namespace {

std::string quoted(const std::string& raw) {
  std::string result = "\"";
  for (const char c : raw) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '"';
}

std::string default_name(uint32_t track) {
  if (track == Trace::kLoads) return "TMA loads";
  if (track == Trace::kStores) return "TMA stores";
  if (track >= Trace::kTensorCore) return text("tensor core, warpgroup ", track - Trace::kTensorCore);
  return text("warp ", track);
}

}  // namespace

void Trace::start(double microseconds) {
  microseconds_ = microseconds;
  spans_.clear();
  names_.clear();
  places_.clear();
}

void Trace::name_track(uint32_t process, uint32_t track, const std::string& name) {
  names_[{process, track}] = name;
}

void Trace::add(Span span) {
  span.place = span.place == nullptr ? nullptr : places_.insert(span.place).first->c_str();
  spans_.push_back(span);
}

std::string Trace::time(uint64_t units) const {
  if (microseconds_ == 1) return text(units);
  std::array<char, 40> digits;
  std::snprintf(digits.data(), digits.size(), "%.6f", static_cast<double>(units) * microseconds_);
  return digits.data();
}

std::string Trace::json() const {
  std::map<std::pair<uint32_t, uint32_t>, std::string> names = names_;
  std::string result = "{\"traceEvents\":[";
  for (const Span& span : spans_) {
    names.try_emplace({span.process, span.track}, default_name(span.track));
    std::string name = span.name;
    if (span.place != nullptr) name += text(' ', span.place);
    if (span.place != nullptr && span.stage >= 0) name += text('[', span.stage, ']');
    result +=
        text("{\"name\":", quoted(name), ",\"ph\":\"X\",\"pid\":", span.process, ",\"tid\":", span.track,
             ",\"ts\":", time(span.begin), ",\"dur\":", time(std::max<uint64_t>(span.end - span.begin, 1)));
    if (span.bytes != 0) result += text(",\"args\":{\"bytes\":", span.bytes, '}');
    result += "},\n";
  }
  for (const auto& [key, name] : names) {
    result += text("{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":", key.first, ",\"tid\":", key.second,
                   ",\"args\":{\"name\":", quoted(name), "}},\n");
  }
  return result + "{}],\"displayTimeUnit\":\"ns\"}\n";
}

}  // namespace tilewright::emulator
