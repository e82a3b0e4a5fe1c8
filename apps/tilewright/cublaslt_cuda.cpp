#include <cublasLt.h>
#include <dlfcn.h>

#include <span>
#include <utility>
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
  cudaDataType_t factors = CUDA_R_32F;
  bool exchanged = true;  // D is row-major, for the library the column-major D^T = B^T A^T
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;  // of the library's first operand, ...
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
    case DType::s8:
      return CUDA_R_8I;
    case DType::u8:
      return CUDA_R_8U;
    case DType::s32:
      return CUDA_R_32I;
    case DType::f64:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

/// The type of alpha and beta.
cudaDataType_t factor_type(DType type) {
  if (is_integer(type)) return CUDA_R_32I;
  return type == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
}

/// A packed matrix of ours as one of the library, which has column-major ones only.
struct LibraryOperand {
  DType type;
  int64_t rows, columns;  // as it lies in memory
  cublasOperation_t operation;
};

/// op(X) is the m x n matrix, or its transpose if `exchanged`.
LibraryOperand library_operand(const Operand& o, int64_t m, int64_t n, bool exchanged) {
  const bool column = o.layout == Layout::column_major;
  return {o.type, column ? m : n, column ? n : m, column != exchanged ? CUBLAS_OP_N : CUBLAS_OP_T};
}

/// A column-major rows x columns matrix of a batch.
Status make_layout(const CublasLtApi& api, cublasLtMatrixLayout_t& layout, const LibraryOperand& o,
                   int64_t batches) {
  cublasStatus_t s = api.layout_create(&layout, cuda_type(o.type), static_cast<uint64_t>(o.rows),
                                       static_cast<uint64_t>(o.columns), o.rows);
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatrixLayoutCreate", s);
  const auto count = static_cast<int32_t>(batches);
  const int64_t stride = o.rows * o.columns;
  s = api.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
  if (s == CUBLAS_STATUS_SUCCESS)
    s = api.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatrixLayoutSetAttribute", s);
  return {};
}

/// The scales of one of the library's operands.
struct LibraryScales {
  const float* pointer = nullptr;  // null: none
  int32_t mode = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
};

/// Of our A (`of_a`) or B.
LibraryScales library_scales(ScaleMode mode, bool of_a, const float* pointer) {
  switch (mode) {
    case ScaleMode::per_tensor:
      break;
    case ScaleMode::per_row_column:
      return {pointer, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F};
    case ScaleMode::block_1x128_128x128:
      return {pointer,
              of_a ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F : CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F};
  }
  return {pointer};
}

Status make_operation(const CublasLtApi& api, cublasLtMatmulDesc_t& operation, DType type,
                      cublasOperation_t first, cublasOperation_t second, bool fast,
                      const LibraryScales& first_scales, const LibraryScales& second_scales) {
  const cublasComputeType_t compute = is_integer(type)      ? CUBLAS_COMPUTE_32I
                                      : type == DType::f64  ? CUBLAS_COMPUTE_64F
                                      : type == DType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                            : CUBLAS_COMPUTE_32F;
  cublasStatus_t s = api.desc_create(&operation, compute, factor_type(type));
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmulDescCreate", s);
  const int8_t fast_mode = fast ? 1 : 0;
  const struct {
    cublasLtMatmulDescAttributes_t attribute;
    const void* value;
    size_t bytes;
  } settings[] = {{CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first},
                  {CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second},
                  {CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast_mode, sizeof fast_mode},
                  {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &first_scales.pointer, sizeof(void*)},
                  {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &second_scales.pointer, sizeof(void*)},
                  {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &first_scales.mode, sizeof(int32_t)},
                  {CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &second_scales.mode, sizeof(int32_t)}};
  constexpr size_t kWithoutModes = 5;
  const size_t without_scales = fast && is_fp8(type) ? 3 : 2;
  const bool scalar = first_scales.mode == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  const size_t used = first_scales.pointer == nullptr ? without_scales
                      : scalar                        ? kWithoutModes
                                                      : std::size(settings);
  for (const auto& setting : std::span(settings).first(used)) {
    s = api.desc_set(operation, setting.attribute, setting.value, setting.bytes);
    if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmulDescSetAttribute", s);
  }
  return {};
}

