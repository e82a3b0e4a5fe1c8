// Block-scaled products on tensor cores that have block scales: cases for any machine that is an sm_100a.
#pragma once

#include <vector>

#include "tests/block_scale/problem_case.h"

namespace tilewright::testing {

/// run_problem_case on an sm_100a, judged by FP64 of the dequantised operands. `judged` false: only guards
/// and repetition.
ProblemResult run_block_scaled_case(const ProblemCase& c, TestMachine& machine, bool judged = true);

/// All formats, with and without overlap, each with every output and scheduler: K of one scale, of one K tile
/// and of many, ragged, batched and padded shapes, C, factors, no K. At most two pairs of CTAs work.
std::vector<ProblemCase> block_scaled_cases();

/// Codes of scales that nobody may read change no bit of a result.
void expect_scale_padding_unread(BlockFormat format, TestMachine& machine);

/// One problem has one result: with and without overlap, by either scheduler, on a pair of CTAs and on all.
void expect_one_result(BlockFormat a, BlockFormat b, TestMachine& machine);
/// Some elements of an f32 D against FP64; with two runs or more, all bits of each.
void expect_large_is_right(const ProblemCase& c, TestMachine& machine);
/// data_and_zeros_cases() within a bound for which zeros are nothing.
void expect_zeros_cost_no_bits(TestMachine& machine);

}  // namespace tilewright::testing
