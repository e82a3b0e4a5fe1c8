#include "shadow.h"

#include <algorithm>

#include "cluster.h"

namespace tilewright::emulator {
namespace {

uint16_t byte_mask(uint32_t begin, uint32_t end) {
  return static_cast<uint16_t>(((1u << end) - 1u) & ~((1u << begin) - 1u));
}

bool commute(AccessKind a, AccessKind b) {
  return a == b && (a == AccessKind::atomic || a == AccessKind::reduction || a == AccessKind::copy_reduction);
}

// Calls f(granule, begin, end) for the pieces of [begin, end); begin and end relative to the granule.
template <class F>
void for_each_granule(uint64_t begin, uint64_t end, F&& f) {
  while (begin < end) {
    const uint64_t granule = begin / 16;
    const uint64_t stop = std::min<uint64_t>(end, (granule + 1) * 16);
    f(granule, static_cast<uint32_t>(begin - granule * 16), static_cast<uint32_t>(stop - granule * 16));
    begin = stop;
  }
}

}  // namespace

void Shadow::reset(uint64_t bytes, bool initialised) {
  const uint64_t granules = (bytes + kGranule - 1) / kGranule;
  chunks_.resize((granules + kChunkGranules - 1) / kChunkGranules);
  initialised_.assign(granules, initialised ? 0xFFFF : 0);
  forget_accesses();
}

void Shadow::forget_accesses() {
  ++generation_;
  quads_.clear();
  free_quads_.clear();
  spilled_.clear();
  free_spills_.clear();
}

Conflict Shadow::access(const Cluster& cluster, uint64_t begin, uint64_t end, const Actor& actor,
                        bool write) {
  Conflict first;
  for_each_granule(begin, end, [&](uint64_t granule, uint32_t from, uint32_t to) {
    Conflict found;
    if (write) {
      initialised_[granule] |= byte_mask(from, to);
    } else if ((~initialised_[granule] & byte_mask(from, to)) != 0) {
      found.kind = Conflict::Kind::uninitialised;
    }
    const Conflict race = visit(cluster, node_at(granule), kGranule, from, to, actor, write);
    if (!found) found = race;
    if (found && !first) {
      first = found;
      first.offset = granule * kGranule + from;
    }
  });
  return first;
}

Shadow::Node& Shadow::node_at(uint64_t granule) {
  std::unique_ptr<Chunk>& chunk = chunks_[granule / kChunkGranules];
  if (!chunk) chunk = std::make_unique<Chunk>();
  if (chunk->generation != generation_) {
    chunk->nodes.fill({});
    chunk->generation = generation_;
  }
  return chunk->nodes[granule % kChunkGranules];
}

// `node` covers `size` bytes, of which [begin, end) are accessed.
Conflict Shadow::visit(const Cluster& cluster, Node& node, uint32_t size, uint32_t begin, uint32_t end,
                       const Actor& actor, bool write) {
  const bool whole = begin == 0 && end == size;
  if (node.children == 0) {
    if (whole) return write ? check_write(cluster, node, actor) : check_read(cluster, node, actor);
    split(node);
  }
  const uint32_t quad = node.children - 1;
  const uint32_t part = size / 4;
  Conflict first;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t low = std::max(begin, i * part), high = std::min(end, (i + 1) * part);
    if (low >= high) continue;
    // quads_ may move while a child splits.
    Node child = quads_[quad][i];
    const Conflict found = visit(cluster, child, part, low - i * part, high - i * part, actor, write);
    quads_[quad][i] = child;
    if (found && !first) first = found;
  }
  if (whole && write) {  // one writer again: no need for parts
    free_quads_.push_back(quad);
    node = {};
    node.write = actor.access;
  }
  return first;
}

