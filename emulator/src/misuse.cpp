// Mistakes in the use of the library that its own code finds, filed like the machine's.
#include "cluster.h"
#include "text.h"

namespace tilewright::emulator {

void misuse(const char* rule, const char* sentence) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  thread->cluster->report(ReportKind::api_misuse, thread, text(rule, ": ", sentence), rule);
}

}  // namespace tilewright::emulator
