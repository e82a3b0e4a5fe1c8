#include "bench_command.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "arguments.h"
#include "bench_shape.h"
#include "src/device_info.h"

namespace tilewright::cli {
namespace {

// M, N, K: large products, those of large language models, and few rows.
constexpr const char* kHeadline =
    "8192x8192x8192 4096x4096x4096 4096x7168x16384 4096x24576x1536 4096x7168x2048";
constexpr const char* kOthers =
    "2048x2048x2048 16384x16384x4096 4096x4096x7168 128x7168x2048 128x4096x7168 64x24576x1536";

struct BenchArguments {
  ProblemArguments problem;
  std::string suite = "headline", shapes, configs, cublaslt, commit = "unknown", out;
  bool no_peers = false, promoted_only = false;
  BenchMethod method;

  void add_to(CLI::App& app);
};

void BenchArguments::add_to(CLI::App& app) {
  app.add_option("--suite", suite, "headline (five shapes) or all (eleven)")
      ->check(CLI::IsMember({"headline", "all"}))
      ->capture_default_str();
  app.add_option("--shapes", shapes, "Instead: shapes MxNxK, separated by blanks or commas");
  app.add_option(
      "--configs", configs,
      "Instead of the planner's choice: configurations TILE[/CLUSTER[/SWIZZLE[/STAGES]]], separated by "
      "commas (128x256/2x1/8,128x128)");
  app.add_option("--dtype", problem.dtype, "Type of A and B")->capture_default_str();
  app.add_option(both_spellings("c_dtype"), problem.c_dtype, "Type of D: 16 or 32 bits")
      ->capture_default_str();
  app.add_option(both_spellings("mma_promotion_interval"), problem.interval)->capture_default_str();
  app.add_flag(both_spellings("promoted_only"), promoted_only, "Leave our fast accumulation out");
  app.add_flag(both_spellings("no_peers"), no_peers, "Without cuBLASLt");
  app.add_option("--cublaslt", cublaslt, "The library's file");
  app.add_option("--rounds", method.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--bursts", method.bursts, "Of each contender in a round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--commit", commit, "Recorded in the result");
  app.add_option("--out", out, "Write the result as JSON");
}

std::vector<std::string> split(std::string text) {
  for (char& c : text)
    if (c == ',') c = ' ';
  std::istringstream words(text);
  std::vector<std::string> out;
  for (std::string word; words >> word;) out.push_back(word);
  return out;
}

/// One configuration of ours: its name in the table and what it forces.
struct Config {
  std::string name;
  Options options;
};

Expected<Config> parse_config(const std::string& text) {
  Config config{text, {}};
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
      (i == 2 ? config.options.swizzle : config.options.stages) = (*number)[0];
    }
  }
  return config;
}

Expected<std::vector<Config>> parse_configs(const std::string& text) {
  std::vector<Config> configs;
  for (const std::string& word : split(text)) {
    Expected<Config> config = parse_config(word);
    if (!config) return config.error();
    configs.push_back(*config);
  }
  if (configs.empty()) configs.push_back({"planned", {}});
  for (Config& config : configs) config.options.device = Device::gpu;
  return configs;
}

/// "580.159" of the kernel module, or the CUDA version of the driver.
std::string driver_version(const GpuDescription& gpu) {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return "CUDA " + gpu.driver;
}

/// What stays for the whole benchmark.
struct Bench {
  GpuLimits limits;
  GpuStream stream;
  GpuBuffer workspace, one;
  std::optional<CublasLt> cublaslt;
};

Expected<Bench> open_bench(const BenchArguments& args) {
  const Expected<GpuLimits> limits = current_gpu();
  if (!limits) return limits.error();
  Expected<GpuStream> stream = GpuStream::create();
  if (!stream) return stream.error();
  Expected<GpuBuffer> workspace = GpuBuffer::allocate(kCublasLtWorkspace);
  if (!workspace) return workspace.error();
  Expected<GpuBuffer> one = GpuBuffer::allocate(sizeof(float));
  if (!one) return one.error();
  const float value = 1;
  if (Status s = one->upload(&value)) return *s;
  Bench bench{*limits, std::move(*stream), std::move(*workspace), std::move(*one), {}};
  if (!args.no_peers) {
    const Expected<CublasLt> library = CublasLt::load(args.cublaslt);
    if (!library) return library.error();
    bench.cublaslt = *library;
  }
  return bench;
}

struct OwnContender {
  PlanInfo info;
  size_t index;  // among the contenders
};

/// The largest difference between results that is no sign of a fault. Promoted results differ by the rounding
/// of D and by promotion; fast ones by the tensor core's 13 bits over all of K.
double allowed_difference(const Problem& p, bool fast) {
  const double rounding = p.d.type == DType::bf16 ? 8e-3 : 1e-3;
  return rounding + (fast ? static_cast<double>(p.k) / 32 * 0x1p-13 : 1e-3);
}

nlohmann::json entry(const Problem& p, const PlanInfo& info, const Contender& own, const Contender* peer) {
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
                       static_cast<double>(p.l);
  nlohmann::json e{
      {"dtype", fmt::format("{}:{}:{}", name_of(p.a.type), name_of(p.b.type), name_of(p.d.type))},
      {"accumulation", own.fast_accumulation ? "fast" : "promoted"},
      {"m", p.m},
      {"n", p.n},
      {"k", p.k},
      {"l", p.l},
      {"kernel", info.kernel},
      {"tile", {info.tile.m, info.tile.n}},
      {"cluster", {info.cluster.m, info.cluster.n}},
      {"swizzle", info.swizzle},
      {"stages", info.stages},
      {"time_us", own.mean_us()},
      {"round_us", own.round_us},
      {"tflops", flops / own.mean_us() / 1e6},
      {"difference", own.difference},
      {"nan_elements", own.nan_elements},
      {"agrees", own.nan_elements == 0 && own.difference <= allowed_difference(p, own.fast_accumulation)}};
  e["peer"] = nlohmann::json();
  if (peer != nullptr) {
    e["peer"] = peer->name;
    e["peer_time_us"] = peer->mean_us();
    e["peer_round_us"] = peer->round_us;
    e["ratio"] = mean_ratio(own, *peer);
  }
  return e;
}

void print_row(const Problem& p, const OwnContender& own, const std::vector<Contender>& contenders,
               size_t peers, bool agrees) {
  const Contender& c = contenders[own.index];
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  std::string ratios;
  for (size_t i = 0; i < peers; ++i) ratios += fmt::format(" {:>9.3f}", mean_ratio(c, contenders[i]));
  fmt::print(
      "{:<18} {:<9} {:<40} {:>10.2f} {:>8.1f}{}{}\n", fmt::format("{}x{}x{}", p.m, p.n, p.k),
      c.fast_accumulation ? "fast" : "promoted",
      fmt::format("{} {}x{} /{}", own.info.kernel, own.info.cluster.m, own.info.cluster.n, own.info.swizzle),
      c.mean_us(), flops / c.mean_us() / 1e6, ratios, agrees ? "" : "  DIFFERS");
  std::fflush(stdout);
}

/// Measures one shape and adds its entries.
Status bench_shape(const BenchArguments& args, const std::vector<Config>& configs, const Bench& bench,
                   const Problem& shape, nlohmann::json& entries, bool& all_agree) {
  const Expected<BenchOperands> operands = BenchOperands::make(shape, bench.limits.l2_bytes);
  if (!operands) return operands.error();
  std::vector<Contender> contenders;
  // The accurate peer comes first: results are compared with its.
  if (bench.cublaslt) {
    for (const bool fast : {false, true}) {
      Expected<Contender> peer =
          fastest_cublaslt(*bench.cublaslt, shape, fast, *operands, bench.workspace, bench.one, bench.stream);
      if (!peer) return peer.error();
      contenders.push_back(std::move(*peer));
    }
  }
  const size_t peers = contenders.size();
  std::vector<OwnContender> own;
  for (const Config& config : configs) {
    for (const bool fast : {false, true}) {
      if (fast && args.promoted_only) continue;
      Problem problem = shape;
      problem.accumulation = fast ? Accumulation::fast : Accumulation::promoted;
      const Expected<Plan> planned = plan(problem, config.options);
      if (!planned) {
        fmt::print("{}x{}x{} {}: {}\n", shape.m, shape.n, shape.k, config.name, planned.error().message);
        continue;
      }
      Contender c;
      c.name = config.name;
      c.fast_accumulation = fast;
      c.run = [p = *planned, &operands](int set, void* stream) {
        return p.run({.a = operands->a(set), .b = operands->b(set), .d = operands->d(set)}, stream);
      };
      own.push_back({planned->info(), contenders.size()});
      contenders.push_back(std::move(c));
    }
  }
  if (Status s = measure(*operands, shape.d.type, bench.stream, args.method, contenders)) return s;
  for (const OwnContender& o : own) {
    const Contender& c = contenders[o.index];
    for (size_t i = 0; i < std::max<size_t>(1, peers); ++i)
      entries.push_back(entry(shape, o.info, c, peers == 0 ? nullptr : &contenders[i]));
    const bool agrees = entries.back()["agrees"].get<bool>();
    all_agree = all_agree && agrees;
    print_row(shape, o, contenders, peers, agrees);
  }
  return {};
}

Expected<std::vector<Problem>> shapes_of(const BenchArguments& args) {
  std::string list = args.shapes;
  if (list.empty()) list = args.suite == "all" ? std::string(kHeadline) + " " + kOthers : kHeadline;
  const Expected<Problem> types = args.problem.problem();
  if (!types) return types.error();
  if (bits_of(types->d.type) == 8)
    return Error{ErrorCode::invalid_argument, "option.c_dtype",
                 "--c_dtype: bench compares 16 and 32 bit outputs only"};
  std::vector<Problem> out;
  for (const std::string& word : split(list)) {
    const Expected<std::vector<int64_t>> extents = parse_integers("shapes", word, 3, 'x');
    if (!extents) return extents.error();
    Problem p = *types;
    p.m = (*extents)[0];
    p.n = (*extents)[1];
    p.k = (*extents)[2];
    if (Status s = can_run(p, {.device = Device::gpu})) return *s;
    out.push_back(p);
  }
  return out;
}

Status write_json(const std::string& path, const nlohmann::json& result) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  std::ofstream file(path);
  file << result.dump(1) << "\n";
  file.flush();
  if (!file) return Error{ErrorCode::io, "file.write", path + ": cannot be written"};
  return {};
}