Conflict Shadow::check_read(const Cluster& cluster, Node& node, const Actor& actor) {
  Conflict conflict;
  if (!cluster.ordered(actor.clock, node.write)) {
    const bool both_atomic = commute(node.write.kind, actor.access.kind);
    if (!both_atomic) conflict = {Conflict::Kind::read_before_ready, node.write, 0};
  } else if (actor.async_proxy && !cluster.fenced(actor, node.write)) {
    conflict = {Conflict::Kind::proxy_after_write, node.write, 0};
  } else if (actor.tensor_map != nullptr && !cluster.map_acquired(actor, node.write)) {
    conflict = {Conflict::Kind::tensor_map_fence, node.write, 0};
  } else if (!cluster.acquired(actor, node.write)) {
    conflict = {Conflict::Kind::scope, node.write, 0};
  }
  record_read(cluster, node, actor);
  return conflict;
}

void Shadow::record_read(const Cluster& cluster, Node& node, const Actor& actor) {
  const Access& mine = actor.access;
  // A read that happened before this one is implied by it.
  const auto replaceable = [&](const Access& old) {
    return old.kind == AccessKind::none ||
           (old.agent == mine.agent && old.kind == mine.kind && old.cluster == mine.cluster) ||
           (old.cluster == mine.cluster && cluster.ordered(actor.clock, old));
  };
  for (Access& old : node.reads) {
    if (replaceable(old)) {
      old = mine;
      return;
    }
  }
  if (node.more_reads == 0) {
    if (free_spills_.empty()) {
      spilled_.emplace_back();
      node.more_reads = static_cast<uint32_t>(spilled_.size());
    } else {
      node.more_reads = free_spills_.back() + 1;
      free_spills_.pop_back();
    }
  }
  std::vector<Access>& more = spilled_[node.more_reads - 1];
  for (Access& old : more) {
    if (replaceable(old)) {
      old = mine;
      return;
    }
  }
  more.push_back(mine);
}

Conflict Shadow::check_write(const Cluster& cluster, Node& node, const Actor& actor) {
  Conflict conflict;
  const auto unordered = [&](const Access& other) {
    return !commute(other.kind, actor.access.kind) && !cluster.ordered(actor.clock, other);
  };
  const auto check = [&](const Access& read) {
    if (conflict || read.kind == AccessKind::none) return;
    if (unordered(read)) {
      conflict = {Conflict::Kind::overwrite_in_use, read, 0};
    } else if (actor.after_reads && !cluster.fenced(actor, read)) {
      conflict = {Conflict::Kind::proxy_after_read, read, 0};
    }
  };
  std::for_each(node.reads.begin(), node.reads.end(), check);
  if (node.more_reads != 0) {
    const std::vector<Access>& more = spilled_[node.more_reads - 1];
    std::for_each(more.begin(), more.end(), check);
  }
  if (!conflict && unordered(node.write)) {
    conflict = {Conflict::Kind::unordered_writes, node.write, 0};
  } else if (!conflict && actor.async_proxy && !cluster.fenced(actor, node.write)) {
    conflict = {Conflict::Kind::proxy_after_write, node.write, 0};
  }
  clear_reads(node);
  node.write = actor.access;
  return conflict;
}

void Shadow::clear_reads(Node& node) {
  node.reads = {};
  if (node.more_reads == 0) return;
  spilled_[node.more_reads - 1].clear();
  free_spills_.push_back(node.more_reads - 1);
  node.more_reads = 0;
}

// The parts begin with the history of the whole.
void Shadow::split(Node& node) {
  uint32_t quad;
  if (free_quads_.empty()) {
    quad = static_cast<uint32_t>(quads_.size());
    quads_.emplace_back();
  } else {
    quad = free_quads_.back();
    free_quads_.pop_back();
  }
  for (Node& child : quads_[quad]) {
    child = {};
    child.write = node.write;
    child.reads = node.reads;
    if (node.more_reads == 0) continue;
    const std::vector<Access> more = spilled_[node.more_reads - 1];
    spilled_.push_back(more);
    child.more_reads = static_cast<uint32_t>(spilled_.size());
  }
  clear_reads(node);
  node.children = quad + 1;
}

}  // namespace tilewright::emulator
