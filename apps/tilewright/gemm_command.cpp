#include "gemm_command.h"

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "gemm_report.h"
#include "operands.h"
#include "run_problem.h"
#include "src/device_info.h"

namespace tilewright::cli {
namespace {

struct GemmArguments {
  ProblemArguments problem;
  std::optional<double> tolerance;
  int64_t warmup_iterations = 0, iterations = 1;
  bool skip_ref_check = false, use_cold_l2 = false, json = false;
  std::string schedule = "fair", init = "normal", a_file, b_file, out, trace;
  uint64_t seed = 0;

  void add_to(CLI::App& app);
};

void GemmArguments::add_to(CLI::App& app) {
  problem.add_to(app);
  app.add_option("--tolerance", tolerance, "Also check |D - reference| <= tolerance + 1e-3 |reference|");
  app.add_option(both_spellings("warmup_iterations"), warmup_iterations,
                 "GPU: launches before the timed ones")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--iterations", iterations, "GPU: timed launches")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag(both_spellings("skip_ref_check"), skip_ref_check, "Do not check the result");
  app.add_flag(both_spellings("use_cold_l2"), use_cold_l2, "GPU: rotate over more operands than fit in L2");
  app.add_option("--schedule", schedule, "Emulated: fair, random or adversarial")->capture_default_str();
  app.add_option("--seed", seed, "Of the data and of the emulated schedule")->capture_default_str();
  app.add_option("--init", init, "normal, uniform, ones or integers")->capture_default_str();
  app.add_option(both_spellings("a_file"), a_file,
                 "A from a .npy file, (M, K) or (L, M, K); quantised if need be");
  app.add_option(both_spellings("b_file"), b_file, "B from a .npy file, (N, K) or (L, N, K)");
  app.add_option("--out", out, "Write D to a .npy file");
  app.add_option("--trace", trace, "Emulated: write the timeline (Chrome trace JSON)");
  app.add_flag("--json", json, "Print one JSON object");
}

Expected<emulator::SchedulePolicy> parse_schedule(const std::string& text) {
  using emulator::SchedulePolicy;
  if (text == "fair") return SchedulePolicy::fair;
  if (text == "random") return SchedulePolicy::random;
  if (text == "adversarial") return SchedulePolicy::adversarial;
  return Error{ErrorCode::invalid_argument, "option.schedule",
               "--schedule: '" + text + "' is not one of fair, random, adversarial"};
}

/// The machine that `automatic` means for this problem: known before the extents, whose default depends on
/// it.
Device resolve(Device asked) {
  if (asked != Device::automatic) return asked;
  Problem probe;
  probe.m = probe.n = probe.k = 128;
  const Status refused = can_run(probe, {.device = Device::gpu});
  return refused && refused->code == ErrorCode::no_device ? Device::emulator : Device::gpu;
}

std::string describe(Device device, const PlanInfo& plan) {
  if (device == Device::emulator)
    return fmt::format("emulated machine, {} multiprocessor{}", plan.sms, plan.sms == 1 ? "" : "s");
  const Expected<GpuDescription> gpu = describe_current_gpu();
  return gpu ? gpu->name : "GPU";
}

/// Everything up to the report.
Expected<GemmReport> run_gemm(const GemmArguments& args) {
  Expected<Problem> problem = args.problem.problem();
  if (!problem) return problem.error();
  Expected<Options> options = args.problem.options();
  if (!options) return options.error();
  const Expected<Init> init = parse_init(args.init);
  if (!init) return init.error();
  const Expected<emulator::SchedulePolicy> schedule = parse_schedule(args.schedule);
  if (!schedule) return schedule.error();

  const bool automatic = options->device == Device::automatic;
  options->device = resolve(options->device);
  const bool emulated = options->device == Device::emulator;
  if (!args.trace.empty() && !emulated)
    return Error{ErrorCode::invalid_argument, "option.trace",
                 "--trace: only the emulated machine has a timeline"};
  const OperandSource source{args.a_file, args.b_file, *init, args.seed};
  const bool given = !args.problem.mnkl.empty();
  Expected<Operands> operands = read_operands(*problem, given, emulated ? 512 : 4096, source);
  if (!operands) return operands.error();
  const Expected<Plan> planned = plan(operands->problem, *options);
  if (!planned) return planned.error();
  if (Status s = fill_operands(*operands, source)) return *s;

  GemmReport report;
  report.problem = operands->problem;
  report.plan = planned->info();
  report.device_name = describe(options->device, report.plan);
  if (!args.json) {
    if (emulated && automatic)
      fmt::print("No GPU that can run the kernels: running on the emulated machine.\n");
    if (emulated && !given && args.a_file.empty() && args.b_file.empty())
      fmt::print("The emulated machine's default size is 512,512,512,1 (on a GPU: 4096,4096,4096,1).\n");
    print_configuration(report.problem, report.plan, report.device_name);
  }
  const RunOptions how{
      args.warmup_iterations, args.iterations, args.use_cold_l2, *schedule, args.seed, args.trace};
  Expected<RunResult> ran =
      emulated ? run_on_emulator(*planned, *operands, how) : run_on_gpu(*planned, *operands, how);
  if (!ran) return ran.error();
  report.run = *ran;
  if (!args.skip_ref_check) {
    Expected<Verdict> verdict = judge(*operands, args.tolerance);
    if (!verdict) return verdict.error();
    report.verdict = *verdict;
  }
  if (!args.out.empty())
    if (Status s = write_d(*operands, args.out)) return *s;
  return report;
}

}  // namespace

void add_gemm_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("gemm", "Run one FP8 GEMM and check every element against FP64");
  const auto args = std::make_shared<GemmArguments>();
  args->add_to(*command);
  command->callback([args, &exit_code] {
    const Expected<GemmReport> report = run_gemm(*args);
    if (!report) {
      // A fault that the emulated machine reports is a failure of the kernel, not of the request.
      const bool fault = report.error().code == ErrorCode::emulator || report.error().code == ErrorCode::cuda;
      exit_code = refuse(report.error(), args->json);
      if (fault) exit_code = kFail;
      return;
    }
    if (args->json) {
      fmt::print("{}\n", to_json(*report).dump());
    } else {
      print_result(*report);
    }
    exit_code = report->passed() ? kPass : kFail;
  });
}

}  // namespace tilewright::cli
