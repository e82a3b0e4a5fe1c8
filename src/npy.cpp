#include "src/npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>

#include "tilewright/detail/whole_file.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr int64_t kMaxHeader = 1 << 20;  // NumPy's own headers are below 100 bytes for ordinary arrays
constexpr size_t kMaxRank = 32;

struct Descriptor {
  std::string_view text;
  DType type;
};
// What files may hold, and for each type what is written (the first one that fits).
constexpr std::array<Descriptor, 10> kReadable{{
    {"<f8", DType::f64},
    {"<f4", DType::f32},
    {"<f2", DType::f16},
    {"<i4", DType::s32},
    {"<c16", DType::cf64},
    {"<c8", DType::cf32},
    {"<u2", DType::bf16},
    {"|i1", DType::s8},
    {"|u1", DType::u8},
    {"<u1", DType::u8},
}};

Error io_error(const std::string& path, const char* rule, const std::string& what) {
  return {ErrorCode::io, rule, path + ": " + what};
}

std::string system_text(int code) { return std::strerror(code); }

// ---- the header: a Python dictionary of three entries

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads just as much of Python's literals as a header may have.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  // Returns what is wrong, or an empty string.
  std::string parse(Header& header) {
    if (!take('{')) return "its header is not a dictionary";
    bool descr = false, order = false, shape = false;
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return "its header is damaged";
      bool& seen = *key == "descr" ? descr : *key == "fortran_order" ? order : shape;
      if (*key != "descr" && *key != "fortran_order" && *key != "shape") {
        return "its header has the unknown key '" + printable(*key) + "'";
      }
      if (seen) return "its header gives '" + *key + "' twice";
      seen = true;
      const std::string wrong = value(*key, header);
      if (!wrong.empty()) return wrong;
      if (!take(',') && peek() != '}') return "its header is damaged";
    }
    for (; at_ < text_.size(); ++at_) {
      if (!is_space(text_[at_])) return "its header is damaged";
    }
    if (!descr || !order || !shape) return "its header lacks descr, fortran_order or shape";
    return {};
  }

  // Text from a file, safe to show.
  static std::string printable(std::string_view text) {
    std::string result;
    for (char c : text.substr(0, 40)) result += c >= ' ' && c <= '~' ? c : '?';
    return text.size() > 40 ? result + "..." : result;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }

  std::string value(const std::string& key, Header& header) {
    if (key == "descr") {
      if (peek() == '[') return "it holds records with named fields; only plain arrays can be read";
      const auto text = quoted();
      if (!text) return "its header is damaged at 'descr'";
      header.descr = *text;
      return {};
    }
    if (key == "fortran_order") {
      header.fortran_order = take_word("True");
      if (!header.fortran_order && !take_word("False")) return "its header is damaged at 'fortran_order'";
      return {};
    }
    return shape(header.shape);
  }

  std::string shape(std::vector<int64_t>& shape) {
    if (!take('(')) return "its header is damaged at 'shape'";
    while (!take(')')) {
      if (peek() == '-') return "its shape has a negative extent";
      int64_t extent = 0;
      const size_t start = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (extent > (INT64_MAX - 9) / 10) return "its shape has an extent of 2^63 or more";
        extent = extent * 10 + (text_[at_] - '0');
      }
      if (at_ == start) return "its header is damaged at 'shape'";
      take('L');  // written by Python 2
      if (shape.size() == kMaxRank) return "its shape has more than 32 dimensions";
      shape.push_back(extent);
      if (!take(',') && peek() != ')') return "its header is damaged at 'shape'";
    }
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

// Product of the extents, or nothing if `factor` times it does not fit 63 bits.
std::optional<int64_t> element_count(std::span<const int64_t> shape, int64_t factor) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent > INT64_MAX / factor / count) return std::nullopt;
    count *= extent;
  }
  return count;
}

Expected<DType> readable_type(const std::string& path, const std::string& descr) {
  for (const Descriptor& d : kReadable) {
    if (d.text == descr) return d.type;
  }
  const std::string shown = "'" + HeaderParser::printable(descr) + "'";
  if (!descr.empty() && descr[0] == '>') {
    return io_error(path, "npy.big_endian",
                    "its elements are big-endian (" + shown + "); convert them with astype('<" +
                        HeaderParser::printable(descr.substr(1)) + "')");
  }
  return io_error(path, "npy.dtype",
                  "elements of type " + shown +
                      " cannot be read; known are <f8 <f4 <f2 <c16 <c8 <i4 |i1, <u2 (as bf16) and |u1");
}

