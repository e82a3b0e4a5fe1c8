#include <cuda_runtime_api.h>

#include <string>

#include "gpu.h"

namespace tilewright::cli {
namespace {

Status status_of(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return Error{ErrorCode::cuda, "cuda",
               std::string(call) + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error)};
}

cudaStream_t handle(const GpuStream& stream) { return static_cast<cudaStream_t>(stream.get()); }

struct Event {
  cudaEvent_t event = nullptr;
  Event() { cudaEventCreate(&event); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

}  // namespace

Expected<GpuBuffer> GpuBuffer::allocate(size_t bytes) {
  GpuBuffer buffer;
  buffer.bytes_ = bytes;
  if (Status s = status_of(cudaMalloc(&buffer.data_, bytes == 0 ? 1 : bytes), "cudaMalloc")) return *s;
  return buffer;
}

GpuBuffer::~GpuBuffer() {
  if (data_ != nullptr) cudaFree(data_);
}

Status GpuBuffer::upload(const void* source) const {
  return status_of(cudaMemcpy(data_, source, bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
}

Status GpuBuffer::download(void* target) const {
  return status_of(cudaMemcpy(target, data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

Status GpuBuffer::fill(uint8_t byte) const {
  return status_of(cudaMemset(data_, byte, bytes_), "cudaMemset");
}

Expected<GpuStream> GpuStream::create() {
  cudaStream_t stream = nullptr;
  // A blocking stream: it waits for the copies above, which use the default stream.
  if (Status s = status_of(cudaStreamCreate(&stream), "cudaStreamCreate")) return *s;
  return GpuStream(stream);
}

GpuStream::~GpuStream() {
  if (stream_ != nullptr) cudaStreamDestroy(static_cast<cudaStream_t>(stream_));
}

Status GpuStream::synchronize() const {
  return status_of(cudaStreamSynchronize(handle(*this)), "cudaStreamSynchronize");
}

Expected<double> GpuStream::milliseconds(const std::function<Status()>& enqueue) const {
  const Event before, after;
  if (Status s = status_of(cudaEventRecord(before.event, handle(*this)), "cudaEventRecord")) return *s;
  if (Status s = enqueue()) return *s;
  if (Status s = status_of(cudaEventRecord(after.event, handle(*this)), "cudaEventRecord")) return *s;
  if (Status s = synchronize()) return *s;
  float ms = 0;
  if (Status s = status_of(cudaEventElapsedTime(&ms, before.event, after.event), "cudaEventElapsedTime"))
    return *s;
  return static_cast<double>(ms);
}

Expected<GpuGraph> GpuGraph::record(const GpuStream& stream, const std::function<Status()>& enqueue) {
  if (Status s = status_of(cudaStreamBeginCapture(handle(stream), cudaStreamCaptureModeThreadLocal),
                           "cudaStreamBeginCapture"))
    return *s;
  const Status enqueued = enqueue();
  cudaGraph_t graph = nullptr;
  const Status ended = status_of(cudaStreamEndCapture(handle(stream), &graph), "cudaStreamEndCapture");
  if (enqueued) return *enqueued;
  if (ended) return *ended;
  cudaGraphExec_t executable = nullptr;
  const Status made = status_of(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  cudaGraphDestroy(graph);
  if (made) return *made;
  return GpuGraph(executable);
}

GpuGraph::~GpuGraph() {
  if (graph_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph_));
}

Status GpuGraph::launch(const GpuStream& stream) const {
  return status_of(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph_), handle(stream)), "cudaGraphLaunch");
}

}  // namespace tilewright::cli
