// Files that appear whole or not at all.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "tilewright/error.h"

namespace tilewright::detail {

/// Writes the pieces, one behind the other, as the file `path`. They go to a temporary file in the same
/// directory, which then takes the name: whatever fails, what was there stays. Links are followed, also to a
/// file that is not there yet; a target that is neither new nor an ordinary file is refused. The error has
/// the rule `rule` and begins with the path: no space (needed and free bytes), permission, a directory that
/// is not there.
Status write_whole_file(const std::string& path, const char* rule,
                        std::initializer_list<std::string_view> pieces);

/// Whether that can be tried: its errors that are known before there is anything to write.
Status check_whole_file(const std::string& path, const char* rule);

}  // namespace tilewright::detail
