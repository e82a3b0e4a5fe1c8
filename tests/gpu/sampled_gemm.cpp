#include "tests/gpu/sampled_gemm.h"

#include <algorithm>

#include "src/gemm_bound.h"
#include "tests/gpu/gpu_machine.h"
#include "tests/kernels/operands.h"
#include "tests/kernels/text.h"
#include "tilewright/detail/parallel.h"

namespace tilewright::testing {
namespace {

/// Device memory that holds NaN of every type.
class DeviceMemory {
 public:
  explicit DeviceMemory(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    if (cudaMalloc(&data_, bytes_ + 1) != cudaSuccess) data_ = nullptr;
    if (data_ != nullptr) reset();
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void reset() { cudaMemset(data_, 0xFF, bytes_); }
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

/// `lines` lines of `line` bytes, packed on the host, `pitch` bytes apart on the device.
cudaError_t upload_lines(uint8_t* to, int64_t pitch, const uint8_t* from, int64_t line, int64_t lines) {
  if (lines == 1) pitch = line;
  // cudaMemcpy2D has a limit on pitches; lines that are far apart are few.
  if (pitch > (int64_t{1} << 30)) {
    for (int64_t i = 0; i < lines; ++i)
      cudaMemcpy(to + i * pitch, from + i * line, static_cast<size_t>(line), cudaMemcpyHostToDevice);
    return cudaGetLastError();
  }
  return cudaMemcpy2D(to, static_cast<size_t>(pitch), from, static_cast<size_t>(line),
                      static_cast<size_t>(line), static_cast<size_t>(lines), cudaMemcpyHostToDevice);
}

std::vector<int64_t> sample(const SampledGemm& g) {
  if (!g.rows.empty()) return g.rows;
  constexpr int64_t kCount = 32;
  const int64_t m = g.problem.m;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < std::min(kCount, m); ++i)
    rows.push_back(m <= kCount ? i : (m - 1) * i / (kCount - 1));
  return rows;
}

class SampledRun {
 public:
  explicit SampledRun(const SampledGemm& g)
      : gemm_(g),
        p_(g.problem),
        a_(shape_of(p_.a, p_.m, p_.k, p_.l)),
        b_(shape_of(p_.b, p_.k, p_.n, p_.l)),
        d_(shape_of(p_.d, p_.m, p_.n, p_.l)),
        rows_(sample(g)),
        a_memory_(a_.bytes()),
        b_memory_(b_.bytes()),
        d_memory_(d_.bytes()) {
    fill(a_host_, p_.m * p_.l, p_.k, p_.a.type, 1);
    fill(b_host_, p_.n * p_.l, p_.k, p_.b.type, 2);
    fill(c_host_, static_cast<int64_t>(rows_.size()) * p_.l, p_.n, p_.d.type, 3);
  }

  SampledResult run() {
    SampledResult result;
    if (a_memory_.data() == nullptr || b_memory_.data() == nullptr || d_memory_.data() == nullptr)
      return failed(result, "no device memory");
    if (const Status s = upload()) return failed(result, s->message);
    Options options = gemm_.options;
    options.device = Device::gpu;
    const Expected<Plan> planned = plan(p_, options);
    if (!planned) return failed(result, planned.error().message);
    result.info = planned->info();
    std::vector<uint8_t> first;
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (attempt > 0) d_memory_.reset();
      if (p_.beta != 0) upload_source();
      const Buffers buffers{
          .a = a_memory_.data(), .b = b_memory_.data(), .c = d_memory_.data(), .d = d_memory_.data()};
      if (const Status s = planned->run(buffers)) return failed(result, s->message);
      if (const Status s = cuda_status(cudaDeviceSynchronize())) return failed(result, s->message);
      const std::vector<uint8_t> rows = download();
      if (attempt > 0 && rows != first) return failed(result, "the second run gives other bits");
      first = rows;
    }
    result.comparison = judge(first);
    const Comparison& r = result.comparison;
    if (!r.passed())
      failed(result, text(r.failures, " of ", r.elements, " elements are outside their bound, the first at (",
                          r.batch, ", row ", rows_[static_cast<size_t>(r.row)], ", ", r.column, "): ", r.got,
                          ", FP64 has ", r.reference, ", bound ", r.bound));
    return result;
  }

 private:
  SampledResult& failed(SampledResult& result, const std::string& what) const {
    result.failure = gemm_.name + ": " + what;
    return result;
  }

  void fill(std::vector<uint8_t>& bytes, int64_t lines, int64_t line, DType type, uint64_t seed) const {
    bytes.resize(static_cast<size_t>(bytes_of(type, lines * line)));
    fill_matrix(bytes.data(), {type, lines, line, 1, line, 1, 0}, gemm_.init, seed);
  }

