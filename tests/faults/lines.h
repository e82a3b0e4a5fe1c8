// Lines of kernels, as tables of planted faults name them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tilewright::faults {

/// The identifiers of a text.
inline std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  bool inside = false;
  for (const char c : text) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (letter && !inside) names.emplace_back();
    if (letter) names.back() += c;
    inside = letter;
  }
  std::erase_if(names, [](const std::string& name) { return name[0] >= '0' && name[0] <= '9'; });
  return names;
}

/// Of each header of the library, the identifiers outside of comments, sorted.
inline std::vector<std::vector<std::string>> names_of_headers() {
  std::vector<std::vector<std::string>> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TILEWRIGHT_HEADERS)) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    std::string code;
    for (std::string line; std::getline(file, line);) code += line.substr(0, line.find("//")) + '\n';
    std::vector<std::string> names = names_in(code);
    std::sort(names.begin(), names.end());
    all.push_back(std::move(names));
  }
  return all;
}

/// Whether some header has all names of a line such as "Ring::acquire: mbarrier_wait_parity".
inline ::testing::AssertionResult is_in_a_header(const std::string& line) {
  static const std::vector<std::vector<std::string>> headers = names_of_headers();
  const std::vector<std::string> names = names_in(line);
  for (const std::vector<std::string>& header : headers) {
    const auto has = [&](const std::string& name) {
      return std::binary_search(header.begin(), header.end(), name);
    };
    if (std::all_of(names.begin(), names.end(), has)) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "no header has all names of '" << line << "'";
}

}  // namespace tilewright::faults
