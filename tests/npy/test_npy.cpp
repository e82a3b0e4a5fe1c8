#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "src/npy.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class Npy : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::temp_directory_path() / ("npy_tests_" + std::to_string(::getpid()) + "_" + info->name());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name = "x.npy") const { return (directory_ / name).string(); }
  // A file of exactly these bytes.
  std::string put(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path();
  }
  std::string get(const std::string& name = "x.npy") const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator{}));
  }
  // The read of these bytes must fail by this rule, in one sentence that names the file and says `says`.
  void expect_refused(const std::string& bytes, const std::string& rule, const std::string& says) const {
    const auto array = read_npy(put(bytes));
    ASSERT_FALSE(array) << says;
    EXPECT_EQ(array.error().code, ErrorCode::io);
    EXPECT_EQ(array.error().rule, rule) << array.error().message;
    EXPECT_NE(array.error().message.find(says), std::string::npos) << array.error().message;
    EXPECT_EQ(array.error().message.find(path()), 0u);
    EXPECT_EQ(array.error().message.find('\n'), std::string::npos);
  }

  fs::path directory_;
};

// A file as NumPy writes it, from a header's text.
std::string file_of(const std::string& header, const std::string& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape,
                      const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }   \n";
}

TEST_F(Npy, every_type_survives_the_round_trip) {
  const std::pair<DType, DType> types[] = {
      {DType::f64, DType::f64},   {DType::f32, DType::f32},   {DType::tf32, DType::f32},
      {DType::f16, DType::f16},   {DType::bf16, DType::bf16}, {DType::s32, DType::s32},
      {DType::s8, DType::s8},     {DType::u8, DType::u8},     {DType::e4m3, DType::u8},
      {DType::e5m2, DType::u8},   {DType::e8m0, DType::u8},   {DType::cf64, DType::cf64},
      {DType::cf32, DType::cf32}, {DType::ctf32, DType::cf32}};
  for (const auto& [written, read] : types) {
    std::vector<uint8_t> bytes(static_cast<size_t>(bytes_of(written, 15)));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(37 * i);
    const int64_t shape[] = {3, 5};
    for (bool fortran : {false, true}) {
      const Status status = write_npy(path(), written, shape, bytes.data(), fortran);
      ASSERT_FALSE(status) << status->message;
      const auto array = read_npy(path());
      ASSERT_TRUE(array) << array.error().message;
      EXPECT_EQ(array->type, read);
      EXPECT_EQ(array->shape, (std::vector<int64_t>{3, 5}));
      EXPECT_EQ(array->fortran_order, fortran);
      EXPECT_EQ(array->bytes, bytes);
      EXPECT_EQ(array->elements(), 15);
    }
  }
  EXPECT_EQ(files(), 1u) << "a temporary file was left";
}

TEST_F(Npy, the_header_is_what_numpy_writes) {
  const float value = 1;
  const int64_t shape[] = {1};
  ASSERT_FALSE(write_npy(path(), DType::f32, shape, &value));
  const std::string bytes = get();
  ASSERT_EQ(bytes.size(), 128u + 4);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }  ");
  EXPECT_EQ(bytes[127], '\n');
}

TEST_F(Npy, scalars_empty_arrays_and_many_dimensions) {
  const float value = 2.5f;
  ASSERT_FALSE(write_npy(path(), DType::f32, {}, &value));
  auto array = read_npy(path());
  ASSERT_TRUE(array);
  EXPECT_TRUE(array->shape.empty());
  EXPECT_EQ(load_element(array->bytes.data(), array->type, 0), 2.5);
  const int64_t empty[] = {4, 0, int64_t{1} << 62};
  ASSERT_FALSE(write_npy(path(), DType::f32, empty, nullptr));
  array = read_npy(path());
  ASSERT_TRUE(array);
  EXPECT_EQ(array->elements(), 0);
}

