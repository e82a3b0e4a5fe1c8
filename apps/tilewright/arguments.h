// The command line's words as values.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/error.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

/// 0, 1, 2, ..., most: refuses a negative number, and a larger one, in a sentence.
CLI::Validator count_check(uint64_t most);

/// Refuses options whose word is empty, as that of an unset shell variable is: they would do nothing.
Status check_words(const CLI::App& command);

/// Whether a file can be made at the path, which an option names; nothing is written. Known before a long
/// run.
Status check_writable(std::string_view option, const std::string& path);

/// "--some_name,--some-name": every option has both spellings.
std::string both_spellings(std::string_view name);

/// `count` integers separated by `separator`. The error names the option.
Expected<std::vector<int64_t>> parse_integers(std::string_view option, const std::string& text, size_t count,
                                              char separator = ',');
/// "128,256" or "128x256".
Expected<Shape2> parse_shape(std::string_view option, const std::string& text);

/// What a problem and its plan depend on, shared by `gemm` and `explain`.
struct ProblemArguments {
  std::string mnkl, mnk, dtype = "e4m3", c_dtype, accumulation = "promoted", scale_mode;
  std::vector<std::string> more_dtypes;  // behind the first: of block-scaled runs
  std::string a_major = "k", b_major = "k", c_major, d_layout;
  std::string tile, cluster, raster, pipeline = "auto";
  std::optional<int64_t> swizzle, stages, sms, splits, max_workspace;
  int64_t interval = 4;
  std::string bias, bias_dtype = "Float32", activation, aux_dtype;
  bool aux = false, amax = false;
  float alpha = 1, beta = 0, scale_a = 1, scale_b = 1, scale_d = 1;
  bool no_saturate = false, static_shape = false;
  std::string device = "auto", arch = "auto", overlap = "on", scheduler = "static";
  std::optional<int64_t> m, n;
  std::vector<int64_t> ks;
  const CLI::App* app = nullptr;  // the command that has these options

  /// default_extents: what the command runs without extents, for its help.
  void add_to(CLI::App& app, const std::string& default_extents);
  /// Whether the option stands on the command line.
  bool given(const std::string& option) const {
    const CLI::Option* found = app != nullptr ? app->get_option_no_throw(option) : nullptr;
    return found != nullptr && found->count() > 0;
  }
  /// Whether M, N and K were named; otherwise problem() leaves them zero.
  bool extents_given() const { return !mnkl.empty() || !mnk.empty() || m || n || !ks.empty(); }
  /// Whether A or B is named by a block-scaled format.
  bool block_scaled() const;
  /// The same for each word of a list of types. Error: one that is not block-scaled.
  Expected<std::vector<ProblemArguments>> by_dtype() const;
  /// Block-scaled: whether 'm' or 'n' was named; every K that was; the kinds of accumulators, off before on.
  bool extent_given(char name) const;
  std::vector<int64_t> k_values() const;
  Expected<std::vector<bool>> overlaps() const;
  Expected<Problem> problem() const;
  Expected<Options> options() const;

 private:
  Status set_layouts(Problem& problem) const;
  Status set_extents(Problem& problem) const;
  Status set_types(Problem& problem) const;
  Status set_epilogue(Problem& problem) const;
  Status check_given(const Problem& problem) const;
};

/// Refuses options that do nothing on the machine. Where no machine was asked for they may come from a
/// command for the other one: that they are ignored is said.
Status check_machine_options(const ProblemArguments& problem, bool emulated);

/// The word for where an operand's neighbours in memory lie: "k" or `other`.
const char* major_word(bool k_major, const char* other);
/// The word of --scheduler.
const char* scheduler_word(schedule::TileScheduler scheduler);
/// The word of --scale_mode.
const char* scale_mode_word(ScaleMode mode);

/// Exit codes of the program.
constexpr int kPass = 0, kFail = 1, kRefused = 2;

/// Writes to standard error. Where that cannot be (a full disk, none at all) the run goes on without.
void say(const std::string& text);

/// JSON as text. What is no UTF-8 in it, as a path may be, becomes U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);

/// {"rule", "message"}.
nlohmann::json error_json(const Error& error);

/// Prints the error (as JSON on stdout if `json`) and returns kRefused.
int refuse(const Error& error, bool json);

}  // namespace tilewright::cli
