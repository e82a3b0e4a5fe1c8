// Why a descriptor runs on the path it runs on.
#pragma once

#include <string>

#include "tilewright/pipeline/descriptor/resolve.h"

namespace tilewright::blas {

/// One line for the descriptor and one for each path: taken, possible but later in the order, ruled out by
/// AllowPaths or RequirePath, or every rule that is broken with what was found and what is needed. Host.
std::string explain(const Facts& facts);

/// explain for a descriptor. Also for one whose RequirePath cannot be had and would not compile elsewhere.
template <AnyDescription D>
std::string explain() {
  return explain(facts_of_v<D>);
}

}  // namespace tilewright::blas