/// Sets what comes between the sums and D. The library's bias is of the rows of its column-major D.
Status set_epilogue(const CublasLtApi& api, cublasLtMatmulDesc_t operation, const Problem& p,
                    const CublasLtEpilogue& buffers) {
  const EpilogueOps& e = p.epilogue;
  if (!e.any()) return {};
  if (e.aux && e.activation != Activation::gelu)
    return Error{ErrorCode::not_supported, "cublaslt",
                 "cuBLASLt stores aux (the values themselves) with gelu only"};
  uint32_t kind = e.activation == Activation::relu   ? CUBLASLT_EPILOGUE_RELU
                  : e.activation == Activation::gelu ? CUBLASLT_EPILOGUE_GELU
                                                     : 0;
  if (e.aux) kind = CUBLASLT_EPILOGUE_GELU_AUX;
  if (e.bias != BiasKind::none) kind |= CUBLASLT_EPILOGUE_BIAS;
  if (kind == 0) kind = CUBLASLT_EPILOGUE_DEFAULT;
  cublasStatus_t s = api.desc_set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &kind, sizeof kind);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    if (s == CUBLAS_STATUS_SUCCESS) s = api.desc_set(operation, attribute, &value, sizeof value);
  };
  if (e.bias != BiasKind::none) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, buffers.bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(e.bias_type));
  }
  if (e.aux) {
    const int64_t ld = p.d.layout == Layout::row_major ? p.n : p.m;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, buffers.aux);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, cuda_type(e.aux->type));
  }
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmulDescSetAttribute of the epilogue", s);
  return {};
}

Status ask_heuristic(const CublasLtApi& api, CublasLtMatmul::State& state) {
  cublasLtMatmulPreference_t preference = nullptr;
  cublasStatus_t s = api.preference_create(&preference);
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmulPreferenceCreate", s);
  const size_t workspace = kCublasLtWorkspace;
  api.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  state.candidates.resize(kCublasLtCandidates);
  int found = 0;
  s = api.heuristic(api.handle, state.operation, state.a, state.b, state.d, state.d, preference,
                    kCublasLtCandidates, state.candidates.data(), &found);
  api.preference_destroy(preference);
  state.candidates.resize(static_cast<size_t>(found));
  if (s != CUBLAS_STATUS_SUCCESS && s != CUBLAS_STATUS_NOT_SUPPORTED)
    return refused("cublasLtMatmulAlgoGetHeuristic", s);
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
                                                const float* scale_a, const float* scale_b,
                                                const CublasLtEpilogue& epilogue) {
  auto state = std::make_shared<State>(library);
  const CublasLtApi& api = library.api();
  // A row-major D is the column-major D^T = B^T A^T: the library's first operand is then our B.
  state->exchanged = p.d.layout == Layout::row_major;
  LibraryOperand first = library_operand(p.a, p.m, p.k, state->exchanged);
  LibraryOperand second = library_operand(p.b, p.k, p.n, state->exchanged);
  LibraryScales first_scales, second_scales;
  if (is_fp8(p.a.type)) {
    first_scales = library_scales(p.scale_mode, true, scale_a);
    second_scales = library_scales(p.scale_mode, false, scale_b);
  }
  if (state->exchanged) {
    std::swap(first, second);
    std::swap(first_scales, second_scales);
  }
  state->factors = factor_type(p.a.type);
  if (Status s = make_operation(api, state->operation, p.a.type, first.operation, second.operation, fast,
                                first_scales, second_scales))
    return *s;
  if (Status s = set_epilogue(api, state->operation, p, epilogue)) return *s;
  if (Status s = make_layout(api, state->a, first, p.l)) return *s;
  if (Status s = make_layout(api, state->b, second, p.l)) return *s;
  if (Status s = make_layout(api, state->d, library_operand(p.d, p.m, p.n, false), p.l)) return *s;
  if (Status s = ask_heuristic(api, *state)) return *s;
  return CublasLtMatmul(std::move(state));
}

int CublasLtMatmul::candidates() const { return static_cast<int>(state_->candidates.size()); }

Status CublasLtMatmul::run(int candidate, const void* a, const void* b, void* d, void* workspace,
                           void* stream) const {
  const State& st = *state_;
  const CublasLtApi& api = st.library.api();
  const float one = 1, zero = 0;
  const int32_t integer_one = 1, integer_zero = 0;
  const double double_one = 1, double_zero = 0;
  const void *alpha = &one, *beta = &zero;
  if (st.factors == CUDA_R_32I) alpha = &integer_one, beta = &integer_zero;
  if (st.factors == CUDA_R_64F) alpha = &double_one, beta = &double_zero;
  if (st.exchanged) std::swap(a, b);
  const cublasStatus_t s = api.matmul(api.handle, st.operation, alpha, a, st.a, b, st.b, beta, d, st.d, d,
                                      st.d, &st.candidates[static_cast<size_t>(candidate)].algo, workspace,
                                      kCublasLtWorkspace, static_cast<cudaStream_t>(stream));
  if (s != CUBLAS_STATUS_SUCCESS) return refused("cublasLtMatmul", s);
  return {};
}

}  // namespace tilewright::cli
