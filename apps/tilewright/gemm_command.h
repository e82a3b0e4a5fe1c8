// `tilewright gemm`: one problem, checked against FP64.
#pragma once

#include <CLI/CLI.hpp>

namespace tilewright::cli {

/// Adds the command; `exit_code` is set when it has run.
void add_gemm_command(CLI::App& app, int& exit_code);

}  // namespace tilewright::cli
