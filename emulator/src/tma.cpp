// Tensor copies: the box image, out-of-bounds elements, swizzle, reductions.
#include <algorithm>
#include <cstring>

#include "copies.h"
#include "reduction.h"
#include "swizzle.h"
#include "text.h"
#include "tilewright/emulator/tcgen05.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kMaxRowBytes = 256 * 8;
constexpr uint32_t kMapAlignment = 64;
constexpr uint32_t kBoxAlignment = 128;

// One row of a box: its elements in dimension 0.
struct BoxRow {
  uint32_t image_offset;  // in the dense box image
  std::byte* global;      // address of its first element inside the tensor; null when the row lies outside
  uint32_t begin, end;    // bytes of the row that lie inside
};

// Bytes of a row that a store writes: TMA cuts a store at the edge of dimension 0 in units of 16 bytes (seen
// on an H200), a load to the element. A tensor whose rows do not end on such a unit loses what lies behind
// them.
uint32_t stored_bytes(const TensorMapSpec& spec, const BoxRow& row) {
  const uint32_t whole = (row.end - row.begin + 15) / 16 * 16;
  return std::min(whole, spec.box[0] * bytes_of(spec.type) - row.begin);
}

uint32_t row_bytes(const TensorMapSpec& spec) { return spec.box[0] * bytes_of(spec.type); }

// Bytes in global memory of `bytes` bytes of a box.
uint32_t global_bytes(const TensorMapSpec& spec, uint32_t bytes) {
  return spec.type == TmaType::e2m1_padded ? bytes / 2 : bytes;
}

uint64_t box_bytes(const TensorMapSpec& spec) {
  uint64_t bytes = bytes_of(spec.type);
  for (int d = 0; d < spec.rank; ++d) bytes *= spec.box[static_cast<size_t>(d)];
  return bytes;
}

template <class F>
void for_each_row(const TensorMapSpec& spec, const std::array<int32_t, 5>& coords, F&& f) {
  const auto rank = static_cast<size_t>(spec.rank);
  const uint32_t element = bytes_of(spec.type), bytes = row_bytes(spec);
  const int64_t x = coords[0];
  const int64_t low = std::clamp<int64_t>(-x, 0, spec.box[0]);
  const int64_t high = std::clamp<int64_t>(static_cast<int64_t>(spec.extent[0]) - x, low, spec.box[0]);
  std::array<uint32_t, 5> index{};
  uint32_t image_offset = 0;
  for (;;) {
    bool inside = low < high;
    int64_t offset = (x + low) * element;
    if (spec.type == TmaType::e2m1_padded) offset /= 2;
    for (size_t d = 1; d < rank; ++d) {
      const int64_t c = int64_t{coords[d]} + index[d];
      inside = inside && c >= 0 && c < static_cast<int64_t>(spec.extent[d]);
      offset += c * static_cast<int64_t>(spec.strides[d - 1]);
    }
    f(BoxRow{image_offset, inside ? static_cast<std::byte*>(spec.base) + offset : nullptr,
             static_cast<uint32_t>(low) * element, static_cast<uint32_t>(high) * element});
    image_offset += bytes;
    size_t d = 1;
    while (d < rank && ++index[d] == spec.box[d]) index[d++] = 0;
    if (d >= rank) return;
  }
}

// The inside of a row, from global memory to the box image.
void copy_inside(const TensorMapSpec& spec, const BoxRow& part, std::byte* row) {
  if (spec.type != TmaType::e2m1_padded) {
    std::memcpy(row + part.begin, part.global, part.end - part.begin);
    return;
  }
  for (uint32_t byte = part.begin; byte < part.end; byte += 16) {
    std::memcpy(row + byte, part.global + (byte - part.begin) / 2, 8);
    std::fill_n(row + byte + 8, 8, std::byte{0xA5});  // undefined
  }
}

// Copies between a row and its swizzled place in shared memory, 16 bytes at a time.
void store_row(std::byte* window, uint32_t address, Swizzle mode, const std::byte* row, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 16) std::memcpy(window + swizzled(address + i, mode), row + i, 16);
}
void load_row(const std::byte* window, uint32_t address, Swizzle mode, std::byte* row, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 16) std::memcpy(row + i, window + swizzled(address + i, mode), 16);
}

