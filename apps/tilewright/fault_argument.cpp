#include "fault_argument.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "arguments.h"

namespace tilewright::cli {
namespace {

using emulator::FaultSpec;
using emulator::Op;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
    words.push_back(text.substr(begin, end - begin));
  words.push_back(text.substr(begin));
  return words;
}

Expected<size_t> parse_word(const char* what, const std::string& word,
                            const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  std::string list;
  for (const std::string& each : words) list += (list.empty() ? "" : ", ") + each;
  return Error{ErrorCode::invalid_argument, "option.fault",
               fmt::format("--fault: the {} '{}' is not one of {}", what, word, list)};
}

std::vector<std::string> names_of_operations() {
  std::vector<std::string> names;
  for (int op = 0; op < static_cast<int>(Op::count_); ++op)
    names.emplace_back(emulator::name_of(static_cast<Op>(op)));
  return names;
}

Status set_key(const std::string& word, FaultSpec& fault) {
  const size_t equals = word.find('=');
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  const Expected<size_t> key =
      parse_word("key", word.substr(0, equals), {"value", "stage", "cta", "thread", "nth", "from_nth", "on"});
  if (!key) return key.error();
  if (*key == 6) {
    const Expected<size_t> on = parse_word("argument 'on'", value, {"mask", "second", "barrier"});
    if (!on) return on.error();
    (*on == 0 ? fault.on_mask : *on == 1 ? fault.on_second : fault.on_barrier) = true;
    return {};
  }
  const Expected<std::vector<int64_t>> number = parse_integers("fault", value, 1);
  if (!number) return number.error();
  const int64_t n = number->front();
  if (*key == 0) {
    fault.value = n;
    return {};
  }
  if (n < 0 || n > 1'000'000'000)
    return Error{ErrorCode::out_of_range, "option.fault",
                 fmt::format("--fault: {} is outside of 0..1000000000", word)};
  switch (*key) {
    case 1:
      fault.stage = static_cast<int>(n);
      break;
    case 2:
      fault.cta_rank = static_cast<int>(n);
      break;
    case 3:
      fault.thread = static_cast<int>(n);
      break;
    default:
      fault.occurrence = *key == 4 ? FaultSpec::Occurrence::only_nth : FaultSpec::Occurrence::from_nth;
      fault.nth = static_cast<uint32_t>(n);
  }
  return {};
}

}  // namespace

Expected<FaultSpec> parse_fault(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  const std::vector<std::string> words = split(parts[0], ':');
  FaultSpec fault;
  const Expected<size_t> action = parse_word("action", words[0], {"skip", "flip_parity", "add", "replace"});
  if (!action) return action.error();
  fault.action = static_cast<FaultSpec::Action>(*action);
  if (words.size() < 2 || words.size() > 4)
    return Error{ErrorCode::invalid_argument, "option.fault",
                 fmt::format("--fault: '{}' is not ACTION:OP[:PLACE[:ROLE]][,KEY=VALUE...]", text)};
  const Expected<size_t> op = parse_word("operation", words[1], names_of_operations());
  if (!op) return op.error();
  fault.op = static_cast<Op>(*op);
  if (words.size() > 2) fault.place = words[2];
  if (words.size() > 3) fault.role = words[3];
  for (size_t i = 1; i < parts.size(); ++i)
    if (Status s = set_key(parts[i], fault)) return *s;
  return fault;
}

}  // namespace tilewright::cli
