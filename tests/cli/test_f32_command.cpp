// f32 on the command line, with the options of a SIMT GEMM example by their names.
#include "tests/cli/program.h"

namespace tilewright::testing {
namespace {

TEST(F32Command, default_problem_is_256_256_64_of_exact_integers) {
  const Output o = gemm("--dtype f32");
  ASSERT_EQ(o.exit_code, 0) << o.err << o.out;
  const nlohmann::json j = o.json();
  EXPECT_EQ(j["pass"], true);
  EXPECT_EQ(nlohmann::json({j["m"], j["n"], j["k"], j["l"]}), nlohmann::json({256, 256, 64, 1}));
  EXPECT_EQ(j["path"], "simt");
  EXPECT_EQ(j["d_type"], "f32");
  EXPECT_EQ(j["rel_error"], 0);
}

TEST(F32Command, takes_all_eight_layouts) {
  for (const char* a : {"k", "m"})
    for (const char* b : {"k", "n"})
      for (const char* c : {"n", "m"}) {
        const Output o = gemm(std::string("--dtype f32 --mnk 70,90,50 --init normal --beta 0.5 --a_major ") +
                              a + " --b_major " + b + " --c-major " + c);
        EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
        const nlohmann::json j = o.json();
        EXPECT_EQ(nlohmann::json({j["a_major"], j["b_major"], j["c_major"]}), nlohmann::json({a, b, c}));
        EXPECT_LT(j["rel_error"], 1e-6);
      }
}

TEST(F32Command, checks_by_absolute_and_relative_tolerance) {
  const nlohmann::json j = gemm("--dtype f32 --init integers --atol 1e-3 --rtol 1e-5").json();
  EXPECT_EQ(j["tolerance"],
            nlohmann::json({{"atol", 1e-3}, {"rtol", 1e-5}, {"rounded", true}, {"failures", 0}}));
  EXPECT_EQ(gemm("--dtype f32 --tolerance 1e-3").json()["tolerance"]["rtol"], 1e-5);
  const Output o = gemm("--dtype f32 --init normal --mnk 64,64,4096 --atol 0 --rtol 1e-9");
  EXPECT_EQ(o.exit_code, 1);  // the bound holds, this does not
}

TEST(F32Command, static_shape_takes_whole_tiles_or_is_refused) {
  const nlohmann::json j = gemm("--dtype f32 --a_major m --b_major n --mnk 128,128,40 --static_shape").json();
  EXPECT_EQ(j["pass"], true);
  EXPECT_NE(j["kernel"].get<std::string>().find("_whole"), std::string::npos);
  const Output refused = gemm("--dtype f32 --mnk 100,128,40 --static_shape");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.json()["error"]["rule"], "shape.static");
}

TEST(F32Command, splits_repacks_and_limits_the_workspace) {
  const nlohmann::json cut = gemm("--dtype f32 --mnk 32,128,256 --splits 4").json();
  EXPECT_EQ(cut["pass"], true);
  EXPECT_EQ(cut["splits"], 4);
  EXPECT_GT(cut["workspace_bytes"], 0);
  const nlohmann::json none = gemm("--dtype f32 --mnk 32,128,256 --max_workspace 0").json();
  EXPECT_EQ(none["pass"], true);
  EXPECT_EQ(none["workspace_bytes"], 0);
  EXPECT_EQ(none["launches"], 1);
}

TEST(F32Command, runs_without_a_producer_when_asked) {
  const nlohmann::json j = gemm("--dtype f32 --mnk 64,128,64 --pipeline async").json();
  EXPECT_EQ(j["pass"], true);
  EXPECT_NE(j["kernel"].get<std::string>().find("_async"), std::string::npos);
}

TEST(F32Command, refuses_types_and_words_by_name) {
  EXPECT_EQ(gemm("--dtype f32 --c_dtype Float16").json()["error"]["rule"], "type.f32");
  EXPECT_EQ(gemm("--dtype f32 --a_major n").json()["error"]["rule"], "option.a_major");
  EXPECT_EQ(gemm("--dtype e4m3 --a_major m --mnk 64,64,64").json()["error"]["rule"], "layout.k_major");
  EXPECT_EQ(run_program("gemm --mnk 1,2,3 --mnkl 1,2,3,4").exit_code, 2);
}

TEST(F32Command, explains_a_choice) {
  const Output o = run_program("explain --dtype f32 --mnk 4096,4096,4096 --device emulator");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_NE(o.out.find("path: simt, simt_128x128_tma_tma"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("A repacked (K-major)"), std::string::npos) << o.out;
}

}  // namespace
}  // namespace tilewright::testing
