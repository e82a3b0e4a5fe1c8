#include "bench_shape.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>

#include "src/fp8_scales.h"
#include "src/matrix_init.h"
#include "tilewright/numeric/element.h"

namespace tilewright::cli {
namespace {

size_t bytes_of_packed(DType type, int64_t rows, int64_t columns, int64_t batches) {
  return static_cast<size_t>(bytes_of(type, rows * columns * batches));
}

/// Random operands; each set holds the same values from another place on, so that no two sets are equal.
Status upload_rotated(const GpuBuffer& buffer, const std::vector<uint8_t>& values, size_t start) {
  std::vector<uint8_t> rotated(values.size());
  std::rotate_copy(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(start % values.size()),
                   values.end(), rotated.begin());
  return buffer.upload(rotated.data());
}

Status upload_new(GpuBuffer& buffer, const std::vector<float>& values) {
  Expected<GpuBuffer> memory = GpuBuffer::allocate(values.size() * sizeof(float));
  if (!memory) return memory.error();
  buffer = std::move(*memory);
  return buffer.upload(values.data());
}

/// Packed scales with K contiguous, moved to a wider stride between lines. The padding is NaN.
void pad_lines(std::vector<float>& scales, const ScaleGrid& grid, int64_t line_stride) {
  std::vector<float> padded(static_cast<size_t>(grid.lines * line_stride), std::nanf(""));
  for (int64_t line = 0; line < grid.lines; ++line)
    std::copy_n(scales.begin() + line * grid.k_blocks, grid.k_blocks, padded.begin() + line * line_stride);
  scales = std::move(padded);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// `count` launches, each on the next set.
Status launch_many(const Contender& c, int sets, int count, void* stream) {
  for (int i = 0; i < count; ++i)
    if (Status s = c.run(i % sets, stream)) return s;
  return {};
}

/// A rough time of one launch, in milliseconds.
Expected<double> rough_ms(const Contender& c, int sets, const GpuStream& stream) {
  constexpr int kWarm = 2, kTimed = 5;
  if (Status s = launch_many(c, sets, kWarm, stream.get())) return *s;
  const Expected<double> ms = stream.milliseconds([&] { return launch_many(c, sets, kTimed, stream.get()); });
  if (!ms) return ms.error();
  return *ms / kTimed;
}

/// A contender ready to be timed.
struct Entrant {
  Contender* contender;
  int warm, timed;
  GpuGraph graph;  // of `timed` launches: the host's part of a launch is no part of a kernel's time
};

Expected<Entrant> prepare(Contender& c, int sets, const GpuStream& stream, const BenchMethod& method) {
  const Expected<double> ms = rough_ms(c, sets, stream);
  if (!ms) return ms.error();
  const double once = std::max(*ms, 1e-3);
  const int warm = std::max(2, static_cast<int>(std::ceil(method.warm_ms / once)));
  const int timed = std::clamp(static_cast<int>(std::lround(method.timed_ms / once)), 1, 400);
  Expected<GpuGraph> graph =
      GpuGraph::record(stream, [&] { return launch_many(c, sets, timed, stream.get()); });
  if (!graph) return graph.error();
  return Entrant{&c, warm, timed, std::move(*graph)};
}

/// Microseconds of one launch in a burst.
Expected<double> burst_us(const Entrant& e, int sets, const GpuStream& stream, const BenchMethod& method) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(method.idle_ms));
  if (Status s = launch_many(*e.contender, sets, e.warm, stream.get())) return *s;
  const Expected<double> ms = stream.milliseconds([&] { return e.graph.launch(stream); });
  if (!ms) return ms.error();
  return *ms * 1000 / e.timed;
}

/// The median of so many bursts.
Expected<double> median_burst_us(Contender& c, int sets, const GpuStream& stream, const BenchMethod& method,
                                 int bursts) {
  const Expected<Entrant> e = prepare(c, sets, stream, method);
  if (!e) return e.error();
  std::vector<double> times;
  for (int burst = 0; burst < bursts; ++burst) {
    const Expected<double> us = burst_us(*e, sets, stream, method);
    if (!us) return us.error();
    times.push_back(*us);
  }
  return median(times);
}

/// Runs each contender once on poisoned output and compares what it wrote with the first one's.
Status check(const BenchOperands& operands, DType d_type, const GpuStream& stream,
             std::vector<Contender>& contenders) {
  std::vector<float> first;
  for (Contender& c : contenders) {
    if (Status s = operands.poison_d()) return s;
    if (Status s = c.run(0, stream.get())) return s;
    if (Status s = stream.synchronize()) return s;
    Expected<std::vector<float>> d = operands.download_d(d_type);
    if (!d) return d.error();
    if (first.empty()) first = *d;
    double error = 0, norm = 0;
    c.nan_elements = 0;
    for (size_t i = 0; i < d->size(); ++i) {
      const double got = (*d)[i], want = first[i];
      c.nan_elements += std::isnan(got);
      if (std::isnan(got) || std::isnan(want)) continue;
      error += (got - want) * (got - want);
      norm += want * want;
    }
    c.difference = norm > 0 ? std::sqrt(error / norm) : 0;
    if (operands.reference()) c.error = operands.reference()->error_of(*d);
  }
  return {};
}

}  // namespace

