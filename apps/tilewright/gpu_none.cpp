// Builds without CUDA.
#include "gpu.h"

namespace tilewright::cli {
namespace {

Error no_cuda() { return {ErrorCode::no_device, "device.gpu", "this build has no CUDA"}; }

}  // namespace

Expected<GpuBuffer> GpuBuffer::allocate(size_t) { return no_cuda(); }
GpuBuffer::~GpuBuffer() = default;
Status GpuBuffer::upload(const void*) const { return no_cuda(); }
Status GpuBuffer::download(void*) const { return no_cuda(); }
Status GpuBuffer::fill(uint8_t) const { return no_cuda(); }

Expected<GpuStream> GpuStream::create() { return no_cuda(); }
GpuStream::~GpuStream() = default;
Status GpuStream::synchronize() const { return no_cuda(); }
Expected<double> GpuStream::milliseconds(const std::function<Status()>&) const { return no_cuda(); }

Expected<GpuGraph> GpuGraph::record(const GpuStream&, const std::function<Status()>&) { return no_cuda(); }
GpuGraph::~GpuGraph() = default;
Status GpuGraph::launch(const GpuStream&) const { return no_cuda(); }

}  // namespace tilewright::cli
