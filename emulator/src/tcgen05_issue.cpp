// tcgen05.mma, cp and commit when they are issued: checks, and a place in the thread's queue.

#include "copies.h"
#include "tcgen05_operand.h"
#include "tensor_memory.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

const char* illegal(const Tcgen05Mma& mma, const Tcgen05Instruction& instruction) {
  const bool pair = mma.cta_group == 2;
  if (!instruction.reserved_zero) return "reserved bits, or options that the machine does not model, are set";
  if (instruction.m != (pair ? 256u : 128u)) return "M must be 128, or 256 for a pair";
  if (instruction.n < 16 || instruction.n > 256 || instruction.n % 16 != 0)
    return "N must be a multiple of 16 in 16..256";
  Tcgen05Type type;
  if (!decode_type(mma.kind, instruction.a_code, type) || !decode_type(mma.kind, instruction.b_code, type))
    return "an operand type does not belong to its kind";
  if (mma.kind == Tcgen05Kind::i8 ? instruction.d_code != 2 : instruction.d_code != 1)
    return "D must be f32, or s32 for i8";
  const bool half = mma.kind == Tcgen05Kind::f16;
  if ((instruction.a_mn_major || instruction.b_mn_major) && !half)
    return "the machine knows MN-major operands of 16 bits only";
  if (!is_block_scaled(mma.kind)) return nullptr;
  if (mma.kind != Tcgen05Kind::mxf4nvf4 && !instruction.e8m0) return "the scales of this kind are UE8M0";
  if (mma.kind == Tcgen05Kind::mxf4nvf4 && instruction.e8m0) return "four scales a row are UE4M3 here";
  const uint32_t step = mma.kind == Tcgen05Kind::mxf8f6f4 ? 1 : mma.kind == Tcgen05Kind::mxf4 ? 2 : 4;
  if (instruction.a_scale_id % step != 0 || instruction.b_scale_id % step != 0)
    return "the scale id must be 0 or 2 for two scales a row, 0 for four";
  return nullptr;
}

void check_operand(Thread& thread, Cta& cta, uint64_t bits, uint32_t rows, bool mn_major, const Actor& actor,
                   const char* what) {
  Cluster& cluster = *thread.cluster;
  const Tcgen05OperandDescriptor descriptor(bits);
  const uint32_t start = descriptor.matrix.start;
  const NamedRegion* region = cluster.region_at(cta, start);
  const char* place = region != nullptr ? region->name : nullptr;
  const int stage = region != nullptr ? region->stage : -1;
  if (!descriptor.legal) {
    cluster.report(
        ReportKind::descriptor, &thread,
        text(what, ": descriptor ", Hex{bits},
             " lacks the constant bit 46, or has a swizzle, a base offset or reserved bits that the "
             "instruction does not take"),
        place, stage);
    return;
  }
  const Swizzle swizzle = descriptor.matrix.swizzle;
  const uint32_t atom = swizzle_atom(swizzle), width = swizzle_width(swizzle);
  if (swizzle != Swizzle::none && (mn_major ? start % atom != 0 : start % atom + kTensorRowBytes > width)) {
    cluster.report(ReportKind::descriptor, &thread,
                   text(what, " starts at ", cluster.describe(cta, start), ", from where its ",
                        kTensorRowBytes, " bytes of K leave the first row of a ", atom, "-byte swizzle atom"),
                   place, stage);
  }
  bool good = true;
  for_each_piece(descriptor.matrix, 0, rows, mn_major, [&](uint32_t address, uint32_t, uint32_t) {
    good = good && cluster.check_shared(thread, {&cta, address}, 16, false, actor, what);
  });
}

// The columns must hold what the operation takes them for.
void check_content(Thread& thread, Cta& cta, const TensorRange& range, TensorContent wanted,
                   const char* what) {
  TensorMemory& memory = tensor_memory(cta);
  bool reported = false;
  memory.for_each_cell(range, [&](uint32_t cell) {
    const TensorContent content = memory.content[cell];
    if (reported || content == wanted || content == TensorContent::stored ||
        content == TensorContent::nothing)
      return;
    reported = true;
    const uint32_t column = cell % kTensorColumns;
    thread.cluster->report(
        ReportKind::tensor_memory, &thread,
        text(what, " reads ", describe_columns(*thread.cluster, cta, column, 1), ", which holds ",
             content == TensorContent::scales ? "scales" : "accumulators"),
        name_of_columns(cta, column));
  });
}

