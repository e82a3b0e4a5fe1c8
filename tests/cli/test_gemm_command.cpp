#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cli/program.h"

namespace tilewright::testing {
namespace {

TEST(GemmCommand, default_problem_passes_and_says_what_ran) {
  const Output o = gemm("");
  ASSERT_EQ(o.exit_code, 0) << o.err << o.out;
  const nlohmann::json j = o.json();
  EXPECT_EQ(j["pass"], true);
  EXPECT_EQ(j["m"], 512);
  EXPECT_EQ(j["l"], 1);
  EXPECT_EQ(j["path"], "wgmma");
  EXPECT_EQ(j["device"], "emulator");
  EXPECT_EQ(j["promotions"], 4);  // 512 / (32 * 4)
  EXPECT_LT(j["rel_error"], j["error_bound"]);
  EXPECT_TRUE(j["time_us"].is_null());
  EXPECT_TRUE(j["tflops"].is_null());
  EXPECT_EQ(j["wgmma"], 512 / 64 * (512 / j["tile"][1].get<int>()) * (512 / 32));
  EXPECT_GE(j["tiles"].get<int>(), 3 * j["grid_ctas"].get<int>());  // persistence is exercised
}

TEST(GemmCommand, text_output_ends_with_the_verdict) {
  const Output o = run_program("gemm --device emulator --mnkl 128,128,128,1");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_NE(o.out.find("path: wgmma, fp8_"), std::string::npos);
  EXPECT_EQ(o.out.substr(o.out.size() - 5), "PASS\n");
}

TEST(GemmCommand, takes_underscores_and_dashes) {
  for (const char* spelling :
       {"--tile_shape_mn 128,128 --cluster_shape_mn 1,2 --swizzle_size 3 --raster_order along_m",
        "--tile-shape-mn 128x128 --cluster-shape-mn 1x2 --swizzle-size 3 --raster-order along_m"}) {
    const nlohmann::json j = gemm(std::string("--mnkl 384,640,256,1 ") + spelling).json();
    EXPECT_EQ(j["pass"], true);
    EXPECT_EQ(j["tile"], nlohmann::json({128, 128}));
    EXPECT_EQ(j["cluster"], nlohmann::json({1, 2}));
    EXPECT_EQ(j["raster"], "along_m");
    EXPECT_EQ(j["swizzle"], 3);
  }
}

TEST(GemmCommand, passes_every_output_type_and_factor) {
  for (const char* type : {"Float16", "Float32", "BFloat16", "Float8E4M3FN", "Float8E5M2"}) {
    const Output o =
        gemm(std::string("--mnkl 200,136,300,2 --alpha 0.5 --scale_a 2 --scale_b 0.25 --beta -1 --c_dtype ") +
             type);
    EXPECT_EQ(o.exit_code, 0) << type << o.out << o.err;
  }
}

TEST(GemmCommand, passes_both_layouts_types_and_schedules) {
  EXPECT_EQ(
      gemm("--mnkl 200,136,256,1 --d_layout column --dtype e5m2:e4m3 --schedule random --seed 3").exit_code,
      0);
  EXPECT_EQ(gemm("--mnkl 128,320,256,1 --dtype e5m2 --schedule adversarial --seed 4").exit_code, 0);
}

TEST(GemmCommand, passes_with_scales_of_rows_and_columns_and_of_blocks) {
  const Output blocks = gemm("--dtype fp8-1x128 --mnkl 200,300,400,2 --c_dtype BFloat16 --alpha 0.5");
  ASSERT_EQ(blocks.exit_code, 0) << blocks.err << blocks.out;
  EXPECT_EQ(blocks.json()["scale_mode"], "block");
  EXPECT_NE(blocks.json()["kernel"].get<std::string>().find("_blocks"), std::string::npos);
  EXPECT_EQ(blocks.json()["error_bound"].is_null(), false);
  EXPECT_EQ(gemm("--dtype e4m3 --scale_mode block --mnkl 70,136,130,1 --d_layout column").exit_code, 0);
  const Output vectors = gemm("--scale-mode row_column --mnkl 200,300,400,1 --c_dtype Float32 --beta 2");
  ASSERT_EQ(vectors.exit_code, 0) << vectors.err << vectors.out;
  EXPECT_EQ(vectors.json()["scale_mode"], "row_column");
  EXPECT_EQ(gemm("--mnkl 64,64,64,1").json()["scale_mode"], "tensor");
  EXPECT_EQ(gemm("--dtype fp8-1x128 --scale_mode tensor --mnkl 64,64,64,1").exit_code, 2);
  EXPECT_EQ(gemm("--dtype e5m2 --scale_mode block --mnkl 64,64,64,1").exit_code, 2);
}

TEST(GemmCommand, answers_empty_problems) {
  EXPECT_EQ(gemm("--mnkl 0,64,64,1").exit_code, 0);
  EXPECT_EQ(gemm("--mnkl 64,64,64,0").exit_code, 0);
  const nlohmann::json no_k = gemm("--mnkl 64,64,0,1 --beta 2").json();
  EXPECT_EQ(no_k["pass"], true);
  EXPECT_EQ(no_k["promotions"], 0);
}

TEST(GemmCommand, tolerance_adds_to_the_bound_and_never_replaces_it) {
  // Fast accumulation of positive numbers loses several percent at this K: inside its own wide bound, outside
  // 1e-3.
  const std::string fast = "--mnkl 64,64,8192,1 --init uniform --accumulation fast ";
  EXPECT_EQ(gemm(fast).json()["pass"], true);
  const Output o = gemm(fast + "--tolerance 0.1");
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.json()["failures"], 0);
  const nlohmann::json outside = o.json()["tolerance"];
  EXPECT_GT(outside["failures"], 0);
  const double got = outside["first_failure"]["got"], want = outside["first_failure"]["reference"];
  EXPECT_GT(std::abs(got - want), outside["first_failure"]["bound"]);
  EXPECT_LT(got, want);
  EXPECT_EQ(gemm("--mnkl 64,64,8192,1 --init uniform --tolerance 0.1").json()["pass"], true);
}

TEST(GemmCommand, skipping_the_check_is_visible) {
  const nlohmann::json j = gemm("--mnkl 64,64,64,1 --skip_ref_check").json();
  EXPECT_EQ(j["checked"], false);
  EXPECT_TRUE(j["rel_error"].is_null());
}

TEST(GemmCommand, bad_words_are_refused_by_name) {
  expect_refused(gemm("--mnkl 1,2,3"), "option.mnkl", "'1,2,3' is not 4 integers");
  expect_refused(gemm("--mnkl 1,2,x,1"), "option.mnkl", "1,2,x,1");
  expect_refused(gemm("--mnkl 99999999999999999999,1,1,1"), "option.mnkl", "4 integers");
  expect_refused(gemm("--tile_shape_mn 128"), "option.tile_shape_mn", "128");
  expect_refused(gemm("--dtype fp7"), "dtype.name", "fp7");
  expect_refused(gemm("--accumulation slow"), "option.accumulation", "promoted, fast");
  expect_refused(gemm("--schedule lazy"), "option.schedule", "lazy");
  expect_refused(gemm("--raster_order along_k"), "option.raster_order", "along_k");
  expect_refused(gemm("--arch sm_80"), "option.arch", "sm_90a");
  EXPECT_EQ(run_program("gemm --no_such_option").exit_code, 2);
  EXPECT_EQ(run_program("").exit_code, 2);
  EXPECT_EQ(run_program("--help").exit_code, 0);
}

TEST(GemmCommand, what_cannot_run_is_refused_with_its_rule) {
  expect_refused(gemm("--mnkl -1,64,64,1"), "extent.range", "m: -1");
  expect_refused(gemm("--mnkl 3000000000,64,64,1"), "extent.range", "2147483647");
  expect_refused(gemm("--mma_promotion_interval 6"), "interval.value", "4 or 8");
  expect_refused(gemm("--tile_shape_mn 100,100"), "tile.built", "nearest legal: 128x128");
  expect_refused(gemm("--cluster_shape_mn 3,1"), "cluster.shape", "nearest legal: 2x1");
  expect_refused(gemm("--swizzle_size 0"), "swizzle.value", "nearest legal: 1");
  expect_refused(gemm("--stages 99"), "stages.value", "stages: 99");
  expect_refused(gemm("--sms 0"), "sms.value", "max_sms: 0");
  expect_refused(gemm("--c_dtype Int32"), "type.d", "s32");
  expect_refused(gemm("--dtype s32"), "type.ab", "s32");
}

/// The spans of each track of a timeline by its name, "CTA 0 (block 0,0,0) | TMA loads", by time.
using Spans = std::vector<std::tuple<double, double, std::string>>;
std::map<std::string, Spans> tracks_of(const std::string& path) {
  std::ifstream file(path);
  const nlohmann::json events = nlohmann::json::parse(file, nullptr, false)["traceEvents"];
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  std::map<std::pair<int, int>, Spans> spans;
  for (const nlohmann::json& e : events) {
    const std::pair track{e.at("pid").get<int>(), e.at("tid").get<int>()};
    if (e.at("name") == "process_name") processes[track.first] = e["args"]["name"];
    if (e.at("name") == "thread_name") threads[track] = e["args"]["name"];
    if (e.at("ph") == "X")
      spans[track].emplace_back(e["ts"], e["ts"].get<double>() + e["dur"].get<double>(), e["name"]);
  }
  std::map<std::string, Spans> tracks;
  for (auto& [track, list] : spans) {
    std::sort(list.begin(), list.end());
    tracks[processes.at(track.first) + " | " + threads.at(track)] = std::move(list);
  }
  return tracks;
}

void expect_no_overlap(const std::map<std::string, Spans>& tracks) {
  for (const auto& [name, spans] : tracks)
    for (size_t i = 1; i < spans.size(); ++i)
      EXPECT_LE(std::get<1>(spans[i - 1]), std::get<0>(spans[i]) + 2e-6)
          << name << ": " << std::get<2>(spans[i - 1]) << ", " << std::get<2>(spans[i]);
}

size_t count(const std::map<std::string, Spans>& tracks, const std::string& part) {
  size_t found = 0;
  for (const auto& [name, spans] : tracks)
    for (const auto& span : spans) found += std::get<2>(span).find(part) != std::string::npos;
  return found;
}

TEST(GemmCommand, writes_a_timeline) {
  const Folder folder;
  const std::string trace = folder.file("trace.json");
  for (const char* schedule : {"fair", "timed", "adversarial --seed 4"}) {
    const Output o = gemm("--mnkl 128,64,1024,1 --sms 2 --tile_shape_mn 64,64 --trace " + trace +
                          " --schedule " + schedule);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto tracks = tracks_of(trace);
    expect_no_overlap(tracks);
    for (const char* name :
         {"CTA 0 (block 0,0,0) | TMA loads", "CTA 1 (block 1,0,0) | TMA stores",
          "CTA 0 (block 0,0,0) | tensor core, warpgroup 0", "CTA 0 (block 0,0,0) | warp 0 consumer"})
      EXPECT_TRUE(tracks.contains(name)) << name;
    EXPECT_EQ(count(tracks, "wgmma A["), o.json()["wgmma"].get<size_t>());
    EXPECT_EQ(count(tracks, "wgmma A[2] x B[2]"), 8u);
    EXPECT_EQ(count(tracks, "load A["), 16u);
    EXPECT_GT(count(tracks, "wait full["), 0u);
  }
  EXPECT_EQ(gemm("--mnkl 64,64,64,1 --trace " + folder.file("no/such/folder")).exit_code, 2);
}

TEST(GemmCommand, timelines_show_plain_stores_copies_and_every_kernel_of_a_run) {
  const Folder folder;
  const std::string trace = folder.file("trace.json");
  ASSERT_EQ(gemm("--mnk 100,70,128 --trace " + trace).exit_code, 0);
  auto tracks = tracks_of(trace);
  expect_no_overlap(tracks);
  EXPECT_GT(count(tracks, "store D"), 0u);
  ASSERT_EQ(gemm("--dtype f32 --mnk 64,64,64 --pipeline async --schedule timed --trace " + trace).exit_code,
            0);
  tracks = tracks_of(trace);
  expect_no_overlap(tracks);
  EXPECT_GT(count(tracks, "cp.async A["), 0u);
  EXPECT_GT(count(tracks, "store D"), 0u);
  const Output cut = gemm("--dtype f32 --mnk 32,64,128 --splits 2 --schedule timed --trace " + trace);
  ASSERT_EQ(cut.json()["launches"], 2) << cut.err;
  tracks = tracks_of(trace);
  expect_no_overlap(tracks);
  double end_of_first = 0, begin_of_second = 1e300;
  for (const auto& [name, spans] : tracks) {
    if (name.starts_with("launch 1, ")) end_of_first = std::max(end_of_first, std::get<1>(spans.back()));
    if (name.starts_with("launch 2, "))
      begin_of_second = std::min(begin_of_second, std::get<0>(spans.front()));
  }
  EXPECT_GT(count(tracks, "store workspace"), 0u);
  EXPECT_GT(end_of_first, 0);
  EXPECT_LE(end_of_first, begin_of_second);
  // The modelled time is that of both.
  double end = 0;
  for (const auto& [name, spans] : tracks) end = std::max(end, std::get<1>(spans.back()));
  EXPECT_GE(cut.json()["time_us"].get<double>(), end - 1e-3);
  EXPECT_LT(cut.json()["time_us"].get<double>(), end + 1);
}

TEST(GemmCommand, draws_a_timeline) {
  const Folder folder;
  const std::string trace = folder.file("trace.svg");
  ASSERT_EQ(gemm("--mnk 64,64,256 --schedule timed --trace " + trace).exit_code, 0);
  std::ifstream file(trace);
  const std::string svg(std::istreambuf_iterator<char>(file), {});
  for (const char* part :
       {"<svg ", "width=\"1200\"", ">CTA 0 (block 0,0,0)<", ">TMA loads<", ">tensor core, warpgroup 0<",
        "wgmma A[0] x B[0]: ", "modelled time in ns", "</svg>"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

TEST(GemmCommand, compares_a_sample_with_the_model_of_the_tensor_core) {
  for (const char* arguments :
       {"--mnkl 200,300,520,2 --c_dtype Float32", "--mnk 130,70,96 --accumulation fast --d_layout column",
        "--mnk 128,128,640 --tile_shape_mn 128,128 --mma_promotion_interval 1 --beta 0.5 --alpha -2 "
        "--scale_d 0.25",
        "--dtype fp8-1x128 --mnkl 70,300,400,2",
        "--scale_mode row_column --mnk 70,140,256 --c_dtype BFloat16",
        "--mnk 96,96,256 --c_dtype Float8E4M3FN --bias column --activation relu --scale_d 3 --amax --aux",
        "--dtype bf16 --mnk 130,260,96", "--dtype s8 --c_dtype f32 --alpha 0.125 --mnk 64,128,96",
        "--dtype tf32 --mnk 64,72,96", "--mnk 64,64,0 --beta 2", "--mnk 3,2,32"}) {
    const Output o = gemm(arguments);
    ASSERT_EQ(o.exit_code, 0) << arguments << o.err << o.out;
    const nlohmann::json j = o.json();
    EXPECT_GE(j["model_elements"], j["m"].get<int>() < 20 ? 6 : 400) << arguments;
    EXPECT_EQ(j["model_mismatches"], 0) << arguments;
    EXPECT_FALSE(j.contains("model_why_not")) << arguments;
  }
  const Output other = gemm("--dtype f32");
  EXPECT_EQ(other.json()["model_elements"], 0);
  EXPECT_NE(other.json()["model_why_not"].get<std::string>().find("simt"), std::string::npos);
  const Output gelu = run_program("gemm --device emulator --mnk 64,64,64 --activation gelu");
  EXPECT_NE(gelu.out.find("not compared with the model of the tensor core: GELU"), std::string::npos);
  const Output aux = gemm("--mnk 64,64,64 --activation gelu --aux");
  EXPECT_EQ(aux.json()["model_elements"], 400) << aux.out;
}

// Without the last 32 of K, or of nothing at all, D is within a bound that allows for what sums of this
// length may lose; only the model tells.
TEST(GemmCommand, what_the_bound_allows_the_model_finds) {
  const std::string problem = "--mnk 64,64,4096 --init normal --tile_shape_mn 64,64 ";
  const Output whole = gemm(problem);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  for (const char* fault :
       {"--fault skip:wgmma,nth=127", "--accumulation fast --fault skip:wgmma,from_nth=1"}) {
    const Output o = gemm(problem + fault);
    EXPECT_EQ(o.exit_code, 1) << fault << o.err;
    ASSERT_TRUE(o.json().is_object()) << o.err;
    EXPECT_EQ(o.json()["failures"], 0) << fault;
    EXPECT_GT(o.json()["model_mismatches"], 0) << fault;
    EXPECT_EQ(o.json()["pass"], false);
  }
  const Output text = run_program("gemm --device emulator --fault skip:wgmma,nth=127 " + problem);
  EXPECT_NE(text.out.find("sampled elements differ; the first is D["), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("The bound is"), std::string::npos) << text.out;
}

TEST(GemmCommand, plants_a_fault_and_prints_what_the_machine_reports) {
  const std::string problem = "--mnk 64,64,256 --tile_shape_mn 64,64 ";
  const auto with = [&](const std::string& fault) { return gemm(problem + "--fault " + fault); };
  const Output skipped = with("skip:mbarrier_wait:full:consumer");
  EXPECT_EQ(skipped.exit_code, 1);
  EXPECT_NE(skipped.err.find("wgmma operand A reads A[0] + 0"), std::string::npos) << skipped.err;
  EXPECT_EQ(skipped.json()["error"]["rule"], "uninitialised_read");
  const Output later = with("skip:mbarrier_wait:full:consumer,stage=1,thread=0");
  EXPECT_EQ(later.exit_code, 1);
  EXPECT_NE(later.err.find("A[1] + 0"), std::string::npos) << later.err;
  EXPECT_EQ(with("add:mbarrier_arrive_expect_tx:full:producer,value=16,nth=0").json()["error"]["rule"],
            "deadlock");
  EXPECT_EQ(gemm("--dtype nvfp4 --mnk 64,64,128 --fault skip:mbarrier_wait:full:mma").exit_code, 1);
  expect_refused(with("jump:wgmma"), "option.fault", "skip, flip_parity, add, replace");
  expect_refused(with("skip:wgmna"), "option.fault", "wgmma_wait");
  expect_refused(with("skip"), "option.fault", "ACTION:OP");
  expect_refused(with("skip:wgmma,stag=1"), "option.fault", "stage, cta, thread");
  expect_refused(with("skip:wgmma,stage=x"), "option.fault", "'x' is not an integer");
  expect_refused(with("skip:wgmma,stage=-1"), "option.fault", "0..1000000000");
  expect_refused(with("skip:mbarrier_wait:fill"), "option.fault", "no operation of this kernel meets it");
}

TEST(GemmCommand, options_that_would_do_nothing_are_refused) {
  expect_refused(gemm("--dtype f16 --mnk 64,64,64 --accumulation fast"), "option.accumulation", "FP8");
  expect_refused(gemm("--dtype f16 --mnk 64,64,64 --mma-promotion-interval 3"),
                 "option.mma_promotion_interval", "FP8");
  expect_refused(gemm("--mnk 64,64,64 --accumulation fast --mma_promotion_interval 4"),
                 "option.mma_promotion_interval", "promotes nothing");
  EXPECT_NE(run_program("bench --suite all --shapes 64x64x64").err.find("--suite excludes --shapes"),
            std::string::npos);
  EXPECT_NE(run_program("bench --dtype bf16 --promoted_only").err.find("bf16 has no fast accumulation"),
            std::string::npos);
  expect_refused(gemm("--mnk 64,64,64 --overlap both"), "option.overlap", "block-scaled");
  expect_refused(gemm("--mnk 64,64,64 --use_cold_l2"), "option.use_cold_l2", "only a GPU");
  expect_refused(gemm("--mnk 64,64,64 --iterations 3"), "option.iterations", "only a GPU");
  expect_refused(gemm("--dtype mxfp8 --mnk 64,64,128 --iterations 3"), "option.iterations", "only a GPU");
  // Where no machine was asked for, the command may be one for the other.
  const Output either = run_program("gemm --json --mnk 64,64,64 --use_cold_l2");
  EXPECT_EQ(either.exit_code, 0) << either.err;
  EXPECT_EQ(either.err.find("--use_cold_l2 is ignored") != std::string::npos,
            either.json()["device"] == "emulator");
  expect_refused(gemm("--dtype nvfp4 --out x.npy"), "option.out", "--out: block-scaled");
  expect_refused(gemm("--dtype nvfp4 --b_file x.npy"), "option.b_file", "--b_file");
}

TEST(GemmCommand, empty_words_are_refused) {
  for (const char* option :
       {"mnkl", "mnk", "c_dtype", "dtype", "tile_shape_mn", "raster_order", "scale_mode", "bias",
        "activation", "schedule", "init", "fault", "trace", "a_file", "b_file", "out"})
    expect_refused(gemm(std::string("--") + option + " ''"), std::string("option.") + option,
                   "an empty word");
  EXPECT_NE(run_program("explain --tile-shape-mn ''").err.find("--tile_shape_mn: an empty word"),
            std::string::npos);
  EXPECT_NE(run_program("bench --out ''").err.find("--out: an empty word"), std::string::npos);
}

TEST(GemmCommand, numbers_that_would_become_others_are_refused) {
  for (const char* option : {"--alpha", "--beta", "--scale_a", "--scale_b", "--scale_d"}) {
    const std::string small = std::string("--mnk 16,16,16 ") + option + " ";
    expect_refused(gemm(small + "1e50"), "option.usage", "nearest legal: 3.4028235e+38");
    expect_refused(gemm(small + "-1e50"), "option.usage", "nearest legal: -3.4028235e+38");
    expect_refused(gemm(small + "1e-50"), "option.usage", "nearest legal: 1e-45");
    expect_refused(gemm(small + "1e-500"), "option.usage", "nearest legal: 1e-45");
    expect_refused(gemm(small + "0xap-200"), "option.usage", "nearest legal: 1e-45");
    expect_refused(gemm(small + "x1"), "option.usage", "Could not convert");
    for (const char* value : {"0", "-0.0e5", "1e-45", "-3.4028235e+38", "inf", "nan", "0x1p-10"})
      EXPECT_EQ(gemm(small + value).exit_code, 0) << option << ' ' << value;
  }
  expect_refused(gemm("--mnk 16,16,16 --seed 18446744073709551616"), "option.usage",
                 "the most is 18446744073709551615");
  expect_refused(gemm("--mnk 16,16,16 --seed 0x10000000000000000"), "option.usage",
                 "the most is 18446744073709551615");
  expect_refused(gemm("--mnk 16,16,16 --seed ' -1'"), "option.usage", "the least is 0");
  expect_refused(gemm("--mnk 16,16,16 --iterations 9223372036854775808"), "option.usage",
                 "the most is 9223372036854775807");
  EXPECT_EQ(gemm("--mnk 16,16,16 --seed 18446744073709551615").exit_code, 0);
  expect_refused(gemm("--tile_shape_mn 9223372036854775807,1"), "tile.built", "nearest legal: 256x64");
}

TEST(GemmCommand, what_memory_does_not_hold_is_refused_before_the_run) {
  for (const char* check : {"", " --skip_ref_check"})
    expect_refused(gemm(std::string("--mnkl 7000000,7000000,16,1") + check), "host.memory",
                   "the run needs 1.96e+05 GB");
  expect_refused(gemm("--mnkl 2147483647,0,40000,1"), "host.memory", "the run needs 1.72e+05 GB");
}

TEST(GemmCommand, a_result_that_cannot_be_printed_is_an_error) {
  for (const char* arguments :
       {"gemm --device emulator --mnk 16,16,16 --json", "gemm --device emulator --mnk 16,16,16", "explain",
        "gemm --help", "--version"}) {
    const Output o = run_program(std::string(arguments) + " >/dev/full");
    EXPECT_EQ(o.exit_code, 2) << arguments;
    EXPECT_NE(o.err.find("standard output cannot be written"), std::string::npos) << arguments << o.err;
  }
}

TEST(GemmCommand, what_standard_error_does_not_take_is_left_out) {
  const Folder folder;
  const auto without = [](const std::string& words) {
    return run_program("gemm --device emulator " + words + " 2>/dev/full; exit $?").exit_code;
  };
  EXPECT_EQ(without("--mnk 16,16,16 --sms 0"), 2);
  EXPECT_EQ(without("--mnk 0,16,16 --trace " + folder.file("trace.json")), 0);
  EXPECT_EQ(without("--mnk 1024,1024,2048"), 0);  // long enough for a line of progress
  EXPECT_EQ(without("--mnk 16,16,16 >/dev/full"), 2);
}

// Stacks that no machine has room for: no thread can be made.
TEST(GemmCommand, runs_without_a_second_thread) {
  const std::string words = "ulimit -s 400000000000 || exit 77; exec " TILEWRIGHT_PROGRAM
                            " gemm --device emulator --mnk 16,16,16 >/dev/null";
  const int status = std::system(words.c_str());
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "the limit of stacks cannot be raised";
  EXPECT_EQ(status, 0);
}

TEST(GemmCommand, extents_may_have_blanks_between_them) {
  const nlohmann::json j = gemm("--mnkl '64, 32 , 96,2'").json();
  EXPECT_EQ(nlohmann::json({j["m"], j["n"], j["k"], j["l"]}), nlohmann::json({64, 32, 96, 2}));
  expect_refused(gemm("--mnkl '6 4,32,96,2'"), "option.mnkl", "6 4,32,96,2");
}

TEST(GemmCommand, files_that_cannot_be_written_are_refused_before_the_run) {
  const Folder folder;
  const std::string same = folder.file("same"), other = folder.file("./same");
  expect_refused(gemm("--mnk 64,64,64 --out " + same + " --trace " + other), "option.trace",
                 "the file of --out, too");
  expect_refused(gemm("--dtype cf16 --mnk 64,64,64 --out " + same), "npy.dtype",
                 "nearest legal: cf32 (Complex64)");
  EXPECT_FALSE(std::filesystem::exists(same));
  EXPECT_EQ(gemm("--mnk 64,64,64 --out " + folder.file(std::string(250, 'a'))).exit_code, 0);
  const Output o = gemm("--mnk 64,64,64 --out " + folder.file("no/d.npy"));
  expect_refused(o, "file.write", "there is no folder");
  expect_refused(gemm("--mnk 64,64,64 --trace " + folder.file("")), "file.write", "is a folder");
  expect_refused(gemm("--mnk 64,64,64 --out /dev/null"), "file.write", "not an ordinary file");
  expect_refused(gemm("--mnk 64,64,64 --trace /dev/null"), "file.write", "not an ordinary file");
  EXPECT_EQ(gemm("--mnk 64,64,64 --out " + folder.file("d.npy")).json()["pass"], true);
}

TEST(GemmCommand, a_zero_factor_wins_over_infinity) {
  const std::string small = "--mnk 64,64,64 ";
  for (const char* factors : {"--alpha inf --scale_a 0", "--beta inf --scale_d 0", "--scale_b 0 --alpha nan"})
    for (const char* type : {"--dtype e4m3 ", "--dtype bf16 ", "--dtype f32 "}) {
      const Folder folder;
      const std::string d = folder.file("d.npy");
      EXPECT_EQ(gemm(small + type + factors + " --out " + d).exit_code, 0) << type << factors;
      // The judge would not know: its factors are the kernel's.
      std::ifstream in(d, std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(in), {});
      const std::string zeros(size_t{64} * 64 * 2, '\0');
      EXPECT_TRUE(bytes.ends_with(zeros)) << type << factors;
    }
}

TEST(GemmCommand, factors_are_one_number_for_kernel_and_judge) {
  // Only a part of it overflows: the bound is as narrow as without factors.
  for (const char* type : {"bf16", "e4m3"}) {
    const std::string large = std::string("--mnk 128,128,256 --c_dtype f32 --alpha 1e38 --scale_a 1e4 ") +
                              "--scale_d 1e-38 --dtype " + type;
    EXPECT_EQ(gemm(large).exit_code, 0) << type;
    EXPECT_GT(gemm(large + " --fault skip:wgmma,nth=3").json()["failures"], 0) << type;
  }
  for (const char* type : {"f64", "bf16 --c_dtype f32", "f32", "s8"})
    for (const char* factors : {"--alpha 0.1 --scale_a 0.3 --scale_b 0.7 --scale_d 1.3",
                                "--alpha 1e-25 --scale_a 1e-21", "--alpha 1e30 --scale_a 1e30"}) {
      const Output o = gemm(std::string("--mnk 64,64,64 ") + factors + " --dtype " + type);
      EXPECT_EQ(o.exit_code, 0) << type << ' ' << factors << o.out;
    }
  // The report's too: 0.1f * 10 rounds to 1.
  EXPECT_EQ(gemm("--mnk 64,64,64 --dtype s8 --alpha 0.1 --scale_a 10").json()["error_bound"], 0);
}

TEST(GemmCommand, a_result_that_overflows_is_judged_and_one_that_may_on_the_way_is_counted) {
  const std::string large = "--mnk 64,64,256 --c_dtype f32 --alpha 1e37 --dtype ";
  for (const std::string type : {"bf16", "e4m3", "nvfp4"})
    for (const bool faulty : {false, true}) {
      const std::string product = type == "nvfp4" ? "tcgen05_mma" : "wgmma";
      const nlohmann::json j = gemm(large + type + (faulty ? " --fault skip:" + product + ",nth=3" : ""))
                                   .json(),
                           run = type == "nvfp4" ? j["runs"][0] : j;
      EXPECT_EQ(run["unbounded"], 0) << type;
      EXPECT_EQ(run["failures"] > 0, faulty) << type;
    }
  // FP64 holds what FP32 does not.
  for (const bool faulty : {false, true}) {
    const nlohmann::json run = gemm(std::string("--mnk 64,64,256 --dtype f64 --alpha 1e38 --beta 1") +
                                    (faulty ? " --fault skip:mma_sync,nth=3" : ""))
                                   .json();
    EXPECT_EQ(run["unbounded"], 0);
    EXPECT_EQ(run["failures"] > 0, faulty);
  }
  // What C is added to may have overflowed.
  const Output o =
      run_program("gemm --device emulator --mnk 64,64,64 --c_dtype f32 --dtype bf16 --alpha 1e38 --beta 1");
  EXPECT_NE(o.out.find("4096 of 4096 elements may overflow on the way"), std::string::npos) << o.out;
}

TEST(GemmCommand, the_relative_error_and_its_bound_are_of_the_same_elements) {
  // Nearly all of D overflows; of the rest the reference is small beside what its sums may lose.
  for (const char* factors :
       {"--mnkl 17,63,31,5 --scale_a 1e30 --seed 12", "--mnkl 127,65,200,1 --alpha 3e38",
        "--mnkl 33,63,127,3 --alpha 3e38 --beta 0.001", "--mnk 64,64,64"}) {
    const Output o = gemm(std::string("--init normal ") + factors);
    EXPECT_EQ(o.exit_code, 0) << o.out;
    EXPECT_LE(o.json()["rel_error"], o.json()["error_bound"]) << factors;
  }
}

TEST(GemmCommand, a_product_that_overflows_beside_an_infinite_c_passes) {
  const Output o = gemm("--mnk 64,64,64 --dtype e5m2 --alpha 3e38 --beta inf");
  EXPECT_EQ(o.exit_code, 0) << o.out << o.err;
  EXPECT_GT(o.json()["unbounded"], 0);
}

TEST(GemmCommand, messages_name_what_is_wrong) {
  expect_refused(gemm("--K 96"), "option.K", "--M and --N missing");
  expect_refused(gemm("--dtype fp8"), "dtype.name", "nvfp4, fp8-1x128");
  for (const char* type : {"e4m3", "nvfp4", "f32"})
    for (const char* tolerance : {"--tolerance 1", "--rtol 1"})
      expect_refused(gemm(std::string("--skip_ref_check --dtype ") + type + " " + tolerance),
                     "option.skip_ref_check", std::string(tolerance).substr(0, 6));
  expect_refused(gemm("--mnk 64,64,64 --dtype bf16 --atol -1"), "option.tolerance",
                 "--tolerance/--atol: -1 is negative");
  EXPECT_NE(run_program("gem").err.find("nearest legal: gemm"), std::string::npos);
  EXPECT_EQ(run_program("gem").exit_code, 2);
  EXPECT_EQ(run_program("--version").exit_code, 0);
  EXPECT_EQ(run_program("--version").out.find("tilewright "), 0u);
  for (const char* option : {"--warmup_iterations", "--seed"}) {
    const Output o = run_program(std::string("gemm --device emulator ") + option + " -1");
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_NE(o.err.find("-1 is negative"), std::string::npos) << o.err;
  }
  EXPECT_NE(run_program("bench --configs 128x256/1x1/8/4/128/1").err.find("on at most SMS multiprocessors"),
            std::string::npos);
  EXPECT_NE(run_program("bench --candidates 9").err.find("9 not in range"), std::string::npos);
  for (const char* option : {"--candidates", "--cublaslt"}) {
    const Output o = run_program(std::string("bench --no_peers ") + option + " 1");
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_NE(o.err.find(std::string("--no_peers excludes ") + option), std::string::npos) << o.err;
  }
  const Output bench =
      run_program("bench --shapes 64x64x64 --no_peers --promoted_only --rounds 1 --bursts 1");
  if (bench.exit_code == 2) {
    EXPECT_NE(bench.err.find("bench measures on a GPU"), std::string::npos) << bench.err;
    EXPECT_EQ(bench.err.find("emulated machine"), std::string::npos) << bench.err;
  }
  const Output explained = run_program("explain --device emulator --mnk 4096,4096,4096");
  EXPECT_NE(explained.out.find("along_n in strips of "), std::string::npos) << explained.out;
}

TEST(ExplainCommand, lists_the_rules_and_explains_a_choice) {
  const Output rules = run_program("explain");
  EXPECT_EQ(rules.exit_code, 0);
  EXPECT_NE(rules.out.find("layout.k_major"), std::string::npos);
  const Output choice = run_program("explain --device emulator --mnkl 8192,8192,8192,1");
  EXPECT_NE(choice.out.find("fp8_128x256_e4m3_e4m3_o2_promoted: lowest modelled time"), std::string::npos);
  // The chosen tile is the first of those that were compared.
  const size_t chosen = choice.out.find("tile: 128x256x128"),
               list = choice.out.find("compared by the planner's model:\n  tile 128x256");
  EXPECT_LT(chosen, list);
  EXPECT_NE(list, std::string::npos) << choice.out;
  EXPECT_NE(choice.out.find("  tile  64x64 ", list), std::string::npos) << choice.out;
  const Output asked =
      run_program("explain --device emulator --dtype bf16 --tile_shape_mn 128,256 --mnk 512,512,512");
  EXPECT_EQ(asked.out.find("compared by"), std::string::npos) << asked.out;
  const Output refused =
      run_program("explain --device emulator --mnkl 64,64,64,1 --mma_promotion_interval 3");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.out.find("rule: interval.value"), std::string::npos);
}

TEST(GemmCommand, errors_of_usage_are_objects_too) {
  expect_refused(gemm("--no_such_option 3"), "option.usage", "--no_such_option");
  expect_refused(gemm("--alpha one"), "option.usage", "alpha");
  const Output help = gemm("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("--mnkl"), std::string::npos) << help.out;
}

}  // namespace
}  // namespace tilewright::testing