// The map as the instruction reads it; false after a report.
bool read_map(Thread& thread, const TensorMap* map, int rank, const char* what, AsyncOperation& operation) {
  Cluster& cluster = *thread.cluster;
  if (reinterpret_cast<uintptr_t>(map) % kMapAlignment != 0) {
    cluster.report(ReportKind::misaligned, &thread,
                   text(what, ": the tensor map is not aligned to ", kMapAlignment, " bytes"));
    return false;
  }
  if (cluster.in_windows(reinterpret_cast<uintptr_t>(map))) {
    cluster.report(ReportKind::invalid_argument, &thread,
                   text(what,
                        ": the tensor map lies in shared memory; it must be a kernel parameter or in "
                        "global memory"));
    return false;
  }
  operation.map = map;
  operation.map_at_issue = *map;
  operation.spec = decode_for_emulator(*map);
  if (operation.spec.rank != rank || rank < 1 || rank > 5) {
    cluster.report(
        ReportKind::invalid_argument, &thread,
        text(what, " with ", rank, " coordinates through a tensor map of rank ", operation.spec.rank));
    return false;
  }
  if (const uint64_t bytes = box_bytes(operation.spec); bytes > kMaxDynamicShared) {
    cluster.report(
        ReportKind::out_of_bounds, &thread,
        text(what, " of a box of ", bytes, " bytes; shared memory has at most ", kMaxDynamicShared));
    return false;
  }
  return true;
}

bool check_box_address(Thread& thread, SharedPlace place, const TensorMapSpec& spec, const char* what) {
  const uint32_t alignment = std::max(kBoxAlignment, swizzle_atom(spec.swizzle));
  if (place.offset % alignment == 0) return true;
  thread.cluster->report_at(
      ReportKind::misaligned, thread, place,
      text(what, " at ", thread.cluster->describe(*place.cta, place.offset), " is not aligned to ", alignment,
           " bytes, which ", spec.swizzle == Swizzle::none ? "a box" : "the atom of its swizzle", " needs"));
  return false;
}

bool check_rows(Thread& thread, const AsyncOperation& operation, bool write, const Access& access,
                const char* what) {
  Cluster& cluster = *thread.cluster;
  const Actor actor{cluster.clock_of(thread), access, true};
  bool inside = true;
  for_each_row(operation.spec, operation.coords, [&](const BoxRow& row) {
    if (row.global == nullptr || !inside) return;
    const uint32_t bytes =
        write ? stored_bytes(operation.spec, row) : global_bytes(operation.spec, row.end - row.begin);
    inside = cluster.check_global(thread, row.global, bytes, write, actor, what);
  });
  return inside;
}

void issue_store(const TensorMap* map, uint32_t src, const int32_t* coords, int rank, Op op,
                 Reduction reduction) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, op, src);
  if (skipped(fault)) return;
  change(fault, src);
  const bool reduce = op == Op::tma_reduce;
  const char* what = reduce ? "a TMA reduction" : "a TMA store";
  AsyncOperation& operation = cluster.new_operation(AsyncKind::tensor_store, *thread);
  const SharedPlace place = cluster.locate(*thread, src, Space::cta, what);
  if (place.cta == nullptr || !read_map(*thread, map, rank, what, operation)) return;
  std::copy_n(coords, rank, operation.coords.begin());
  if (std::any_of(coords, coords + rank, [](int32_t c) { return c < 0; })) {
    cluster.report(ReportKind::invalid_argument, thread, text(what, " at a negative coordinate"));
  }
  if (operation.spec.type == TmaType::e2m1_padded) {
    cluster.report(ReportKind::invalid_argument, thread,
                   text(what, " through a map of padded e2m1, which only loads take"));
    return;
  }
  if (!check_box_address(*thread, place, operation.spec, what)) return;
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.bytes = static_cast<uint32_t>(box_bytes(operation.spec));
  operation.reduce = reduce;
  operation.reduction = reduction;
  join_bulk_group(*thread, operation);
  const Access read{thread->bulk.read_agent, operation.group, cluster.id(), AccessKind::bulk_read};
  const Access write{thread->bulk.agent, operation.group, cluster.id(),
                     reduce ? AccessKind::reduction : AccessKind::bulk_write};
  Actor reader{cluster.clock_of(*thread), read};
  reader.tensor_map = map;
  const bool good =
      cluster.check_global(*thread, map, sizeof(TensorMap), false, reader,
                           reduce ? "the descriptor of a TMA reduction" : "the descriptor of a TMA store") &&
      cluster.check_shared(*thread, place, operation.bytes, false, {cluster.clock_of(*thread), read, true},
                           what) &&
      (!reduce || check_rows(*thread, operation, false, write, what)) &&
      check_rows(*thread, operation, true, write, what);
  if (!good) {
    --thread->bulk.groups.back().unread;
    --thread->bulk.groups.back().unfinished;
    return;
  }
  cluster.submit(operation);
}

}  // namespace

