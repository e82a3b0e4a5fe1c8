#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "arguments.h"
#include "bench_command.h"
#include "explain_command.h"
#include "gemm_command.h"

namespace tilewright::cli {
namespace {

/// Letters to change, add or leave out.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({change, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

/// A sentence if the word looks like a command and is none.
std::string unknown_command(const CLI::App& app, const std::string& word) {
  if (word.empty() || word.starts_with('-')) return {};
  std::string nearest, all;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& name = command->get_name();
    if (name == word) return {};
    if (nearest.empty() || distance(word, name) < distance(word, nearest)) nearest = name;
    all += (all.empty() ? "" : ", ") + name;
  }
  return fmt::format("'{}' is not a command; known are {}; nearest legal: {}", word, all, nearest);
}

/// What the words ask for; the exit code.
int run(int argc, char** argv) {
  CLI::App app("Matrix multiplication on Hopper GPUs, and on an emulated one");
  app.require_subcommand(1);
  app.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION);
  int exit_code = kPass;
  add_gemm_command(app, exit_code);
  add_bench_command(app, exit_code);
  add_explain_command(app, exit_code);
  // Known before the words are understood: errors of usage are objects, too.
  const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  if (const std::string wrong = unknown_command(app, argc > 1 ? argv[1] : ""); !wrong.empty())
    return refuse({ErrorCode::invalid_argument, "command.name", wrong}, json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (json && e.get_exit_code() != 0)
      return refuse({ErrorCode::invalid_argument, "option.usage", e.what()}, true);
    return app.exit(e) == 0 ? kPass : kRefused;
  } catch (const std::bad_alloc&) {
    return refuse({ErrorCode::out_of_range, "host.memory", "not enough memory on this machine"}, json);
  }
  return exit_code;
}

/// Of standard output that not all could be written to: a script must not take what is there for the result.
int refuse_output(const std::string& why) {
  return refuse({ErrorCode::io, "output.write", "standard output cannot be written: " + why}, false);
}

}  // namespace
}  // namespace tilewright::cli

int main(int argc, char** argv) {
  using namespace tilewright::cli;
  try {
    const int exit_code = run(argc, argv);
    if (std::fflush(stdout) != 0) return refuse_output(std::strerror(errno));
    return std::ferror(stdout) != 0 ? refuse_output("an error on the way") : exit_code;
  } catch (const std::system_error& e) {  // what fmt::print throws
    return refuse_output(e.code().message());
  }
}
