// The shape of a launch beside what its pipeline needs.
#include <string>

#include "tilewright/pipeline/launch_bounds.h"

namespace tilewright::blas::detail {
namespace {

Extent3 with_ones(Extent3 e) { return {e.x, e.y == 0 ? 1 : e.y, e.z == 0 ? 1 : e.z}; }

std::string text_of(Extent3 e) {
  return std::to_string(e.x) + " x " + std::to_string(e.y) + " x " + std::to_string(e.z);
}

Error error(const char* rule, const char* kernel, const std::string& sentence) {
  return {ErrorCode::invalid_argument, rule, std::string("kernel '") + kernel + "': " + sentence};
}

}  // namespace

Status check_launch_shape(const LaunchShape& given, const LaunchShape& needed, const char* kernel) {
  const Extent3 block = with_ones(given.block), cluster = with_ones(given.cluster);
  if (block != needed.block) {
    return error("pipeline.block", kernel,
                 "blocks of " + text_of(block) + " threads; its pipeline needs get_block_dim(), " +
                     text_of(needed.block));
  }
  if (cluster != needed.cluster) {
    return error("pipeline.cluster", kernel,
                 "clusters of " + text_of(cluster) + " blocks; its pipeline needs get_cluster_dim(), " +
                     text_of(needed.cluster));
  }
  if (given.shared_bytes < needed.shared_bytes) {
    return error("pipeline.shared", kernel,
                 std::to_string(given.shared_bytes) +
                     " bytes of shared memory; its pipeline needs buffer_size(), " +
                     std::to_string(needed.shared_bytes) + ", and what the epilogue uses");
  }
  return {};
}

}  // namespace tilewright::blas::detail
