// Warpgroup MMA: issue, groups, registers in flight, execution.
#include <algorithm>
#include <array>
#include <cstring>

#include "collectives.h"
#include "operand.h"
#include "text.h"
#include "tilewright/emulator/tensor_core.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kRows = 64;
constexpr uint32_t kMaxColumns = 256;
constexpr uint32_t kRowBytes = 32;  // of K, per instruction
constexpr int kSlice = 8;           // columns
constexpr uint32_t kOperandWords = 4;
constexpr uint32_t kPoison = 0x7FF7DEAD;  // a NaN, also in each half
constexpr size_t kTrackedRanges = 32;

bool is_half(MmaType type) { return type == MmaType::f16 || type == MmaType::bf16; }
bool is_integer(MmaType type) { return type == MmaType::s8 || type == MmaType::u8; }
bool is_fp8(MmaType type) { return type == MmaType::e4m3 || type == MmaType::e5m2; }

uint32_t words_of(const WgmmaInstruction& instruction) {
  return static_cast<uint32_t>(instruction.n) / (instruction.d == AccumulatorType::f16 ? 4 : 2);
}

// The shape and type tables of PTX, "wgmma.mma_async"; null when the instruction exists.
const char* illegal(const WgmmaInstruction& instruction, bool a_in_registers) {
  const int n = instruction.n;
  if (n < 8 || n > 256 || n % 8 != 0) return "N must be a multiple of 8 in 8..256";
  if (is_integer(instruction.a) != is_integer(instruction.b)) return "A and B types do not go together";
  if (is_integer(instruction.a)) {
    if (n > 32 && n % 16 != 0) return "N of an integer wgmma must be a multiple of 16 beyond 32";
    if (n == 40) return "N = 40 does not exist for integers";
    if (instruction.d != AccumulatorType::s32) return "integers accumulate in s32";
  } else {
    const bool same = instruction.a == instruction.b || (is_fp8(instruction.a) && is_fp8(instruction.b));
    if (!same) return "A and B types do not go together";
    if (instruction.d == AccumulatorType::s32) return "floating point does not accumulate in s32";
    const bool half_sum = instruction.a == MmaType::f16 || is_fp8(instruction.a);
    if (instruction.d == AccumulatorType::f16 && !half_sum) return "only f16 and FP8 accumulate in f16";
    if (instruction.saturate) return "only integers saturate";
  }
  const bool transposed = (instruction.transpose_a && !a_in_registers) || instruction.transpose_b;
  if (transposed && !is_half(instruction.a)) return "only 16-bit operands may be MN-major";
  return nullptr;
}

// Row and column of 32-bit accumulator i of thread t (PTX, "Register Fragments").
struct Position {
  uint32_t row, column;
};
Position position_of(uint32_t t, uint32_t i) {
  return {16 * (t / 32) + t % 32 / 4 + 8 * (i >> 1 & 1), 8 * (i >> 2) + 2 * (t % 4) + (i & 1)};
}

// Between a thread's registers and the 64 x n matrix of 32-bit words.
void gather_registers(AccumulatorSet& set, const WgmmaInstruction& instruction) {
  const auto n = static_cast<uint32_t>(instruction.n);
  set.values.resize(size_t{kRows} * n);
  for (uint32_t t = 0; t < kGroupThreads; ++t) {
    const uint32_t* registers = set.registers[t];
    for (uint32_t i = 0; i < n / 2; ++i) {
      const Position at = position_of(t, i);
      uint32_t& value = set.values[at.row * n + at.column];
      value =
          instruction.d == AccumulatorType::f16 ? registers[i / 2] >> 16 * (i % 2) & 0xFFFF : registers[i];
    }
  }
}

void scatter_registers(const AccumulatorSet& set, const WgmmaInstruction& instruction) {
  const auto n = static_cast<uint32_t>(instruction.n);
  for (uint32_t t = 0; t < kGroupThreads; ++t) {
    uint32_t* registers = set.registers[t];
    for (uint32_t i = 0; i < n / 2; ++i) {
      const Position at = position_of(t, i);
      const uint32_t value = set.values[at.row * n + at.column];
      if (instruction.d != AccumulatorType::f16) {
        registers[i] = value;
      } else if (i % 2 == 0) {
        registers[i / 2] = value & 0xFFFF;
      } else {
        registers[i / 2] |= value << 16;
      }
    }
  }
}

