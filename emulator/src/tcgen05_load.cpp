// Where the bytes of tensor loads land, and which barriers count them.
#include "copies.h"
#include "text.h"

namespace tilewright::emulator {

Cta& home_of(Cluster& cluster, int home_parity, Cta& destination) {
  if (home_parity < 0) return destination;
  const uint32_t rank = (destination.rank & ~1u) | static_cast<uint32_t>(home_parity);
  return rank < cluster.ctas.size() ? cluster.ctas[rank] : destination;
}

std::optional<Access> land_tensor(Thread& thread, const AsyncOperation& operation, const char* what) {
  Cluster& cluster = *thread.cluster;
  std::optional<Access> completion;
  for (Cta& cta : cluster.ctas) {
    if ((operation.destinations >> cta.rank & 1) == 0) continue;
    Cta& home = home_of(cluster, operation.home_parity, cta);
    Barrier* target = cluster.usable_barrier(thread, {&home, operation.barrier}, what, true);
    if (target == nullptr) return std::nullopt;
    const Access access = cluster.issue_copy(thread, *target, operation.signalled);
    const Actor actor{cluster.clock_of(thread), access, true};
    if (!cluster.check_shared(thread, {&cta, operation.shared}, operation.bytes, true, actor, what))
      return std::nullopt;
    if (!completion) completion = access;
  }
  return completion;
}

}  // namespace tilewright::emulator
