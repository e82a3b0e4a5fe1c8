// Block-scaled types on the command line.

#include <tuple>

#include "tests/cli/program.h"

namespace tilewright::testing {
namespace {

TEST(BlockScaledCommand, runs_every_type_and_checks_it) {
  for (const char* dtype : {"mxfp8", "mxfp4", "nvfp4", "mxfp8:mxfp4"}) {
    const Output o = gemm(std::string("--M 300 --N 264 --K 256 --dtype ") + dtype);
    ASSERT_EQ(o.exit_code, 0) << o.err << o.out;
    const nlohmann::json run = o.json()["runs"][0];
    EXPECT_EQ(run["path"], "tcgen05");
    EXPECT_EQ(run["overlap"], true);
    EXPECT_EQ(run["modelled"], true);
    EXPECT_EQ(run["d_type"], "f16");
    EXPECT_GT(run["tcgen05_mma"], 0);
    EXPECT_GT(run["time_us"], 0);
    EXPECT_LE(run["worst_ratio"], 1);
    EXPECT_LT(run["rel_error"], 1e-3);
    EXPECT_EQ(run["model_elements"], 0);
    EXPECT_EQ(o.json()["runs"].size(), 1u);
  }
}

TEST(BlockScaledCommand, both_compares_the_accumulators_for_every_k) {
  const Output o =
      run_program("gemm --device emulator --dtype nvfp4 --overlap both --M 256 --N 512 --K 256 512");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_NE(o.out.find("format               K       off        on   speedup\n"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("nvfp4-nvfp4        256 "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("nvfp4-nvfp4        512 "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("PASS"), std::string::npos);
  const nlohmann::json runs = gemm("--dtype nvfp4 --overlap both --M 256 --N 512 --K 256").json()["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["overlap"], false);
  EXPECT_EQ(runs[1]["overlap"], true);
  EXPECT_LT(runs[1]["time_us"], runs[0]["time_us"]);
}

TEST(BlockScaledCommand, takes_a_list_of_types) {
  const std::string rest = "--overlap both --M 256 --N 512 --K 256 512 --dtype mxfp8 mxfp8:mxfp4 mxfp4 nvfp4";
  const Output o = run_program("gemm --device emulator " + rest);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  size_t at = o.out.find("format               K");
  EXPECT_EQ(o.out.find("format", at + 1), std::string::npos) << "one table";
  const nlohmann::json found = gemm(rest).json();
  EXPECT_EQ(found["pass"], true);
  ASSERT_EQ(found["runs"].size(), 16u);
  size_t run = 0;
  for (const auto& [a, b] :
       {std::pair{"mxfp8", "mxfp8"}, {"mxfp8", "mxfp4"}, {"mxfp4", "mxfp4"}, {"nvfp4", "nvfp4"}})
    for (const int k : {256, 512}) {
      at = o.out.find(std::string("\n") + a + "-" + b, at);
      ASSERT_NE(at++, std::string::npos) << o.out;
      for (const bool overlap : {false, true}) {
        const nlohmann::json& one = found["runs"][run++];
        EXPECT_EQ(one["a"], a);
        EXPECT_EQ(one["b"], b);
        EXPECT_EQ(one["k"], k);
        EXPECT_EQ(one["overlap"], overlap);
      }
    }
  expect_refused(gemm("--dtype mxfp8 e4m3"), "option.dtype", "'e4m3' is not block-scaled");
  expect_refused(gemm("--dtype e4m3 mxfp8"), "option.dtype", "one type");
  expect_refused(gemm("--dtype mxfp8 mxfp4:mxfp8"), "block_scaled.types", "mxfp8 x mxfp4");
  EXPECT_EQ(run_program("explain --device emulator --dtype mxfp8 nvfp4").exit_code, 2);
}

TEST(BlockScaledCommand, takes_scales_c_outputs_batches_and_data) {
  const Output o = gemm(
      "--dtype nvfp4 --mnkl 130,72,128,3 --c_dtype Float32 --alpha 0.5 --beta -1 --scale_a 0.25 --scale_b 2 "
      "--scale_d 4 --init full_range --seed 5 --overlap off --schedule adversarial --sms 4");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const nlohmann::json run = o.json()["runs"][0];
  EXPECT_EQ(run["l"], 3);
  EXPECT_EQ(run["d_type"], "f32");
  EXPECT_EQ(run["sms"], 4);
  EXPECT_EQ(run["overlap"], false);
  EXPECT_TRUE(run["time_us"].is_null());  // no clock under this schedule
  EXPECT_NE(gemm("--dtype mxfp8 --mnk 64,64,128 --seed 1").json()["runs"][0]["rel_error"],
            gemm("--dtype mxfp8 --mnk 64,64,128 --seed 2").json()["runs"][0]["rel_error"]);
}

TEST(BlockScaledCommand, tolerance_is_a_check_besides_the_bound) {
  for (const char* chip : {"sm_100a", "sm_90a"}) {
    const std::string problem = std::string("--dtype nvfp4 --mnk 64,64,512 --c_dtype Float32 --arch ") + chip;
    for (const auto& [options, atol, rtol] :
         {std::tuple{" --tolerance 1e-3", 1e-3, 1e-3}, {" --rtol 1e-2", 2e-3, 1e-2}}) {
      const Output o = gemm(problem + options);
      ASSERT_EQ(o.exit_code, 0) << o.err;
      EXPECT_EQ(o.json()["runs"][0]["tolerance"],
                nlohmann::json({{"atol", atol}, {"rtol", rtol}, {"rounded", false}, {"failures", 0}}));
    }
    // Full-range data are rounded in FP32: within their bound, but not exact.
    const Output o = gemm(problem + " --init full_range --tolerance 0 --rtol 0");
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_EQ(o.json()["pass"], false);
    const nlohmann::json run = o.json()["runs"][0];
    EXPECT_EQ(run["failures"], 0);
    EXPECT_EQ(run["pass"], false);
    EXPECT_GT(run["tolerance"]["failures"], 0);
    EXPECT_NE(run["tolerance"]["first_failure"]["got"], run["tolerance"]["first_failure"]["reference"]);
    // From the reference itself, not from what is nearest to it in D's type.
    const Output rounded = gemm("--dtype nvfp4 --mnk 64,64,512 --tolerance 1e-9 --rtol 0");
    EXPECT_EQ(rounded.exit_code, 1);
    EXPECT_GT(rounded.json()["runs"][0]["tolerance"]["failures"], 0);
  }
}

TEST(GemmCommand, a_tolerance_is_finite_and_not_negative) {
  for (const char* dtype : {"--mnk 64,64,64 --dtype bf16 ", "--mnk 64,64,64 --dtype nvfp4 "})
    for (const char* option : {"tolerance", "rtol"}) {
      const std::string command = std::string(dtype) + "--" + option + " ",
                        rule = std::string("option.") + option;
      expect_refused(gemm(command + "-1"), rule, "-1 is negative; nearest legal: 0");
      expect_refused(gemm(command + "nan"), rule, "nan is not finite; nearest legal: 0");
      expect_refused(gemm(command + "-inf"), rule, "-inf is not finite; nearest legal: 0");
      expect_refused(gemm(command + "inf"), rule, "inf is not finite; nearest legal: 1.797");
    }
}

// Where there is no time, or nothing is multiplied, a table says so.
TEST(BlockScaledCommand, a_table_has_no_speed_of_nothing) {
  const std::string table = "gemm --device emulator --dtype nvfp4 --overlap both --N 256 ";
  const Output no_k = run_program(table + "--M 256 --K 0 256");
  ASSERT_EQ(no_k.exit_code, 0) << no_k.err;
  EXPECT_NE(no_k.out.find("nvfp4-nvfp4          0         -         -         -  K or a factor is 0: nothing "
                          "is multiplied\n"),
            std::string::npos)
      << no_k.out;
  EXPECT_NE(no_k.out.find("%\nPASS"), std::string::npos) << no_k.out;
  const Output empty = run_program(table + "--M 0 --K 256");
  ASSERT_EQ(empty.exit_code, 0) << empty.err;
  EXPECT_NE(empty.out.find(
                "nvfp4-nvfp4        256         -         -         -  D is empty: nothing is computed\n"),
            std::string::npos)
      << empty.out;
  for (const char* nothing : {"64,64,0", "0,64,64", "64,64,64 --alpha 0"}) {
    const Output one = run_program(std::string("gemm --device emulator --dtype nvfp4 --mnk ") + nothing);
    EXPECT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(one.out.find("TFLOPS"), std::string::npos) << one.out;
    EXPECT_NE(one.out.find("nothing is"), std::string::npos) << one.out;
  }
}

TEST(BlockScaledCommand, cluster_launch_control_hands_out_the_tiles_where_it_is_asked_for) {
  const std::string problem = "--dtype nvfp4 --M 512 --N 768 --K 256";
  for (const char* schedule : {"timed", "adversarial"}) {
    const Output o = gemm(problem + " --scheduler clc --schedule " + schedule);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const nlohmann::json run = o.json()["runs"][0];
    EXPECT_EQ(run["scheduler"], "clc");
    EXPECT_EQ(run["grid_ctas"], 12);
    EXPECT_EQ(run["clusters"].get<int>() + run["clusters_canceled"].get<int>(), 6);
    EXPECT_GT(run["clusters_canceled"], 0);
  }
  const nlohmann::json fixed = gemm(problem).json()["runs"][0];
  EXPECT_EQ(fixed["scheduler"], "static");
  EXPECT_EQ(fixed["clusters_canceled"], 0);
  const Output explained =
      run_program("explain --device emulator --scheduler clc --dtype nvfp4 --mnk 512,768,256");
  EXPECT_NE(explained.out.find("scheduler: clc, grid: 12 CTAs for 6 tiles"), std::string::npos)
      << explained.out;
  expect_refused(gemm("--dtype mxfp8 --scheduler maybe"), "option.scheduler", "static, clc");
  expect_refused(gemm("--dtype e4m3 --scheduler clc"), "scheduler.built", "block-scaled");
}

TEST(BlockScaledCommand, default_sizes_are_said_and_a_result_may_stay_unchecked) {
  const Output o = run_program("gemm --device emulator --dtype mxfp4 --skip_ref_check");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_NE(o.out.find("default size is 512,512,512,1"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("mnkl: 512,512,512,1"), std::string::npos);
  EXPECT_NE(o.out.find("modelled time: "), std::string::npos);
  EXPECT_NE(o.out.find("not checked"), std::string::npos);
  EXPECT_EQ(gemm("--dtype mxfp4 --skip_ref_check").json()["runs"][0]["checked"], false);
}

TEST(BlockScaledCommand, writes_a_timeline_for_each_run) {
  const Folder folder;
  const std::string file = folder.file("t.json");
  ASSERT_EQ(gemm("--dtype mxfp8 --mnk 256,256,128 --trace " + file).exit_code, 0);
  ASSERT_EQ(gemm("--dtype mxfp8 --M 256 --N 256 --K 128 256 --overlap both --trace " + file).exit_code, 0);
  ASSERT_EQ(gemm("--dtype mxfp8 nvfp4 --mnk 256,256,256 --trace " + file).exit_code, 0);
  for (const char* name : {"t.mxfp8-mxfp8.K256.on.json", "t.nvfp4-nvfp4.K256.on.json", "t.json",
                           "t.K128.off.json", "t.K128.on.json", "t.K256.off.json", "t.K256.on.json"}) {
    std::ifstream in(folder.file(name));
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_TRUE(nlohmann::json::accept(text)) << name;
    EXPECT_NE(text.find("tcgen05.mma A[0] x B[0]"), std::string::npos) << name;
    EXPECT_NE(text.find("tcgen05.ld left accumulator"), std::string::npos) << name;
  }
}

// Scales of the tensors multiply sums: they are not in what may overflow, or a lost product would pass.
TEST(BlockScaledCommand, large_tensor_scales_hide_no_fault) {
  for (const char* command : {"--dtype nvfp4 --scale_a 1e20 --scale_b 1e20 --alpha 1e-20 --scale_d 1e-20",
                              "--dtype mxfp8 --arch sm_90a --scale_a 1e19 --scale_b 1e19 --alpha 1e-19 "
                              "--scale_d 1e-19"}) {
    const std::string problem = std::string(command) + " --mnk 128,128,256";
    EXPECT_EQ(gemm(problem).exit_code, 0) << command;
    const bool hopper = problem.find("sm_90a") != std::string::npos;
    const Output o =
        gemm(problem + (hopper ? " --fault skip:wgmma,nth=3" : " --fault skip:tcgen05_mma,nth=3"));
    EXPECT_EQ(o.exit_code, 1) << o.out;
    EXPECT_GT(o.json()["runs"][0]["failures"], 0);
    EXPECT_EQ(o.json()["runs"][0]["first_failure"]["batch"], 0) << o.out;
  }
}

TEST(BlockScaledCommand, only_the_whole_factor_may_overflow) {
  for (const char* factors : {"--alpha 1e30 --scale_d 1e30 --scale_a 1e-30 --scale_b 1e-30",
                              "--alpha 1e-30 --scale_d 1e-30 --scale_a 1e30 --scale_b 1e30",
                              "--alpha 1e30 --scale_a 1e20 --scale_b 1e-30"})
    for (const char* chip : {" --arch sm_100a ", " --arch sm_90a "}) {
      const Output o = gemm(std::string("--dtype nvfp4 --mnk 64,64,128 --c_dtype f32") + chip + factors);
      EXPECT_EQ(o.exit_code, 0) << factors << o.out;
      const double error = o.json()["runs"][0]["rel_error"];
      EXPECT_GT(error, 0) << "of finite numbers";
      EXPECT_LT(error, 1e-6) << factors;
    }
}

TEST(BlockScaledCommand, a_table_counts_what_is_not_judged) {
  const Output o = run_program(
      "gemm --device emulator --dtype nvfp4 --mnk 64,64,64 --c_dtype f32 --alpha 1e38 --beta 1 --overlap "
      "both");
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_NE(o.out.find(" of 4096 elements may overflow on the way"), std::string::npos) << o.out;
}

TEST(BlockScaledCommand, refuses_by_rule) {
  for (const char* mode : {"row_column", "block"})
    for (const char* dtype : {"mxfp8", "nvfp4"})
      expect_refused(gemm(std::string("--scale_mode ") + mode + " --dtype " + dtype), "scale.mode",
                     std::string("block-scaled ") + dtype);
  EXPECT_EQ(gemm("--dtype nvfp4 --mnk 64,64,64 --scale_mode tensor").exit_code, 0);
  expect_refused(gemm("--dtype nvfp4 --no_saturate"), "option.no_saturate", "with one of f16");
  expect_refused(gemm("--dtype mxfp4 --mnk 64,64,100"), "block_scaled.k_multiple",
                 "the nearest legal value is 128; quantise() pads it to 128 with zeros");
  expect_refused(gemm("--dtype mxfp8 --K 33"), "block_scaled.k_multiple", "the nearest legal value is 32;");
  // Nor could it be padded.
  expect_refused(gemm("--dtype mxfp8 --K 2147483647"), "block_scaled.k_multiple",
                 "the nearest legal value is 2147483616 (");
  expect_refused(gemm("--dtype nvfp4:mxfp4"), "block_scaled.formats", "nvfp4 x nvfp4");
  expect_refused(gemm("--dtype nvfp4:mxfp8"), "block_scaled.formats", "nvfp4 x nvfp4");
  expect_refused(gemm("--dtype mxfp8 --c_dtype e4m3"), "block_scaled.output",
                 "D is e4m3; the nearest legal value is f16");
  expect_refused(gemm("--dtype nvfp4:e4m3"), "block_format.name", "to quantise only, mxfp8_e5m2");
  expect_refused(gemm("--dtype mxfp4:mxfp8"), "block_scaled.types", "mxfp8 x mxfp4");
  expect_refused(gemm("--dtype mxfp8:e4m3"), "block_format.name", "'e4m3'");
  for (const char* overlap : {"on", "off", "both"})
    for (const char* schedule : {"", " --schedule fair"})
      expect_refused(gemm(std::string("--dtype mxfp8 --arch sm_90a --overlap ") + overlap + schedule),
                     "option.overlap",
                     std::string("'") + overlap + "' is about accumulators in tensor memory");
  expect_refused(gemm("--dtype mxfp8 --arch sm_90a --scheduler clc"), "scheduler.built", "static_persistent");
  expect_refused(gemm("--dtype mxfp8 --a_major m"), "block_scaled.layout", "row-major");
  expect_refused(gemm("--dtype mxfp8 --overlap maybe"), "option.overlap", "on, off, both");
  expect_refused(gemm("--dtype mxfp8 --overlap both --schedule random"), "option.overlap", "timed");
  expect_refused(gemm("--dtype mxfp8 --init normal"), "option.init", "full_range");
  expect_refused(gemm("--dtype mxfp8 --a_file x.npy"), "option.a_file", "seed");
  expect_refused(gemm("--dtype e4m3 --arch sm_100a"), "device.gpu",
                 "chip: 8-bit operands on compute capability 10.0");
  expect_refused(gemm("--dtype e4m3 --M 64 --N 64 --K 64 128"), "option.K", "one K");
}

TEST(BlockScaledCommand, sm_90a_dequantises_and_is_checked) {
  for (const char* dtype : {"mxfp8", "mxfp4", "nvfp4", "mxfp8:mxfp4"}) {
    const Output o =
        gemm(std::string(
                 "--M 200 --N 136 --K 128 256 --arch sm_90a --init full_range --c_dtype Float32 --alpha 0.5 "
                 "--beta 1 --scale_a 0.25 --schedule random --dtype ") +
             dtype);
    ASSERT_EQ(o.exit_code, 0) << o.err << o.out;
    ASSERT_EQ(o.json()["runs"].size(), 2u);
    const nlohmann::json run = o.json()["runs"][1];
    EXPECT_EQ(run["path"], "wgmma");
    EXPECT_EQ(run["overlap"], false);
    EXPECT_EQ(run["launches"], 2);
    EXPECT_GT(run["workspace_bytes"], (200 + 136) * 256 * 2 - 1);
    EXPECT_GT(run["wgmma"], 0);
    EXPECT_LE(run["worst_ratio"], 1);
  }
  const Output text = run_program("gemm --device emulator --arch sm_90a --dtype nvfp4 --mnk 64,64,128");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("as sm_90a"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("dequantised to bf16 first"), std::string::npos);
  EXPECT_NE(text.out.find("kernels of a run: 2"), std::string::npos);
  EXPECT_NE(text.out.find("modelled time: "), std::string::npos);
  EXPECT_NE(text.out.find("PASS"), std::string::npos);
  const Output explained =
      run_program("explain --device emulator --arch sm_90a --dtype nvfp4 --mnk 4096,7168,2048");
  EXPECT_EQ(explained.exit_code, 0);
  EXPECT_NE(explained.out.find("path: wgmma"), std::string::npos) << explained.out;
  EXPECT_EQ(explained.out.find("464..479"), std::string::npos);
  const Output rules = run_program("explain --device emulator --arch sm_90a --dtype nvfp4");
  EXPECT_EQ(rules.exit_code, 0);
  EXPECT_EQ(rules.out.find("accumulator"), std::string::npos) << rules.out;
  const Output overlap = run_program("explain --device emulator --arch sm_90a --dtype nvfp4 --overlap off");
  EXPECT_EQ(overlap.exit_code, 2);
  EXPECT_NE(overlap.err.find("[option.overlap]"), std::string::npos) << overlap.err;
  for (const char* command : {"explain", "gemm"}) {
    const Output other = run_program(std::string(command) + " --device emulator --arch sm_90a --dtype nvfp4" +
                                     " --overlap off --scheduler clc --sms 70000");
    EXPECT_EQ(other.exit_code, 2);
    EXPECT_NE(other.err.find("[option.overlap]"), std::string::npos) << other.err;
  }
}

TEST(BlockScaledCommand, explain_draws_tensor_memory_and_lists_the_rules) {
  const Output o = run_program("explain --dtype nvfp4");
  ASSERT_EQ(o.exit_code, 0);
  EXPECT_NE(o.out.find("on sm_100a"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("208..463 (256)"), std::string::npos) << o.out;
  // Whatever else cannot be.
  for (const char* with : {"", " --arch sm_100a", " --device gpu"})
    for (const char* other : {"--sms 1", "--tile_shape_mn 128,128", "--d_layout column", "--splits 2"}) {
      const Output drawn = run_program(std::string("explain --dtype nvfp4 ") + other + with);
      EXPECT_NE(drawn.out.find("208..463 (256)"), std::string::npos) << other << with << drawn.err;
    }
  EXPECT_NE(o.out.find("464..479 (16)"), std::string::npos);
  EXPECT_NE(o.out.find("480..511 (32)"), std::string::npos);
  EXPECT_NE(o.out.find("block_scaled.k_multiple"), std::string::npos);
  const Output single =
      run_program("explain --device emulator --dtype nvfp4 --overlap off --mnk 512,512,512");
  EXPECT_NE(single.out.find("272..303 (32)"), std::string::npos) << single.out;
  EXPECT_NE(single.out.find("block_scaled_nvfp4_nvfp4_o2_single"), std::string::npos);
  EXPECT_EQ(run_program("explain --device emulator --dtype mxfp8 --mnk 64,64,33").exit_code, 2);
}

TEST(BlockScaledCommand, explain_fills_in_the_extents_that_gemm_does) {
  for (const auto& [given, mnkl] : {std::pair{"--M 768 --N 256", "768,256,512,1"},
                                    {"--K 256", "512,512,256,1"},
                                    {"--N 264 --K 256", "512,264,256,1"}}) {
    for (const char* chip : {"sm_100a", "sm_90a"}) {
      const Output o =
          run_program(std::string("explain --device emulator --dtype nvfp4 --arch ") + chip + " " + given);
      EXPECT_EQ(o.exit_code, 0) << o.err;
      EXPECT_NE(o.out.find(std::string("mnkl: ") + mnkl), std::string::npos) << o.out;
      EXPECT_EQ(o.out.find("grid: 0 CTAs"), std::string::npos) << o.out;
    }
  }
  const Output two = run_program("explain --device emulator --dtype nvfp4 --K 256 512");
  EXPECT_NE(two.out.find("mnkl: 512,512,256,1"), std::string::npos) << two.out;
  EXPECT_NE(two.out.find("mnkl: 512,512,512,1"), std::string::npos) << two.out;
}

TEST(TimedCommand, other_types_have_a_modelled_time_too) {
  const Output o = run_program("gemm --device emulator --mnk 128,128,256 --schedule timed");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_NE(o.out.find("modelled time: "), std::string::npos) << o.out;
  const Output fair = run_program("gemm --device emulator --M 128 --N 128 --K 256");
  EXPECT_EQ(fair.out.find("time: "), std::string::npos) << fair.out;
  EXPECT_NE(fair.out.find("mnkl: 128,128,256,1"), std::string::npos) << fair.out;
}

}  // namespace
}  // namespace tilewright::testing
