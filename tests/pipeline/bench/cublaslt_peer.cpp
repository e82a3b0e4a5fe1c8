#include "cublaslt_peer.h"

#include <cublasLt.h>
#include <dlfcn.h>

namespace tilewright::bench {
namespace {

struct Api {
  void* library = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;

  bool load() {
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                             "/usr/local/cuda/lib64/libcublasLt.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return library != nullptr && find("cublasLtCreate", create) &&
           find("cublasLtMatmulDescCreate", desc_create) &&
           find("cublasLtMatmulDescSetAttribute", desc_set) &&
           find("cublasLtMatrixLayoutCreate", layout_create) &&
           find("cublasLtMatmulPreferenceCreate", preference_create) &&
           find("cublasLtMatmulPreferenceSetAttribute", preference_set) &&
           find("cublasLtMatmulAlgoGetHeuristic", heuristic) && find("cublasLtMatmul", matmul);
  }
};

struct Types {
  cudaDataType_t in, out, scale;
  cublasComputeType_t compute;
};

Types types_of(PeerType type) {
  switch (type) {
    case PeerType::f16:
      return {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case PeerType::bf16:
      return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case PeerType::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case PeerType::f64:
      return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case PeerType::f32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case PeerType::e4m3:
      return {CUDA_R_8F_E4M3, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default:
      return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
  }
}

}  // namespace

struct CublasLtPeer::State {
  Api api;
  PeerType type = PeerType::f16;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found;

  // Row-major C is column-major C^T (n x m) = op(B) A^T: the library's first operand is our B.
  bool describe(PeerType of, int64_t m, int64_t n, int64_t k) {
    const Types t = types_of(of);
    type = of;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const int8_t fast = type == PeerType::e4m3 ? 1 : 0;
    const auto u = [](int64_t x) { return static_cast<uint64_t>(x); };
    return api.create(&handle) == CUBLAS_STATUS_SUCCESS &&
           api.desc_create(&operation, t.compute, t.scale) == CUBLAS_STATUS_SUCCESS &&
           api.desc_set(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed) ==
               CUBLAS_STATUS_SUCCESS &&
           (fast == 0 || api.desc_set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast) ==
                             CUBLAS_STATUS_SUCCESS) &&
           api.layout_create(&a, t.in, u(k), u(n), k) == CUBLAS_STATUS_SUCCESS &&
           api.layout_create(&b, t.in, u(k), u(m), k) == CUBLAS_STATUS_SUCCESS &&
           api.layout_create(&c, t.out, u(n), u(m), n) == CUBLAS_STATUS_SUCCESS;
  }
  bool ask() {
    constexpr int kAsked = 8;
    cublasLtMatmulPreference_t preference = nullptr;
    if (api.preference_create(&preference) != CUBLAS_STATUS_SUCCESS) return false;
    const size_t workspace = kWorkspace;
    api.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    found.resize(kAsked);
    int count = 0;
    const cublasStatus_t status =
        api.heuristic(handle, operation, a, b, c, c, preference, kAsked, found.data(), &count);
    found.resize(static_cast<size_t>(count));
    return status == CUBLAS_STATUS_SUCCESS && count > 0;
  }
};

CublasLtPeer::CublasLtPeer(std::unique_ptr<State> state) : state_(std::move(state)) {}
CublasLtPeer::~CublasLtPeer() = default;

std::unique_ptr<CublasLtPeer> CublasLtPeer::create(PeerType type, int64_t m, int64_t n, int64_t k,
                                                   std::string& error) {
  auto state = std::make_unique<State>();
  error = "cuBLASLt was not found";
  if (!state->api.load()) return nullptr;
  error = "cuBLASLt refused the problem";
  if (!state->describe(type, m, n, k) || !state->ask()) return nullptr;
  error.clear();
  return std::unique_ptr<CublasLtPeer>(new CublasLtPeer(std::move(state)));
}

int CublasLtPeer::candidates() const { return static_cast<int>(state_->found.size()); }

bool CublasLtPeer::run(int candidate, const void* a, const void* b, void* c, void* workspace,
                       void* stream) const {
  const State& s = *state_;
  const float one = 1, zero = 0;
  const int32_t integer_one = 1, integer_zero = 0;
  const double double_one = 1, double_zero = 0;
  const void* alpha = &one;
  const void* beta = &zero;
  if (s.type == PeerType::s8) {
    alpha = &integer_one;
    beta = &integer_zero;
  } else if (s.type == PeerType::f64) {
    alpha = &double_one;
    beta = &double_zero;
  }
  return s.api.matmul(s.handle, s.operation, alpha, b, s.a, a, s.b, beta, c, s.c, c, s.c,
                      &s.found[static_cast<size_t>(candidate)].algo, workspace, kWorkspace,
                      static_cast<cudaStream_t>(stream)) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace tilewright::bench
