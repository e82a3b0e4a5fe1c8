// `tilewright bench`: speed beside cuBLASLt, in one process.
#pragma once

#include <CLI/CLI.hpp>

namespace tilewright::cli {

/// Adds the command; `exit_code` is set when it has run.
void add_bench_command(CLI::App& app, int& exit_code);

}  // namespace tilewright::cli
