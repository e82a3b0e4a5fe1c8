#include "cublaslt_peer.h"

#include "apps/tilewright/cublaslt.h"

namespace tilewright::bench {
namespace {

DType output_of(DType type) {
  switch (type) {
    case DType::tf32:
      return DType::f32;
    case DType::s8:
      return DType::s32;
    case DType::e4m3:
      return DType::f16;
    default:
      return type;
  }
}

}  // namespace

struct CublasLtPeer::State {
  cli::CublasLtMatmul matmul;
};

const size_t CublasLtPeer::kWorkspace = cli::kCublasLtWorkspace;

CublasLtPeer::CublasLtPeer(std::unique_ptr<State> state) : state_(std::move(state)) {}
CublasLtPeer::~CublasLtPeer() = default;

std::unique_ptr<CublasLtPeer> CublasLtPeer::create(DType type, int64_t m, int64_t n, int64_t k,
                                                   std::string& error) {
  const auto refuse = [&](const Error& e) {
    error = e.message;
    return nullptr;
  };
  const Expected<cli::CublasLt> library = cli::CublasLt::load("");
  if (!library) return refuse(library.error());
  Problem problem;  // A row-major, B column-major, D row-major
  problem.m = m, problem.n = n, problem.k = k;
  problem.a.type = problem.b.type = type;
  problem.d.type = output_of(type);
  const Expected<cli::CublasLtMatmul> matmul =
      cli::CublasLtMatmul::create(*library, problem, type == DType::e4m3, nullptr, nullptr);
  if (!matmul) return refuse(matmul.error());
  error.clear();
  return std::unique_ptr<CublasLtPeer>(new CublasLtPeer(std::make_unique<State>(State{*matmul})));
}

int CublasLtPeer::candidates() const { return state_->matmul.candidates(); }

bool CublasLtPeer::run(int candidate, const void* a, const void* b, void* c, void* workspace,
                       void* stream) const {
  return !state_->matmul.run(candidate, a, b, c, workspace, stream);
}

}  // namespace tilewright::bench
