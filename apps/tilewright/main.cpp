#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <new>

#include "arguments.h"
#include "bench_command.h"
#include "explain_command.h"
#include "gemm_command.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  CLI::App app("Matrix multiplication on Hopper GPUs, and on an emulated one");
  app.require_subcommand(1);
  int exit_code = cli::kPass;
  cli::add_gemm_command(app, exit_code);
  cli::add_bench_command(app, exit_code);
  cli::add_explain_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? cli::kPass : cli::kRefused;
  } catch (const std::bad_alloc&) {
    return cli::refuse({ErrorCode::out_of_range, "host.memory", "not enough memory on this machine"}, false);
  }
  return exit_code;
}
