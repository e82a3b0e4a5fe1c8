// Independent blocks of work on a few host threads, with progress.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tilewright::detail {

/// Calls work(i) once for each i in [0, blocks), on `threads` threads (0: one for each core); the caller's is
/// one of them. Blocks start in order. After each block progress(done, blocks) is called, never by two
/// threads at once.
inline void parallel_blocks(int blocks, int threads, const std::function<void(int)>& work,
                            const std::function<void(int, int)>& progress) {
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<int> next{0};
  std::mutex progress_mutex;
  int done = 0;
  const auto run = [&] {
    for (int i = next++; i < blocks; i = next++) {
      work(i);
      if (!progress) continue;
      const std::lock_guard lock(progress_mutex);
      progress(++done, blocks);
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int i = 1; i < std::min(threads, blocks); ++i) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // No more threads to be had: those that exist, and this one, do all the work.
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace tilewright::detail
