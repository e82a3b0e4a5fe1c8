#include "explain_command.h"

#include <fmt/core.h>

#include <memory>

#include "arguments.h"
#include "block_scaled_command.h"
#include "gemm_report.h"

namespace tilewright::cli {
namespace {

void print_rules() {
  fmt::print("Every rule that a problem, an option or a pointer must meet:\n");
  for (const Rule& rule : gemm_rules()) fmt::print("  {:<18} {}\n", rule.name, rule.text);
}

int explain(const ProblemArguments& args) {
  const Expected<Problem> problem = args.problem();
  if (!problem) return refuse(problem.error(), false);
  const Expected<Options> options = args.options();
  if (!options) return refuse(options.error(), false);
  if (!args.extents_given()) {
    print_rules();
    return kPass;
  }
  const Expected<Plan> planned = plan(*problem, *options);
  if (!planned) {
    fmt::print("cannot run: {}\nrule: {}\n", planned.error().message, planned.error().rule);
    return kRefused;
  }
  const PlanInfo& info = planned->info();
  print_configuration(*problem, info, info.device == Device::gpu ? "GPU" : "emulated machine");
  if (!info.candidates.empty()) fmt::print("compared by the planner's model:\n");
  for (const PlanCandidate& c : info.candidates)
    fmt::print("  tile {:>3}x{:<3} {:>12.0f} clocks\n", c.tile.m, c.tile.n, c.clocks);
  return kPass;
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("explain",
                                         "Without extents, list the rules; with them, say which kernel would "
                                         "run and why. Block-scaled types: draw tensor memory too");
  const auto args = std::make_shared<ProblemArguments>();
  args->add_to(*command, "Default: none, which lists the rules");
  command->callback([args, command, &exit_code] {
    if (Status s = check_words(*command)) {
      exit_code = refuse(*s, false);
      return;
    }
    exit_code = args->block_scaled() ? explain_block_scaled(*args) : explain(*args);
  });
}

}  // namespace tilewright::cli
