#include "gemm_command.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "arguments.h"
#include "block_scaled_command.h"
#include "fault_argument.h"
#include "gemm_report.h"
#include "operands.h"
#include "progress.h"
#include "run_problem.h"
#include "src/device_info.h"
#include "src/npy.h"

namespace tilewright::cli {
namespace {

struct GemmArguments {
  ProblemArguments problem;
  std::optional<double> tolerance, relative_tolerance;
  std::optional<int64_t> warmup_iterations, iterations;
  bool skip_ref_check = false, use_cold_l2 = false, json = false;
  std::string schedule = "fair", init, a_file, b_file, out, trace, fault;
  uint64_t seed = 0;

  void add_to(CLI::App& app);
  Expected<std::optional<emulator::FaultSpec>> planted_fault() const;
  /// The check that is asked for; what is not said of it is `usual`. Errors: negative or not finite.
  Expected<std::optional<Tolerance>> tolerance_or(const Tolerance& usual) const;
};

void GemmArguments::add_to(CLI::App& app) {
  problem.add_to(app,
                 "Default: 4096,4096,4096,1 on a GPU, 512,512,512,1 emulated; f32: 256,256,64,1; "
                 "block-scaled: 8192, 8192 and K 512 to 8192 on a GPU");
  app.add_option("--tolerance,--atol", tolerance,
                 "Also check |D - reference| <= tolerance + rtol |reference|, the reference rounded to D's "
                 "type but for block-scaled types. Default, with --rtol alone: 1e-3, block-scaled: 2e-3");
  app.add_option("--rtol", relative_tolerance, "Of that check. Default: 1e-3, f32: 1e-5");
  constexpr uint64_t kMostLaunches = std::numeric_limits<int64_t>::max();
  app.add_option(both_spellings("warmup_iterations"), warmup_iterations,
                 "GPU: launches before the timed ones. Default: 0, f32 and block-scaled: 2")
      ->check(count_check(kMostLaunches));
  app.add_option("--iterations", iterations, "GPU: timed launches. Default: 1, f32: 100, block-scaled: 20")
      ->check(count_check(kMostLaunches));
  app.add_flag(both_spellings("skip_ref_check"), skip_ref_check, "Do not check the result");
  app.add_flag(both_spellings("use_cold_l2"), use_cold_l2, "GPU: rotate over more operands than fit in L2");
  app.add_option(
         "--schedule", schedule,
         "Emulated: fair, random, adversarial or timed (modelled time; the default for block-scaled types)")
      ->capture_default_str();
  app.add_option("--seed", seed, "Of the data and of the emulated schedule")
      ->check(count_check(std::numeric_limits<uint64_t>::max()))
      ->capture_default_str();
  app.add_option("--init", init,
                 "normal, uniform, ones or integers (-5..4); block-scaled: moderate or full_range. Default: "
                 "normal, f32: integers, block-scaled: moderate");
  app.add_option(both_spellings("a_file"), a_file,
                 "A from a .npy file, (M, K) or (L, M, K); quantised if need be");
  app.add_option(both_spellings("b_file"), b_file, "B from a .npy file, (N, K) or (L, N, K)");
  app.add_option("--out", out, "Write D to a .npy file");
  app.add_option("--trace", trace,
                 "Emulated: write the timeline: Chrome trace JSON, or a picture to a name that ends in .svg. "
                 "Several block-scaled runs: t.json becomes t.K512.on.json, and so on");
  app.add_option("--fault", fault,
                 "Emulated: plant a fault, ACTION:OP[:PLACE[:ROLE]][,KEY=VALUE...], for example "
                 "skip:mbarrier_wait:full:consumer,stage=1. Actions: skip, flip_parity, add, replace; keys: "
                 "value (of add and replace), stage, cta, thread, nth, from_nth, on");
  app.add_flag("--json", json, "Print one JSON object");
}

Expected<std::optional<emulator::FaultSpec>> GemmArguments::planted_fault() const {
  if (fault.empty()) return std::optional<emulator::FaultSpec>();
  const Expected<emulator::FaultSpec> spec = parse_fault(fault);
  if (!spec) return spec.error();
  return std::optional(*spec);
}

/// Of the absolute tolerance: which of the two was given is not known.
constexpr const char* kAbsoluteWords = "--tolerance/--atol";

Expected<std::optional<Tolerance>> GemmArguments::tolerance_or(const Tolerance& usual) const {
  if (!tolerance && !relative_tolerance) return std::optional<Tolerance>();
  if (skip_ref_check)
    return Error{ErrorCode::invalid_argument, "option.skip_ref_check",
                 std::string("--skip_ref_check: there is no reference to be within ") +
                     (tolerance ? kAbsoluteWords : "--rtol") + " of; leave one of them out"};
  Tolerance out = usual;
  out.absolute = tolerance.value_or(usual.absolute),
  out.relative = relative_tolerance.value_or(usual.relative);
  for (const auto& [option, words, value] :
       {std::tuple{"tolerance", kAbsoluteWords, out.absolute}, {"rtol", "--rtol", out.relative}}) {
    if (value >= 0 && std::isfinite(value)) continue;
    const double nearest = value > 0 ? std::numeric_limits<double>::max() : 0;
    return Error{ErrorCode::invalid_argument, fmt::format("option.{}", option),
                 fmt::format("{}: {} is {}; nearest legal: {}", words, value,
                             std::isfinite(value) ? "negative" : "not finite", nearest)};
  }
  return std::optional(out);
}

Expected<emulator::SchedulePolicy> parse_schedule(const std::string& text) {
  using emulator::SchedulePolicy;
  if (text == "fair") return SchedulePolicy::fair;
  if (text == "random") return SchedulePolicy::random;
  if (text == "adversarial") return SchedulePolicy::adversarial;
  if (text == "timed") return SchedulePolicy::timed;
  return Error{ErrorCode::invalid_argument, "option.schedule",
               "--schedule: '" + text + "' is not one of fair, random, adversarial, timed"};
}

bool is_f32(const Problem& problem) { return problem.a.type == DType::f32; }

/// Files that the command will write.
Status check_outputs(const GemmArguments& args) {
  if (Status s = check_writable("out", args.out)) return s;
  if (Status s = check_writable("trace", args.trace)) return s;
  std::error_code ignored;
  const auto file = [&](const std::string& path) { return std::filesystem::weakly_canonical(path, ignored); };
  if (args.out.empty() || args.trace.empty() || file(args.out) != file(args.trace)) return {};
  return Error{ErrorCode::invalid_argument, "option.trace",
               fmt::format("--trace: {} is the file of --out, too; leave one of them out", args.trace)};
}

/// --init where it fills nothing.
Status check_init(const GemmArguments& args, const Problem& p) {
  if (args.init.empty() || args.a_file.empty() || args.b_file.empty()) return {};
  if (p.beta != 0 || p.epilogue.bias != BiasKind::none) return {};
  return Error{ErrorCode::invalid_argument, "option.init",
               "--init: A and B come from files, and there is neither C nor bias; leave it out"};
}

/// The machine that `automatic` means for this problem: known before the extents, whose default depends on
/// it.
Device resolve(Device asked, Problem probe) {
  if (asked != Device::automatic) return asked;
  probe.m = probe.n = probe.k = 128;
  const Status refused = can_run(probe, {.device = Device::gpu});
  return refused && refused->code == ErrorCode::no_device ? Device::emulator : Device::gpu;
}

/// M, N and K when nothing says what they are.
std::array<int64_t, 3> default_extents(const Problem& problem, bool emulated) {
  if (is_f32(problem)) return {256, 256, 64};
  const int64_t cube = emulated ? 512 : 4096;
  return {cube, cube, cube};
}

std::string describe(Device device, const PlanInfo& plan) {
  if (device == Device::emulator)
    return fmt::format("emulated machine, {} multiprocessor{}", plan.sms, plan.sms == 1 ? "" : "s");
  const Expected<GpuDescription> gpu = describe_current_gpu();
  return gpu ? gpu->name : "GPU";
}

/// The same command for block-scaled operands.
int run_block_scaled_gemm(const GemmArguments& args, bool schedule_given) {
  const Expected<emulator::SchedulePolicy> schedule = parse_schedule(args.schedule);
  if (!schedule) return refuse(schedule.error(), args.json);
  BlockScaledRequest request;
  request.run = {args.warmup_iterations.value_or(2),
                 args.iterations.value_or(20),
                 false,
                 *schedule,
                 args.seed,
                 args.trace};
  const Expected<std::optional<Tolerance>> tolerance =
      args.tolerance_or({.absolute = 2e-3, .relative = 1e-3, .rounded = false});
  if (!tolerance) return refuse(tolerance.error(), args.json);
  request.tolerance = *tolerance;
  request.skip_ref_check = args.skip_ref_check;
  request.json = args.json;
  request.schedule_given = schedule_given;
  for (const auto& [option, there] : {std::pair{"a_file", !args.a_file.empty()},
                                      {"b_file", !args.b_file.empty()},
                                      {"out", !args.out.empty()}})
    if (there)
      return refuse({ErrorCode::invalid_argument, fmt::format("option.{}", option),
                     fmt::format("--{}: block-scaled operands are made from a seed, and their D is not "
                                 "written; leave it out",
                                 option)},
                    args.json);
  if (args.use_cold_l2)
    return refuse({ErrorCode::invalid_argument, "option.use_cold_l2",
                   "--use_cold_l2: block-scaled runs are timed on one set of operands; leave it out"},
                  args.json);
  if (Status s = check_outputs(args)) return refuse(*s, args.json);
  const Expected<std::optional<emulator::FaultSpec>> fault = args.planted_fault();
  if (!fault) return refuse(fault.error(), args.json);
  request.run.fault = *fault;
  request.init = args.init;
  return gemm_block_scaled(args.problem, request);
}

/// Runs, checks and says what came out; the exit code.
Expected<int> run_gemm(const GemmArguments& args) {
  Expected<Problem> problem = args.problem.problem();
  if (!problem) return problem.error();
  Expected<Options> options = args.problem.options();
  if (!options) return options.error();
  const bool f32 = is_f32(*problem);
  const Expected<Init> init = parse_init(!args.init.empty() ? args.init : f32 ? "integers" : "normal");
  if (!init) return init.error();
  if (Status s = check_init(args, *problem)) return *s;
  const Expected<emulator::SchedulePolicy> schedule = parse_schedule(args.schedule);
  if (!schedule) return schedule.error();

  const Expected<std::optional<Tolerance>> tolerance =
      args.tolerance_or({.absolute = 1e-3, .relative = f32 ? 1e-5 : 1e-3});
  if (!tolerance) return tolerance.error();

  const bool automatic = options->device == Device::automatic;
  options->device = resolve(options->device, *problem);
  const bool emulated = options->device == Device::emulator;
  if (Status s = check_machine_options(args.problem, emulated)) return *s;
  if (Status s = check_outputs(args)) return *s;
  if (!args.out.empty())
    if (Status s = check_npy_type(args.out, problem->d.type)) return *s;
  const Expected<std::optional<emulator::FaultSpec>> fault = args.planted_fault();
  if (!fault) return fault.error();
  const OperandSource source{args.a_file, args.b_file, *init, args.seed};
  const bool given = args.problem.extents_given();
  Expected<Operands> operands = read_operands(*problem, given, default_extents(*problem, emulated), source);
  if (!operands) return operands.error();
  const Expected<Plan> planned = plan(operands->problem, *options);
  if (!planned) return planned.error();
  if (Status s = check_memory(*operands, emulated, !args.skip_ref_check)) return *s;
  {
    const Progress progress("making the operands");
    if (Status s = fill_operands(*operands, source)) return *s;
  }

  GemmReport report;
  report.problem = operands->problem;
  report.plan = planned->info();
  report.device_name = describe(options->device, report.plan);
  if (!args.json) {
    if (emulated && automatic)
      fmt::print("No GPU that can run the kernels: running on the emulated machine.\n");
    if (emulated && !f32 && !given && args.a_file.empty() && args.b_file.empty())
      fmt::print("The emulated machine's default size is 512,512,512,1 (on a GPU: 4096,4096,4096,1).\n");
    print_configuration(report.problem, report.plan, report.device_name);
  }
  const RunOptions how{args.warmup_iterations.value_or(f32 ? 2 : 0),
                       args.iterations.value_or(f32 ? 100 : 1),
                       args.use_cold_l2,
                       *schedule,
                       args.seed,
                       args.trace,
                       *fault};
  Expected<RunResult> ran =
      emulated ? run_on_emulator(*planned, *operands, how) : run_on_gpu(*planned, *operands, how);
  if (!ran) return ran.error();
  report.run = *ran;
  if (!args.skip_ref_check) {
    Expected<Verdict> verdict = judge(*operands, report.plan, args.seed, *tolerance);
    if (!verdict) return verdict.error();
    report.verdict = *verdict;
  }
  // What was found is said whether or not D can be written.
  if (!args.json) print_result(report);
  const Status unwritten = args.out.empty() ? Status{} : write_d(*operands, args.out);
  if (args.json) {
    nlohmann::json found = to_json(report);
    if (unwritten) found["error"] = error_json(*unwritten);
    fmt::print("{}\n", json_text(found));
  }
  if (unwritten) return refuse(*unwritten, false);
  return report.passed() ? kPass : kFail;
}

}  // namespace

void add_gemm_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("gemm", "Run one GEMM and check every element against FP64");
  const auto args = std::make_shared<GemmArguments>();
  args->add_to(*command);
  command->callback([args, command, &exit_code] {
    if (Status s = check_words(*command)) {
      exit_code = refuse(*s, args->json);
      return;
    }
    if (args->problem.block_scaled()) {
      exit_code = run_block_scaled_gemm(*args, command->count("--schedule") > 0);
      return;
    }
    const Expected<int> code = run_gemm(*args);
    if (code) {
      exit_code = *code;
      return;
    }
    // A fault that the emulated machine reports is a failure of the kernel, not of the request.
    const bool fault = code.error().code == ErrorCode::emulator || code.error().code == ErrorCode::cuda;
    exit_code = refuse(code.error(), args->json);
    if (fault) exit_code = kFail;
  });
}

}  // namespace tilewright::cli
