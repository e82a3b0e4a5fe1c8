#include "src/gemm_bound.h"

namespace tilewright {

ComparisonRules comparison_rules(const Problem& p, double greatest_scale) {
  const DType type = real_type_of(p.a.type);
  const int64_t k = is_complex(p.a.type) ? 2 * p.k : p.k;  // products of a sum
  ComparisonRules rules;
  rules.saturate = p.saturate && bits_of(p.d.type) == 8;  // kernels saturate no other outputs
  if (is_integer(type)) {
    constexpr double kWraps = 0x1p31;
    rules.accumulation = exact_bound();
    rules.accumulation.largest = kWraps;
    rules.wide_epilogue = true;
  } else if (p.scale_mode == ScaleMode::block_1x128_128x128) {
    rules.accumulation = block_scaled_bound(type, k, greatest_scale);
  } else if (type == DType::f64) {
    rules.accumulation = fma_f64_bound(k);
    rules.wide_epilogue = true;
  } else if (type == DType::f32) {
    rules.accumulation = fma_f32_bound(k);
  } else {
    const bool promoted = is_fp8(type) && p.accumulation == Accumulation::promoted;
    rules.accumulation = wgmma_f32_bound(type, k, promoted ? p.interval : 0);
    if (p.scale_mode == ScaleMode::per_row_column) rules.accumulation.absolute *= greatest_scale;
  }
  return rules;
}

}  // namespace tilewright