  Status upload() const {
    for (int64_t batch = 0; batch < p_.l; ++batch) {
      if (Status s = cuda_status(upload_lines(a_memory_.data() + batch * a_.batch_stride, a_.row_stride,
                                              a_host_.data() + batch * p_.m * p_.k, p_.k, p_.m)))
        return s;
      if (Status s = cuda_status(upload_lines(b_memory_.data() + batch * b_.batch_stride, b_.column_stride,
                                              b_host_.data() + batch * p_.n * p_.k, p_.k, p_.n)))
        return s;
    }
    return {};
  }

  /// Calls f(address of a sampled row on the device, its bytes, its offset in a packed array of all of them).
  template <class F>
  void for_each_row(const F& f) const {
    const int64_t size = bits_of(p_.d.type) / 8, line = p_.n * size;
    int64_t at = 0;
    for (int64_t batch = 0; batch < p_.l; ++batch) {
      for (const int64_t row : rows_) {
        f(d_memory_.data() + d_.index(batch, row, 0) * size, static_cast<size_t>(line), at);
        at += line;
      }
    }
  }

  void upload_source() const {
    for_each_row([&](uint8_t* row, size_t bytes, int64_t at) {
      cudaMemcpy(row, c_host_.data() + at, bytes, cudaMemcpyHostToDevice);
    });
  }

  std::vector<uint8_t> download() const {
    std::vector<uint8_t> rows(c_host_.size());
    for_each_row([&](const uint8_t* row, size_t bytes, int64_t at) {
      cudaMemcpy(rows.data() + at, row, bytes, cudaMemcpyDeviceToHost);
    });
    return rows;
  }

  /// The sampled rows as a GEMM of their own.
  Comparison judge(const std::vector<uint8_t>& got) const {
    const auto count = static_cast<int64_t>(rows_.size());
    std::vector<uint8_t> a;
    for (int64_t batch = 0; batch < p_.l; ++batch) {
      for (const int64_t row : rows_) {
        const auto begin = a_host_.begin() + (batch * p_.m + row) * p_.k;
        a.insert(a.end(), begin, begin + p_.k);
      }
    }
    ReferenceGemm g;
    g.n = p_.n;
    g.k = p_.k;
    g.m = count;
    g.batches = p_.l;
    g.a = {a.data(), p_.a.type, p_.k, 1, count * p_.k};
    g.b = {b_host_.data(), p_.b.type, 1, p_.k, p_.n * p_.k};
    g.c = {c_host_.data(), p_.d.type, p_.n, 1, count * p_.n};
    g.alpha = p_.alpha;
    g.beta = p_.beta;
    std::vector<double> reference(static_cast<size_t>(count * p_.n * p_.l)), magnitude(reference.size());
    // Blocks of columns, because a reference works on blocks of 64 rows and these are few.
    reference_by_columns(g, reference, magnitude);
    return compare(g, reference.data(), magnitude.data(), {got.data(), p_.d.type, p_.n, 1, count * p_.n},
                   comparison_rules(p_));
  }

  static void reference_by_columns(const ReferenceGemm& whole, std::vector<double>& reference,
                                   std::vector<double>& magnitude) {
    constexpr int64_t kColumns = 256;
    const int64_t lines = whole.m * whole.batches;
    const auto blocks = static_cast<int>((whole.n + kColumns - 1) / kColumns);
    const auto work = [&](int block) {
      ReferenceGemm g = whole;
      const int64_t first = block * kColumns;
      g.n = std::min(kColumns, whole.n - first);
      g.b.data = static_cast<const uint8_t*>(whole.b.data) + first * whole.b.column_stride;
      g.c.data = static_cast<const uint8_t*>(whole.c.data) + bytes_of(whole.c.type, first);
      g.threads = 1;
      std::vector<double> d(static_cast<size_t>(lines * g.n)), s(d.size());
      static_cast<void>(reference_gemm(g, d.data(), s.data()));
      for (int64_t line = 0; line < lines; ++line) {
        std::copy_n(d.begin() + line * g.n, g.n, reference.begin() + line * whole.n + first);
        std::copy_n(s.begin() + line * g.n, g.n, magnitude.begin() + line * whole.n + first);
      }
    };
    detail::parallel_blocks(blocks, 0, work, {});
  }

  const SampledGemm& gemm_;
  const Problem& p_;
  OperandShape a_, b_, d_;
  std::vector<int64_t> rows_;
  DeviceMemory a_memory_, b_memory_, d_memory_;
  std::vector<uint8_t> a_host_, b_host_;  // packed: [batch][line][k]
  std::vector<uint8_t> c_host_;           // packed: [batch][sampled row][n]
};

}  // namespace

SampledResult run_sampled(const SampledGemm& gemm) { return SampledRun(gemm).run(); }

}  // namespace tilewright::testing