Expected<int> run_bench(const BenchArguments& args) {
  const Expected<std::vector<Config>> configs = parse_configs(args.configs);
  if (!configs) return configs.error();
  const Expected<std::vector<Problem>> shapes = shapes_of(args);
  if (!shapes) return shapes.error();
  const Expected<Bench> bench = open_bench(args);
  if (!bench) return bench.error();
  const Expected<GpuDescription> gpu = describe_current_gpu();
  if (!gpu) return gpu.error();

  const std::string library = bench->cublaslt ? bench->cublaslt->version() : "none";
  fmt::print("{}, driver {}, CUDA {}, cuBLASLt {}; {} rounds of {} bursts; ratios above 1: we are faster\n",
             gpu->name, driver_version(*gpu), gpu->toolkit, library, args.method.rounds, args.method.bursts);
  fmt::print("{:<18} {:<9} {:<40} {:>10} {:>8}{}\n", "M x N x K", "sums", "kernel, cluster, swizzle", "us",
             "TFLOPS", bench->cublaslt ? "  accurate      fast" : "");
  nlohmann::json result{{"device", gpu->name},
                        {"driver", driver_version(*gpu)},
                        {"toolkit", gpu->toolkit},
                        {"cublaslt", library},
                        {"commit", args.commit},
                        {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
                        {"method",
                         {{"rounds", args.method.rounds},
                          {"bursts", args.method.bursts},
                          {"idle_ms", args.method.idle_ms},
                          {"timed_ms", args.method.timed_ms},
                          {"time", "mean over rounds of the median burst"},
                          {"ratio", "mean over rounds of peer_time / time"},
                          {"data", "normal, rotating sets larger than L2"}}},
                        {"entries", nlohmann::json::array()}};
  bool all_agree = true;
  for (const Problem& shape : *shapes) {
    if (Status s = bench_shape(args, *configs, *bench, shape, result["entries"], all_agree)) return *s;
    // After every shape: a run that is cut short has measured something.
    if (!args.out.empty())
      if (Status s = write_json(args.out, result)) return *s;
  }
  return all_agree ? kPass : kFail;
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("bench", "Measure against cuBLASLt on the GPU, side by side");
  const auto args = std::make_shared<BenchArguments>();
  args->add_to(*command);
  command->callback([args, &exit_code] {
    const Expected<int> code = run_bench(*args);
    exit_code = code ? *code : refuse(code.error(), false);
  });
}

}  // namespace tilewright::cli
