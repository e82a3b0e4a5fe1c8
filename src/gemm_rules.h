// The rules of plan() and Plan::run() as one table, and the one way to report that a rule is broken.
#pragma once

#include <string>

#include "tilewright/error.h"

namespace tilewright {

// In the order of the table in gemm_rules.cpp.
enum class RuleId {
  enumerator_value,
  extent_range,
  type_ab,
  type_c,
  type_d,
  type_f32,
  type_d_tensor,
  type_c_tensor,
  layout_k_major,
  layout_c,
  block_operand,
  ld_length,
  stride_range,
  batch_stride_sign,
  batch_stride_d,
  operand_span,
  alignment_value,
  interval_value,
  interval_kernel,
  tile_built,
  cluster_shape,
  cluster_copy,
  cluster_built,
  cluster_resident,
  swizzle_value,
  stages_value,
  splits_value,
  workspace_limit,
  shape_static,
  pipeline_built,
  scheduler_built,
  sms_value,
  tiles_count,
  load_tma,
  store_tma,
  device_gpu,
  device_current,
  pointer_null,
  pointer_alignment,
  pointer_in_place,
  pointer_workspace,
  scale_device,
  scale_mode,
  scale_promotion,
  scale_stride,
  epilogue_operands,
  epilogue_sums,
  epilogue_types,
  epilogue_layout,
  epilogue_pointer,
};

/// "subject: found, but <text of the rule>; nearest legal: nearest".
Error broken(RuleId rule, const std::string& subject, const std::string& found, const std::string& nearest);

}  // namespace tilewright
