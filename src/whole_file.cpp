#include "tilewright/detail/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tilewright::detail {
namespace {

namespace fs = std::filesystem;

/// 0, or the error.
int write_fully(int file, std::string_view data) {
  while (!data.empty()) {
    const ssize_t put = ::write(file, data.data(), std::min<size_t>(data.size(), 1 << 30));
    if (put < 0 && errno != EINTR) return errno;
    if (put > 0) data.remove_prefix(static_cast<size_t>(put));
  }
  return 0;
}

std::string reason(int code, const fs::path& target, size_t needed) {
  std::string text = std::strerror(code);
  if (code == ENOSPC || code == EDQUOT) {
    std::error_code ignored;
    const auto space = fs::space(target.has_parent_path() ? target.parent_path() : ".", ignored);
    text += "; it needs " + std::to_string(needed) + " bytes";
    if (!ignored) text += ", " + std::to_string(space.available) + " are free";
  }
  return text;
}

/// Creates a new file beside `target`; its name goes to `name`. -1: errno says why.
int create_beside(const fs::path& target, std::string& name) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    // A name may have 255 bytes.
    const std::string file = target.filename().string().substr(0, 200);
    name = (target.parent_path() / file).string() + ".part" + std::to_string(::getpid()) + "." +
           std::to_string(counter++);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

/// Makes `path` the file that it names once links are followed. Why there can be none, or an empty string.
std::string resolve(fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    while (fs::is_symlink(fs::symlink_status(path, error)))
      path = path.parent_path() / fs::read_symlink(path, error);
    return {};
  }
  if (status.type() == fs::file_type::none) return error.message();
  if (status.type() == fs::file_type::directory) return "it is a folder";
  if (status.type() != fs::file_type::regular) return "it is not an ordinary file";
  // Renaming would replace even a file that may not be written.
  if (::access(path.c_str(), W_OK) != 0) return std::strerror(errno);
  path = fs::canonical(path, error);
  return error ? error.message() : std::string();
}

Error cannot_write(const std::string& path, const char* rule, const std::string& why) {
  return {ErrorCode::io, rule, path + ": cannot be written: " + why};
}

}  // namespace

Status check_whole_file(const std::string& path, const char* rule) {
  fs::path target = path;
  if (const std::string why = resolve(target); !why.empty()) return cannot_write(path, rule, why);
  const fs::path parent = target.has_parent_path() ? target.parent_path() : ".";
  std::error_code ignored;
  if (!target.has_filename()) return cannot_write(path, rule, "it is a folder");
  if (!fs::is_directory(parent, ignored))
    return cannot_write(path, rule, "there is no folder " + parent.string());
  if (::access(parent.c_str(), W_OK) != 0)
    return cannot_write(path, rule, "no file can be made in " + parent.string());
  return std::nullopt;
}

Status write_whole_file(const std::string& path, const char* rule,
                        std::initializer_list<std::string_view> pieces) {
  const auto refuse = [&](const std::string& why) { return cannot_write(path, rule, why); };
  fs::path target = path;
  if (const std::string why = resolve(target); !why.empty()) return refuse(why);
  size_t needed = 0;
  for (const std::string_view piece : pieces) needed += piece.size();
  std::string name;
  const int file = create_beside(target, name);
  if (file < 0) return refuse(reason(errno, target, needed));
  int failure = 0;
  for (const std::string_view piece : pieces)
    if (failure == 0) failure = write_fully(file, piece);
  if (failure == 0 && ::fsync(file) != 0) failure = errno;
  if (::close(file) != 0 && failure == 0) failure = errno;
  if (failure == 0 && ::rename(name.c_str(), target.c_str()) != 0) failure = errno;
  if (failure == 0) return std::nullopt;
  ::unlink(name.c_str());
  return refuse(reason(failure, target, needed));
}

}  // namespace tilewright::detail
