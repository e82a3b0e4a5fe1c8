#include <cublasLt.h>
#include <dlfcn.h>

#include <vector>

#include "cublaslt.h"

namespace tilewright::cli {

struct CublasLtApi {
  void* library = nullptr;
  cublasLtHandle_t handle = nullptr;
  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;

  CublasLtApi() = default;
  CublasLtApi(const CublasLtApi&) = delete;
  CublasLtApi& operator=(const CublasLtApi&) = delete;
  ~CublasLtApi() {
    if (handle != nullptr) destroy(handle);
    if (library != nullptr) dlclose(library);
  }
};

struct CublasLtMatmul::State {
  CublasLt library;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates;

  explicit State(const CublasLt& lt) : library(lt) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const CublasLtApi& api = library.api();
    if (operation != nullptr) api.desc_destroy(operation);
    for (const cublasLtMatrixLayout_t layout : {a, b, d})
      if (layout != nullptr) api.layout_destroy(layout);
  }
};

namespace {

Error refused(const char* call, cublasStatus_t status) {
  return {ErrorCode::cuda, "cublaslt",
          std::string(call) + " gave status " + std::to_string(static_cast<int>(status))};
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(CublasLtApi& api) {
  void* const lib = api.library;
  return find(lib, "cublasLtGetVersion", api.get_version) && find(lib, "cublasLtCreate", api.create) &&
         find(lib, "cublasLtDestroy", api.destroy) &&
         find(lib, "cublasLtMatmulDescCreate", api.desc_create) &&
         find(lib, "cublasLtMatmulDescDestroy", api.desc_destroy) &&
         find(lib, "cublasLtMatmulDescSetAttribute", api.desc_set) &&
         find(lib, "cublasLtMatrixLayoutCreate", api.layout_create) &&
         find(lib, "cublasLtMatrixLayoutDestroy", api.layout_destroy) &&
         find(lib, "cublasLtMatrixLayoutSetAttribute", api.layout_set) &&
         find(lib, "cublasLtMatmulPreferenceCreate", api.preference_create) &&
         find(lib, "cublasLtMatmulPreferenceDestroy", api.preference_destroy) &&
         find(lib, "cublasLtMatmulPreferenceSetAttribute", api.preference_set) &&
         find(lib, "cublasLtMatmulAlgoGetHeuristic", api.heuristic) &&
         find(lib, "cublasLtMatmul", api.matmul);
}

cudaDataType_t cuda_type(DType type) {
  switch (type) {
    case DType::e4m3:
      return CUDA_R_8F_E4M3;
    case DType::e5m2:
      return CUDA_R_8F_E5M2;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

/// A column-major rows x columns matrix of a batch.
Status make_layout(const CublasLtApi& api, cublasLtMatrixLayout_t& layout, DType type, int64_t rows,
                   int64_t columns, int64_t batches) {
  cublasStatus_t s = api.layout_create(&layout, cuda_type(type), static_cast<uint64_t>(rows),
                                       static_cast<uint64_t>(columns), rows);
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatrixLayoutCreate", s);
  const auto count = static_cast<int32_t>(batches);
  const int64_t stride = rows * columns;
  s = api.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
  if (s == CUBLAS_STATUS_SUCCESS)
    s = api.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatrixLayoutSetAttribute", s);
  return {};
}

Status make_operation(const CublasLtApi& api, cublasLtMatmulDesc_t& operation, bool fast, const float* one) {
  cublasStatus_t s = api.desc_create(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmulDescCreate", s);
  const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
  const int8_t fast_mode = fast ? 1 : 0;
  const struct {
    cublasLtMatmulDescAttributes_t attribute;
    const void* value;
    size_t bytes;
  } settings[] = {{CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed},
                  {CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain},
                  {CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast_mode, sizeof fast_mode},
                  {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &one, sizeof one},
                  {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &one, sizeof one}};
  for (const auto& setting : settings) {
    s = api.desc_set(operation, setting.attribute, setting.value, setting.bytes);
    if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmulDescSetAttribute", s);
  }
  return {};
}

Status ask_heuristic(const CublasLtApi& api, CublasLtMatmul::State& state) {
  constexpr int kAsked = 8;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasStatus_t s = api.preference_create(&preference);
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmulPreferenceCreate", s);
  const size_t workspace = kCublasLtWorkspace;
  api.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  state.candidates.resize(kAsked);
  int found = 0;
  s = api.heuristic(api.handle, state.operation, state.a, state.b, state.d, state.d, preference, kAsked,
                    state.candidates.data(), &found);
  api.preference_destroy(preference);
  state.candidates.resize(static_cast<size_t>(found));
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmulAlgoGetHeuristic", s);
  if (found == 0)
    return Error{ErrorCode::not_supported, "cublaslt", "cuBLASLt has no kernel for this problem"};
  return {};
}

}  // namespace

Expected<CublasLt> CublasLt::load(const std::string& path) {
  std::vector<std::string> names{path};
  if (path.empty())
    names = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
             "/usr/local/cuda/lib64/libcublasLt.so"};
  const auto api = std::make_shared<CublasLtApi>();
  for (const std::string& name : names)
    if (api->library == nullptr) api->library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (api->library == nullptr)
    return Error{ErrorCode::io, "cublaslt",
                 "cuBLASLt was not found (" + names.front() + "); name it with --cublaslt"};
  if (!find_all(*api))
    return Error{ErrorCode::io, "cublaslt", "this cuBLASLt lacks functions that are needed"};
  const cublasStatus_t s = api->create(&api->handle);
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtCreate", s);
  CublasLt library;
  library.api_ = api;
  return library;
}

std::string CublasLt::version() const {
  const size_t v = api_->get_version();
  return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

Expected<CublasLtMatmul> CublasLtMatmul::create(const CublasLt& library, const Problem& p, bool fast,
                                                const float* device_one) {
  auto state = std::make_shared<State>(library);
  const CublasLtApi& api = library.api();
  if (Status s = make_operation(api, state->operation, fast, device_one)) return *s;
  // Row-major D is column-major D^T (n x m) = op(B) A^T: the library's first operand is our B.
  if (Status s = make_layout(api, state->a, p.b.type, p.k, p.n, p.l)) return *s;
  if (Status s = make_layout(api, state->b, p.a.type, p.k, p.m, p.l)) return *s;
  if (Status s = make_layout(api, state->d, p.d.type, p.n, p.m, p.l)) return *s;
  if (Status s = ask_heuristic(api, *state)) return *s;
  return CublasLtMatmul(std::move(state));
}

int CublasLtMatmul::candidates() const { return static_cast<int>(state_->candidates.size()); }

Status CublasLtMatmul::run(int candidate, const void* a, const void* b, void* d, void* workspace,
                           void* stream) const {
  const State& st = *state_;
  const CublasLtApi& api = st.library.api();
  const float alpha = 1, beta = 0;
  const cublasStatus_t s = api.matmul(api.handle, st.operation, &alpha, b, st.a, a, st.b, &beta, d, st.d, d,
                                      st.d, &st.candidates[static_cast<size_t>(candidate)].algo, workspace,
                                      kCublasLtWorkspace, static_cast<cudaStream_t>(stream));
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmul", s);
  return {};
}

}  // namespace tilewright::cli
