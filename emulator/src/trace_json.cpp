// The timeline as Chrome trace events.
#include <array>
#include <cstdio>

#include "text.h"
#include "trace.h"

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

std::string number(double microseconds) {
  std::array<char, 40> digits;
  std::snprintf(digits.data(), digits.size(), "%.6f", microseconds);
  return digits.data();
}

std::string named(const char* what, size_t process, size_t track, const std::string& name) {
  return text("{\"name\":\"", what, "_name\",\"ph\":\"M\",\"pid\":", process, ",\"tid\":", track,
              ",\"args\":{\"name\":", quoted(name), "}},\n{\"name\":\"", what,
              "_sort_index\",\"ph\":\"M\",\"pid\":", process, ",\"tid\":", track,
              ",\"args\":{\"sort_index\":", what[0] == 'p' ? process : track, "}},\n");
}

}  // namespace

std::string Trace::json() const {
  std::string result = "{\"traceEvents\":[\n";
  size_t process = 0;
  for (const Process& cta : processes()) {
    result += named("process", process, 0, cta.name);
    size_t thread = 0;
    for (const Track& track : cta.tracks) {
      for (size_t lane = 0; lane < track.lanes.size(); ++lane, ++thread) {
        result +=
            named("thread", process, thread, lane == 0 ? track.name : text(track.name, " (", lane + 1, ')'));
        for (const Entry* entry : track.lanes[lane]) {
          result += text("{\"name\":", quoted(label(entry->span)), ",\"ph\":\"X\",\"pid\":", process,
                         ",\"tid\":", thread, ",\"ts\":", number(entry->begin),
                         ",\"dur\":", number(entry->end - entry->begin));
          if (entry->span.bytes != 0) result += text(",\"args\":{\"bytes\":", entry->span.bytes, '}');
          result += "},\n";
        }
      }
    }
    ++process;
  }
  // JSON has no comma behind the last one.
  if (process != 0) result.erase(result.size() - 2, 1);
  return result + "],\"displayTimeUnit\":\"ns\"}\n";
}

}  // namespace tilewright::emulator
