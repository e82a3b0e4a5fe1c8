// Operands from files, and files that are not what they claim.
#include <vector>

#include "src/npy.h"
#include "tests/cli/program.h"

namespace tilewright::testing {
namespace {

using Shape = std::vector<int64_t>;

void write_ones(const std::string& path, const Shape& shape, float value = 1) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  const std::vector<float> data(static_cast<size_t>(count), value);
  const Status s = write_npy(path, DType::f32, shape, data.data());
  ASSERT_FALSE(s) << s->message;
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Files, operands_from_files_are_quantised_and_multiplied) {
  const Folder folder;
  const std::string a = folder.file("a.npy"), b = folder.file("b.npy"), d = folder.file("d.npy");
  write_ones(a, {70, 96}, 3);
  write_ones(b, {50, 96}, 2);
  const Output o = gemm("--a_file " + a + " --b-file " + b + " --out " + d + " --c_dtype Float32");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.json()["m"], 70);
  EXPECT_EQ(o.json()["n"], 50);
  EXPECT_EQ(o.json()["k"], 96);
  const Expected<NpyArray> result = read_npy(d);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->shape, (Shape{70, 50}));
  for (size_t i = 0; i < 70 * 50; ++i)
    EXPECT_NEAR(reinterpret_cast<const float*>(result->bytes.data())[i], 576, 0.01);
}

TEST(Files, nothing_is_filled_beside_two_files) {
  const Folder folder;
  const std::string a = folder.file("a.npy");
  write_ones(a, {32, 32});
  const std::string files = "--init ones --a_file " + a + " --b_file " + a;
  expect_refused(gemm(files), "option.init", "A and B come from files");
  EXPECT_EQ(gemm(files + " --beta 1").exit_code, 0);
  EXPECT_EQ(gemm(files + " --bias row").exit_code, 0);
}

TEST(Files, batches_and_column_major_results_come_back_in_c_order) {
  const Folder folder;
  const std::string row = folder.file("row.npy"), column = folder.file("column.npy");
  const std::string problem = "--mnkl 33,65,128,2 --seed 5 --out ";
  ASSERT_EQ(gemm(problem + row).exit_code, 0);
  ASSERT_EQ(gemm(problem + column + " --d_layout column").exit_code, 0);
  const Expected<NpyArray> x = read_npy(row), y = read_npy(column);
  ASSERT_TRUE(x && y);
  EXPECT_EQ(x->shape, (Shape{2, 33, 65}));
  EXPECT_EQ(x->bytes, y->bytes);
}

TEST(Files, files_that_lie_are_refused_in_one_sentence) {
  const Folder folder;
  const std::string good = folder.file("good.npy"), bad = folder.file("bad.npy");
  write_ones(good, {64, 64});
  const std::string bytes = read_bytes(good);
  const auto expect_bad = [&](const std::string& contents) {
    write_bytes(bad, contents);
    const Output o = gemm("--a_file " + bad);
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_NE(o.err.find(bad), std::string::npos) << o.err;
  };
  expect_bad("");
  expect_bad("not numpy at all");
  expect_bad(bytes.substr(0, 9));
  expect_bad(bytes.substr(0, bytes.size() - 1));
  expect_bad(bytes + "x");
  std::string longer = bytes;
  longer.replace(longer.find("(64, 64)"), 8, "(640,64)");
  expect_bad(longer);
  std::string big_endian = bytes;
  big_endian.replace(big_endian.find("<f4"), 3, ">f4");
  expect_bad(big_endian);
  EXPECT_EQ(gemm("--a_file " + folder.file("missing.npy")).exit_code, 2);
}

TEST(Files, extents_that_do_not_agree_are_refused_by_name) {
  const Folder folder;
  const std::string a = folder.file("a.npy"), b = folder.file("b.npy"), cube = folder.file("cube.npy");
  write_ones(a, {64, 96});
  write_ones(b, {64, 128});
  write_ones(cube, {2, 2, 2, 2});
  expect_refused(gemm("--a_file " + a + " --b_file " + b), "file.extents", "K is 128 in the file, but 96");
  expect_refused(gemm("--mnkl 65,64,96,1 --a_file " + a), "file.extents", "M is 64 in the file, but 65");
  expect_refused(gemm("--a_file " + cube), "file.shape", "(2, 2, 2, 2)");
}

TEST(Files, results_that_cannot_be_written_are_an_error) {
  const Folder folder;
  EXPECT_EQ(gemm("--mnkl 64,64,64,1 --out " + folder.file("no/such/folder/d.npy")).exit_code, 2);
}

TEST(Files, names_that_are_no_utf8_are_shown_as_far_as_they_are) {
  const Folder folder;
  expect_refused(gemm("--a_file '" + folder.file("\xff.npy") + "'"), "npy.open", "cannot be opened");
}

// No elements, and extents that nothing can count through.
TEST(Files, huge_shapes_of_no_elements_are_answered_at_once) {
  const Folder folder;
  const std::string a = folder.file("a.npy");
  const auto with = [&](const std::string& shape) {
    const std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': " + shape + "}\n";
    write_bytes(a, std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header);
    return gemm("--a_file " + a + " --tolerance 1 --out " + folder.file("d.npy") +
                " --mnkl 2147483647,0,0,2147483647");
  };
  expect_refused(with("(1099511627776, 1099511627776, 0)"), "file.shape",
                 "nearest legal: 2147483647 for 1099511627776");
  EXPECT_EQ(with("(2147483647, 2147483647, 0)").exit_code, 0);
}

TEST(Files, scales_that_leave_fp32_are_refused) {
  const Folder folder;
  const std::string large = folder.file("large.npy"), small = folder.file("small.npy");
  write_ones(large, {16, 32}, 1e38f);
  write_ones(small, {16, 32}, 1e-30f);
  const auto with = [&](const std::string& file, const std::string& factors) {
    return gemm("--mnk 16,16,32 --" + file + " --c_dtype Float32 " + factors);
  };
  EXPECT_EQ(with("a_file " + large, "--alpha 1e-38").exit_code, 0);
  expect_refused(with("a_file " + large, "--alpha 1e-38 --scale_a 10000"), "file.scale",
                 "nearest legal: --scale_a 1522");
  EXPECT_EQ(with("a_file " + large, "--alpha 1e-38 --scale_a 1522").exit_code, 0);
  expect_refused(with("b_file " + small, "--scale_b -1e-10"), "file.scale", "nearest legal: --scale_b -5.27");
  EXPECT_EQ(with("b_file " + small, "--scale_b 0").exit_code, 0);
  EXPECT_EQ(with("b_file " + small, "--scale_b inf").exit_code, 0);
  // Of elements as they are in the file, whatever it is.
  const std::string ones = folder.file("ones.npy");
  write_ones(ones, {16, 32});
  EXPECT_EQ(gemm("--dtype tf32 --mnk 16,16,32 --scale_a 1e-40 --a_file " + ones).exit_code, 0);
}

TEST(Files, elements_that_no_scale_brings_into_range_are_refused) {
  const Folder folder;
  const std::string a = folder.file("a.npy");
  write_ones(a, {16, 32}, 1e-42f);
  expect_refused(gemm("--a_file " + a), "file.range", "a.npy: the largest magnitude is ");
}

}  // namespace
}  // namespace tilewright::testing
