#include "block_scaled_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "block_scaled_operands.h"
#include "run_block_scaled.h"
#include "src/block_scale_gemm.h"
#include "src/device_info.h"
#include "src/model.h"

namespace tilewright::cli {
namespace {

/// One K with one kind of accumulators.
struct Entry {
  Problem problem;
  PlanInfo plan;
  RunResult run;
  std::optional<BlockScaledVerdict> verdict;  // none with --skip_ref_check

  bool passed() const { return !verdict || verdict->passed(); }
  bool multiplied() const { return plan.launches > 0 && factors_of(problem).reads_ab(); }
  std::optional<double> tflops() const {
    if (!multiplied() || !run.time_us || *run.time_us <= 0) return {};
    const Problem& p = problem;
    return 2e-6 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
           static_cast<double>(p.l) / *run.time_us;
  }
};

struct Request {
  Problem problem;
  Options options;
  std::vector<int64_t> ks;
  std::vector<bool> overlaps;
  BlockInit init = BlockInit::moderate;
  bool defaults = false;
  bool several_types = false;
};

Error bad(const char* option, const std::string& message) {
  return {ErrorCode::invalid_argument, std::string("option.") + option,
          "--" + std::string(option) + ": " + message};
}

// Of operands on either machine.
constexpr int kBaseAlignment = 128;

// Plans some product of these formats: what a machine and its chip have, whatever else is asked for.
Expected<Plan> probe(const Problem& problem, Device device, Chip chip) {
  const auto operand = [](const Operand& of, Layout layout) {
    return Operand{.type = of.type, .layout = layout, .alignment = kBaseAlignment, .block = of.block};
  };
  Problem any{.m = 256, .n = 256, .k = 256};
  any.a = operand(problem.a, Layout::row_major);
  any.b = operand(problem.b, Layout::column_major);
  return plan(any, {.device = device, .chip = chip});
}

// PlanInfo::path of such products; empty when there are none.
std::string path_of(const Problem& problem, Device device, Chip chip) {
  const Expected<Plan> planned = probe(problem, device, chip);
  return planned ? planned->info().path : "";
}

// The current GPU if it can run these kernels.
Device resolve(const Options& options, const Problem& problem) {
  if (options.device != Device::automatic) return options.device;
  const Expected<Plan> planned = probe(problem, Device::gpu, options.chip);
  return !planned && planned.error().code == ErrorCode::no_device ? Device::emulator : Device::gpu;
}

// Accumulators overlap in tensor memory; where there is none, nothing may be asked of them.
Status check_overlap_given(const ProblemArguments& arguments, const Problem& problem, Device device,
                           Chip chip) {
  if (!arguments.given("--overlap")) return {};
  const std::string path = path_of(problem, device, chip);
  if (path.empty() || path == "tcgen05") return {};
  return bad("overlap",
             "'" + arguments.overlap +
                 "' is about accumulators in tensor memory, which sm_90a does not have; leave it out");
}

// 'both' compares times.
Status check_overlaps(const Request& request, const BlockScaledRequest& asked) {
  const bool emulated = request.options.device == Device::emulator;
  if (request.overlaps.size() > 1 && emulated && asked.schedule_given &&
      asked.run.schedule != emulator::SchedulePolicy::timed)
    return bad("overlap", "'both' compares modelled times: it needs --schedule timed");
  return {};
}

// What extents are when nothing says them.
void set_default_extents(const ProblemArguments& arguments, Device device, Problem& p,
                         std::vector<int64_t>& ks) {
  const bool emulated = device == Device::emulator;
  if (!arguments.extent_given('m')) p.m = emulated ? 512 : 8192;
  if (!arguments.extent_given('n')) p.n = emulated ? 512 : 8192;
  ks = arguments.k_values();
  if (!ks.empty()) return;
  ks = emulated ? std::vector<int64_t>{512} : std::vector<int64_t>{512, 1024, 2048, 4096, 8192};
}

Expected<Request> resolve_request(const ProblemArguments& arguments, const BlockScaledRequest& asked) {
  Request request;
  const Expected<Problem> problem = arguments.problem();
  if (!problem) return problem.error();
  request.problem = *problem;
  request.problem.a.alignment = request.problem.b.alignment = kBaseAlignment;
  const Expected<Options> options = arguments.options();
  if (!options) return options.error();
  request.options = *options;
  request.options.device = resolve(*options, *problem);
  const bool emulated = request.options.device == Device::emulator;
  if (Status s = check_machine_options(arguments, emulated)) return *s;
  if (asked.init == "full_range") request.init = BlockInit::full_range;
  if (!asked.init.empty() && asked.init != "full_range" && asked.init != "moderate")
    return bad("init", "'" + asked.init + "' is not one of moderate, full_range");
  const Expected<std::vector<bool>> overlaps = arguments.overlaps();
  if (!overlaps) return overlaps.error();
  request.overlaps = *overlaps;
  if (Status s = check_overlap_given(arguments, *problem, request.options.device, options->chip)) return *s;
  if (Status s = check_overlaps(request, asked)) return *s;
  request.defaults = !arguments.extents_given();
  set_default_extents(arguments, request.options.device, request.problem, request.ks);
  return request;
}

std::string label_of(const Problem& p) {
  return fmt::format("{}-{}", name_of(*p.a.block), name_of(*p.b.block));
}

// "t.json" as "t.K512.on.json" or "t.mxfp8-mxfp8.K512.on.json" where a command makes several timelines.
std::string trace_name(const std::string& file, const Request& request, int64_t k, bool overlap) {
  const bool several = request.ks.size() * request.overlaps.size() > 1 || request.several_types;
  if (file.empty() || !several) return file;
  const size_t slash = file.rfind('/'), dot = file.rfind('.');
  const bool extension = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const size_t at = extension ? dot : file.size();
  return file.substr(0, at) + (request.several_types ? "." + label_of(request.problem) : "") +
         fmt::format(".K{}.{}", k, overlap ? "on" : "off") + file.substr(at);
}

Expected<Entry> run_entry(const Request& request, const BlockScaledRequest& asked, int64_t k, bool overlap) {
  Problem problem = request.problem;
  problem.k = k;
  Options options = request.options;
  options.overlap = overlap;
  // Whatever is wrong with the problem is said before its operands are made.
  if (Status refused = can_run(problem, options)) return *refused;
  Expected<BlockScaledOperands> operands = BlockScaledOperands::make(problem, request.init, asked.run.seed);
  if (!operands) return operands.error();
  const Expected<Plan> planned = plan(operands->problem, options);
  if (!planned) return planned.error();
  RunOptions how = asked.run;
  how.trace_file = trace_name(asked.run.trace_file, request, k, overlap);
  Entry entry{problem, planned->info(), {}, {}};
  const Expected<RunResult> ran = run_block_scaled(*planned, *operands, how, !asked.skip_ref_check);
  if (!ran) return ran.error();
  entry.run = *ran;
  if (asked.skip_ref_check) return entry;
  const Expected<BlockScaledVerdict> verdict = operands->judge(entry.plan, asked.tolerance);
  if (!verdict) return verdict.error();
  entry.verdict = *verdict;
  return entry;
}

std::string device_name(const PlanInfo& plan) {
  if (plan.device == Device::emulator)
    return fmt::format("emulated machine as {}, {} multiprocessors",
                       plan.path == "tcgen05" ? "sm_100a" : "sm_90a", plan.sms);
  const Expected<GpuDescription> gpu = describe_current_gpu();
  return gpu ? gpu->name : "GPU";
}

void print_configuration(const Problem& p, const PlanInfo& plan) {
  const auto operand = [](BlockFormat f) {
    return fmt::format("{} ({}, an {} scale for {})", name_of(f), name_of(element_type(f)),
                       name_of(scale_type(f)), scale_vector(f));
  };
  fmt::print("device: {}\n", device_name(plan));
  fmt::print("mnkl: {},{},{},{}\n", p.m, p.n, p.k, p.l);
  fmt::print("A: {}, B: {}, D: {} row-major{}\n", operand(*p.a.block), operand(*p.b.block),
             long_name_of(p.d.type), p.beta == 0 ? "" : fmt::format(", C: {}", long_name_of(p.c.type)));
  fmt::print("alpha: {}, beta: {}, scale_a: {}, scale_b: {}, scale_d: {}\n", p.alpha, p.beta, p.scale_a,
             p.scale_b, p.scale_d);
  fmt::print("path: {}, {}\n", plan.path, plan.why);
  fmt::print(
      "tile: {}x{}x{}, cluster: {}x{}, stages: {}, scheduler: {}, grid: {} CTAs for {} tiles, {} bytes of "
      "shared memory "
      "each, {} stores\n",
      plan.tile.m, plan.tile.n, plan.tile_k, plan.cluster.m, plan.cluster.n, plan.stages,
      scheduler_word(plan.scheduler), plan.grid_ctas, plan.tiles, plan.shared_bytes,
      plan.tma_store ? "TMA" : "plain");
  if (plan.workspace_bytes > 0)
    fmt::print("workspace: {} bytes, kernels of a run: {}\n", plan.workspace_bytes, plan.launches);
}

const char* product_name(const PlanInfo& plan) { return plan.path == "tcgen05" ? "tcgen05.mma" : "wgmma"; }
uint64_t products_of(const Entry& e) {
  using emulator::Op;
  return e.run.statistics->count(e.plan.path == "tcgen05" ? Op::tcgen05_mma : Op::wgmma);
}

constexpr const char* kUnmodelled = "block-scaled products have none here";

std::string nothing_computed(const Entry& e) {
  if (e.plan.launches == 0) return "D is empty: nothing is computed";
  return e.multiplied() ? "" : "K or a factor is 0: nothing is multiplied";
}

void print_entry(const Entry& e) {
  print_configuration(e.problem, e.plan);
  if (e.run.time_us) {
    fmt::print("{}: {:.2f} us{}\n", e.plan.device == Device::gpu ? "time" : "modelled time", *e.run.time_us,
               e.tflops() ? fmt::format(", {:.1f} TFLOPS", *e.tflops()) : "");
  }
  if (e.run.statistics)
    fmt::print("emulated in {:.2f} s: {} {}, {} clusters{}\n", e.run.host_seconds, products_of(e),
               product_name(e.plan), e.run.statistics->clusters,
               e.run.statistics->clusters_canceled == 0
                   ? ""
                   : fmt::format(" (and {} that they took over)", e.run.statistics->clusters_canceled));
  if (const std::string why = nothing_computed(e); !why.empty()) fmt::print("{}\n", why);
  if (!e.verdict) return fmt::print("not checked\n");
  const Comparison& c = e.verdict->comparison;
  fmt::print("relative error against FP64: {:.3e}; worst element at {:.3f} of its theoretical bound\n",
             c.relative_error, c.worst_ratio);
  print_comparison("D", c);
  if (e.verdict->tolerance) print_tolerance(*e.verdict->tolerance);
  fmt::print("not compared with the model of the tensor core: {}\n", kUnmodelled);
  fmt::print("{}\n", e.passed() ? "PASS" : "FAIL");
}

void print_table_head(const Request& request, const PlanInfo& plan) {
  fmt::print("{}; M {}, N {}; TFLOPS, {}\n", device_name(plan), request.problem.m, request.problem.n,
             plan.device == Device::gpu ? "from a captured graph" : "modelled");
  fmt::print("{:<14} {:>7} {:>9} {:>9} {:>9}\n", "format", "K", "off", "on", "speedup");
}

void print_table_row(const Entry& off, const Entry& on) {
  const auto speed = [](const Entry& e) { return e.tflops() ? fmt::format("{:.1f}", *e.tflops()) : "-"; };
  const std::string speedup =
      off.tflops() && on.tflops() ? fmt::format("{:.2f}%", 100 * (*on.tflops() / *off.tflops() - 1)) : "-";
  const auto note = [](const std::string& words) { return words.empty() ? words : "  " + words; };
  // Of the problem alone: the same for both.
  const std::string unbounded = off.verdict ? unbounded_words(off.verdict->comparison) : "";
  fmt::print("{:<14} {:>7} {:>9} {:>9} {:>9}{}{}{}\n", label_of(off.problem), off.problem.k, speed(off),
             speed(on), speedup, note(nothing_computed(off)), note(unbounded),
             off.passed() && on.passed() ? "" : "  FAIL");
}

nlohmann::json to_json(const Entry& e) {
  nlohmann::json out{{"pass", e.passed()},
                     {"checked", e.verdict.has_value()},
                     {"device", e.plan.device == Device::gpu ? "gpu" : "emulator"},
                     {"kernel", e.plan.kernel},
                     {"path", e.plan.path},
                     {"m", e.problem.m},
                     {"n", e.problem.n},
                     {"k", e.problem.k},
                     {"l", e.problem.l},
                     {"a", name_of(*e.problem.a.block)},
                     {"b", name_of(*e.problem.b.block)},
                     {"d_type", name_of(e.problem.d.type)},
                     {"overlap", e.plan.overlap},
                     {"scheduler", scheduler_word(e.plan.scheduler)},
                     {"sms", e.plan.sms},
                     {"grid_ctas", e.plan.grid_ctas},
                     {"tma_store", e.plan.tma_store},
                     {"launches", e.plan.launches},
                     {"workspace_bytes", e.plan.workspace_bytes}};
  const auto optional = [](const std::optional<double>& v) {
    return v ? nlohmann::json(*v) : nlohmann::json();
  };
  out["time_us"] = optional(e.run.time_us);
  out["tflops"] = optional(e.tflops());
  out["modelled"] = e.plan.device == Device::emulator;
  if (e.verdict) {
    const Comparison& c = e.verdict->comparison;
    out["rel_error"] = c.relative_error;
    out["worst_ratio"] = c.worst_ratio;
    out["failures"] = c.failures;
    out["unbounded"] = c.unbounded;
    if (!c.passed()) out["first_failure"] = first_failure(c);
    if (e.verdict->tolerance) out["tolerance"] = to_json(*e.verdict->tolerance);
    out["model_elements"] = 0;
    out["model_why_not"] = kUnmodelled;
  }
  if (e.run.statistics) {
    out[e.plan.path == "tcgen05" ? "tcgen05_mma" : "wgmma"] = products_of(e);
    out["clusters"] = e.run.statistics->clusters;
    out["clusters_canceled"] = e.run.statistics->clusters_canceled;
  }
  return out;
}

int refused(const Error& error, bool json) {
  // A fault that the machine reports is a failure of the kernel, not of the request.
  const bool fault = error.code == ErrorCode::emulator || error.code == ErrorCode::cuda;
  const int code = refuse(error, json);
  return fault ? kFail : code;
}

}  // namespace

int gemm_block_scaled(const ProblemArguments& arguments, const BlockScaledRequest& given) {
  BlockScaledRequest asked = given;
  if (!asked.schedule_given) asked.run.schedule = emulator::SchedulePolicy::timed;
  const Expected<std::vector<ProblemArguments>> types = arguments.by_dtype();
  if (!types) return refused(types.error(), asked.json);
  std::vector<Request> requests;
  for (const ProblemArguments& type : *types) {
    const Expected<Request> request = resolve_request(type, asked);
    if (!request) return refused(request.error(), asked.json);
    requests.push_back(*request);
    requests.back().several_types = types->size() > 1;
  }
  const Request& first = requests.front();
  const bool table = first.overlaps.size() > 1;
  if (!asked.json && first.options.device == Device::emulator && first.defaults)
    fmt::print(
        "The emulated machine's default size is 512,512,512,1 (on a GPU: 8192,8192 and K 512 to 8192).\n");
  nlohmann::json runs = nlohmann::json::array();
  bool passed = true, headed = false;
  for (const Request& request : requests)
    for (const int64_t k : request.ks) {
      std::vector<Entry> entries;
      for (const bool overlap : request.overlaps) {
        const Expected<Entry> entry = run_entry(request, asked, k, overlap);
        if (!entry) return refused(entry.error(), asked.json);
        passed = passed && entry->passed();
        if (asked.json) {
          runs.push_back(to_json(*entry));
        } else if (!table) {
          print_entry(*entry);
        }
        entries.push_back(*entry);
      }
      if (asked.json || !table) continue;
      if (!headed) print_table_head(request, entries[0].plan);
      headed = true;
      print_table_row(entries[0], entries[1]);
    }
  if (asked.json) {
    fmt::print("{}\n", json_text({{"pass", passed}, {"runs", runs}}));
  } else if (table) {
    fmt::print("{}\n", asked.skip_ref_check ? "not checked" : passed ? "PASS" : "FAIL");
  }
  return passed ? kPass : kFail;
}

int explain_block_scaled(const ProblemArguments& arguments) {
  const Expected<Problem> problem = arguments.problem();
  if (!problem) return refuse(problem.error(), false);
  const Expected<Options> options = arguments.options();
  if (!options) return refuse(options.error(), false);
  const Expected<std::vector<bool>> overlaps = arguments.overlaps();
  if (!overlaps) return refuse(overlaps.error(), false);
  // Of the chip that is named, else of the one that has tensor memory: whatever GPU is here.
  if (Status s = check_overlap_given(arguments, *problem, Device::emulator, options->chip))
    return refuse(*s, false);
  if (path_of(*problem, Device::emulator, options->chip) == "tcgen05") {
    for (const bool overlap : *overlaps)
      fmt::print("on sm_100a: {}\n",
                 draw_tmem(kernels::block_scaled_tmem_shape(*problem->a.block, *problem->b.block, overlap)));
  }
  if (!arguments.extents_given()) {
    fmt::print("Every rule that a block-scaled problem must meet:\n");
    for (const BlockScaledRule& rule : block_scaled_rules())
      fmt::print("  {:<30} {}\n", rule.name, rule.requirement);
    return kPass;
  }
  Problem sized = *problem;
  sized.a.alignment = sized.b.alignment = kBaseAlignment;
  std::vector<int64_t> ks;
  set_default_extents(arguments, resolve(*options, *problem), sized, ks);
  for (const int64_t k : ks) {
    sized.k = k;
    Options with = *options;
    with.overlap = overlaps->back();
    const Expected<Plan> planned = plan(sized, with);
    if (!planned) {
      fmt::print("cannot run: {}\nrule: {}\n", planned.error().message, planned.error().rule);
      return kRefused;
    }
    print_configuration(sized, planned->info());
  }
  return kPass;
}

}  // namespace tilewright::cli
