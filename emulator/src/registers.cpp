// Register reallocation (PTX ISA, "setmaxnreg").
#include <cstring>

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
  group.raised = true;
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
    group.lowered = true;
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

std::string name_of(const Warpgroup& group) {
  const char* role = group.threads[0]->role;
  return text("warps ", group.index * 4, '-', group.index * 4 + 3,
              role != nullptr ? text(" [", role, ']') : std::string());
}

bool same_role(const Warpgroup& a, const Warpgroup& b) {
  const char *mine = a.threads[0]->role, *other = b.threads[0]->role;
  return mine != nullptr && other != nullptr && std::strcmp(mine, other) == 0;
}

}  // namespace

// What a compiler counted on cannot be known. But registers that one role gives back are meant for another:
// when nobody took any, or one warpgroup of a role did and another did not, a setmaxnreg.inc is missing.
void Cluster::check_registers(const Cta& cta) {
  const Warpgroup *giver = nullptr, *taker = nullptr;
  for (const Warpgroup& group : groups) {
    if (group.cta != &cta || !group.complete) continue;
    if (group.lowered) giver = &group;
    if (group.raised) taker = &group;
  }
  if (giver == nullptr) return;
  for (const Warpgroup& group : groups) {
    const bool idle = group.cta == &cta && group.complete && !group.lowered && !group.raised;
    if (!idle || (taker != nullptr && !same_role(group, *taker))) continue;
    report(ReportKind::register_budget, group.threads[0],
           text(name_of(group), " ran with the ", registers_of(group),
                " registers of the launch: they executed no ", "setmaxnreg.inc, although ", name_of(*giver),
                " gave registers back",
                taker != nullptr ? text(" and ", name_of(*taker), " took some")
                                 : std::string(" and nobody took any")));
    return;
  }
}

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
