// Operations that execute some time after they were issued.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "barrier.h"
#include "thread.h"
#include "tilewright/emulator/hooks.h"
#include "tilewright/tensor_map.h"

namespace tilewright::emulator {

enum class AsyncKind : uint8_t {
  tensor_load,
  tensor_store,  // and reduction
  bulk_load,
  bulk_store,
  bulk_to_cluster,
  store_async,
  cp_async,
  cp_async_arrive,
  wgmma,    // the next of its warpgroup
  tcgen05,  // the next in its thread's queue
  cancel_launch,
};

/// One pending operation. Sources are read and destinations written when it executes. A store executes in two
/// steps, each at a time of its own: it reads shared memory, then writes global memory.
struct AsyncOperation {
  AsyncKind kind = AsyncKind::tensor_load;
  Thread* issuer = nullptr;
  uint64_t begin = 0;   // on the timeline
  uint32_t serial = 0;  // among those of its issuer
  uint64_t due = 0;     // fair schedule: the step at which it executes; timed: when its step ends

  Cta* cta = nullptr;         // of `shared`
  uint32_t shared = 0;        // offset of the destination, or of a store's source
  uint32_t source = 0;        // bulk_to_cluster: offset in the issuer's CTA
  uint32_t destinations = 0;  // mask of cluster ranks (loads)
  uint32_t barrier = 0;       // offset, in each destination
  std::byte* global = nullptr;
  uint32_t bytes = 0, source_bytes = 0;
  uint32_t signalled = 0;  // tensor loads: bytes that the barrier counts
  int home_parity = -1;    // loads of a pair of CTAs: rank parity of the one whose barrier counts

  const TensorMap* map = nullptr;
  TensorMap map_at_issue;
  TensorMapSpec spec;
  std::array<int32_t, 5> coords{};
  bool reduce = false;
  Reduction reduction = Reduction::add;

  uint32_t group = 0;                 // of the issuer
  bool source_read = false;           // stores: the first step is done
  std::vector<std::byte> data;        // stores: what it read
  std::array<std::byte, 16> value{};  // store_async

  Barrier* arrive_on = nullptr;  // cp_async_arrive
  uint32_t arrive_clock = 0;
  Warpgroup* warpgroup = nullptr;
};

}  // namespace tilewright::emulator