// ---- files

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Bytes read, fewer than asked for only at the end of the file; -1: errno says why.
int64_t read_fully(const File& file, void* out, int64_t bytes) {
  int64_t done = 0;
  while (done < bytes) {
    const size_t chunk = static_cast<size_t>(std::min<int64_t>(bytes - done, 1 << 30));
    const ssize_t got = ::read(file.get(), static_cast<char*>(out) + done, chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += got;
  }
  return done;
}

// The header's text; the file is left at the first byte of data.
Expected<std::string> read_header_text(const std::string& path, const File& file, int64_t file_bytes) {
  std::array<uint8_t, 12> start{};
  const int64_t got = read_fully(file, start.data(), 8);
  if (got < 0) return io_error(path, "npy.read", "cannot be read: " + system_text(errno));
  const auto known = static_cast<size_t>(std::min<int64_t>(got, 6));
  if (known == 0) return io_error(path, "npy.truncated", "it is empty");
  if (std::memcmp(start.data(), kMagic.data(), known) != 0) {
    return io_error(path, "npy.magic", "it is not a .npy file (it does not start with \\x93NUMPY)");
  }
  const auto cut = [&] { return io_error(path, "npy.truncated", "it ends inside its header"); };
  if (got < 8) return cut();
  const int version = start[6];
  if (version < 1 || version > 3) {
    return io_error(path, "npy.version",
                    "it has format version " + std::to_string(version) + "; versions 1, 2 and 3 can be read");
  }
  const int length_bytes = version == 1 ? 2 : 4;
  if (read_fully(file, &start[8], length_bytes) != length_bytes) return cut();
  int64_t length = 0;
  for (int i = 0; i < length_bytes; ++i) length |= int64_t{start[static_cast<size_t>(8 + i)]} << (8 * i);
  if (8 + length_bytes + length > file_bytes) return cut();
  if (length > kMaxHeader) {
    return io_error(path, "npy.header",
                    "its header of " + std::to_string(length) + " bytes is longer than 1 MiB");
  }
  std::string text(static_cast<size_t>(length), '\0');
  if (read_fully(file, text.data(), length) != length) return cut();
  return text;
}

Expected<NpyArray> read_array(const std::string& path, const File& file, int64_t file_bytes) {
  const Expected<std::string> text = read_header_text(path, file, file_bytes);
  if (!text) return text.error();
  Header header;
  const std::string wrong = HeaderParser(*text).parse(header);
  if (!wrong.empty()) return io_error(path, "npy.header", wrong);
  const Expected<DType> type = readable_type(path, header.descr);
  if (!type) return type.error();

  const int64_t element_bytes = bytes_of(*type, 1);
  const auto count = element_count(header.shape, element_bytes);
  const std::string shape = shape_text(header.shape);
  if (!count) return io_error(path, "npy.shape", "its shape " + shape + " has more bytes than any file");
  const int64_t present = file_bytes - ::lseek(file.get(), 0, SEEK_CUR), wanted = *count * element_bytes;
  if (present != wanted) {
    return io_error(path, present < wanted ? "npy.truncated" : "npy.trailing",
                    "it holds " + std::to_string(present) + " bytes of data, but its shape " + shape +
                        " of " + header.descr + " needs " + std::to_string(wanted));
  }
  NpyArray array{*type, std::move(header.shape), header.fortran_order, {}};
  array.bytes.resize(static_cast<size_t>(wanted));
  if (read_fully(file, array.bytes.data(), wanted) != wanted) {
    return io_error(path, "npy.read", "its data cannot be read: " + system_text(errno));
  }
  return array;
}

}  // namespace

int64_t NpyArray::elements() const { return static_cast<int64_t>(bytes.size()) / bytes_of(type, 1); }

Expected<NpyArray> read_npy(const std::string& path) {
  try {
    // O_NONBLOCK: a FIFO without a writer is refused at once.
    const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return io_error(path, "npy.open", "cannot be opened: " + system_text(errno));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return io_error(path, "npy.open", system_text(errno));
    if (!S_ISREG(status.st_mode)) return io_error(path, "npy.open", "it is not an ordinary file");
    return read_array(path, file, status.st_size);
  } catch (const std::bad_alloc&) {
    return io_error(path, "npy.memory", "its data does not fit into memory");
  }
}