void set_content(Cta& cta, const TensorRange& range, TensorContent content) {
  TensorMemory& memory = tensor_memory(cta);
  memory.for_each_cell(range, [&](uint32_t cell) { memory.content[cell] = content; });
}

struct MmaRanges {
  TensorRange d, a_scales, b_scales;
};

MmaRanges ranges_of(const Tcgen05Operands& operands, const Tcgen05Instruction& instruction) {
  const uint32_t b_columns = (instruction.n + 127) / 128 * kTensorScaleColumns;
  return {{0, kTensorLanes, operands.d & 0xFFFF, instruction.n},
          {0, kTensorLanes, operands.a_scales & 0xFFFF, kTensorScaleColumns},
          {0, kTensorLanes, operands.b_scales & 0xFFFF, b_columns}};
}

TensorOperation& enqueue(Thread& thread, TensorOperation::Kind kind, int cta_group) {
  TensorThread& state = tensor_state(thread);
  if (state.agent == kNoAgent) state.agent = thread.cluster->new_agent(thread.agent);
  TensorOperation& operation = state.queue.emplace_back();
  operation.kind = kind;
  operation.cta_group = cta_group;
  operation.begin = thread.cluster->timeline();
  ++state.queued;
  return operation;
}

void submit(Thread& thread) {
  AsyncOperation& token = thread.cluster->new_operation(AsyncKind::tcgen05, thread);
  thread.cluster->submit(token);
}

// The event of the operation that is being issued; counts it.
Access next_access(Thread& thread, int cta_group) {
  TensorThread& state = tensor_state(thread);
  ++state.issued;
  if (cta_group == 2) state.peer_reach = state.issued;
  return {state.agent, state.issued, thread.cluster->id(), AccessKind::tensor};
}

void check_tensor_operands(Thread& thread, Cta& cta, const MmaRanges& ranges, bool scaled, bool accumulate,
                           const Actor& actor) {
  if (scaled) {
    for (const TensorRange& scales : {ranges.a_scales, ranges.b_scales}) {
      if (!check_tensor(thread, cta, scales, false, actor, "tcgen05.mma (scales)")) return;
      check_content(thread, cta, scales, TensorContent::scales, "tcgen05.mma (scales)");
    }
  }
  if (accumulate) {
    if (!check_tensor(thread, cta, ranges.d, false, actor, "tcgen05.mma (accumulator)")) return;
    check_content(thread, cta, ranges.d, TensorContent::accumulator, "tcgen05.mma (accumulator)");
  }
  check_tensor(thread, cta, ranges.d, true, actor, "tcgen05.mma (accumulator)");
}

bool overlaps(const TensorRange& a, const TensorRange& b) {
  return a.column < b.column + b.columns && b.column < a.column + a.columns;
}

void issue_mma(Thread& thread, const Tcgen05Mma& mma, const Tcgen05Operands& operands) {
  Cluster& cluster = *thread.cluster;
  const auto instruction = Tcgen05Instruction::decode(mma.kind, operands.instruction);
  if (const char* rule = illegal(mma, instruction); rule != nullptr) {
    cluster.report(ReportKind::invalid_argument, &thread,
                   text("tcgen05.mma m", instruction.m, "n", instruction.n, ": ", rule));
    return;
  }
  const MmaRanges ranges = ranges_of(operands, instruction);
  const bool scaled = is_block_scaled(mma.kind);
  if (scaled && (overlaps(ranges.d, ranges.a_scales) || overlaps(ranges.d, ranges.b_scales) ||
                 overlaps(ranges.a_scales, ranges.b_scales))) {
    cluster.report(ReportKind::tensor_memory, &thread,
                   text("tcgen05.mma: its accumulator from column ", ranges.d.column, ", A scales from ",
                        ranges.a_scales.column, " and B scales from ", ranges.b_scales.column, " overlap"),
                   name_of_columns(*thread.cta, ranges.d.column));
    return;
  }
  const std::vector<Cta*> group = tensor_group(thread, mma.cta_group, "tcgen05.mma");
  if (group.empty()) return;
  TensorOperation& operation = enqueue(thread, TensorOperation::Kind::mma, mma.cta_group);
  operation.mma = mma;
  operation.operands = operands;
  const auto b_rows = static_cast<uint32_t>(instruction.n / group.size());
  const Access access = next_access(thread, mma.cta_group);
  const uint32_t* clock = tensor_clock(thread);
  for (Cta* cta : group) {
    const Actor shared{cluster.clock_of(thread), access, true};
    check_operand(thread, *cta, operands.a, kTensorRows, instruction.a_mn_major, shared,
                  "tcgen05.mma operand A");
    check_operand(thread, *cta, operands.b, b_rows, instruction.b_mn_major, shared, "tcgen05.mma operand B");
    check_tensor_operands(thread, *cta, ranges, scaled, operands.accumulate, {clock, access});
    set_content(*cta, ranges.d, TensorContent::accumulator);
  }
  cluster.launch.count(Op::tcgen05_mma);
  submit(thread);
}

}  // namespace

