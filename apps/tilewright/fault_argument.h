// A planted fault in words.
#pragma once

#include <string>

#include "tilewright/emulator/fault.h"
#include "tilewright/error.h"

namespace tilewright::cli {

/// ACTION:OP[:PLACE[:ROLE]][,KEY=VALUE...], as "skip:mbarrier_wait:full:consumer,stage=1". An empty PLACE is
/// any. Keys: value, stage, cta, thread, nth, from_nth, on (mask, second or barrier: which argument). Errors:
/// a word that is none of its list.
Expected<emulator::FaultSpec> parse_fault(const std::string& text);

}  // namespace tilewright::cli