namespace {

// The start of the file up to the data, which begins at a multiple of 64.
std::string header_bytes(std::string_view descr, std::span<const int64_t> shape, bool fortran_order) {
  std::string text = "{'descr': '" + std::string(descr) +
                     "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                     ", 'shape': " + shape_text(shape) + ", }";
  const auto padded = [&](size_t fixed) { return (fixed + text.size() + 1 + 63) / 64 * 64 - fixed; };
  const bool short_length = padded(10) <= 0xFFFF;
  const size_t fixed = short_length ? 10 : 12, length = padded(fixed);
  text.resize(length - 1, ' ');
  std::string start(kMagic);
  start += short_length ? '\1' : '\2';
  start += '\0';
  for (size_t i = 0; i < fixed - 8; ++i) start += static_cast<char>(length >> (8 * i) & 0xFF);
  return start + text + '\n';
}

std::string_view written_descriptor(DType type) {
  switch (type) {
    case DType::tf32:
      return "<f4";
    case DType::ctf32:
      return "<c8";
    case DType::e4m3:
    case DType::e5m2:
    case DType::e8m0:
      return "|u1";
    default:
      break;
  }
  for (const Descriptor& d : kReadable) {
    if (d.type == type) return d.text;
  }
  return {};
}

}  // namespace

Status check_npy_type(const std::string& path, DType type) {
  if (!written_descriptor(type).empty()) return {};
  return io_error(path, "npy.dtype",
                  std::string("NumPy has no type for ") + name_of(type) +
                      (is_complex(type) ? "; nearest legal: cf32 (Complex64)" : ""));
}

Status write_npy(const std::string& path, DType type, std::span<const int64_t> shape, const void* data,
                 bool fortran_order) {
  if (Status s = check_npy_type(path, type)) return s;
  const std::string_view descr = written_descriptor(type);
  const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; });
  const auto count = negative ? std::nullopt : element_count(shape, bytes_of(type, 1));
  if (!count) return io_error(path, "npy.shape", "no array has the shape " + shape_text(shape));
  const std::string header = header_bytes(descr, shape, fortran_order);
  const std::string_view elements(static_cast<const char*>(data),
                                  static_cast<size_t>(*count * bytes_of(type, 1)));
  return detail::write_whole_file(path, "npy.write", {header, elements});
}

namespace {

/// In as few digits as tell it from its neighbours.
std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class Source, class Target>
Expected<QuantisedTensor> quantise(const void* data, int64_t count) {
  constexpr double kLeastScale = 0x1p-126, kLeast = kLeastScale * NumericTraits<Target>::min_normal,
                   kMost = double{NumericTraits<float>::max} * NumericTraits<Target>::max;
  double greatest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double magnitude = std::fabs(load_as<Source>(data, i));
    if (std::isfinite(magnitude)) greatest = std::max(greatest, magnitude);
  }
  QuantisedTensor result;
  if (greatest > 0) {
    if (greatest < kLeast || greatest > kMost)
      return Error{ErrorCode::out_of_range, "quantise.range",
                   "the largest magnitude is " + shortest(greatest) + ", which no scale of FP32 brings to " +
                       name_of(dtype_of<Target>) +
                       "; nearest legal: " + shortest(greatest < kLeast ? kLeast : kMost)};
    result.scale = static_cast<float>(
        std::clamp(greatest / NumericTraits<Target>::max, kLeastScale, double{NumericTraits<float>::max}));
  }
  result.codes.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const double quotient = load_as<Source>(data, i) / static_cast<double>(result.scale);
    result.codes[static_cast<size_t>(i)] = convert_to<Target>(quotient, std::isfinite(quotient)).bits;
  }
  return result;
}

}  // namespace

Expected<QuantisedTensor> quantise_fp8(const void* data, DType source, int64_t count, DType target) {
  if (target != DType::e4m3 && target != DType::e5m2) {
    return Error{ErrorCode::invalid_argument, "quantise.target",
                 std::string(name_of(target)) + " is not an FP8 type; e4m3 and e5m2 are"};
  }
  const auto to = [&](auto s) {
    using Source = decltype(s);
    return target == DType::e4m3 ? quantise<Source, e4m3>(data, count) : quantise<Source, e5m2>(data, count);
  };
  switch (source) {
    case DType::f64:
      return to(double{});
    case DType::f32:
      return to(float{});
    case DType::f16:
      return to(f16{});
    case DType::bf16:
      return to(bf16{});
    default:
      break;
  }
  return Error{ErrorCode::invalid_argument, "quantise.source",
               std::string("elements of type ") + name_of(source) +
                   " cannot be quantised; f64, f32, f16 and bf16 can"};
}

}  // namespace tilewright
