// Runs a block-scaled plan on its machine.
#pragma once

#include "block_scaled_operands.h"
#include "run_problem.h"

namespace tilewright::cli {

/// D of `operands` gets the result of one run. On the emulated machine `arithmetic` false leaves the products
/// out, for times without results. time_us: measured by a captured graph of RunOptions::iterations launches,
/// or modelled when the schedule is `timed` and
/// a run is one kernel.
Expected<RunResult> run_block_scaled(const Plan& plan, BlockScaledOperands& operands,
                                     const RunOptions& options, bool arithmetic);

}  // namespace tilewright::cli
