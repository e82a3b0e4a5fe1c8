// f16, bf16, tf32, s8 and u8 on the command line.
#include "src/npy.h"
#include "tests/cli/program.h"

namespace tilewright::testing {
namespace {

TEST(TensorCommand, runs_every_type_with_its_usual_output) {
  const struct {
    const char *dtype, *d;
    bool exact;
  } rows[] = {{"f16", "f16", false}, {"bf16", "bf16", false}, {"tf32", "f32", false},
              {"s8", "s32", true},   {"u8", "s32", true},     {"s8:u8", "s32", true}};
  for (const auto& row : rows) {
    const Output o = gemm(std::string("--mnkl 100,136,80,2 --dtype ") + row.dtype);
    EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
    const nlohmann::json j = o.json();
    EXPECT_EQ(j["pass"], true);
    EXPECT_EQ(j["d_type"], row.d);
    EXPECT_EQ(j["path"], "wgmma");
    EXPECT_GT(j["wgmma"], 0);
    EXPECT_EQ(j["rel_error"] == 0, row.exact) << j["rel_error"];
    EXPECT_LT(j["rel_error"], j["error_bound"].get<double>() + 1e-30);
  }
}

TEST(TensorCommand, takes_all_eight_layouts_of_16_bit_operands) {
  for (const char* a : {"k", "m"})
    for (const char* b : {"k", "n"})
      for (const char* c : {"n", "m"}) {
        const Output o = gemm(std::string("--dtype bf16 --mnk 72,88,56 --alpha 1.5 --beta -0.5 --a_major ") +
                              a + " --b_major " + b + " --c_major " + c);
        EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
        const nlohmann::json j = o.json();
        EXPECT_EQ(nlohmann::json({j["a_major"], j["b_major"], j["c_major"]}), nlohmann::json({a, b, c}));
        EXPECT_LT(j["rel_error"], 1e-2);
      }
}

TEST(TensorCommand, takes_f32_outputs_tiles_clusters_and_orders) {
  const nlohmann::json j =
      gemm("--dtype f16 --c_dtype Float32 --mnk 130,260,64 --tile_shape_mn 128,256").json();
  EXPECT_EQ(j["pass"], true);
  EXPECT_EQ(j["kernel"], "tensor_128x256_f16_f32_kk");
  const nlohmann::json cut =
      gemm(
          "--dtype s8 --mnk 260,256,128 --tile_shape_mn 128,256 --cluster_shape_mn 2,1 "
          "--raster_order along_n --swizzle_size 2 --sms 2")
          .json();
  EXPECT_EQ(cut["pass"], true);
  EXPECT_EQ(cut["cluster"], nlohmann::json({2, 1}));
  EXPECT_EQ(cut["raster"], "along_n");
  EXPECT_EQ(gemm("--dtype s8 --c_dtype f32 --alpha 0.125 --mnk 64,128,96").json()["pass"], true);
  for (const char* alpha : {"1e9", "-1e9"})  // saturated on either side, exactly
    EXPECT_EQ(
        gemm(std::string("--dtype s8 --init ones --mnk 64,64,64 --alpha ") + alpha).json()["worst_ratio"], 0);
}

TEST(TensorCommand, refuses_by_rule) {
  expect_refused(gemm("--dtype f64 --c_dtype Float32 --mnk 64,64,64"), "type.d_tensor", "f64");
  expect_refused(gemm("--dtype s8 --c_dtype Float16 --mnk 64,64,64"), "type.d_tensor", "s32");
  expect_refused(gemm("--dtype bf16 --tile_shape_mn 96,96 --mnk 64,64,64"), "tile.built", "128x128");
  expect_refused(gemm("--dtype f16:bf16 --mnk 64,64,64"), "type.ab", "f16");
}

TEST(TensorCommand, mma_sync_takes_every_order_and_extent) {
  for (const char* arguments :
       {"--dtype bf16 --mnk 65,67,63", "--dtype tf32 --a_major m --b_major n --mnk 64,40,48",
        "--dtype s8 --a_major m --c_major m --mnk 33,35,37",
        "--dtype u8 --b_major n --c_dtype Float32 --beta 2 --mnk 33,64,32",
        "--dtype f64 --a_major m --mnk 70,130,50 --alpha 0.5 --beta 3"}) {
    const Output o = gemm(arguments);
    EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
    EXPECT_EQ(o.json()["path"], "mma_sync");
    EXPECT_LT(o.json()["rel_error"], 1e-2);
  }
  EXPECT_LT(gemm("--dtype f64 --mnk 70,130,50").json()["rel_error"], 1e-15);
}

TEST(TensorCommand, multiplies_complex_numbers_in_every_order) {
  const struct {
    const char *dtype, *d, *path;
  } rows[] = {{"cf16", "cf16", "mma_sync"},
              {"cbf16", "cbf16", "mma_sync"},
              {"ctf32", "cf32", "mma_sync"},
              {"Complex64", "cf32", "simt"},
              {"Complex128", "cf64", "mma_sync"}};
  int order = 0;
  for (const auto& row : rows)
    for (int i = 0; i < 2; ++i, ++order) {
      const std::string majors = std::string(" --a_major ") + (order % 2 == 0 ? "k" : "m") + " --b_major " +
                                 (order / 2 % 2 == 0 ? "k" : "n") + " --c_major " + (i == 0 ? "n" : "m");
      const Output o =
          gemm("--mnkl 70,50,40,2 --alpha 0.5 --beta -2 --dtype " + std::string(row.dtype) + majors);
      EXPECT_EQ(o.exit_code, 0) << o.err << o.out;
      const nlohmann::json j = o.json();
      EXPECT_EQ(j["pass"], true) << majors;
      EXPECT_EQ(j["d_type"], row.d);
      EXPECT_EQ(j["path"], row.path);
      EXPECT_LT(j["rel_error"], 1e-2);
    }
  EXPECT_LT(gemm("--dtype cf64 --mnk 30,40,50").json()["rel_error"], 1e-15);
  expect_refused(gemm("--dtype cf32 --c_dtype Float32 --mnk 64,64,64"), "type.d_tensor", "cf32");
}

TEST(TensorCommand, reads_and_writes_files_of_complex_numbers) {
  const Folder folder;
  std::vector<float> a(2 * 8 * 5), b(2 * 6 * 5);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  const int64_t a_shape[] = {8, 5}, b_shape[] = {6, 5};
  ASSERT_FALSE(write_npy(folder.file("a.npy"), DType::cf32, a_shape, a.data()));
  ASSERT_FALSE(write_npy(folder.file("b.npy"), DType::cf32, b_shape, b.data()));
  for (const char* dtype : {"cf32", "ctf32"}) {
    const Output o = gemm(std::string("--dtype ") + dtype + " --a_file " + folder.file("a.npy") +
                          " --b_file " + folder.file("b.npy") + " --out " + folder.file("d.npy"));
    ASSERT_EQ(o.exit_code, 0) << o.err << o.out;
    const Expected<NpyArray> d = read_npy(folder.file("d.npy"));
    ASSERT_TRUE(d) << d.error().message;
    EXPECT_EQ(d->type, DType::cf32);
    ASSERT_EQ(d->shape, (std::vector<int64_t>{8, 6}));
    const auto* got = reinterpret_cast<const float*>(d->bytes.data());
    for (size_t m = 0; m < 8; ++m)
      for (size_t n = 0; n < 6; ++n) {
        float re = 0, im = 0;  // B's file has a row for each column
        for (size_t k = 0; k < 5; ++k) {
          const float *x = &a[2 * (m * 5 + k)], *y = &b[2 * (n * 5 + k)];
          re += x[0] * y[0] - x[1] * y[1];
          im += x[0] * y[1] + x[1] * y[0];
        }
        ASSERT_EQ(got[2 * (m * 6 + n)], re) << m << ", " << n;
        ASSERT_EQ(got[2 * (m * 6 + n) + 1], im) << m << ", " << n;
      }
  }
  expect_refused(gemm("--dtype cf64 --a_file " + folder.file("a.npy")), "file.type", "cf64");
}

TEST(TensorCommand, explains_a_choice) {
  const Output o = run_program("explain --dtype bf16 --mnk 4096,4096,4096 --device emulator");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_NE(o.out.find("path: wgmma, tensor_128x256_bf16_bf16_kk"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("accumulation: the tensor core's, in FP32"), std::string::npos) << o.out;
}

TEST(TensorCommand, reads_and_writes_files_of_its_types) {
  const Folder folder;
  const auto write = [&](const std::string& name, DType type, std::vector<int64_t> shape, const void* data) {
    const std::string path = folder.file(name);
    EXPECT_FALSE(write_npy(path, type, shape, data));
    return path;
  };
  std::vector<int8_t> a(64 * 32), b(16 * 32);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int8_t>(i * 7 % 256 - 128);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int8_t>(i * 5 % 256 - 128);
  const std::string a_file = write("a.npy", DType::s8, {64, 32}, a.data());
  const std::string b_file = write("b.npy", DType::s8, {16, 32}, b.data());
  const Output o =
      gemm("--dtype s8 --a_file " + a_file + " --b_file " + b_file + " --out " + folder.file("d.npy"));
  ASSERT_EQ(o.exit_code, 0) << o.err << o.out;
  const Expected<NpyArray> d = read_npy(folder.file("d.npy"));
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->type, DType::s32);
  ASSERT_EQ(d->shape, (std::vector<int64_t>{64, 16}));
  const auto* sums = reinterpret_cast<const int32_t*>(d->bytes.data());
  for (size_t m = 0; m < 64; ++m)
    for (size_t n = 0; n < 16; ++n) {
      int32_t sum = 0;
      for (size_t k = 0; k < 32; ++k) sum += a[m * 32 + k] * b[n * 32 + k];
      ASSERT_EQ(sums[m * 16 + n], sum) << m << ", " << n;
    }
  // Nothing is converted behind the user's back.
  const std::vector<float> floats(64 * 32, 0.5f);
  const std::string f_file = write("f.npy", DType::f32, {64, 32}, floats.data());
  expect_refused(gemm("--dtype s8 --a_file " + f_file), "file.type", "s8 operands come from s8 files");
  const Output tf32 = gemm("--dtype tf32 --a_file " + f_file + " --b_file " + f_file);
  EXPECT_EQ(tf32.exit_code, 0) << tf32.err << tf32.out;
}

}  // namespace
}  // namespace tilewright::testing
