// FP32 on tensor cores (RequiredMantissaBits<23>) beside cuBLASLt's FP32 with TF32 off, both in one run:
// bench_mantissa [extent...] (default 4096 8192) for speed, then errors against FP64 over K.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench_support.h"
#include "cublaslt_peer.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::bench;
using namespace tilewright::blas;

namespace {

template <class Part, int M, int N, int K>
using Fp32 = decltype(Size<M, N, K>() + Precision<float>() + BlockDim<256>() + Alignment<4, 4, 16>() +
                      RequiredMantissaBits<23>() + SplitInto<Part>() + WithPipeline() +
                      EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class Handle, class Epilogue>
__global__ void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    run_kernel(const schedule::TileSchedule tiles, const __grid_constant__ Handle pipeline,
               const __grid_constant__ Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

enum class Data { normal, uniform };

/// C (m x n) = A (m x k) B (k x n), A and B K-major.
class Race {
 public:
  Race(int64_t m, int64_t n, int64_t k, Data data)
      : m_(m),
        n_(n),
        k_(k),
        a_(size(m, k)),
        b_(size(n, k)),
        c_(size(m, n)),
        space_(CublasLtPeer::kWorkspace) {
    host_a_ = values(size(m, k), data, 1);
    host_b_ = values(size(n, k), data, 2);
    check(cudaMemcpy(a_.data, host_a_.data(), host_a_.size() * 4, cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(b_.data, host_b_.data(), host_b_.size() * 4, cudaMemcpyHostToDevice), "copy");
    std::string error;
    peer_ = CublasLtPeer::create(DType::f32, m, n, k, error);
    if (peer_ == nullptr) {
      std::printf("no peer: %s\n", error.c_str());
      std::exit(1);
    }
    const int best = fastest_candidate(*peer_, a_.data, b_.data, c_.data, space_.data);
    contenders_.push_back({"cuBLASLt FP32", [=, this] {
                             (void)peer_->run(best, a_.data, b_.data, c_.data, space_.data, nullptr);
                           }});
  }

  /// As the pipeline takes them.
  auto tensor_a() const {
    return make_gmem_tensor<row_major>(static_cast<const float*>(a_.data), m_, k_, k_);
  }
  auto tensor_b() const {
    return make_gmem_tensor<col_major>(static_cast<const float*>(b_.data), k_, n_, k_);
  }

  /// The product alone, and with the pass that splits A and B.
  template <class D>
  void add(const std::string& name, schedule::Raster raster, uint32_t strip) {
    auto made = suggest_pipeline<D>(tensor_a(), tensor_b());
    if (!made) return check(Status(Error{ErrorCode::cuda, "", made.error().message}));
    using Made = std::decay_t<decltype(*made)>;
    auto p = std::make_shared<Made>(std::move(*made));
    const auto epilogue = *make_store_through_smem<D>(make_gmem_tensor<row_major>(c_.data, m_, n_, n_));
    using Handle = typename Made::handle_type;
    using Epilogue = std::decay_t<decltype(epilogue)>;
    const schedule::TileSchedule tiles = p->make_schedule(1, raster, strip);
    const auto config = p->persistent_config(run_kernel<Handle, Epilogue>, tiles, Epilogue::scratch_bytes());
    if (!config) return check(Status(config.error()));
    const auto product = [=, launch = *config] {
      check(arch::launch(run_kernel<Handle, Epilogue>, launch, tiles, p->get_device_handle(), epilogue));
    };
    contenders_.push_back({name, product});
    contenders_.push_back({name + " with the split", [=, this] {
                             if (!p->rebind(tensor_a(), tensor_b(), nullptr)) std::exit(1);
                             product();
                           }});
  }

  void report_speed() {
    for (Contender& c : contenders_) errors_.push_back(error(c));
    constexpr int kRounds = 7;
    constexpr int kPauseMs = 50;
    const int launches = m_ >= 8192 ? 2 : 12;
    for (int round = 0; round < kRounds; ++round) {
      for (Contender& c : contenders_) c.ms.push_back(burst(c, launches, kPauseMs));
    }
    const double work = 2.0 * static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_);
    const double peer = contenders_[0].median();
    for (size_t i = 0; i < contenders_.size(); ++i) {
      const double ms = contenders_[i].median();
      std::printf("%6lld  %-44s %9.1f us %7.1f T/s  x %.3f  error %.2e\n", static_cast<long long>(m_),
                  contenders_[i].name.c_str(), ms * 1e3, work / ms / 1e9, peer / ms, errors_[i]);
    }
  }
  void report_errors(const char* data) {
    const double peer = error(contenders_.front());
    for (size_t i = 1; i < contenders_.size(); i += 2) {
      const double ours = error(contenders_[i + 1]);
      std::printf("%-8s %lld x %lld x %lld  cuBLASLt FP32 %.2e  %s %.2e  ratio %.2f\n", data,
                  static_cast<long long>(m_), static_cast<long long>(n_), static_cast<long long>(k_), peer,
                  contenders_[i].name.c_str(), ours, ours / peer);
    }
  }

 private:
  static size_t size(int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns); }
  static std::vector<float> values(size_t count, Data data, uint32_t seed) {
    if (data == Data::normal) return random_values<float>(count, seed);
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> unit(0, 1);
    std::vector<float> v(count);
    for (float& x : v) x = unit(random);
    return v;
  }

  /// Relative Frobenius error of some rows, the output poisoned before.
  double error(const Contender& c) {
    check(cudaMemset(c_.data, 0xFF, size(m_, n_) * 4), "memset");
    c.run();
    check(cudaDeviceSynchronize(), c.name.c_str());
    constexpr int64_t kRows = 8;
    std::vector<float> row(static_cast<size_t>(n_));
    double wrong = 0, right = 0;
    for (int64_t i = 0; i < kRows; ++i) {
      const int64_t r = i * (m_ / kRows) + i * 13 % (m_ / kRows);
      check(cudaMemcpy(row.data(), c_.data + r * n_, row.size() * 4, cudaMemcpyDeviceToHost), "copy");
      const float* a = host_a_.data() + r * k_;
      for (int64_t j = 0; j < n_; ++j) {
        const float* b = host_b_.data() + j * k_;
        double sum = 0;
        for (int64_t x = 0; x < k_; ++x) sum += static_cast<double>(a[x]) * static_cast<double>(b[x]);
        const double difference = static_cast<double>(row[static_cast<size_t>(j)]) - sum;
        wrong += difference * difference;
        right += sum * sum;
      }
    }
    return std::sqrt(wrong / right);
  }

  int64_t m_, n_, k_;
  Device<float> a_, b_, c_;
  Device<uint8_t> space_;
  std::vector<float> host_a_, host_b_;
  std::unique_ptr<CublasLtPeer> peer_;
  std::vector<Contender> contenders_;
  std::vector<double> errors_;
};

void race(int64_t extent) {
  using schedule::Raster;
  Race r(extent, extent, extent, Data::normal);
  r.add<Fp32<tf32, 128, 256, 32>>("tf32 128x256x32, strip 8", Raster::along_m, 8);
  r.add<Fp32<tf32, 128, 256, 32>>("tf32 128x256x32, along n, strip 4", Raster::along_n, 4);
  r.add<Fp32<f16, 128, 256, 64>>("f16 128x256x64, strip 8", Raster::along_m, 8);
  r.add<Fp32<f16, 128, 256, 64>>("f16 128x256x64, along n, strip 4", Raster::along_n, 4);
  r.add<Fp32<f16, 256, 128, 64>>("f16 256x128x64, strip 4", Raster::along_m, 4);
  r.report_speed();
}

void errors(int64_t m, int64_t k) {
  for (const auto& [name, data] : {std::pair{"normal", Data::normal}, std::pair{"uniform", Data::uniform}}) {
    Race r(m, m, k, data);
    r.add<Fp32<tf32, 128, 256, 32>>("tf32", schedule::Raster::along_m, 8);
    r.add<Fp32<f16, 128, 256, 64>>("f16", schedule::Raster::along_m, 8);
    r.report_errors(name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int64_t> extents;
  for (int i = 1; i < argc; ++i) extents.push_back(std::atoll(argv[i]));
  if (extents.empty()) extents = {4096, 8192};
  for (const int64_t extent : extents) race(extent);
  for (const int64_t k : {512, 4096, 16384}) errors(1024, k);
  for (const int64_t k : {512, 4096}) errors(4096, k);
  return 0;
}