bool has_fast_sums(const Problem& p) { return is_fp8(p.a.type) && !p.a.block; }

BenchMethod method_for(const Problem& p, BenchMethod method) {
  const DType type = bf16_peer(p).a.type;
  if (type == DType::f32 || type == DType::tf32 || type == DType::f64) method.timed_ms = 12;
  if (bits_of(type) == 16) method.timed_ms = 6;
  return method;
}

Problem benched_scales(Problem p) {
  if (p.scale_mode != ScaleMode::block_1x128_128x128) return p;
  p.a_scales = {1, p.m};
  p.b_scales = {(p.k + 511) / 512 * 4, 1};
  return p;
}

PackedBlockScales BenchOperands::a_block_scales(int set) const {
  return blocks_ ? blocks_->a.scales_at(set_of(set).a_scales.data()) : PackedBlockScales{};
}
PackedBlockScales BenchOperands::b_block_scales(int set) const {
  return blocks_ ? blocks_->b.scales_at(set_of(set).b_scales.data()) : PackedBlockScales{};
}

Expected<BenchOperands> BenchOperands::make_blocks(const Problem& p, int64_t l2_bytes) {
  auto a = BlockScaledSource::make(*p.a.block, p.m, p.k, 1);
  if (!a) return a.error();
  auto b = BlockScaledSource::make(*p.b.block, p.n, p.k, 2);
  if (!b) return b.error();
  const auto blocks = std::make_shared<Blocks>(Blocks{std::move(*a), std::move(*b)});
  BenchOperands out;
  out.blocks_ = blocks;
  const Problem peer = bf16_peer(p);
  const auto reference = SampledReference::make(peer, blocks->a.bf16.data(), blocks->b.bf16.data());
  if (!reference) return reference.error();
  out.reference_ = *reference;
  const auto bytes_of_bf16 = [](const std::vector<uint16_t>& values) {
    const auto* first = reinterpret_cast<const uint8_t*>(values.data());
    return std::vector<uint8_t>(first, first + 2 * values.size());
  };
  const std::vector<uint8_t> peer_a = bytes_of_bf16(blocks->a.bf16), peer_b = bytes_of_bf16(blocks->b.bf16);
  const size_t d_bytes = bytes_of_packed(p.d.type, p.m, p.n, p.l);
  const int64_t count =
      sets_beyond_l2(l2_bytes, blocks->a.tensor.elements.size() + blocks->b.tensor.elements.size() + d_bytes);
  for (int64_t i = 0; i < count; ++i) {
    Set set;
    constexpr size_t kStep = 1000003;
    const auto fill = [&](GpuBuffer& buffer, const std::vector<uint8_t>& bytes, size_t start) -> Status {
      Expected<GpuBuffer> memory = GpuBuffer::allocate(bytes.size());
      if (!memory) return memory.error();
      buffer = std::move(*memory);
      return upload_rotated(buffer, bytes, start);
    };
    const size_t start = kStep * static_cast<size_t>(i);
    if (Status s = fill(set.a, blocks->a.tensor.elements, start)) return *s;
    if (Status s = fill(set.b, blocks->b.tensor.elements, start)) return *s;
    if (Status s = fill(set.a_scales, blocks->a.scales, 0)) return *s;
    if (Status s = fill(set.b_scales, blocks->b.scales, 0)) return *s;
    if (Status s = fill(set.peer_a, peer_a, 2 * start)) return *s;
    if (Status s = fill(set.peer_b, peer_b, 2 * start)) return *s;
    Expected<GpuBuffer> d = GpuBuffer::allocate(d_bytes);
    if (!d) return d.error();
    set.d = std::move(*d);
    out.sets_.push_back(std::move(set));
  }
  return out;
}

