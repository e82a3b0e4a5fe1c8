// Runs the command line as its users do.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace tilewright::testing {

/// A new folder, removed at its end.
class Folder {
 public:
  Folder() {
    static int folders = 0;
    const std::string name = std::string("tilewright_cli_") +
                             ::testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
                             std::to_string(getpid()) + "_" + std::to_string(++folders);
    path_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct Output {
  int exit_code = -1;
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

inline Output run_program(const std::string& arguments) {
  const Folder folder;
  const std::string errors = folder.file("stderr");
  Output result;
  const std::string command = std::string(TILEWRIGHT_PROGRAM) + " " + arguments + " 2>" + errors;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.out.append(buffer, got);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::ifstream file(errors);
  result.err.assign(std::istreambuf_iterator<char>(file), {});
  return result;
}

/// `gemm --json` on the emulated machine.
inline Output gemm(const std::string& arguments) {
  return run_program("gemm --json --device emulator " + arguments);
}

/// Expects a refusal that names the rule and contains the text.
inline void expect_refused(const Output& o, const std::string& rule, const std::string& text) {
  EXPECT_EQ(o.exit_code, 2) << o.err;
  ASSERT_TRUE(o.json().is_object()) << o.out;
  EXPECT_EQ(o.json()["pass"], false);
  EXPECT_EQ(o.json()["error"]["rule"], rule) << o.err;
  EXPECT_NE(o.err.find(text), std::string::npos) << o.err;
}

}  // namespace tilewright::testing