// A result that costs nothing: 1 in the accumulator's type.
void store_ones(const AccumulatorSet& set, AccumulatorType type) {
  const uint32_t one = type == AccumulatorType::f32   ? 0x3F800000u
                       : type == AccumulatorType::f16 ? 0x3C003C00u
                                                      : 1u;
  for (uint32_t* registers : set.registers) std::fill_n(registers, set.words, one);
}

// The 64 x 32 bytes of A that lie in registers.
void gather_a_registers(const WgmmaOperation& operation, uint8_t* a) {
  const MmaType type = operation.instruction.a;
  const uint32_t bytes = is_half(type) ? 2 : type == MmaType::tf32 ? 4 : 1;
  const uint32_t per_register = 4 / bytes;
  for (uint32_t t = 0; t < kGroupThreads; ++t) {
    for (uint32_t r = 0; r < kOperandWords; ++r) {
      const uint32_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (r & 1);
      const uint32_t k = per_register * (t % 4) + (kRowBytes / bytes / 2) * (r >> 1);
      std::memcpy(a + row * kRowBytes + k * bytes, &operation.a_registers[t][r], 4);
    }
  }
}

void gather_operand(const Cta& cta, uint64_t descriptor, uint32_t first_row, uint32_t end_row, bool mn_major,
                    uint8_t* out) {
  for_each_piece(MatrixDescriptor(descriptor), first_row, end_row, mn_major,
                 [&](uint32_t address, uint32_t row, uint32_t k) {
                   uint8_t* at = out + size_t{row - first_row} * kRowBytes;
                   const auto* piece = reinterpret_cast<const uint8_t*>(cta.window + address);
                   if (!mn_major) {
                     std::memcpy(at + k, piece, 16);
                     return;
                   }
                   for (uint32_t i = 0; i < 8; ++i) std::memcpy(at + i * kRowBytes + k * 2, piece + i * 2, 2);
                 });
}

// Checks an operand's descriptor and its data.
void check_operand(Thread& thread, uint64_t bits, uint32_t rows, bool mn_major, const Actor& actor,
                   char name) {
  Cluster& cluster = *thread.cluster;
  const MatrixDescriptor descriptor(bits);
  const std::string what = text("wgmma operand ", name);
  const SharedPlace start{thread.cta, descriptor.start};
  const NamedRegion* region = cluster.region_at(*thread.cta, descriptor.start);
  const char* place = region != nullptr ? region->name : nullptr;
  const int stage = region != nullptr ? region->stage : -1;
  if (!descriptor.reserved_zero || descriptor.base_offset != 0) {
    cluster.report(
        ReportKind::descriptor, &thread,
        text(what, ": descriptor ", Hex{bits}, " has a base offset or reserved bits that are not zero"),
        place, stage);
    return;
  }
  const uint32_t atom = swizzle_atom(descriptor.swizzle), width = swizzle_width(descriptor.swizzle);
  const bool misplaced =
      descriptor.swizzle != Swizzle::none &&
      (mn_major ? descriptor.start % atom != 0 : descriptor.start % atom + kRowBytes > width);
  if (misplaced) {
    cluster.report(ReportKind::descriptor, &thread,
                   text(what, " starts at ", cluster.describe(*start.cta, start.offset), ", from where its ",
                        kRowBytes, " bytes of K leave the first row of a ", atom, "-byte swizzle atom"),
                   place, stage);
  }
  bool good = true;
  for_each_piece(descriptor, 0, rows, mn_major, [&](uint32_t address, uint32_t, uint32_t) {
    good = good && cluster.check_shared(thread, {thread.cta, address}, 16, false, actor, what.c_str());
  });
}

RegisterRange* find_range(Thread& thread, const std::byte* begin, const std::byte* end) {
  for (RegisterRange& range : thread.registers) {
    if (range.begin == begin && range.end == end) return &range;
  }
  return nullptr;
}