// ---- hooks

void tcgen05_mma(const Tcgen05Mma& mma, const Tcgen05Operands& requested) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Tcgen05Operands operands = requested;
  const FaultSpec* fault =
      thread->cluster->begin(*thread, Op::tcgen05_mma, static_cast<uint32_t>(operands.a & 0x3FFF) << 4,
                             static_cast<uint32_t>(operands.b & 0x3FFF) << 4);
  if (skipped(fault)) return;
  change(fault, fault != nullptr && fault->on_second ? operands.a_scales : operands.d);
  issue_mma(*thread, mma, operands);
}

void tcgen05_cp(Tcgen05CopyShape kind, int cta_group, uint32_t address, uint64_t descriptor) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault =
      cluster.begin(*thread, Op::tcgen05_cp, static_cast<uint32_t>(descriptor & 0x3FFF) << 4);
  if (skipped(fault)) return;
  change(fault, address);
  constexpr const char* kWhat = "tcgen05.cp";
  const Tcgen05OperandDescriptor source(descriptor);
  if (!source.legal || source.matrix.swizzle != Swizzle::none) {
    cluster.report(
        ReportKind::descriptor, thread,
        text(kWhat, ": descriptor ", Hex{descriptor},
             " lacks the constant bit 46, or has a swizzle, which the machine does not model for copies"));
    return;
  }
  const std::vector<Cta*> group = tensor_group(*thread, cta_group, kWhat);
  if (group.empty()) return;
  TensorOperation& operation = enqueue(*thread, TensorOperation::Kind::copy, cta_group);
  operation.shape = kind;
  operation.address = address;
  operation.descriptor = descriptor;
  const CopyShape shape = shape_of(kind);
  const TensorRange range{0, kTensorLanes, address & 0xFFFF, shape.row_bytes / 4};
  const Access access = next_access(*thread, cta_group);
  const uint32_t* clock = tensor_clock(*thread);
  for (Cta* cta : group) {
    const Actor shared{cluster.clock_of(*thread), access, true};
    bool good = true;
    for (uint32_t row = 0; row < shape.rows; ++row) {
      for (uint32_t piece = 0; piece < shape.row_bytes / 16 && good; ++piece) {
        good = cluster.check_shared(*thread, {cta, copy_source(source.matrix, row, piece)}, 16, false, shared,
                                    kWhat);
      }
    }
    check_tensor(*thread, *cta, range, true, {clock, access}, kWhat);
    set_content(*cta, range, TensorContent::scales);
  }
  submit(*thread);
}

void tcgen05_commit(int cta_group, uint32_t bar, uint16_t mask) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::tcgen05_commit, bar);
  if (skipped(fault)) return;
  if (fault != nullptr && fault->on_mask) {
    change(fault, mask);
  } else {
    change(fault, bar);
  }
  constexpr const char* kWhat = "tcgen05.commit";
  const SharedPlace place = cluster.locate(*thread, bar);
  if (place.cta == nullptr) return;
  const uint32_t destinations = destinations_of(*thread, place, mask);
  TensorOperation& operation = enqueue(*thread, TensorOperation::Kind::commit, cta_group);
  for (Cta& cta : cluster.ctas) {
    if ((destinations >> cta.rank & 1) == 0) continue;
    Barrier* barrier = cluster.usable_barrier(*thread, {&cta, place.offset}, kWhat, true);
    if (barrier != nullptr) operation.barriers.push_back(barrier);
  }
  const TensorThread& state = tensor_state(*thread);
  operation.clock = cluster.clocks.new_clock();
  cluster.clocks.copy(operation.clock, thread->agent);
  cluster.clocks[operation.clock][state.agent] = state.issued;
  cluster.tick(*thread);
  submit(*thread);
}

}  // namespace tilewright::emulator