Status set_benched_epilogue(const std::string& words, Problem& p) {
  EpilogueOps& e = p.epilogue;
  std::istringstream parts(words);
  const auto refuse = [](const std::string& why) {
    return Error{ErrorCode::invalid_argument, "option.epilogue", "--epilogue: " + why};
  };
  if (words.empty()) return refuse("is empty; nearest legal: none");
  std::set<std::string> seen;
  for (std::string word; std::getline(parts, word, '_');) {
    if (!seen.insert(word).second) return refuse("'" + word + "' is there twice");
    if (word == "bias") {
      e.bias = p.d.layout == Layout::row_major ? BiasKind::column : BiasKind::row;
      e.bias_type = is_fp8(p.a.type) && p.d.type == DType::f32 ? DType::bf16 : p.d.type;
    } else if (word == "relu" || word == "gelu") {
      e.activation = word == "relu" ? Activation::relu : Activation::gelu;
    } else if (word == "aux") {
      e.aux = Operand{.type = p.d.type, .layout = p.d.layout};
    } else if (word == "amax") {
      e.amax_d = true;
    } else if (word != "none") {
      return refuse("'" + word + "' is not one of none, bias, relu, gelu, aux, amax");
    }
  }
  if (seen.count("none") != 0 && seen.size() > 1) return refuse("'none' stands alone");
  if (seen.count("relu") + seen.count("gelu") > 1) return refuse("one activation, relu or gelu");
  return {};
}

Status BenchOperands::add_epilogue(const Problem& p, BenchOperands& out) {
  const EpilogueOps& e = p.epilogue;
  const auto allocate = [](GpuBuffer& buffer, size_t bytes) -> Status {
    Expected<GpuBuffer> memory = GpuBuffer::allocate(bytes);
    if (!memory) return memory.error();
    buffer = std::move(*memory);
    return {};
  };
  if (e.bias != BiasKind::none) {
    const int64_t count = e.bias == BiasKind::row ? p.m : p.n;
    std::vector<uint8_t> bias(bytes_of_packed(e.bias_type, count, 1, 1));
    fill_matrix(bias.data(), {e.bias_type, count, 1, 1, 1, 1, 0}, Init::normal, 5);
    if (Status s = allocate(out.bias_, bias.size())) return s;
    if (Status s = out.bias_.upload(bias.data())) return s;
  }
  if (e.aux)
    if (Status s = allocate(out.aux_, bytes_of_packed(e.aux->type, p.m, p.n, p.l))) return s;
  return e.amax_d ? allocate(out.amax_, sizeof(float)) : Status{};
}

Expected<BenchOperands> BenchOperands::make(const Problem& p, int64_t l2_bytes) {
  if (p.a.block) return make_blocks(p, l2_bytes);
  std::vector<uint8_t> a(bytes_of_packed(p.a.type, p.m, p.k, p.l)),
      b(bytes_of_packed(p.b.type, p.k, p.n, p.l));
  // Values need not know their rows and columns: they are random.
  fill_matrix(a.data(), {p.a.type, p.m * p.l, p.k, 1, p.k, 1, 0}, Init::normal, 1);
  fill_matrix(b.data(), {p.b.type, p.n * p.l, p.k, 1, p.k, 1, 0}, Init::normal, 2);
  const size_t d_bytes = bytes_of_packed(p.d.type, p.m, p.n, p.l);
  const int64_t count = sets_beyond_l2(l2_bytes, a.size() + b.size() + d_bytes);
  BenchOperands out;
  if (Status s = add_epilogue(p, out)) return *s;
  const bool scaled = p.scale_mode != ScaleMode::per_tensor;
  std::vector<float> a_scales, b_scales;
  ScaleView a_view, b_view;
  if (scaled) {
    const ScaleGrid of_a = scales_of_a(p), of_b = scales_of_b(p);
    a_scales = random_scales(of_a, 1, 3);
    b_scales = random_scales(of_b, 1, 4);
    a_view = packed_scale_view(of_a, a_scales.data());
    if (p.b_scales.line_stride > of_b.line_stride()) pad_lines(b_scales, of_b, p.b_scales.line_stride);
    b_view = packed_scale_view(of_b, b_scales.data());
    b_view.line_stride = std::max(b_view.line_stride, p.b_scales.line_stride);
    if (Status s = upload_new(out.a_scales_, a_scales)) return *s;
    if (Status s = upload_new(out.b_scales_, b_scales)) return *s;
  }
  if (p.a.type == DType::f32 || scaled) {
    const Expected<SampledReference> reference =
        SampledReference::make(p, a.data(), b.data(), a_view, b_view);
    if (!reference) return reference.error();
    out.reference_ = *reference;
  }
  const auto element = static_cast<size_t>(bits_of(p.a.type) / 8);
  for (int64_t i = 0; i < count; ++i) {
    Set set;
    for (const auto& [buffer, bytes] :
         {std::pair{&set.a, a.size()}, std::pair{&set.b, b.size()}, std::pair{&set.d, d_bytes}}) {
      Expected<GpuBuffer> memory = GpuBuffer::allocate(bytes);
      if (!memory) return memory.error();
      *buffer = std::move(*memory);
    }
    constexpr size_t kStep = 1000003;  // prime: no row of a set is a row of another
    if (Status s = upload_rotated(set.a, a, kStep * element * static_cast<size_t>(i))) return *s;
    if (Status s = upload_rotated(set.b, b, kStep * element * static_cast<size_t>(i))) return *s;
    out.sets_.push_back(std::move(set));
  }
  return out;
}