// The thread's registers of one wgmma: in flight from now on. Of accumulators that it does not read, what was
// written there may have been other variables of the kernel, at the same place of the stack.
void take_registers(Thread& thread, const void* data, uint32_t bytes, bool operand, bool reads) {
  Cluster& cluster = *thread.cluster;
  const auto* begin = static_cast<const std::byte*>(data);
  const std::byte* end = begin + bytes;
  RegisterRange* range = find_range(thread, begin, end);
  const auto on_stack = reinterpret_cast<uintptr_t>(begin) - thread.stack;
  const bool touched =
      range != nullptr ? range->touched : reads && thread.written.any(on_stack, on_stack + bytes);
  if (!thread.wgmma_fenced || touched) {
    cluster.report(ReportKind::missing_wgmma_fence, &thread,
                   text("wgmma uses ", operand ? "A registers" : "accumulators",
                        thread.wgmma_fenced ? " that ordinary code touched since the last wgmma.fence"
                                            : " before any wgmma.fence"));
    thread.wgmma_fenced = true;
  }
  if (range == nullptr) {
    std::erase_if(thread.registers, [&](const RegisterRange& other) {
      if (other.end <= begin || other.begin >= end) return false;
      if (other.group > thread.groups_waited && !operand && !other.operand && !other.fenced) {
        cluster.report(
            ReportKind::missing_wgmma_fence, &thread,
            "wgmma uses accumulators of which a part is in flight for a wgmma of another shape, with no "
            "wgmma.fence between them");
      }
      return true;
    });
    if (thread.registers.size() == kTrackedRanges) thread.registers.erase(thread.registers.begin());
    range = &thread.registers.emplace_back(RegisterRange{begin, end, 0, operand, false, false});
  }
  range->group = thread.groups_committed + 1;
  range->operand = operand;
  range->touched = false;
  range->fenced = false;
}

// Whether accumulators of the next wgmma are still in flight for one of another shape.
bool overlaps_another_shape(const Warpgroup& group, uint32_t words) {
  const auto* first = static_cast<const uint32_t*>(group.threads[0]->exchange.pointer);
  return std::any_of(group.accumulators.begin(), group.accumulators.end(), [&](const auto& set) {
    const uint32_t* begin = set->registers[0];
    const bool same = begin == first && set->words == words;
    return set->operations != 0 && !same && begin < first + words && first < begin + set->words;
  });
}

AccumulatorSet& accumulators_for(Warpgroup& group, const WgmmaInstruction& instruction, bool arithmetic) {
  auto* first = static_cast<uint32_t*>(group.threads[0]->exchange.pointer);
  const uint32_t words = words_of(instruction);
  AccumulatorSet* unused = nullptr;
  for (const auto& set : group.accumulators) {
    if (set->operations == 0) {
      unused = set.get();
    } else if (set->registers[0] == first && set->words == words) {
      return *set;
    }
  }
  if (unused == nullptr) unused = group.accumulators.emplace_back(std::make_unique<AccumulatorSet>()).get();
  unused->words = words;
  for (uint32_t t = 0; t < kGroupThreads; ++t) {
    unused->registers[t] = static_cast<uint32_t*>(group.threads[t]->exchange.pointer);
  }
  if (arithmetic) gather_registers(*unused, instruction);
  for (uint32_t* registers : unused->registers) std::fill_n(registers, words, kPoison);
  return *unused;
}

// All threads of the warpgroup must give the same operands.
void check_agreement(Thread& thread) {
  const Thread::Exchange& mine = thread.exchange;
  for (const Thread* other : thread.group->threads) {
    const Thread::Exchange& theirs = other->exchange;
    const bool same = theirs.desc_a == mine.desc_a && theirs.desc_b == mine.desc_b &&
                      theirs.accumulate == mine.accumulate && theirs.value == mine.value &&
                      (theirs.operand == nullptr) == (mine.operand == nullptr);
    if (same) continue;
    thread.cluster->report(
        ReportKind::non_uniform, &thread,
        text("wgmma with another descriptor, shape or scale-d than ", thread.cluster->describe(*other)));
    return;
  }
}