TEST_F(Npy, versions_2_and_3_are_read) {
  for (int version : {1, 2, 3}) {
    const auto array = read_npy(put(file_of(header_of("<u2", "(2, 2)", "True"), "abcdefgh", version)));
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->type, DType::bf16);
    EXPECT_TRUE(array->fortran_order);
    EXPECT_EQ(array->bytes.size(), 8u);
  }
}

TEST_F(Npy, keys_in_any_order_and_other_spacing_are_read) {
  const auto array = read_npy(put(file_of("{\"shape\":(2L,),'fortran_order':False,'descr':'|u1'}\n", "ab")));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->shape, std::vector<int64_t>{2});
  EXPECT_EQ(array->type, DType::u8);
}

TEST_F(Npy, wrong_files_are_refused) {
  expect_refused("", "npy.truncated", "empty");
  expect_refused("PK\x03\x04 an archive", "npy.magic", "not a .npy file");
  expect_refused("\x93NUMPX\x01", "npy.magic", "not a .npy file");
  expect_refused(file_of(header_of("<f4", "(1,)"), "abcd", 4), "npy.version", "version 4");
  EXPECT_EQ(read_npy(path("absent.npy")).error().rule, "npy.open");
  const auto folder = read_npy(directory_.string());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("not an ordinary file"), std::string::npos);
}

TEST_F(Npy, shapes_that_lie_are_refused_with_both_sizes) {
  expect_refused(file_of(header_of("<f4", "(2, 3)"), std::string(23, 'x')), "npy.truncated",
                 "23 bytes of data, but its shape (2, 3) of <f4 needs 24");
  expect_refused(file_of(header_of("<f4", "(2, 3)"), std::string(25, 'x')), "npy.trailing", "needs 24");
  expect_refused(file_of(header_of("<f4", "(99999999999, 99)"), "x"), "npy.truncated",
                 "needs 39599999999604");
  expect_refused(file_of(header_of("<f4", "(4611686018427387904, 4)"), "x"), "npy.shape",
                 "more bytes than any file");
  expect_refused(file_of(header_of("<f4", "(99999999999999999999,)"), "x"), "npy.header", "2^63");
  expect_refused(file_of(header_of("<f4", "(-1,)"), "x"), "npy.header", "negative");
}

TEST_F(Npy, other_types_are_refused_by_name) {
  expect_refused(file_of(header_of(">f4", "(1,)"), "abcd"), "npy.big_endian", "astype('<f4')");
  expect_refused(file_of(header_of("<i8", "(1,)"), "abcdefgh"), "npy.dtype", "'<i8'");
  expect_refused(file_of(header_of("|O", "(1,)"), "abcdefgh"), "npy.dtype", "'|O'");
  expect_refused(file_of(header_of("\x01\nq", "(1,)"), "abcdefgh"), "npy.dtype", "'??q'");
  expect_refused(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", "abcd"),
                 "npy.header", "named fields");
}

TEST_F(Npy, damaged_headers_are_refused) {
  for (const char* header : {"", "[]", "{", "{'descr'", "{'descr': '<f4', 'shape': (1,)}", "{'descr': <f4}",
                             "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} more",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'extra': 1}",
                             "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"}) {
    expect_refused(file_of(header, "abcd"), "npy.header", "header");
  }
}

TEST_F(Npy, a_file_cut_anywhere_is_refused) {
  const std::string whole = file_of(header_of("<f4", "(2,)"), "abcdefgh");
  ASSERT_TRUE(read_npy(put(whole)));
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto array = read_npy(put(whole.substr(0, size)));
    ASSERT_FALSE(array) << size;
    ASSERT_EQ(array.error().rule, "npy.truncated") << size;
  }
}

TEST_F(Npy, random_damage_never_does_harm) {
  const std::string whole = file_of(header_of("<f4", "(2,)"), "abcdefgh");
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i <= random() % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto array = read_npy(put(bytes));
    if (array) {
      ASSERT_LE(array->bytes.size(), bytes.size());
    }
  }
}

