// Parts of PTX instructions put together at compile time, for the asm constraint "C".
#pragma once

#include <cstddef>
#include <utility>

#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {
namespace detail {

/// A zero-terminated text put together at compile time.
struct PtxText {
  char text[64] = {};
  size_t length = 0;

  constexpr PtxText& append(const char* more) {
    while (*more != 0) text[length++] = *more++;
    return *this;
  }
  constexpr PtxText& append(int number) {
    char digits[4] = {};
    int at = 3;
    for (; number > 0; number /= 10) digits[--at] = static_cast<char>('0' + number % 10);
    return append(digits + at);
  }
};

/// The characters of Source::make() as a variable of array type, which is what asm takes as text.
template <class Source, class = std::make_index_sequence<Source::make().length + 1>>
struct PtxCharacters;
template <class Source, size_t... I>
struct PtxCharacters<Source, std::index_sequence<I...>> {
  static constexpr PtxText text = Source::make();
  static constexpr char value[] = {text.text[I]...};
};

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
