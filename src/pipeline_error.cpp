// Names of pipeline errors.
#include "tilewright/pipeline/pipeline_error.h"

namespace tilewright::blas {

const char* pipeline_error_string(pipeline_error_code code) {
  switch (code) {
    case pipeline_error_code::none:
      return "none: no error";
    case pipeline_error_code::negative_extent:
      return "negative_extent: an extent is below zero";
    case pipeline_error_code::incompatible_k:
      return "incompatible_k: A's columns and B's rows differ";
    case pipeline_error_code::incompatible_n:
      return "incompatible_n: the two matrices B have different numbers of columns";
    case pipeline_error_code::incompatible_batches:
      return "incompatible_batches: A and B have different numbers of matrices";
    case pipeline_error_code::extent_out_of_range:
      return "extent_out_of_range: 2^31 or more rows, columns, K or batches";
    case pipeline_error_code::arrangement_mismatch:
      return "arrangement_mismatch: the contiguous index is not the one that Arrangement names";
    case pipeline_error_code::leading_dimension_too_small:
      return "leading_dimension_too_small: rows (or columns) of a matrix overlap";
    case pipeline_error_code::alignment_unfulfilled:
      return "alignment_unfulfilled: a base address, leading dimension or batch stride breaks the promised "
             "alignment";
    case pipeline_error_code::stride_out_of_range:
      return "stride_out_of_range: a stride of 2^40 bytes or more";
    case pipeline_error_code::scale_mismatch:
      return "scale_mismatch: the scales of an operand are missing, or have other rows, columns or batches "
             "than "
             "it needs";
    case pipeline_error_code::cluster_grid_divisibility:
      return "cluster_grid_divisibility: the grid of tiles is not made of whole clusters";
    case pipeline_error_code::invalid_tuning:
      return "invalid_tuning: a cluster, stages or groups that a pipeline with Tunable cannot have";
    case pipeline_error_code::unsupported_element:
      return "unsupported_element: a type of C or D that an epilogue cannot read or store";
    case pipeline_error_code::tensor_map:
      return "tensor_map: the driver refused a TMA descriptor";
    case pipeline_error_code::cuda:
      return "cuda: no driver or no device";
  }
  return "unknown";
}

}  // namespace tilewright::blas
