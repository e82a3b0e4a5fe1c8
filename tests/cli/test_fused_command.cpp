// Bias, activations, auxiliary output and amax on the command line.
#include "tests/cli/program.h"

namespace tilewright::testing {
namespace {

TEST(FusedCommand, runs_everything_for_every_type) {
  for (const char* types : {"--dtype bf16", "--dtype f16 --c_dtype Float32", "--dtype e4m3",
                            "--dtype e4m3 --c_dtype Float8E4M3FN --scale_d 4", "--dtype e4m3:e5m2",
                            "--dtype e4m3 --c_dtype BFloat16 --d_layout column --beta 0.5"}) {
    const Output o =
        gemm(std::string("--mnkl 100,144,80,2 --bias column --activation gelu --aux --amax ") + types);
    EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
    const nlohmann::json j = o.json();
    EXPECT_EQ(j["pass"], true);
    EXPECT_EQ(j["kernel"].get<std::string>().find("fused_"), 0u);
    EXPECT_EQ(j["path"], "wgmma");
    EXPECT_EQ(j["bias"], "column");
    EXPECT_EQ(j["activation"], "gelu");
    EXPECT_EQ(j["aux"]["failures"], 0);
    EXPECT_GE(j["amax"]["got"], j["amax"]["low"]);
    EXPECT_LE(j["amax"]["got"], j["amax"]["high"]);
    EXPECT_GT(j["amax"]["got"], 1);
    EXPECT_LT(j["rel_error"], j["error_bound"].get<double>());
  }
}

TEST(FusedCommand, takes_types_of_bias_and_aux) {
  for (const char* type : {"Float16", "BFloat16", "Float32"}) {
    const Output o =
        gemm(std::string("--dtype bf16 --mnk 70,80,64 --bias row --activation relu --bias_dtype ") + type +
             " --aux --aux-dtype " + type);
    EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
    EXPECT_EQ(o.json()["aux"]["failures"], 0);
    EXPECT_TRUE(o.json()["amax"].is_null());
  }
  EXPECT_EQ(gemm("--mnk 64,64,64 --c_dtype Float8E5M2 --aux").json()["aux_type"], "bf16");
  EXPECT_EQ(gemm("--mnk 64,64,64 --c_dtype Float32 --aux").json()["aux_type"], "f32");
  EXPECT_TRUE(gemm("--mnk 64,64,64").json()["aux_type"].is_null());
}

TEST(FusedCommand, says_what_is_done) {
  const Output o = run_program(
      "gemm --device emulator --dtype bf16 --mnk 64,128,64 --bias column --bias_dtype BFloat16 --activation "
      "relu "
      "--aux --amax");
  EXPECT_EQ(o.exit_code, 0) << o.err;
  for (const char* words :
       {"bias: one for each column, BFloat16, activation: relu, aux: BFloat16, amax: yes",
        "bias of columns (bf16), relu, aux (bf16), amax", "aux: relative error", "amax: ", "PASS"})
    EXPECT_NE(o.out.find(words), std::string::npos) << words << "\n" << o.out;
}

TEST(FusedCommand, refuses_by_rule) {
  expect_refused(gemm("--mnk 64,64,64 --dtype s8 --activation relu"), "epilogue.operands", "A: type s8");
  expect_refused(gemm("--mnk 64,64,64 --dtype f32 --amax"), "epilogue.operands", "nearest legal: bf16");
  expect_refused(gemm("--mnk 64,64,64 --dtype bf16 --b_major n --bias row"), "epilogue.operands",
                 "column_major");
  expect_refused(gemm("--mnk 64,64,65 --dtype bf16 --bias row"), "epilogue.operands", "leading dimension 65");
  expect_refused(gemm("--mnk 64,64,64 --bias row --accumulation fast"), "epilogue.sums",
                 "nearest legal: promoted");
  expect_refused(gemm("--mnk 64,64,64 --bias row --bias_dtype Int32"), "epilogue.types",
                 "nearest legal: f32");
  expect_refused(gemm("--mnk 64,64,64 --bias diagonal"), "option.bias", "column");
  expect_refused(gemm("--mnk 64,64,64 --activation tanh"), "option.activation", "gelu");
  const Output lone = run_program("gemm --mnk 64,64,64 --bias_dtype Float16");
  EXPECT_NE(lone.exit_code, 0);
  EXPECT_NE(lone.err.find("requires --bias"), std::string::npos) << lone.err;
  const std::pair<const char*, const char*> benched[] = {{"bias_tanh", "'tanh' is not one of"},
                                                         {"relu_gelu", "one activation"},
                                                         {"bias_bias", "'bias' is there twice"},
                                                         {"none_gelu", "'none' stands alone"}};
  for (const auto& [words, why] : benched) {
    const Output bench = run_program(std::string("bench --dtype bf16 --epilogue ") + words);
    EXPECT_EQ(bench.exit_code, 2);
    EXPECT_NE(bench.err.find(why), std::string::npos) << bench.err;
  }
}

// Infinity times a sum of zero is a NaN, and one that only the tensor core makes zero is, too.
TEST(FusedCommand, the_amax_of_infinite_factors_may_be_a_nan) {
  const Output o = gemm("--mnkl 72,80,96,2 --amax --alpha inf");
  EXPECT_EQ(o.exit_code, 0) << o.out << o.err;
  EXPECT_GT(o.json()["unbounded"], 0);
  EXPECT_EQ(o.json()["amax"]["may_be_nan"], true);
  EXPECT_EQ(gemm("--mnkl 72,80,96,2 --amax").json()["amax"]["may_be_nan"], false);
}

}  // namespace
}  // namespace tilewright::testing