void issue(Thread& thread, const WgmmaInstruction& instruction) {
  Cluster& cluster = *thread.cluster;
  Warpgroup& group = *thread.group;
  check_agreement(thread);
  // In order, like the hardware: with another shape on the same registers, what was issued before executes
  // first.
  if (overlaps_another_shape(group, words_of(instruction))) cluster.drain_wgmma(thread);
  WgmmaOperation& operation = group.queue.emplace_back();
  operation.instruction = instruction;
  operation.accumulators = &accumulators_for(group, instruction, cluster.launch.options().arithmetic);
  ++operation.accumulators->operations;
  operation.desc_a = thread.exchange.desc_a;
  operation.desc_b = thread.exchange.desc_b;
  operation.accumulate = thread.exchange.accumulate;
  operation.begin = cluster.timeline();
  for (uint32_t t = 0; t < kGroupThreads; ++t) {
    operation.a_registers[t] = static_cast<const uint32_t*>(group.threads[t]->exchange.operand);
  }
  const Access access{cluster.group_agent(group), thread.groups_committed + 1, cluster.id(), AccessKind::mma};
  const Actor actor{cluster.common_clock(group), access, true};
  Thread& first = *group.threads[0];  // speaks for all in reports
  if (operation.a_registers[0] == nullptr) {
    check_operand(first, operation.desc_a, kRows, instruction.transpose_a, actor, 'A');
  }
  check_operand(first, operation.desc_b, static_cast<uint32_t>(instruction.n), instruction.transpose_b, actor,
                'B');
  ++group.issued;
  cluster.launch.count(Op::wgmma);
  AsyncOperation& token = cluster.new_operation(AsyncKind::wgmma, thread);
  token.warpgroup = &group;
  cluster.submit(token);
}

// Columns [first, first + count) of the product.
void multiply(const Warpgroup& group, WgmmaOperation& operation, int first, int count) {
  alignas(64) std::array<uint8_t, kRows * kRowBytes> a;
  alignas(64) std::array<uint8_t, kMaxColumns * kRowBytes> b;
  const Cta& cta = *group.cta;
  WgmmaInstruction instruction = operation.instruction;
  if (operation.a_registers[0] != nullptr) {
    gather_a_registers(operation, a.data());
  } else {
    gather_operand(cta, operation.desc_a, 0, kRows, instruction.transpose_a, a.data());
  }
  gather_operand(cta, operation.desc_b, static_cast<uint32_t>(first), static_cast<uint32_t>(first + count),
                 instruction.transpose_b, b.data());
  uint32_t* values = operation.accumulators->values.data();
  if (count == instruction.n) {
    tensor_core_multiply(instruction, a.data(), b.data(), values, operation.accumulate);
    return;
  }
  std::array<uint32_t, kRows * kSlice> slice;
  const auto n = static_cast<size_t>(instruction.n), width = static_cast<size_t>(count);
  uint32_t* column = values + first;
  for (size_t row = 0; row < kRows; ++row) std::copy_n(column + row * n, width, slice.data() + row * width);
  instruction.n = count;
  tensor_core_multiply(instruction, a.data(), b.data(), slice.data(), operation.accumulate);
  for (size_t row = 0; row < kRows; ++row) std::copy_n(slice.data() + row * width, width, column + row * n);
}

}  // namespace

void Cluster::touch_registers(Thread& thread, const std::byte* begin, uint32_t bytes, bool write) {
  for (RegisterRange& range : thread.registers) {
    if (begin >= range.end || begin + bytes <= range.begin) continue;
    if (range.operand && !write) continue;
    if (range.group <= thread.groups_waited) {
      range.touched = true;
      continue;
    }
    const ReportKind kind =
        range.operand ? ReportKind::operand_register_in_flight : ReportKind::accumulator_in_flight;
    report(kind, &thread,
           text(write ? "writes " : "reads ", range.operand ? "A registers" : "an accumulator register",
                " (offset ", begin - range.begin, " bytes) of wgmma group ", range.group,
                ", which it has waited for only up to group ", thread.groups_waited));
    break;
  }
}