TEST_F(Npy, a_failed_write_leaves_the_old_file_and_nothing_else) {
  put("old");
  const std::vector<float> data(1 << 16);
  const int64_t shape[] = {1 << 16};
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Status status = write_npy(path(), DType::f32, shape, data.data());
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->rule, "npy.write");
  EXPECT_NE(status->message.find("File too large"), std::string::npos) << status->message;
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(Npy, places_that_cannot_be_written_are_named) {
  const float value = 1;
  for (const std::string& target : {path("no/such/x.npy"), directory_.string(), std::string("/dev/null")}) {
    const Status status = write_npy(target, DType::f32, {}, &value);
    ASSERT_TRUE(status) << target;
    EXPECT_EQ(status->message.find(target + ": cannot be written: "), 0u) << status->message;
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(write_npy(path(), DType::e2m1, {}, &value)->rule, "npy.dtype");
  const int64_t negative[] = {-1};
  EXPECT_EQ(write_npy(path(), DType::f32, negative, &value)->rule, "npy.shape");
}

TEST_F(Npy, directories_and_files_without_permission_are_named) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write anywhere";
  const float value = 1;
  put("old");
  fs::permissions(path(), fs::perms::owner_read);
  ASSERT_TRUE(write_npy(path(), DType::f32, {}, &value));
  fs::permissions(directory_, fs::perms::owner_read | fs::perms::owner_exec);
  const Status status = write_npy(path("y.npy"), DType::f32, {}, &value);
  fs::permissions(directory_, fs::perms::owner_all);
  ASSERT_TRUE(status);
  EXPECT_NE(status->message.find("Permission denied"), std::string::npos);
}

TEST_F(Npy, a_link_is_followed) {
  const float value = 1;
  put("old");
  fs::create_symlink(path(), path("link.npy"));
  ASSERT_FALSE(write_npy(path("link.npy"), DType::f32, {}, &value));
  EXPECT_TRUE(fs::is_symlink(path("link.npy")));
  EXPECT_EQ(get().substr(1, 5), "NUMPY");
}

TEST_F(Npy, a_link_to_a_file_that_is_not_there_yet_is_followed) {
  const float value = 1;
  fs::create_symlink("between.npy", path("link.npy"));  // relative to the folder of the link
  fs::create_symlink(path("new.npy"), path("between.npy"));
  ASSERT_FALSE(write_npy(path("link.npy"), DType::f32, {}, &value));
  EXPECT_TRUE(fs::is_symlink(path("link.npy")));
  EXPECT_TRUE(fs::is_symlink(path("between.npy")));
  EXPECT_TRUE(read_npy(path("new.npy")));
  EXPECT_EQ(files(), 3u);
}

// Opened for reading, it would wait for a writer for ever.
TEST_F(Npy, a_fifo_is_refused_at_once) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  const auto array = read_npy(path());
  ASSERT_FALSE(array);
  EXPECT_NE(array.error().message.find("not an ordinary file"), std::string::npos) << array.error().message;
}

// ---- quantisation

QuantisedTensor quantised(const std::vector<float>& data, DType target = DType::e4m3) {
  auto result = quantise_fp8(data.data(), DType::f32, static_cast<int64_t>(data.size()), target);
  EXPECT_TRUE(result);
  return *result;
}

TEST(Quantise, the_largest_magnitude_becomes_the_largest_code) {
  const auto q = quantised({0.5f, -3.0f, 1.0f, 0.0f});
  EXPECT_EQ(q.scale, 3.0f / 448);
  EXPECT_EQ(q.codes,
            (std::vector<uint8_t>{e4m3(0.5f / q.scale).bits, 0xFE, e4m3(1.0f / q.scale).bits, 0x00}));
  const auto wide = quantised({0.5f, -3.0f}, DType::e5m2);
  EXPECT_EQ(wide.scale, 3.0f / 57344);
  EXPECT_EQ(wide.codes[1], 0xFB);
}