void execute_tensor_load(Cluster& cluster, AsyncOperation& operation) {
  // A map that is a kernel parameter lies on the issuer's stack and may be gone with it.
  const bool parameter = cluster.in_stacks(reinterpret_cast<uintptr_t>(operation.map));
  if (!parameter && operation.map->words != operation.map_at_issue.words) {
    cluster.report(ReportKind::tensor_map_changed, operation.issuer,
                   "a tensor map was rewritten between the issue of a TMA load and its execution");
    operation.spec = decode_for_emulator(*operation.map);
    if (box_bytes(operation.spec) != operation.bytes) return;
  }
  const uint32_t bytes = row_bytes(operation.spec);
  std::array<std::byte, kMaxRowBytes> row;
  for_each_row(operation.spec, operation.coords, [&](const BoxRow& part) {
    std::fill_n(row.begin(), bytes, std::byte{0});
    if (part.global != nullptr) copy_inside(operation.spec, part, row.data());
    for (Cta& cta : cluster.ctas) {
      if ((operation.destinations >> cta.rank & 1) == 0) continue;
      store_row(cta.window, operation.shared + part.image_offset, operation.spec.swizzle, row.data(), bytes);
    }
  });
  trace_copy(cluster, operation, "load", true);
  for (Cta& cta : cluster.ctas) {
    if ((operation.destinations >> cta.rank & 1) == 0) continue;
    deliver(cluster, operation, home_of(cluster, operation.home_parity, cta), operation.signalled);
  }
}

void read_tensor_box(const Cta& cta, AsyncOperation& operation) {
  const uint32_t bytes = row_bytes(operation.spec);
  operation.data.resize(operation.bytes);
  for (uint32_t offset = 0; offset < operation.bytes; offset += bytes) {
    load_row(cta.window, operation.shared + offset, operation.spec.swizzle, operation.data.data() + offset,
             bytes);
  }
}

void write_tensor_box(AsyncOperation& operation) {
  for_each_row(operation.spec, operation.coords, [&](const BoxRow& row) {
    if (row.global == nullptr) return;
    const std::byte* source = operation.data.data() + row.image_offset + row.begin;
    if (operation.reduce) {
      reduce_elements(operation.spec.type, row.global, source, row.end - row.begin, operation.reduction);
    } else {
      std::memcpy(row.global, source, stored_bytes(operation.spec, row));
    }
  });
}

// ---- hooks

namespace {

void issue_load(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t* coords, int rank,
                uint16_t multicast_mask, bool pair) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::tma_load, dst, bar);
  if (skipped(fault)) return;
  if (fault != nullptr && fault->on_mask) {
    change(fault, multicast_mask);
  } else {
    change(fault, fault != nullptr && (fault->on_second || fault->on_barrier) ? bar : dst);
  }
  constexpr const char* kWhat = "a TMA load";
  const SharedPlace place = cluster.locate(*thread, dst), barrier = cluster.locate(*thread, bar);
  if (place.cta == nullptr || barrier.cta == nullptr) return;
  if (!pair && !check_beside(*thread, place, barrier, kWhat)) return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::tensor_load, *thread);
  if (!read_map(*thread, map, rank, kWhat, operation)) return;
  std::copy_n(coords, rank, operation.coords.begin());
  operation.bytes = static_cast<uint32_t>(box_bytes(operation.spec));
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.barrier = barrier.offset;
  operation.destinations = destinations_of(*thread, place, multicast_mask);
  if (!check_box_address(*thread, place, operation.spec, kWhat)) return;
  operation.signalled = global_bytes(operation.spec, operation.bytes);
  operation.home_parity = pair ? static_cast<int>(barrier.cta->rank & 1) : -1;
  const std::optional<Access> access = land_tensor(*thread, operation, kWhat);
  if (!access || !check_rows(*thread, operation, false, *access, kWhat)) return;
  // The descriptor is read when the copy executes: until then it must not change.
  Actor reader{cluster.clock_of(*thread), *access};
  reader.tensor_map = map;
  if (!cluster.check_global(*thread, map, sizeof(TensorMap), false, reader, "the descriptor of a TMA load"))
    return;
  cluster.submit(operation);
}

}  // namespace

void tma_load(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t* coords, int rank,
              uint16_t multicast_mask) {
  issue_load(dst, map, bar, coords, rank, multicast_mask, false);
}

void tma_load_pair(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t* coords, int rank,
                   uint16_t multicast_mask) {
  issue_load(dst, map, bar, coords, rank, multicast_mask, true);
}

void tma_store(const TensorMap* map, uint32_t src, const int32_t* coords, int rank) {
  issue_store(map, src, coords, rank, Op::tma_store, Reduction::add);
}

void tma_reduce(const TensorMap* map, uint32_t src, const int32_t* coords, int rank, Reduction op) {
  issue_store(map, src, coords, rank, Op::tma_reduce, op);
}

void tma_prefetch(const TensorMap* map, const int32_t*, int rank) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  thread->cluster->begin(*thread, Op::tma_prefetch);
  if (decode_for_emulator(*map).rank != rank) {
    thread->cluster->report(
        ReportKind::invalid_argument, thread,
        text("a TMA prefetch with ", rank, " coordinates through a tensor map of another rank"));
  }
}

void prefetch_tensor_map(const TensorMap* map) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (reinterpret_cast<uintptr_t>(map) % kMapAlignment != 0) {
    thread->cluster->report(ReportKind::misaligned, thread,
                            text("the prefetched tensor map is not aligned to ", kMapAlignment, " bytes"));
  }
}

}  // namespace tilewright::emulator
