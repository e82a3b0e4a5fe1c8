// Register reallocation (PTX ISA, "setmaxnreg").
#include <algorithm>

#include "collectives.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kMinRegisters = 24;
constexpr uint32_t kMaxRegisters = 256;
constexpr uint32_t kRegisterStep = 8;

void set_registers(Warpgroup& group, uint32_t registers) {
  for (uint32_t t = 0; t < kGroupThreads; t += kWarpLanes) group.threads[t]->warp->registers = registers;
}

uint32_t registers_of(const Warpgroup& group) { return group.threads[0]->warp->registers; }

// Gives a group what it asks for, if the pool has it.
bool grant(Warpgroup& group, uint32_t registers) {
  const uint32_t more = (registers - registers_of(group)) * kGroupThreads;
  if (more > group.cta->free_registers) return false;
  group.cta->free_registers -= more;
  set_registers(group, registers);
  return true;
}

// Lets groups of the CTA that wait for registers go on.
void serve_waiting(Cluster& cluster, const Cta& cta) {
  for (Warpgroup& group : cluster.groups) {
    if (group.cta != &cta || !group.complete || group.threads[0]->wait != Wait::registers) continue;
    if (!grant(group, group.threads[0]->wait_value)) continue;
    for (Thread* thread : group.threads) cluster.wake(*thread);
  }
}

void reallocate(Thread& thread, bool increase, uint32_t registers) {
  Cluster& cluster = *thread.cluster;
  Warpgroup& group = *thread.group;
  const uint32_t current = registers_of(group);
  if (increase ? registers < current : registers > current) {
    cluster.report(ReportKind::register_budget, &thread,
                   text("setmaxnreg.", increase ? "inc" : "dec", " to ", registers,
                        " registers, but the warp holds ", current));
  } else if (!increase) {
    set_registers(group, registers);
    group.cta->free_registers += (current - registers) * kGroupThreads;
    serve_waiting(cluster, *group.cta);
  } else if (!grant(group, registers)) {
    for (Thread* other : group.threads) {
      other->wait_value = registers;
      if (other != &thread) other->wait = Wait::registers;
    }
    cluster.block(thread, Wait::registers);
    return;
  }
  part_warpgroup(thread);
}

}  // namespace

void setmaxnreg(bool increase, uint32_t registers) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::setmaxnreg);
  if (skipped(fault)) return;
  change(fault, registers);
  if (registers < kMinRegisters || registers > kMaxRegisters || registers % kRegisterStep != 0) {
    cluster.report(ReportKind::register_budget, thread,
                   text("setmaxnreg to ", registers, " registers; the legal values are the multiples of ",
                        kRegisterStep, " in ", kMinRegisters, "..", kMaxRegisters));
    return;
  }
  follow_log(*thread, Op::setmaxnreg, registers);
  if (!meet_warpgroup(*thread, Op::setmaxnreg)) return;
  if (thread->group->complete) reallocate(*thread, increase, registers);
}

}  // namespace tilewright::emulator
