#include "bench_config.h"

#include <iterator>
#include <optional>
#include <sstream>

#include "arguments.h"
#include "bench_suite.h"

namespace tilewright::cli {
namespace {

Expected<BenchConfig> parse_config(const std::string& text) {
  BenchConfig config{text, {.device = Device::gpu}};
  std::istringstream parts(text);
  std::string part;
  for (int i = 0; std::getline(parts, part, '/'); ++i) {
    if (i < 2) {
      const Expected<Shape2> shape = parse_shape("configs", part);
      if (!shape) return shape.error();
      (i == 0 ? config.options.tile : config.options.cluster) = *shape;
    } else {
      const Expected<std::vector<int64_t>> number = parse_integers("configs", part, 1);
      if (!number) return number.error();
      std::optional<int64_t> Options::*const options[] = {&Options::swizzle, &Options::stages,
                                                          &Options::max_sms};
      if (i - 2 >= static_cast<int>(std::size(options)))
        return Error{ErrorCode::invalid_argument, "option.configs",
                     "--configs: '" + text +
                         "' has more than five parts, TILE/CLUSTER/SWIZZLE/STAGES/SMS (on at most SMS "
                         "multiprocessors)"};
      config.options.*options[i - 2] = (*number)[0];
    }
  }
  return config;
}

}  // namespace

Expected<std::vector<BenchConfig>> parse_bench_configs(const std::string& text) {
  std::vector<BenchConfig> configs;
  for (const std::string& word : split_words(text)) {
    Expected<BenchConfig> config = parse_config(word);
    if (!config) return config.error();
    configs.push_back(*config);
  }
  if (configs.empty()) configs.push_back({"planned", {.device = Device::gpu}});
  return configs;
}

}  // namespace tilewright::cli
