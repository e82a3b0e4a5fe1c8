#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <system_error>

#include "arguments.h"

namespace tilewright::cli {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Progress::Progress(std::string what, std::function<std::string()> part)
    : what_(std::move(what)), part_(std::move(part)) {
  try {
    thread_ = std::thread([this] { report(); });
  } catch (const std::system_error&) {
    // No more threads to be had: the run goes on, and says less.
  }
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::function<void(int, int)> Progress::callback() {
  return [this](int done, int total) {
    total_ = total;
    done_ = done;
  };
}

void Progress::report() {
  const bool terminal = isatty(fileno(stderr)) != 0;
  const auto start = Clock::now();
  bool printed = false;
  std::unique_lock lock(mutex_);
  auto next = start + milliseconds(2000);
  while (!wake_.wait_until(lock, next, [this] { return finished_; })) {
    print(std::chrono::duration<double>(Clock::now() - start).count());
    printed = true;
    next = Clock::now() + milliseconds(terminal ? 250 : 10000);
  }
  if (printed && terminal) say("\r\033[K");
}

void Progress::print(double seconds) const {
  const bool terminal = isatty(fileno(stderr)) != 0;
  const int total = total_;
  std::string part = part_ ? part_() : total > 0 ? fmt::format("{:.0f} %", 100.0 * done_ / total) : "";
  if (!part.empty()) part += ", ";
  say(fmt::format("{}{}: {}{:.0f} s{}", terminal ? "\r\033[K" : "", what_, part, seconds,
                  terminal ? "" : "\n"));
  std::fflush(stderr);
}

}  // namespace tilewright::cli
