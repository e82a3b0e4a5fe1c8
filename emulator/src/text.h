// Sentences for reports.
#pragma once

#include <sstream>
#include <string>

namespace tilewright::emulator {

/// The pieces, each written as by operator<<, in one string.
template <class... Pieces>
std::string text(const Pieces&... pieces) {
  std::ostringstream stream;
  (stream << ... << pieces);
  return std::move(stream).str();
}

/// "1 byte", "2 bytes".
inline std::string plural(long long n, const char* noun) { return text(n, ' ', noun, n == 1 ? "" : "s"); }

struct Hex {
  unsigned long long value;
};
inline std::ostream& operator<<(std::ostream& stream, Hex hex) {
  const auto flags = stream.flags();
  stream << "0x" << std::hex << hex.value;
  stream.flags(flags);
  return stream;
}

}  // namespace tilewright::emulator
