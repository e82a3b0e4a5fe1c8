#include "tests/kernels/gemm_case.h"

#include <algorithm>
#include <array>

#include "tests/kernels/expectation.h"
#include "tests/kernels/operands.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

/// One operand on a machine: guard, offset, contents, guard.
class Block {
 public:
  Block(TestMachine& machine, const char* name, size_t offset, std::vector<uint8_t> contents, bool output)
      : machine_(machine), skip_(machine.guard_bytes() + offset), size_(contents.size()) {
    image_.assign(skip_ + size_ + machine.guard_bytes(), kGuard);
    std::copy(contents.begin(), contents.end(), image_.begin() + static_cast<ptrdiff_t>(skip_));
    memory_ = machine.place(image_, name, output);
  }
  ~Block() {
    if (memory_ != nullptr) machine_.release(memory_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  bool valid() const { return memory_ != nullptr; }
  void* base() const { return static_cast<uint8_t*>(memory_) + skip_; }

  Status write(const std::vector<uint8_t>& contents) {
    std::copy(contents.begin(), contents.end(), image_.begin() + static_cast<ptrdiff_t>(skip_));
    return machine_.upload(memory_, image_);
  }
  /// Fetches everything; the contents go to `contents`. False if a guard has changed.
  Expected<bool> read(std::vector<uint8_t>& contents) const {
    std::vector<uint8_t> now(image_.size());
    if (Status s = machine_.download(now, memory_)) return *s;
    const auto begin = now.begin() + static_cast<ptrdiff_t>(skip_);
    const auto end = begin + static_cast<ptrdiff_t>(size_);
    contents.assign(begin, end);
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    return std::all_of(now.begin(), begin, is_guard) && std::all_of(end, now.end(), is_guard);
  }

 private:
  static constexpr uint8_t kGuard = 0xFF;  // NaN, should anybody read it

  TestMachine& machine_;
  size_t skip_, size_;
  std::vector<uint8_t> image_;
  void* memory_ = nullptr;
};

constexpr std::array<uint8_t, 2> kPattern{0xFF, 0xA5};  // what D holds before the first and the second run

template <class F>
void for_each_element(const OperandShape& s, F&& f) {
  for (int64_t batch = 0; batch < s.batches; ++batch)
    for (int64_t row = 0; row < s.rows; ++row)
      for (int64_t column = 0; column < s.columns; ++column) f(s.index(batch, row, column));
}

class CaseRun {
 public:
  CaseRun(const GemmCase& c, TestMachine& machine, const Plan& plan)
      : case_(c),
        machine_(machine),
        plan_(plan),
        operands_(make_operands(c)),
        expected_(case_, operands_, plan.info()) {}

  void run(CaseResult& result) {
    const GemmCase::Offsets& at = case_.offset;
    Block a(machine_, "A", static_cast<size_t>(at.a), operands_.a.bytes, false);
    Block b(machine_, "B", static_cast<size_t>(at.b), operands_.b.bytes, false);
    Block c(machine_, "C", static_cast<size_t>(at.c), operands_.c.bytes, false);
    Block d(machine_, "D", static_cast<size_t>(at.d), operands_.d.bytes, true);
    Block scalars(machine_, "scalars", 0, scalar_bytes(), false);
    const auto scales_at = static_cast<size_t>(at.scales);
    Block a_scales(machine_, "scales of A", scales_at, operands_.a_scales.bytes, false);
    Block b_scales(machine_, "scales of B", scales_at, operands_.b_scales.bytes, false);
    Block bias(machine_, "bias", static_cast<size_t>(at.bias), operands_.bias.bytes, false);
    Block aux(machine_, "aux", static_cast<size_t>(at.aux), operands_.aux.bytes, true);
    Block amax(machine_, "amax", 0, std::vector<uint8_t>(sizeof(float), 0xFF), true);
    const std::vector<uint8_t> unknown(static_cast<size_t>(plan_.workspace_bytes()), 0xFF);  // NaN
    Block workspace(machine_, "workspace", 0, unknown, true);
    if (!a.valid() || !b.valid() || !c.valid() || !d.valid() || !scalars.valid() || !workspace.valid() ||
        !a_scales.valid() || !b_scales.valid() || !bias.valid() || !aux.valid() || !amax.valid())
      return fail(result, "no memory for the operands");

    Buffers buffers{.a = a.base(), .b = b.base(), .c = case_.in_place ? d.base() : c.base(), .d = d.base()};
    if (plan_.workspace_bytes() > 0) buffers.workspace = workspace.base();
    if (case_.device_scalars) {
      const auto* factor = static_cast<const float*>(scalars.base());
      buffers.alpha = factor, buffers.beta = factor + 1;
    }
    if (case_.device_scalars && is_fp8(case_.problem.a.type)) {
      const auto* factor = static_cast<const float*>(scalars.base());
      buffers.scale_a = factor + 2, buffers.scale_b = factor + 3, buffers.scale_d = factor + 4;
    }
    if (case_.problem.scale_mode != ScaleMode::per_tensor) {
      buffers.scale_a = static_cast<const float*>(a_scales.base());
      buffers.scale_b = static_cast<const float*>(b_scales.base());
    }
    const EpilogueOps& epilogue = case_.problem.epilogue;
    if (epilogue.bias != BiasKind::none) buffers.bias = bias.base();
    if (epilogue.aux) buffers.aux = aux.base();
    if (epilogue.amax_d) buffers.amax_d = static_cast<float*>(amax.base());
    for (int attempt = 0; attempt < case_.runs && result.failure.empty(); ++attempt) {
      const std::vector<uint8_t> before = d_before(attempt);
      if (Status s = d.write(before)) return fail(result, s->message);
      const std::vector<uint8_t> aux_before(operands_.aux.bytes.size(), pattern(attempt));
      if (Status s = aux.write(aux_before)) return fail(result, s->message);
      if (Status s = machine_.run(plan_, buffers)) return fail(result, s->message);
      std::vector<uint8_t> after;
      const Expected<bool> guarded = d.read(after);
      if (!guarded) return fail(result, guarded.error().message);
      if (!*guarded) fail(result, "bytes around D have changed");
      judge(result, before, after, attempt);
      judge_aux(result, aux, aux_before, attempt);
      if (epilogue.amax_d) judge_amax(result, amax, after, attempt);
      check_unchanged(result, "the bias", bias, operands_.bias.bytes);
      check_unchanged(result, "A", a, operands_.a.bytes);
      check_unchanged(result, "B", b, operands_.b.bytes);
      check_unchanged(result, "C", c, operands_.c.bytes);
      check_unchanged(result, "the scales of A", a_scales, operands_.a_scales.bytes);
      check_unchanged(result, "the scales of B", b_scales, operands_.b_scales.bytes);
      std::vector<uint8_t> scratch;
      const Expected<bool> kept = workspace.read(scratch);
      if (!kept || !*kept) fail(result, "bytes around the workspace have changed");
    }
  }

 private:
  void fail(CaseResult& result, const std::string& what) const {
    result.failure += case_.name + ": " + what + "\n  " + describe(case_) + "\n";
  }

  std::vector<uint8_t> scalar_bytes() const {
    const Problem& p = case_.problem;
    const std::array<float, 5> values{p.alpha, p.beta, p.scale_a, p.scale_b, p.scale_d};
    std::vector<uint8_t> bytes(sizeof(values));
    std::copy_n(reinterpret_cast<const uint8_t*>(values.data()), bytes.size(), bytes.begin());
    return bytes;
  }

  std::vector<uint8_t> d_before(int attempt) const {
    std::vector<uint8_t> bytes(operands_.d.bytes.size(), pattern(attempt));
    if (!case_.in_place) return bytes;
    copy_elements(operands_.d.shape, operands_.c.bytes, bytes);
    return bytes;
  }

  static uint8_t pattern(int attempt) { return kPattern[static_cast<size_t>(attempt) % kPattern.size()]; }

  /// The elements (not the padding) from one array to another.
  static void copy_elements(const OperandShape& shape, const std::vector<uint8_t>& from,
                            std::vector<uint8_t>& to) {
    const int64_t size = bits_of(shape.type) / 8;
    for_each_element(shape, [&](int64_t index) {
      std::copy_n(from.begin() + index * size, size, to.begin() + index * size);
    });
  }

  void judge(CaseResult& result, std::vector<uint8_t> before, const std::vector<uint8_t>& after,
             int attempt) {
    result.comparison = expected_.compare_with_reference(after);
    judge_output(result, "D", operands_.d.shape, result.comparison, expected_.compare_with_model(after),
                 std::move(before), after, attempt, result.d);
  }

  void judge_aux(CaseResult& result, const Block& aux, const std::vector<uint8_t>& before, int attempt) {
    std::vector<uint8_t> after;
    const Expected<bool> guarded = aux.read(after);
    if (!guarded) return fail(result, guarded.error().message);
    if (!*guarded) fail(result, "bytes around aux have changed");
    if (!case_.problem.epilogue.aux) return;
    judge_output(result, "aux", operands_.aux.shape, expected_.compare_aux_with_reference(after),
                 expected_.compare_aux_with_model(after), before, after, attempt, result.aux);
  }

  void judge_amax(CaseResult& result, const Block& amax, const std::vector<uint8_t>& d, int attempt) {
    std::vector<uint8_t> bytes;
    const Expected<bool> guarded = amax.read(bytes);
    if (!guarded) return fail(result, guarded.error().message);
    if (!*guarded) fail(result, "bytes around amax have changed");
    float value = 0;
    std::copy_n(bytes.begin(), sizeof value, reinterpret_cast<uint8_t*>(&value));
    const std::string wrong = expected_.judge_amax(value, d);
    if (!wrong.empty()) fail(result, wrong);
    const bool same = value == result.amax || (value != value && result.amax != result.amax);
    if (attempt > 0 && !same) fail(result, text("amax is ", value, ", was ", result.amax));
    result.amax = value;
  }

  /// dense: the elements of the run before, and of this one afterwards.
  void judge_output(CaseResult& result, const char* name, const OperandShape& shape, const Comparison& r,
                    const std::string& other_than_model, std::vector<uint8_t> before,
                    const std::vector<uint8_t>& after, int attempt, std::vector<uint8_t>& dense) {
    if (!r.passed()) {
      fail(result, text(name, ": ", r.failures, " of ", r.elements,
                        " elements are outside their bound, the first at (", r.batch, ", ", r.row, ", ",
                        r.column, "): ", r.got, ", FP64 has ", r.reference, ", bound ", r.bound));
    }
    if (!other_than_model.empty()) fail(result, text(name, ": ", other_than_model));
    copy_elements(shape, after, before);
    if (before != after) {
      const auto at = std::mismatch(before.begin(), before.end(), after.begin()).first - before.begin();
      fail(result, text("the padding of ", name, " has changed at byte ", at));
    }
    std::vector<uint8_t> now = dense_elements(shape, after);
    if (attempt > 0 && now != dense)
      fail(result, text(name, ": run ", attempt,
                        " gives other bits than the one before: ", difference(shape.type, dense, now)));
    dense = std::move(now);
  }

  static std::vector<uint8_t> dense_elements(const OperandShape& shape, const std::vector<uint8_t>& bytes) {
    const int64_t size = bits_of(shape.type) / 8;
    std::vector<uint8_t> dense;
    for_each_element(shape, [&](int64_t index) {
      dense.insert(dense.end(), bytes.begin() + index * size, bytes.begin() + (index + 1) * size);
    });
    return dense;
  }

  void check_unchanged(CaseResult& result, const char* name, const Block& block,
                       const std::vector<uint8_t>& bytes) const {
    std::vector<uint8_t> now;
    const Expected<bool> guarded = block.read(now);
    if (!guarded) return fail(result, guarded.error().message);
    if (!*guarded || now != bytes) fail(result, text(name, " or bytes around it have changed"));
  }

  const GemmCase& case_;
  TestMachine& machine_;
  const Plan& plan_;
  HostOperands operands_;
  Expectation expected_;
};

/// The alignment of a base that lies `offset` bytes past a multiple of 256.
int alignment_of(const Operand& operand, int offset) {
  return offset == 0 ? operand.alignment : std::min(operand.alignment, offset & -offset);
}

std::string describe(const char* name, const Operand& o, int offset) {
  std::string s = text(' ', name, ' ', name_of(o.type), o.layout == Layout::row_major ? " rows" : " columns");
  if (o.ld != 0) s += text(" ld ", o.ld);
  if (o.batch_stride) s += text(" batch ", *o.batch_stride);
  if (offset != 0) s += text(" offset ", offset);
  return s + ',';
}

}  // namespace

const char* name_of(Data data) {
  constexpr const char* kNames[] = {"normal", "uniform", "ones", "integers", "codes", "specials"};
  return kNames[static_cast<size_t>(data)];
}

Problem planned_problem(const GemmCase& c) {
  Problem p = c.problem;
  p.a.alignment = alignment_of(p.a, c.offset.a);
  p.b.alignment = alignment_of(p.b, c.offset.b);
  p.c.alignment = alignment_of(p.c, c.in_place ? c.offset.d : c.offset.c);
  p.d.alignment = alignment_of(p.d, c.offset.d);
  if (p.epilogue.aux) p.epilogue.aux->alignment = alignment_of(*p.epilogue.aux, c.offset.aux);
  if (c.device_scalars) p.alpha = p.beta = p.scale_d = 1;
  if (c.device_scalars && p.scale_mode == ScaleMode::per_tensor) p.scale_a = p.scale_b = 1;
  return p;
}

Options planned_options(const GemmCase& c, Device device) {
  Options options = c.options;
  options.device = device;
  return options;
}

CaseResult run_case(const GemmCase& c, TestMachine& machine) {
  CaseResult result;
  const Expected<Plan> planned = plan(planned_problem(c), planned_options(c, machine.device()));
  if (!planned) {
    result.refusal = planned.error();
    return result;
  }
  result.info = planned->info();
  CaseRun(c, machine, *planned).run(result);
  return result;
}

std::string describe(const char* name, const ScaleStrides& s) {
  std::string words = text(' ', name, ' ', s.line_stride, ' ', s.k_stride);
  if (s.batch_stride) words += text(" batch ", *s.batch_stride);
  return words;
}

std::string describe(const GemmCase& c) {
  const Problem& p = c.problem;
  const Options& o = c.options;
  std::string s = text(p.m, " x ", p.n, " x ", p.k, " x ", p.l, ',');
  s += describe("A", p.a, c.offset.a) + describe("B", p.b, c.offset.b);
  if (p.beta != 0) s += describe("C", p.c, c.offset.c);
  s += describe("D", p.d, c.offset.d);
  s += text(" alpha ", p.alpha, ", beta ", p.beta, ", scales ", p.scale_a, ' ', p.scale_b, ' ', p.scale_d,
            c.device_scalars ? " on the device" : "", c.in_place ? ", in place" : "", ", ",
            p.accumulation == Accumulation::fast ? "fast" : text("interval ", p.interval),
            p.saturate ? "" : ", not saturating");
  if (p.scale_mode != ScaleMode::per_tensor)
    s += text(p.scale_mode == ScaleMode::per_row_column ? ", scales of rows and columns," : ", block scales,",
              describe("A", p.a_scales), describe("B", p.b_scales));
  const EpilogueOps& e = p.epilogue;
  if (e.bias != BiasKind::none)
    s += text(", bias ", name_of(e.bias), ' ', name_of(e.bias_type), " batch ", e.bias_batch_stride,
              c.offset.bias != 0 ? text(" offset ", c.offset.bias) : "");
  if (e.activation != Activation::none) s += text(", ", name_of(e.activation));
  if (e.aux) s += "," + describe("aux", *e.aux, c.offset.aux);
  if (e.amax_d) s += " amax";
  if (o.tile) s += text(", tile ", o.tile->m, 'x', o.tile->n);
  if (o.cluster) s += text(", cluster ", o.cluster->m, 'x', o.cluster->n);
  if (o.raster) s += *o.raster == schedule::Raster::along_m ? ", along M" : ", along N";
  if (o.swizzle) s += text(", swizzle ", *o.swizzle);
  if (o.stages) s += text(", stages ", *o.stages);
  if (o.max_sms) s += text(", SMs ", *o.max_sms);
  if (o.splits) s += text(", splits ", *o.splits);
  if (o.max_workspace) s += text(", workspace ", *o.max_workspace);
  if (o.pipeline != PipelineKind::automatic)
    s += o.pipeline == PipelineKind::async ? ", pipeline async" : ", pipeline producer";
  if (o.load != LoadKind::automatic) s += o.load == LoadKind::tma ? ", load tma" : ", load copy";
  if (o.store != StoreKind::automatic) s += o.store == StoreKind::tma ? ", store tma" : ", store direct";
  return s + text(", data ", name_of(c.data), ", seed ", c.seed);
}

std::string difference(DType element, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right) {
  const DType type = real_type_of(element);  // complex numbers part by part
  if (left.size() != right.size()) return "different sizes";
  const auto elements = static_cast<int64_t>(left.size()) * 8 / bits_of(type);
  for (int64_t i = 0; i < elements; ++i) {
    const uint64_t l = element_bits(type, left.data(), i), r = element_bits(type, right.data(), i);
    if (!same_element(type, l, r)) return text("element ", i, " is 0x", std::hex, l, " and 0x", r);
  }
  return "";
}

int64_t bulk_ld(int64_t line, DType type, int64_t wider) {
  const int64_t unit = 128 / bits_of(type);
  return ((line + unit - 1) / unit + wider) * unit;
}

void pad_for_bulk(Problem& p, int64_t wider) {
  p.a.ld = bulk_ld(p.a.layout == Layout::row_major ? p.k : p.m, p.a.type, wider);
  p.b.ld = bulk_ld(p.b.layout == Layout::row_major ? p.n : p.k, p.b.type, wider);
  p.c.ld = bulk_ld(p.c.layout == Layout::row_major ? p.n : p.m, p.c.type, wider);
  p.d.ld = bulk_ld(p.d.layout == Layout::row_major ? p.n : p.m, p.d.type, wider);
}

}  // namespace tilewright::testing
