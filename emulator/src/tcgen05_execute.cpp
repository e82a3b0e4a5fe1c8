// tcgen05.mma, cp and commit when they execute: one queue for each issuing thread.
#include <algorithm>
#include <array>
#include <cstring>

#include "tcgen05_operand.h"
#include "tensor_memory.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kSlice = 32;  // columns

void gather(const Cta& cta, uint64_t bits, uint32_t rows, bool mn_major, uint8_t* out) {
  for_each_piece(Tcgen05OperandDescriptor(bits).matrix, 0, rows, mn_major,
                 [&](uint32_t address, uint32_t row, uint32_t k) {
                   uint8_t* at = out + size_t{row} * kTensorRowBytes;
                   const auto* piece = reinterpret_cast<const uint8_t*>(cta.window + address);
                   if (!mn_major) {
                     std::memcpy(at + k, piece, 16);
                     return;
                   }
                   for (uint32_t i = 0; i < 8; ++i)
                     std::memcpy(at + i * kTensorRowBytes + k * 2, piece + i * 2, 2);
                 });
}

// Scales of `rows` rows, from the byte `id` on. Reports lane quarters that differ.
void gather_scales(Cluster& cluster, const Thread& thread, Cta& cta, uint32_t column, uint32_t rows,
                   uint32_t id, int count, std::array<uint8_t, 4>* out) {
  TensorMemory& memory = tensor_memory(cta);
  bool same = true;
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t lane = row % 32, at = column + row / 128 * kTensorScaleColumns + row % 128 / 32;
    const uint32_t word = memory.word(lane, at);
    for (uint32_t quarter = 1; quarter < kTensorQuarters; ++quarter) {
      same = same && memory.word(lane + quarter * kTensorQuarter, at) == word;
    }
    for (int i = 0; i < count; ++i) {
      out[row][static_cast<size_t>(i)] = static_cast<uint8_t>(word >> 8 * (id + static_cast<uint32_t>(i)));
    }
  }
  if (same) return;
  cluster.report(ReportKind::tensor_memory, &thread,
                 text("tcgen05.mma reads scales from ",
                      describe_columns(cluster, cta, column, (rows + 127) / 128 * kTensorScaleColumns),
                      ", whose four lane quarters differ: every quarter needs a copy"),
                 name_of_columns(cta, column));
}

// Operands of an instruction as its tensor core sees them. Too large for a stack.
struct Gathered {
  std::array<std::array<uint8_t, kTensorRows * kTensorRowBytes>, 2> a;
  std::array<uint8_t, 256 * kTensorRowBytes> b;
  std::array<std::array<uint8_t, 4>, kTensorRows> a_scales;
  std::array<std::array<uint8_t, 4>, 256> b_scales;
};

// Columns [first, first + count) of D in every CTA.
void multiply(Cluster& cluster, Thread& thread, const TensorOperation& operation, uint32_t first,
              uint32_t count) {
  static thread_local const auto gathered = std::make_unique<Gathered>();
  const auto instruction = Tcgen05Instruction::decode(operation.mma.kind, operation.operands.instruction);
  const std::vector<Cta*> group = tensor_group(thread, operation.cta_group, "tcgen05.mma");
  if (group.empty()) return;
  const auto b_rows = static_cast<uint32_t>(instruction.n / group.size());
  Tcgen05Product product{.kind = operation.mma.kind,
                         .e4m3_scales = !instruction.e8m0,
                         .scales = scales_of(operation.mma.kind),
                         .rows = static_cast<int>(kTensorRows),
                         .columns = static_cast<int>(count)};
  decode_type(product.kind, instruction.a_code, product.a_type);
  decode_type(product.kind, instruction.b_code, product.b_type);
  for (size_t i = 0; i < group.size(); ++i) {
    gather(*group[i], operation.operands.a, kTensorRows, instruction.a_mn_major, gathered->a[i].data());
    gather(*group[i], operation.operands.b, b_rows, instruction.b_mn_major,
           gathered->b.data() + i * b_rows * kTensorRowBytes);
  }
  product.b = gathered->b.data() + size_t{first} * kTensorRowBytes;
  for (size_t i = 0; i < group.size(); ++i) {
    if (product.scales != 0) {
      gather_scales(cluster, thread, *group[i], operation.operands.a_scales & 0xFFFF, kTensorRows,
                    instruction.a_scale_id, product.scales, gathered->a_scales.data());
      gather_scales(cluster, thread, *group[i], operation.operands.b_scales & 0xFFFF, instruction.n,
                    instruction.b_scale_id, product.scales, gathered->b_scales.data());
      product.a_scales = gathered->a_scales.data();
      product.b_scales = gathered->b_scales.data() + first;
    }
    product.a = gathered->a[i].data();
    tcgen05_multiply(product, &tensor_memory(*group[i]).word(0, (operation.operands.d & 0xFFFF) + first),
                     kTensorColumns, operation.operands.accumulate);
  }
}

