// `tilewright explain`: the rules, and which kernel a problem gets and why.
#pragma once

#include <CLI/CLI.hpp>

namespace tilewright::cli {

/// Adds the command; `exit_code` is set when it has run.
void add_explain_command(CLI::App& app, int& exit_code);

}  // namespace tilewright::cli
