#include "bench_command.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "arguments.h"
#include "bench_config.h"
#include "bench_entry.h"
#include "bench_shape.h"
#include "bench_suite.h"
#include "src/device_info.h"
#include "tilewright/detail/whole_file.h"

namespace tilewright::cli {
namespace {

struct BenchArguments {
  ProblemArguments problem;
  std::string suite = "headline", shapes, configs, epilogue = "none", cublaslt, commit = "unknown", out;
  int candidates = kCublasLtCandidates;
  bool no_peers = false, promoted_only = false;
  BenchMethod method;

  void add_to(CLI::App& app);
};

void BenchArguments::add_to(CLI::App& app) {
  problem.app = &app;
  CLI::Option* const suites =
      app.add_option("--suite", suite,
                     "headline (five shapes; f32: ten) or all (eleven; f32, f16, bf16: with layouts)")
          ->check(CLI::IsMember({"headline", "all"}))
          ->capture_default_str();
  app.add_option("--shapes", shapes,
                 "Instead: shapes MxNxK, separated by blanks or commas; with :abc behind, the contiguous "
                 "dimensions of A "
                 "(k, m), B (k, n) and C (n, m)")
      ->excludes(suites);
  app.add_option(
      "--configs", configs,
      "Instead of the planner's choice: configurations TILE[/CLUSTER[/SWIZZLE[/STAGES[/SMS]]]], separated by "
      "commas (128x256/2x1/8,128x128); on at most SMS multiprocessors: tiles are still spread evenly");
  app.add_option(
         "--dtype", problem.dtype,
         "Type of A and B, as for gemm; the peer of block-scaled ones is cuBLASLt's bf16 product of the "
         "same values")
      ->capture_default_str();
  app.add_option(
      both_spellings("scale_mode"), problem.scale_mode,
      "As for gemm. Then the peers are cuBLASLt with such scales (if it has them), cuBLASLt with one "
      "factor, accurate, and our own promoted kernel with one factor");
  app.add_option(
         "--epilogue", epilogue,
         "FP8, f16, bf16: bias, relu or gelu, aux and amax, joined by _ (bias_gelu_aux). The peers are "
         "then cuBLASLt with such an epilogue (amax left out) and our own product without one")
      ->capture_default_str();
  app.add_option(both_spellings("c_dtype"), problem.c_dtype,
                 "Type of D: 16 or 32 bits. Default: as for gemm; block-scaled: BFloat16 (also for Float16)");
  app.add_option(both_spellings("mma_promotion_interval"), problem.interval,
                 "FP8: MMAs between promotions, as for gemm")
      ->capture_default_str();
  app.add_flag(both_spellings("promoted_only"), promoted_only, "Leave our fast accumulation out");
  CLI::Option* const alone = app.add_flag(both_spellings("no_peers"), no_peers, "Without cuBLASLt");
  app.add_option("--cublaslt", cublaslt, "The library's file")->excludes(alone);
  app.add_option(
         "--candidates", candidates,
         "Of cuBLASLt's heuristic so many are tried, and the fastest is the peer; 1 takes its first answer")
      ->check(CLI::Range(1, kCublasLtCandidates))
      ->excludes(alone)
      ->capture_default_str();
  app.add_option("--rounds", method.rounds,
                 "Of all contenders, one after the other; the result is their mean")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--bursts", method.bursts, "Of each contender in a round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--commit", commit, "Recorded in the result");
  app.add_option("--out", out, "Write the result as JSON");
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
  int candidates;  // of its heuristic that are tried
  BenchMethod method;

  Expected<Contender> peer(const Problem& problem, bool fast, const BenchOperands& operands) const {
    return fastest_cublaslt(*cublaslt, problem, fast, candidates, method_for(problem, method), operands,
                            workspace, one, stream);
  }
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
  Bench bench{*limits,         std::move(*stream), std::move(*workspace), std::move(*one), {},
              args.candidates, args.method};
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

/// A plan of ours as a contender, with a workspace of its own.
Expected<Contender> own_contender(const Plan& plan, const BenchConfig& config, bool fast,
                                  const BenchOperands& operands) {
  Expected<GpuBuffer> memory = GpuBuffer::allocate(static_cast<size_t>(plan.workspace_bytes()));
  if (!memory) return memory.error();
  const auto workspace = std::make_shared<GpuBuffer>(std::move(*memory));
  Contender c;
  c.name = config.name;
  c.fast_accumulation = fast;
  c.run = [plan, &operands, workspace](int set, void* stream) {
    return plan.run({.a = operands.a(set),
                     .b = operands.b(set),
                     .d = operands.d(set),
                     .scale_a = operands.a_scales(),
                     .scale_b = operands.b_scales(),
                     .bias = operands.bias(),
                     .aux = operands.aux(),
                     .amax_d = operands.amax(),
                     .a_scales = operands.a_block_scales(set),
                     .b_scales = operands.b_block_scales(set),
                     .workspace = workspace->data()},
                    stream);
  };
  return c;
}

/// Kinds of accumulation to measure: all but FP8 have one.
std::vector<bool> fast_or_not(const Problem& p, bool promoted_only) {
  if (!has_fast_sums(p) || promoted_only || p.scale_mode != ScaleMode::per_tensor) return {false};
  return {false, true};
}

/// The library's contenders; the accurate one comes first: results are compared with its.
Status add_peers(const Bench& bench, const Problem& problem, const BenchOperands& operands,
                 std::vector<Contender>& contenders) {
  if (!bench.cublaslt) return {};
  for (const bool fast : fast_or_not(problem, false)) {
    Expected<Contender> peer = bench.peer(bf16_peer(problem), fast, operands);
    // Found out only by running it.
    const bool special = problem.scale_mode != ScaleMode::per_tensor || problem.epilogue.any();
    if (!peer && (special || peer.error().code == ErrorCode::not_supported)) {
      fmt::print("{}\n", peer.error().message);
      continue;
    }
    if (!peer) return peer.error();
    contenders.push_back(std::move(*peer));
  }
  return {};
}

/// A plan of ours of another problem on the same operands.
Contender own_unlike(const char* name, const Plan& plan, const BenchOperands& operands) {
  Contender own;
  own.name = name;
  own.run = [plan, &operands](int set, void* stream) {
    return plan.run({.a = operands.a(set), .b = operands.b(set), .d = operands.d(set)}, stream);
  };
  return own;
}

/// What products with more scales are measured beside: the same with one factor, the library's and ours.
/// (Their results are others.)
Status add_unscaled_peers(const Bench& bench, Problem problem, const BenchOperands& operands,
                          std::vector<Contender>& contenders) {
  if (problem.scale_mode == ScaleMode::per_tensor) return {};
  problem.scale_mode = ScaleMode::per_tensor;
  if (bench.cublaslt) {
    Expected<Contender> peer = bench.peer(problem, false, operands);
    if (!peer) return peer.error();
    contenders.push_back(std::move(*peer));
  }
  const Expected<Plan> planned = plan(problem, {.device = Device::gpu});
  if (!planned) return planned.error();
  contenders.push_back(own_unlike("own_unscaled", *planned, operands));
  return {};
}

/// What products with an epilogue are measured beside: our own without one. (Its results are others, so that
/// it cannot come first.)
Status add_plain_peer(Problem problem, const BenchOperands& operands, std::vector<Contender>& contenders) {
  if (!problem.epilogue.any() || contenders.empty()) return {};
  problem.epilogue = {};
  const Expected<Plan> planned = plan(problem, {.device = Device::gpu});
  if (!planned) return planned.error();
  contenders.push_back(own_unlike("own_plain", *planned, operands));
  return {};
}

/// Measures one shape and adds its entries.
Status bench_shape(const BenchArguments& args, const std::vector<BenchConfig>& configs, const Bench& bench,
                   const BenchProblem& shape, nlohmann::json& entries, bool& all_agree) {
  const Problem p = benched_blocks(benched_scales(shape.problem));
  const Expected<BenchOperands> operands = BenchOperands::make(p, bench.limits.l2_bytes);
  if (!operands) return operands.error();
  std::vector<Contender> contenders;
  if (Status s = add_peers(bench, p, *operands, contenders)) return s;
  if (Status s = add_unscaled_peers(bench, p, *operands, contenders)) return s;
  if (Status s = add_plain_peer(p, *operands, contenders)) return s;
  const size_t peers = contenders.size();
  std::vector<OwnContender> own;
  for (const BenchConfig& config : configs) {
    for (const bool fast : fast_or_not(p, args.promoted_only || p.epilogue.any())) {
      Problem problem = p;
      problem.accumulation = fast ? Accumulation::fast : Accumulation::promoted;
      const Expected<Plan> planned = plan(problem, config.options);
      if (!planned) {
        fmt::print("{} {}: {}\n", shape.name, config.name, planned.error().message);
        continue;
      }
      Expected<Contender> c = own_contender(*planned, config, fast, *operands);
      if (!c) return c.error();
      own.push_back({planned->info(), contenders.size()});
      contenders.push_back(std::move(*c));
    }
  }
  const BenchMethod method = method_for(p, args.method);
  if (Status s = measure(*operands, p.d.type, bench.stream, method, contenders)) return s;
  for (const OwnContender& o : own) {
    const Contender& c = contenders[o.index];
    for (size_t i = 0; i < std::max<size_t>(1, peers); ++i)
      entries.push_back(bench_entry(p, o.info, c, peers == 0 ? nullptr : &contenders[i]));
    const bool agrees = entries.back()["agrees"].get<bool>();
    all_agree = all_agree && agrees;
    print_bench_row(shape, o.info, c, std::span(contenders).first(peers), agrees);
  }
  return {};
}

Expected<std::vector<BenchProblem>> problems_of(const BenchArguments& args) {
  const Expected<Problem> types = args.problem.problem();
  if (!types) return types.error();
  if (bits_of(types->d.type) == 8)
    return Error{ErrorCode::invalid_argument, "option.c_dtype",
                 "--c_dtype: bench compares 16 and 32 bit outputs only"};
  if (is_complex(types->a.type))
    return Error{ErrorCode::invalid_argument, "option.dtype",
                 std::string("--dtype: bench compares no complex numbers; found ") + name_of(types->a.type)};
  if (args.promoted_only && !has_fast_sums(*types))
    return Error{
        ErrorCode::invalid_argument, "option.promoted_only",
        fmt::format("--promoted_only: {} has no fast accumulation; leave it out", args.problem.dtype)};
  const std::string list = args.shapes.empty() ? bench_suite(types->a.type, args.suite) : args.shapes;
  std::vector<BenchProblem> out;
  for (const std::string& word : split_words(list)) {
    Expected<BenchProblem> problem = parse_bench_problem(word, *types);
    if (!problem) return problem.error();
    if (Status s = set_benched_epilogue(args.epilogue, problem->problem)) return *s;
    if (Status s = can_run(benched_blocks(problem->problem), {.device = Device::gpu})) return *s;
    out.push_back(*problem);
  }
  return out;
}

/// Makes the folder of the results, and says before a long run whether they can be written.
Status prepare_output(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  return check_writable("out", path);
}

Expected<int> run_bench(const BenchArguments& args) {
  const Expected<std::vector<BenchConfig>> configs = parse_bench_configs(args.configs);
  if (!configs) return configs.error();
  const Expected<std::vector<BenchProblem>> shapes = problems_of(args);
  if (!shapes) {
    // The planner would name the emulated machine, which has no times to compare.
    const Expected<GpuDescription> gpu = describe_current_gpu();
    if (gpu || shapes.error().code != ErrorCode::no_device) return shapes.error();
    return Error{ErrorCode::no_device, "device.gpu", "bench measures on a GPU: " + gpu.error().message};
  }
  if (shapes->empty()) return Error{ErrorCode::invalid_argument, "option.shapes", "--shapes: names none"};
  if (Status s = prepare_output(args.out)) return *s;
  const Expected<Bench> bench = open_bench(args);
  if (!bench) return bench.error();
  const Expected<GpuDescription> gpu = describe_current_gpu();
  if (!gpu) return gpu.error();

  const bool scaled =
      shapes->front().problem.scale_mode != ScaleMode::per_tensor || shapes->front().problem.epilogue.any();
  const std::string library = bench->cublaslt ? bench->cublaslt->version() : "none";
  fmt::print("{}, driver {}, CUDA {}, cuBLASLt {}; {} rounds of {} bursts; ratios above 1: we are faster\n",
             gpu->name, driver_version(*gpu), gpu->toolkit, library, args.method.rounds, args.method.bursts);
  fmt::print("{:<18} {:<9} {:<44} {:>10} {:>8}{}\n", "M x N x K", "sums", "kernel, cluster, swizzle, grid",
             "us", "TFLOPS",
             scaled                                   ? "  ratios to the peers, in order"
             : !bench->cublaslt                       ? ""
             : has_fast_sums(shapes->front().problem) ? "  accurate      fast"
                                                      : "     ratio");
  nlohmann::json result{
      {"device", gpu->name},
      {"driver", driver_version(*gpu)},
      {"toolkit", gpu->toolkit},
      {"cublaslt", library},
      {"commit", args.commit},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"method",
       {{"rounds", args.method.rounds},
        {"bursts", args.method.bursts},
        {"candidates", bench->cublaslt ? nlohmann::json(args.candidates) : nlohmann::json()},
        {"idle_ms", args.method.idle_ms},
        {"timed_ms", method_for(shapes->front().problem, args.method).timed_ms},
        {"time", "mean over rounds of the median burst"},
        {"ratio", "mean over rounds of peer_time / time"},
        {"data", "normal, rotating sets larger than L2"}}},
      {"entries", nlohmann::json::array()}};
  bool all_agree = true;
  nlohmann::json& entries = result["entries"];
  for (const BenchProblem& shape : *shapes) {
    if (Status s = bench_shape(args, *configs, *bench, shape, entries, all_agree)) return *s;
    // After every shape: a run that is cut short has measured something.
    if (!args.out.empty())
      if (Status s = detail::write_whole_file(args.out, "file.write", {json_text(result, 1), "\n"}))
        return *s;
  }
  if (entries.empty())
    return Error{ErrorCode::not_supported, "option.configs",
                 "--configs: none runs any of the shapes, so that nothing was measured; leave it out"};
  return all_agree ? kPass : kFail;
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("bench", "Measure against cuBLASLt on the GPU, side by side");
  const auto args = std::make_shared<BenchArguments>();
  args->add_to(*command);
  command->callback([args, command, &exit_code] {
    const Status empty = check_words(*command);
    const Expected<int> code = empty ? Expected<int>(*empty) : run_bench(*args);
    exit_code = code ? *code : refuse(code.error(), false);
  });
}

}  // namespace tilewright::cli
