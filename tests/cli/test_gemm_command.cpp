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
  EXPECT_GT(o.json()["tolerance"]["failures"], 0);
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

TEST(GemmCommand, writes_a_timeline) {
  const Folder folder;
  const std::string trace = folder.file("trace.json");
  ASSERT_EQ(gemm("--mnkl 64,64,256,1 --trace " + trace).exit_code, 0);
  std::ifstream file(trace);
  EXPECT_TRUE(nlohmann::json::parse(file, nullptr, false).is_structured());
  EXPECT_EQ(gemm("--mnkl 64,64,64,1 --trace " + folder.file("no/such/folder")).exit_code, 2);
}

TEST(ExplainCommand, lists_the_rules_and_explains_a_choice) {
  const Output rules = run_program("explain");
  EXPECT_EQ(rules.exit_code, 0);
  EXPECT_NE(rules.out.find("layout.k_major"), std::string::npos);
  const Output choice = run_program("explain --device emulator --mnkl 8192,8192,8192,1");
  EXPECT_NE(choice.out.find("fp8_128x256_e4m3_e4m3_o2_promoted: lowest modelled time"), std::string::npos);
  const Output refused =
      run_program("explain --device emulator --mnkl 64,64,64,1 --mma_promotion_interval 3");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.out.find("rule: interval.value"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::testing
