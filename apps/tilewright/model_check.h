// D element by element against the model of the tensor core: what a theoretical bound is too wide to see.
#pragma once

#include <cstdint>
#include <string>

#include "operands.h"

namespace tilewright::cli {

/// A sample of D (and of aux), compared bit for bit.
struct ModelCheck {
  std::string why_not;  // nothing was compared: why
  int64_t elements = 0, mismatches = 0;
  /// The first that differs.
  bool in_aux = false;
  int64_t batch = 0, row = 0, column = 0;
  double got = 0, expected = 0;

  bool passed() const { return mismatches == 0; }
};

/// Compares the elements at which some rows and columns meet, in up to two batches: the first and the last,
/// both sides of edges of tiles, and random ones. FP8, f16, bf16, tf32, s8 and u8 on wgmma; not a D after
/// GELU.
ModelCheck compare_with_model(const Operands& operands, const PlanInfo& plan, uint64_t seed);

}  // namespace tilewright::cli
