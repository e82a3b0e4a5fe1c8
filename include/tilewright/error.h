// Errors as values: the rule that was broken, the value found, the nearest legal value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tilewright {

enum class ErrorCode : uint8_t {
  invalid_argument,  // a rule of the problem or of an option
  not_supported,     // legal, but no kernel here can run it
  alignment,         // pointer or stride
  out_of_range,      // an extent or offset too large
  no_device,         // no GPU, no driver, or the wrong architecture
  cuda,              // the driver or the runtime refused
  emulator,          // the emulated machine reported a fault
  io,                // a file
};

/// What went wrong, as a sentence for a person (`message`) and as the name of the rule for a program
/// (`rule`).
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string rule;     // short and stable, for example "ld.multiple_of_16_bytes"
  std::string message;  // "A: leading dimension 129 is not a multiple of 16; the nearest legal value is 144"
};

/// A value or an Error. A subset of C++23's std::expected<T, Error>.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  /// Only when has_value().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  /// Only when !has_value().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error.
using Status = std::optional<Error>;

}  // namespace tilewright