Status BenchOperands::poison_d() const {
  for (const Set& set : sets_)
    if (Status s = set.d.fill(0xFF)) return s;
  return {};
}

Expected<std::vector<float>> BenchOperands::download_d(DType type) const {
  const GpuBuffer& d = sets_[0].d;
  std::vector<uint8_t> bytes(d.bytes());
  if (Status s = d.download(bytes.data())) return *s;
  std::vector<float> out(bytes.size() / static_cast<size_t>(bits_of(type) / 8));
  with_type(type, [&](auto t) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(load_as<decltype(t)>(bytes.data(), static_cast<int64_t>(i)));
  });
  return out;
}

double Contender::mean_us() const {
  return std::accumulate(round_us.begin(), round_us.end(), 0.0) / static_cast<double>(round_us.size());
}

double mean_ratio(const Contender& own, const Contender& peer) {
  double sum = 0;
  for (size_t i = 0; i < own.round_us.size(); ++i) sum += peer.round_us[i] / own.round_us[i];
  return sum / static_cast<double>(own.round_us.size());
}

Status measure(const BenchOperands& operands, DType d_type, const GpuStream& stream,
               const BenchMethod& method, std::vector<Contender>& contenders) {
  if (Status s = check(operands, d_type, stream, contenders)) return s;
  std::vector<Entrant> entrants;
  for (Contender& c : contenders) {
    Expected<Entrant> e = prepare(c, operands.sets(), stream, method);
    if (!e) return e.error();
    entrants.push_back(std::move(*e));
  }
  for (int round = 0; round < method.rounds; ++round) {
    std::vector<std::vector<double>> times(entrants.size());
    for (int burst = 0; burst < method.bursts; ++burst) {
      for (size_t i = 0; i < entrants.size(); ++i) {
        const Expected<double> us = burst_us(entrants[i], operands.sets(), stream, method);
        if (!us) return us.error();
        times[i].push_back(*us);
      }
    }
    for (size_t i = 0; i < entrants.size(); ++i) entrants[i].contender->round_us.push_back(median(times[i]));
  }
  return {};
}

Expected<Contender> fastest_cublaslt(const CublasLt& library, const Problem& problem, bool fast, int tried,
                                     const BenchMethod& method, const BenchOperands& operands,
                                     const GpuBuffer& workspace, const GpuBuffer& one,
                                     const GpuStream& stream) {
  const auto* factor = static_cast<const float*>(one.data());
  const bool scaled = problem.scale_mode != ScaleMode::per_tensor;
  const Expected<CublasLtMatmul> matmul =
      CublasLtMatmul::create(library, problem, fast, scaled ? operands.a_scales() : factor,
                             scaled ? operands.b_scales() : factor, {operands.bias(), operands.aux()});
  if (!matmul) return matmul.error();
  const auto contender = [&](int candidate) {
    Contender c;
    c.name = !is_fp8(problem.a.type) ? "cublaslt"
             : scaled                ? "cublaslt_scaled"
             : fast                  ? "cublaslt_fast"
                                     : "cublaslt_accurate";
    c.fast_accumulation = fast;
    c.candidate = candidate;
    c.run = [m = *matmul, candidate, &operands, memory = workspace.data()](int set, void* on) {
      return m.run(candidate, operands.peer_a(set), operands.peer_b(set), operands.d(set), memory, on);
    };
    return c;
  };
  std::vector<Contender> running;
  std::vector<double> rough;
  std::optional<Error> last;
  for (int candidate = 0; candidate < std::min(tried, matmul->candidates()); ++candidate) {
    const Expected<double> ms = rough_ms(contender(candidate), operands.sets(), stream);
    if (!ms) {
      last = ms.error();
    } else {
      running.push_back(contender(candidate));
      rough.push_back(*ms);
    }
  }
  if (running.empty()) return *last;
  // One after the other they find the chip ever hotter: those that are close are timed as contenders are.
  constexpr double kRoughError = 1.1;
  constexpr int kBursts = 3;
  const double least = *std::min_element(rough.begin(), rough.end());
  std::optional<size_t> best;
  double best_us = 0;
  for (size_t i = 0; i < running.size(); ++i) {
    if (rough[i] > kRoughError * least) continue;
    const Expected<double> us = median_burst_us(running[i], operands.sets(), stream, method, kBursts);
    if (!us) return us.error();
    if (!best || *us < best_us) best = i, best_us = *us;
  }
  return running[*best];
}

}  // namespace tilewright::cli