// A result that costs nothing: 1 in the accumulator's type.
void store_ones(Thread& thread, const TensorOperation& operation, uint32_t columns) {
  const uint32_t one = operation.mma.kind == Tcgen05Kind::i8 ? 1u : 0x3F800000u;
  for (Cta* cta : tensor_group(thread, operation.cta_group, "tcgen05.mma")) {
    for (uint32_t lane = 0; lane < kTensorLanes; ++lane) {
      std::fill_n(&tensor_memory(*cta).word(lane, operation.operands.d & 0xFFFF), columns, one);
    }
  }
}

void trace_operation(Cluster& cluster, const Thread& thread, const TensorOperation& operation,
                     const char* name, Trace::Place source, Trace::Place second = {}) {
  if (Trace* trace = cluster.launch.trace(); trace != nullptr)
    trace->add({name, Trace::Kind::multiply, thread.cta->number, Trace::Unit::tensor_core, Trace::kWhole,
                operation.begin, cluster.timeline(), source, second});
}

Trace::Place place_of(const Cluster& cluster, const Thread& thread, uint64_t descriptor) {
  return cluster.place_at(*thread.cta, Tcgen05OperandDescriptor(descriptor).matrix.start);
}

// True when all columns are done.
bool execute_mma(Cluster& cluster, Thread& thread, TensorOperation& operation, bool one_slice) {
  const uint32_t n = Tcgen05Instruction::decode(operation.mma.kind, operation.operands.instruction).n;
  if (cluster.launch.options().arithmetic) {
    const uint32_t count =
        one_slice ? std::min(kSlice, n - operation.next_column) : n - operation.next_column;
    multiply(cluster, thread, operation, operation.next_column, count);
    operation.next_column += count;
    if (operation.next_column < n) return false;
  } else {
    store_ones(thread, operation, n);
  }
  trace_operation(cluster, thread, operation, "tcgen05.mma", place_of(cluster, thread, operation.operands.a),
                  place_of(cluster, thread, operation.operands.b));
  return true;
}

void execute_copy(Cluster& cluster, Thread& thread, const TensorOperation& operation) {
  const CopyShape shape = shape_of(operation.shape);
  const MatrixDescriptor descriptor = Tcgen05OperandDescriptor(operation.descriptor).matrix;
  for (Cta* cta : tensor_group(thread, operation.cta_group, "tcgen05.cp")) {
    TensorMemory& memory = tensor_memory(*cta);
    for (uint32_t row = 0; row < shape.rows; ++row) {
      for (uint32_t word = 0; word < shape.row_bytes / 4; ++word) {
        uint32_t value;
        std::memcpy(&value, cta->window + copy_source(descriptor, row, word / 4) + word % 4 * 4, 4);
        const uint32_t copies = shape.all_quarters ? kTensorQuarters : 1;
        for (uint32_t quarter = 0; quarter < copies; ++quarter) {
          memory.word(row + quarter * kTensorQuarter, (operation.address & 0xFFFF) + word) = value;
        }
      }
    }
  }
  trace_operation(cluster, thread, operation, "tcgen05.cp", place_of(cluster, thread, operation.descriptor));
}

void execute_commit(Cluster& cluster, Thread& thread, const TensorOperation& operation) {
  for (Barrier* barrier : operation.barriers) {
    if (barrier->cta->exited || !barrier->live) {
      cluster.report(ReportKind::exit_before_peer, &thread,
                     text("tcgen05.commit arrives in CTA ", barrier->cta->rank,
                          barrier->cta->exited ? ", which has already exited"
                                               : ", where its mbarrier is not live any more"),
                     barrier->name, barrier->stage);
      continue;
    }
    cluster.arrive(thread, *barrier, 1, operation.clock);
  }
  cluster.clocks.free_clock(operation.clock);
}

}  // namespace

bool execute_tensor_operation(Cluster& cluster, Thread& thread, bool one_slice) {
  TensorThread& state = tensor_state(thread);
  if (state.queue.empty()) return true;
  TensorOperation& operation = state.queue.front();
  switch (operation.kind) {
    case TensorOperation::Kind::mma:
      if (!execute_mma(cluster, thread, operation, one_slice)) return false;
      break;
    case TensorOperation::Kind::copy:
      execute_copy(cluster, thread, operation);
      break;
    case TensorOperation::Kind::commit:
      execute_commit(cluster, thread, operation);
      break;
  }
  state.queue.pop_front();
  ++state.executed;
  return true;
}

bool tensor_queue_is_needed(const Thread& thread) {
  const auto& queue = thread.tensor->queue;
  return std::any_of(queue.begin(), queue.end(), [](const TensorOperation& operation) {
    return std::any_of(operation.barriers.begin(), operation.barriers.end(),
                       [](const Barrier* barrier) { return !barrier->waiters.empty(); });
  });
}

}  // namespace tilewright::emulator