void Cluster::execute_wgmma(Warpgroup& group, bool one_slice) {
  WgmmaOperation& operation = group.queue.front();
  const WgmmaInstruction instruction = operation.instruction;
  const bool arithmetic = launch.options().arithmetic;
  const int count = one_slice ? kSlice : instruction.n - operation.next_column;
  if (arithmetic) {
    for (int done = 0; done < count; done += count == instruction.n ? count : kSlice) {
      multiply(group, operation, operation.next_column + done, count == instruction.n ? count : kSlice);
    }
  }
  operation.next_column += count;
  if (operation.next_column < instruction.n) return;

  if (--operation.accumulators->operations == 0) {
    if (arithmetic) {
      scatter_registers(*operation.accumulators, instruction);
    } else {
      store_ones(*operation.accumulators, instruction.d);
    }
  }
  if (Trace* trace = launch.trace(); trace != nullptr) {
    const Trace::Place a = operation.a_registers[0] != nullptr
                               ? Trace::Place{"registers"}
                               : place_at(*group.cta, MatrixDescriptor(operation.desc_a).start);
    trace->add({"wgmma", Trace::Kind::multiply, group.cta->number, Trace::Unit::tensor_core, group.index,
                operation.begin, timeline(), a,
                place_at(*group.cta, MatrixDescriptor(operation.desc_b).start)});
  }
  group.queue.pop_front();
  ++group.executed;
  for (Thread* thread : group.threads) {
    if (thread->wait == Wait::mma_group && group.executed >= group.group_ends[thread->wait_value - 1])
      wake(*thread);
  }
}

// ---- hooks

void wgmma_fence() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (skipped(thread->cluster->begin(*thread, Op::wgmma_fence))) return;
  follow_log(*thread, Op::wgmma_fence, 0);
  thread->wgmma_fenced = true;
  thread->written.clear(StackArena::usable_bytes());
  for (RegisterRange& range : thread->registers) {
    range.touched = false;
    range.fenced = true;
  }
}

void wgmma_commit() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (skipped(thread->cluster->begin(*thread, Op::wgmma_commit))) return;
  follow_log(*thread, Op::wgmma_commit, 0);
  if (++thread->groups_committed > thread->group->group_ends.size()) {
    thread->group->group_ends.push_back(thread->wgmmas);
    thread->group->group_due.push_back(thread->group->last_due);
  }
}

void wgmma_wait(int pending) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::wgmma_wait);
  if (skipped(fault)) return;
  change(fault, pending);
  follow_log(*thread, Op::wgmma_wait, static_cast<uint32_t>(pending));
  const auto newer = static_cast<uint32_t>(std::max(pending, 0));
  if (newer >= thread->groups_committed) return;
  const uint32_t target = thread->groups_committed - newer;
  Warpgroup& group = *thread->group;
  if (group.executed < group.group_ends[target - 1]) {
    thread->wait_value = target;
    cluster.block(*thread, Wait::mma_group);
  }
  thread->time = std::max(thread->time, group.group_due[target - 1]);
  thread->groups_waited = std::max(thread->groups_waited, target);
  cluster.learn(*thread, cluster.group_agent(group), target);
}

void wgmma(const WgmmaInstruction& instruction, void* d, const uint32_t* a_registers, uint64_t desc_a,
           uint64_t desc_b, bool accumulate) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::wgmma, static_cast<uint32_t>(desc_a & 0x3FFF) << 4,
                                         static_cast<uint32_t>(desc_b & 0x3FFF) << 4);
  if (skipped(fault)) return;
  change(fault, fault != nullptr && fault->on_second ? desc_b : desc_a);
  if (const char* rule = illegal(instruction, a_registers != nullptr); rule != nullptr) {
    cluster.report(ReportKind::invalid_argument, thread, text("wgmma m64n", instruction.n, ": ", rule));
    return;
  }
  take_registers(*thread, d, words_of(instruction) * 4, false, accumulate);
  if (a_registers != nullptr) take_registers(*thread, a_registers, kOperandWords * 4, true, true);
  follow_log(*thread, Op::wgmma, static_cast<uint32_t>(instruction.n));
  ++thread->wgmmas;
  thread->exchange.pointer = d;
  thread->exchange.operand = a_registers;
  thread->exchange.desc_a = a_registers != nullptr ? 0 : desc_a;
  thread->exchange.desc_b = desc_b;
  thread->exchange.accumulate = accumulate;
  thread->exchange.value = static_cast<uint64_t>(instruction.n) | static_cast<uint64_t>(instruction.a) << 16 |
                           static_cast<uint64_t>(instruction.b) << 24 |
                           static_cast<uint64_t>(instruction.d) << 32;
  if (!meet_warpgroup(*thread, Op::wgmma)) return;
  if (thread->group->complete) issue(*thread, instruction);
  part_warpgroup(*thread);
}

}  // namespace tilewright::emulator
