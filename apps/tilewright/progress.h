// A line on stderr for anything that takes longer than two seconds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tilewright::cli {

/// Says what is going on from construction to destruction: on a terminal one line that is kept up to date,
/// otherwise a plain line every ten seconds.
class Progress {
 public:
  /// part: says how far it is, for what has no callback; called from another thread.
  explicit Progress(std::string what, std::function<std::string()> part = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// For functions that report (done, total); usable from any thread.
  std::function<void(int, int)> callback();

 private:
  void report();
  void print(double seconds) const;

  std::string what_;
  std::function<std::string()> part_;
  std::atomic<int> done_{0}, total_{0};
  bool finished_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace tilewright::cli
