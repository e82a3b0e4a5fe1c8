// Builds without CUDA.
#include "cublaslt.h"

namespace tilewright::cli {
namespace {

Error no_cuda() { return {ErrorCode::no_device, "device.gpu", "this build has no CUDA"}; }

}  // namespace

Expected<CublasLt> CublasLt::load(const std::string&) { return no_cuda(); }
std::string CublasLt::version() const { return ""; }
Expected<CublasLtMatmul> CublasLtMatmul::create(const CublasLt&, const Problem&, bool, const float*,
                                                const float*, const CublasLtEpilogue&) {
  return no_cuda();
}
int CublasLtMatmul::candidates() const { return 0; }
Status CublasLtMatmul::run(int, const void*, const void*, void*, void*, void*) const { return no_cuda(); }

}  // namespace tilewright::cli