TEST(Quantise, every_element_is_within_half_a_step_of_its_value) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 1e-3f);
  std::vector<float> data(5000);
  for (float& v : data) v = normal(random);
  const auto q = quantised(data);
  for (size_t i = 0; i < data.size(); ++i) {
    const double back =
        static_cast<double>(q.scale) * static_cast<double>(float(e4m3::from_bits(q.codes[i])));
    const double value = static_cast<double>(data[i]), step = static_cast<double>(q.scale) * 0x1p-10;
    ASSERT_LE(std::fabs(back - value), std::max(std::fabs(value) * 0x1.00001p-4, step * 1.00001));
  }
}

TEST(Quantise, a_zero_or_empty_tensor_has_scale_one) {
  const auto q = quantised({0.0f, -0.0f});
  EXPECT_EQ(q.scale, 1);
  EXPECT_EQ(q.codes, (std::vector<uint8_t>{0x00, 0x80}));
  EXPECT_EQ(quantised({}).scale, 1);
}

TEST(Quantise, nan_and_infinity_stay_visible_and_do_not_touch_the_scale) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto q = quantised({nan, 448.0f, inf, -inf});
  EXPECT_EQ(q.scale, 1);
  EXPECT_EQ(q.codes, (std::vector<uint8_t>{0x7F, 0x7E, 0x7F, 0xFF}));
  const auto wide = quantised({nan, 57344.0f, inf, -inf}, DType::e5m2);
  EXPECT_EQ(wide.codes, (std::vector<uint8_t>{0x7F, 0x7B, 0x7C, 0xFC}));
}

TEST(Quantise, tiny_and_huge_tensors_have_a_usable_scale) {
  // The least normal number of e4m3 beside the least scale.
  const auto tiny = quantised({0x1p-132f, 0x1p-133f});
  EXPECT_EQ(tiny.scale, 0x1p-126f);
  EXPECT_EQ(tiny.codes, (std::vector<uint8_t>{0x08, 0x04}));
  const auto huge = quantised({std::numeric_limits<float>::max(), -1.0f});
  EXPECT_EQ(huge.codes[0], 0x7E);
  EXPECT_TRUE(std::isfinite(huge.scale));
}

TEST(Quantise, what_no_scale_brings_into_range_is_refused) {
  const auto error_of = [](double value, DType target) {
    const double data[] = {value, 0};
    const auto result = quantise_fp8(data, DType::f64, 2, target);
    return result ? std::string() : result.error().rule + ": " + result.error().message;
  };
  EXPECT_NE(error_of(1e-300, DType::e4m3).find("quantise.range: the largest magnitude is 1e-300"),
            std::string::npos);
  EXPECT_NE(error_of(-1e300, DType::e5m2).find("1e+300"), std::string::npos);
  const double most = 448 * double{std::numeric_limits<float>::max()};
  EXPECT_EQ(error_of(most, DType::e4m3), "");
  EXPECT_NE(error_of(most * 1.01, DType::e4m3).find("nearest legal: 1.5244"), std::string::npos);
  EXPECT_EQ(error_of(0x1p-132, DType::e4m3), "");
  EXPECT_NE(error_of(0x1.8p-133, DType::e4m3), "");
  EXPECT_EQ(error_of(0x1p-140, DType::e5m2), "");
}

TEST(Quantise, takes_16_bit_types_and_refuses_others) {
  const f16 half[] = {f16(2.0f), f16(-1.0f)};
  const bf16 brain[] = {bf16(2.0f), bf16(-1.0f)};
  const std::vector<uint8_t> want{0x7E, 0xF6};
  EXPECT_EQ(quantise_fp8(half, DType::f16, 2, DType::e4m3)->codes, want);
  EXPECT_EQ(quantise_fp8(brain, DType::bf16, 2, DType::e4m3)->codes, want);
  EXPECT_EQ(quantise_fp8(half, DType::s8, 2, DType::e4m3).error().rule, "quantise.source");
  EXPECT_EQ(quantise_fp8(half, DType::f16, 2, DType::bf16).error().rule, "quantise.target");
}

}  // namespace
}  // namespace tilewright
