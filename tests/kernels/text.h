// Messages from pieces, std::hex and the like among them.
#pragma once

#include <ios>
#include <sstream>
#include <string>

namespace tilewright::testing {

template <class... T>
std::string text(T&&... pieces) {
  std::ostringstream out;
  (out << ... << pieces);
  return out.str();
}

}  // namespace tilewright::testing
