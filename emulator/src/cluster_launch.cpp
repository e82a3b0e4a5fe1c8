// Cluster launch control: a running cluster takes over the work of one that has not started (PTX ISA,
// "clusterlaunchcontrol.try_cancel").
#include <cstring>

#include "copies.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kResponseBytes = 16;

// What a response looks like here; PTX leaves that open.
struct Response {
  Index3 first_block;
  uint32_t state;
};
static_assert(sizeof(Response) == kResponseBytes);
constexpr uint32_t kCanceled = 0xC1C00001, kRefused = 0xC1C00000;

// The response that a query is given; nothing, after a report, when it is none.
std::optional<Response> read_response(Thread& thread, const void* bytes) {
  Response response;
  std::memcpy(&response, bytes, sizeof response);
  if (response.state == kCanceled || response.state == kRefused) return response;
  thread.cluster->report(ReportKind::launch_control, &thread,
                         "query_cancel of 16 bytes that are no response of a try_cancel");
  return std::nullopt;
}

}  // namespace

void execute_cancel_launch(Cluster& cluster, AsyncOperation& operation) {
  const std::optional<Index3> first = cluster.launch.cancel_one(cluster.clusters_taken);
  if (first) ++cluster.clusters_taken;
  const Response response{first.value_or(Index3{}), first ? kCanceled : kRefused};
  for (Cta& cta : cluster.ctas) {
    if ((operation.destinations >> cta.rank & 1) == 0) continue;
    std::memcpy(cta.window + operation.shared, &response, sizeof response);
    deliver(cluster, operation, cta, kResponseBytes);
  }
}

// ---- hooks

void cluster_launch_try_cancel(uint32_t response, uint32_t bar, bool multicast) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::cluster_launch_try_cancel, response, bar);
  if (skipped(fault)) return;
  uint16_t mask = multicast ? static_cast<uint16_t>((1u << cluster.ctas.size()) - 1) : uint16_t{0};
  fault != nullptr && fault->on_mask ? change(fault, mask) : change(fault, bar, response);
  constexpr const char* kWhat = "try_cancel";
  const SharedPlace place = cluster.locate(*thread, response), barrier = cluster.locate(*thread, bar);
  if (place.cta == nullptr || barrier.cta == nullptr) return;
  if (place.cta != thread->cta || barrier.cta != thread->cta) {
    cluster.report(ReportKind::invalid_argument, thread,
                   "try_cancel: the response and its barrier must be in the own CTA");
    return;
  }
  if (place.offset % kResponseBytes != 0) {
    cluster.report_at(ReportKind::misaligned, *thread, place,
                      text("the response of try_cancel at ", cluster.describe(*place.cta, place.offset),
                           " is not aligned to ", kResponseBytes, " bytes"));
    return;
  }
  if (cluster.saw_refusal) {
    cluster.report_at(ReportKind::launch_control, *thread, place,
                      "another try_cancel after the cluster has read that one failed");
    return;
  }
  const uint32_t destinations = destinations_of(*thread, place, mask);
  if (!land(*thread, place, barrier, destinations, kResponseBytes, kWhat, Landing::response)) return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::cancel_launch, *thread);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.destinations = destinations;
  operation.barrier = barrier.offset;
  operation.bytes = kResponseBytes;
  cluster.submit(operation);
}

bool cluster_launch_is_canceled(const void* response) {
  Thread* thread = current_thread;
  if (thread == nullptr) return false;
  if (skipped(thread->cluster->begin(*thread, Op::cluster_launch_query))) return false;
  const std::optional<Response> read = read_response(*thread, response);
  if (read && read->state == kRefused) thread->cluster->saw_refusal = true;
  return read && read->state == kCanceled;
}

Index3 cluster_launch_first_block(const void* response) {
  Thread* thread = current_thread;
  if (thread == nullptr) return {};
  if (skipped(thread->cluster->begin(*thread, Op::cluster_launch_query))) return {};
  const std::optional<Response> read = read_response(*thread, response);
  if (!read) return {};
  if (read->state != kCanceled) {
    thread->cluster->report(ReportKind::launch_control, thread,
                            "get_first_ctaid of the response of a try_cancel that failed");
    return {};
  }
  return read->first_block;
}

}  // namespace tilewright::emulator
