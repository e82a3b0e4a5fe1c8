// Mistakes in the use of a pipeline that the emulated machine reports by name. On a GPU nothing is checked:
// these calls cost nothing there.
#pragma once

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// Reports `sentence` under the name `rule` for the calling thread. Nothing on a GPU.
TILEWRIGHT_DEVICE void misuse([[maybe_unused]] const char* rule, [[maybe_unused]] const char* sentence) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::misuse(rule, sentence);
#endif
}

/// Life of an accumulator: empty -> (execute) ready -> (one reading operation, or discard) empty.
class ResultState {
 public:
#if defined(TILEWRIGHT_EMULATE)
  void make_ready() { state_ = State::ready; }
  void discard() { state_ = State::empty; }
  /// Before a reading operation, or its first piece, which has so many elements.
  void read(int count = 0) {
    if (state_ == State::consumed) {
      misuse("accumulator.second_read",
             "reads an accumulator a second time: each result has one reading operation; keep what "
             "get_results() returns");
    } else if (state_ == State::empty) {
      misuse("accumulator.not_ready", "reads an accumulator that holds no result");
    }
    state_ = State::consumed;
    next_ = count;
  }
  /// Before another piece of one.
  void read_piece(int first, int count) {
    if (state_ != State::consumed || first != next_)
      misuse("accumulator.part_order", "reads a part of an accumulator that is not the one after the last");
    next_ = first + count;
  }
  /// Where the result would be lost.
  void expect_finished(const char* where) {
    if (state_ == State::ready) misuse("accumulator.unfinished", where);
    state_ = State::empty;
  }

 private:
  enum class State : unsigned char { empty, ready, consumed };
  State state_ = State::empty;
  int next_ = 0;  // element of a reading operation in pieces
#else
  TILEWRIGHT_DEVICE void make_ready() {}
  TILEWRIGHT_DEVICE void discard() {}
  TILEWRIGHT_DEVICE void read(int = 0) {}
  TILEWRIGHT_DEVICE void read_piece(int, int) {}
  TILEWRIGHT_DEVICE void expect_finished(const char*) {}
#endif
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
