// Shadow memory: who wrote each byte last and who read it since, as events of the vector clocks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::emulator {

class Cluster;
struct Cta;

enum class AccessKind : uint8_t {
  none,      // before the kernel: ordered before everything
  generic,   // a load or store of the thread `agent`
  atomic,    // the same, atomically: does not conflict with its like
  cp_async,  // known once the thread has waited for the group `epoch`; agent: the thread's cp.async agent
  copy,      // an asynchronous copy; known once phase `epoch` of the barrier `agent` is known to be complete
  tensor,    // a tcgen05 operation of a thread's queue; known once its number is, by a commit
  tensor_load,     // a tcgen05.ld; agent: its warp's; known once waited for and fenced
  tensor_store,    // a tcgen05.st, likewise
  mma,             // a wgmma; known once group `epoch` of the warpgroup `agent` is
  bulk_read,       // the source of a bulk store; agent: the thread's bulk-read agent
  bulk_write,      // its destination; agent: the thread's bulk-write agent
  reduction,       // the destination of a bulk reduction, which does not conflict with its like
  copy_reduction,  // as copy, for a reduction into shared memory, which does not conflict with its like
};

/// One access as an event: it happened before a thread if the thread's clock has `epoch` or more for `agent`.
struct Access {
  uint32_t agent = 0;
  uint32_t epoch = 0;
  uint32_t cluster : 24 = 0;
  AccessKind kind : 8 = AccessKind::none;
};

/// Who touches memory now.
struct Actor {
  const uint32_t* clock;  // what the acting thread (or, for wgmma, each thread of the warpgroup) knows
  Access access;
  bool async_proxy = false;  // goes through the async proxy: earlier generic writes must have been fenced
  bool after_reads = false;  // writes through it where PTX wants earlier generic reads fenced too
  const void* tensor_map = nullptr;  // reads this map, through the proxy of tensor maps
  const Cta* memory = nullptr;       // whose shared memory it is; null: global memory
};

struct Conflict {
  enum class Kind : uint8_t {
    none,
    uninitialised,
    read_before_ready,
    overwrite_in_use,
    unordered_writes,
    proxy_after_write,
    proxy_after_read,
    tensor_map_fence,
    scope
  };
  Kind kind = Kind::none;
  Access other;
  uint64_t offset = 0;  // of the first offending byte

  explicit operator bool() const { return kind != Kind::none; }
};

/// Shadow of one contiguous piece of memory, in 16-byte granules that split into words and bytes on demand.
class Shadow {
 public:
  /// Forgets all accesses. Nothing is initialised unless `initialised`.
  void reset(uint64_t bytes, bool initialised);
  /// Forgets all accesses; what is initialised stays so.
  void forget_accesses();

  /// The first conflict of reading [begin, end); the read is recorded.
  Conflict read(const Cluster& cluster, uint64_t begin, uint64_t end, const Actor& actor) {
    return access(cluster, begin, end, actor, false);
  }
  /// The first conflict of writing [begin, end); the write is recorded and the bytes become initialised.
  Conflict write(const Cluster& cluster, uint64_t begin, uint64_t end, const Actor& actor) {
    return access(cluster, begin, end, actor, true);
  }

  /// Whether `good` holds for the last write of each part of [begin, end); bytes outside of it may count,
  /// too.
  template <class F>
  bool every_write(uint64_t begin, uint64_t end, F&& good) const {
    for (uint64_t granule = begin / kGranule; granule * kGranule < end; ++granule) {
      const std::unique_ptr<Chunk>& chunk = chunks_[granule / kChunkGranules];
      if (!chunk || chunk->generation != generation_) continue;
      if (!every_write(chunk->nodes[granule % kChunkGranules], good)) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kGranule = 16;
  static constexpr uint32_t kChunkGranules = 256;

  // What happened to 16, 4 or 1 bytes.
  struct Node {
    Access write;
    std::array<Access, 2> reads;
    uint32_t more_reads = 0;  // index + 1 in spilled_
    uint32_t children = 0;    // index + 1 in quads_
  };
  struct Chunk {
    uint32_t generation = 0;
    std::array<Node, kChunkGranules> nodes;
  };
  using Quad = std::array<Node, 4>;

  Conflict access(const Cluster& cluster, uint64_t begin, uint64_t end, const Actor& actor, bool write);
  template <class F>
  bool every_write(const Node& node, F&& good) const {
    if (node.children == 0) return good(node.write);
    for (const Node& child : quads_[node.children - 1])
      if (!every_write(child, good)) return false;
    return true;
  }
  Node& node_at(uint64_t granule);
  Conflict visit(const Cluster& cluster, Node& node, uint32_t size, uint32_t begin, uint32_t end,
                 const Actor& actor, bool write);
  Conflict check_read(const Cluster& cluster, Node& node, const Actor& actor);
  Conflict check_write(const Cluster& cluster, Node& node, const Actor& actor);
  void record_read(const Cluster& cluster, Node& node, const Actor& actor);
  void split(Node& node);
  void clear_reads(Node& node);

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<uint16_t> initialised_;  // one bit a byte
  std::vector<Quad> quads_;
  std::vector<uint32_t> free_quads_;
  std::vector<std::vector<Access>> spilled_;
  std::vector<uint32_t> free_spills_;
  uint32_t generation_ = 1;
};

}  // namespace tilewright::emulator
