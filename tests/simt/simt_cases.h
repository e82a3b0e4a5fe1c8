// GEMM cases of f32 operands, for any machine.
#pragma once

#include <vector>

#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// m x n x k of f32, A and B M/N-major and D row-major, all packed, on 32 x 128 tiles (the cheapest to
/// emulate), K in one part.
GemmCase simt_case(const char* name, int64_t m, int64_t n, int64_t k);

/// All pairs of layouts, tiles, sizes, paddings, alignments, batches, factors, parts of K, kinds of load,
/// data, orders of tiles and multiprocessors.
std::vector<GemmCase> simt_covering_cases();
/// Every layout of A, B, C and D, each under every kind of load, with K in one part and in several.
std::vector<GemmCase> simt_layout_cases();
/// K from 0 up around the edges of stages and of the ring.
std::vector<GemmCase> simt_k_cases();
/// M and N from 0 up around the edges of tiles and of threads' rows and columns.
std::vector<GemmCase> simt_edge_cases();
/// Tiles cut along K in all the ways that pieces and tiles can meet.
std::vector<GemmCase> simt_shared_cases();
/// Integers, the identity, NaN and infinities: cases with an answer known in advance.
std::vector<GemmCase> simt_value_cases();

/// All of the above.
std::vector<GemmCase> simt_cases();

}  // namespace tilewright::testing
