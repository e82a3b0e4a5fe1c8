// How the parts of a workspace lie in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/gemm.h"

namespace tilewright {

constexpr int64_t kWorkspaceAlignment = 256;  // of all parts, bytes
constexpr int64_t kMostWorkspaceBytes = int64_t{1} << 46;

/// The part that begins at an offset.
template <class T>
T* workspace_part(const Buffers& buffers, int64_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(buffers.workspace) + offset);
}

}  // namespace tilewright
