// Pipelines whose cluster, stages and groups are numbers of the launch, copied operands, scales applied at
// promotion, and the epilogue whose types and strides are: against a reference in double.
//
// Operands are small integers and scales powers of two, so that every sum is exact.
#include "tests/pipeline/run_case.h"
#include "tilewright/pipeline/linear_epilogue.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class Tuned : public OnMachine {};

template <int M, int N, int Threads, class Mode, class... More>
using TunedTile =
    decltype(((Size<M, N, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<Threads>() + WithPipeline() +
               SM<900, arch_specific>() + RequirePath<path::wgmma>() + Accumulation<Mode>()) +
              ... + More()));
template <int M, int N, int Threads, class Mode, class... More>
using Loaded = TunedTile<M, N, Threads, Mode, Tunable<2, 2>, EnableInputStreaming, MaxAlignment, More...>;

struct TunedCase {
  int64_t m, n, k, batches = 1;
  Tuning tuning{};
  double beta = 0;
  bool vectors = false, groups = false;  // scales
  int alignment = 16;
  bool bulk = true;
  uint32_t clusters = 2;
};

double scale_of(int64_t line, int64_t k_tile) { return (line + k_tile) % 3 == 0 ? 0.5 : 2.0; }

/// FP32 scales of `lines` lines and so many K tiles, K contiguous.
struct ScaleBuffer {
  Buffer<float> buffer;
  int64_t k_tiles;
  ScaleBuffer(int64_t lines, int64_t tiles, const char* name)
      : buffer(static_cast<size_t>(std::max<int64_t>(1, lines * tiles)), false, name), k_tiles(tiles) {
    for (int64_t i = 0; i < lines; ++i) {
      for (int64_t j = 0; j < tiles; ++j) buffer.data()[i * tiles + j] = static_cast<float>(scale_of(i, j));
    }
  }
  tiles::ScaleLines lines() { return {buffer.data(), k_tiles, 1, 0}; }
};

template <class D, class Out, bool Vectors = false, arrangement OrderC = row_major>
void check_tuned(const TunedCase& s) {
  SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k << ", cluster "
                                    << s.tuning.cluster_m << " x " << s.tuning.cluster_n << ", stages "
                                    << s.tuning.stages << ", groups of " << s.tuning.group_tiles);
  Matrix<e4m3, row_major> a(s.m, s.k, s.batches, 0, false, "A", s.alignment);
  Matrix<e4m3, col_major> b(s.k, s.n, s.batches, 0, false, "B", s.alignment);
  Matrix<Out, OrderC> c(s.m, s.n, s.batches, s.bulk ? 0 : 3, true, "C");
  std::mt19937 random(9);
  a.fill(random, -1, 1);
  b.fill(random, -1, 1);
  if (s.beta != 0) c.fill(random, -4, 4);
  const int64_t k_tiles = (s.k + 127) / 128;
  ScaleBuffer rows(s.m, s.groups ? k_tiles : 1, "scales of A");
  ScaleBuffer columns(s.groups ? (s.n + 127) / 128 : s.n, s.groups ? k_tiles : 1, "scales of B");

  std::vector<double> expected(static_cast<size_t>(s.m * s.n * s.batches));
  for (int64_t i = 0; i < s.batches; ++i) {
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < s.k; ++k) {
          double term = value_of(a.at(m, k, i)) * value_of(b.at(k, n, i));
          if (s.groups) term *= scale_of(m, k / 128) * scale_of(n / 128, k / 128);
          sum += term;
        }
        if (s.vectors) sum *= scale_of(m, 0) * scale_of(n, 0);
        if (s.beta != 0) sum += s.beta * value_of(c.at(m, n, i));
        expected[static_cast<size_t>((i * s.m + m) * s.n + n)] = sum;
      }
    }
  }

  Tuning tuning = s.tuning;
  LinearEpilogueOps ops;
  ops.beta = static_cast<float>(s.beta);
  ops.bulk = s.bulk;
  if (s.vectors) {
    ops.rows = rows.lines();
    ops.columns = columns.lines();
  }
  const auto source = [&] {
    if constexpr (sizeof(Out) == 1) {  // there is no C of 8 bits
      return make_gmem_tensor_batched<OrderC>(static_cast<const float*>(nullptr), s.m, s.n, s.batches);
    } else {
      return c.tensor();
    }
  }();
  const auto epilogue = make_linear_epilogue<D, Vectors>(c.tensor(), source, ops);
  ASSERT_TRUE(epilogue) << epilogue.error().message;
  using Epilogue = std::decay_t<decltype(*epilogue)>;
  tuning.scratch = Epilogue::scratch_bytes();
  auto p = suggest_pipeline<D>(a.const_tensor(), b.const_tensor(), tuning);
  ASSERT_TRUE(p) << p.error().message;
  if constexpr (facts_of_v<D>.scaled_promotion) {
    if (s.groups) {
      ASSERT_TRUE(p->set_scales(rows.lines(), columns.lines()));
    }
  }
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const schedule::TileSchedule tiles = p->make_schedule(static_cast<uint32_t>(s.batches));
  const auto config = p->persistent_config(run_kernel<Handle, Epilogue>, tiles, Epilogue::scratch_bytes(),
                                           nullptr, s.clusters);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->cluster.x * config->cluster.y, s.tuning.cluster_m * s.tuning.cluster_n);
  run(run_kernel<Handle, Epilogue>, *config, tiles, p->get_device_handle(), *epilogue);
  if (::testing::Test::HasFatalFailure()) return;

  for (int64_t i = 0; i < s.batches; ++i) {
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        const double e = expected[static_cast<size_t>((i * s.m + m) * s.n + n)];
        ASSERT_EQ(value_of(c.at(m, n, i)), value_of(element_from<Out>(e))) << m << ", " << n << ", " << i;
      }
    }
  }
  expect_padding_untouched(c);
  EXPECT_TRUE(c.buffer.guards_are_intact());
}

TEST_F(Tuned, clusters_are_numbers_of_the_launch) {
  using D = Loaded<64, 64, 128, promoted<4>>;
  for (const auto& [m, n] : {std::pair{1u, 1u}, {2u, 1u}, {1u, 2u}, {2u, 2u}})
    check_tuned<D, bf16>({.m = 200, .n = 152, .k = 400, .tuning = {.cluster_m = m, .cluster_n = n}});
}
TEST_F(Tuned, stages_are_numbers_of_the_launch) {
  using D = Loaded<64, 128, 128, promoted<4>>;
  for (const uint32_t stages : {2u, 3u, 7u})
    check_tuned<D, bf16>({.m = 200, .n = 152, .k = 656, .tuning = {.stages = stages}, .clusters = 1});
}
TEST_F(Tuned, groups_are_numbers_of_the_launch) {
  using D = Loaded<64, 64, 128, promoted<4>>;
  for (const uint32_t group : {1u, 2u, 3u, 100u}) {
    for (const int64_t k : {0, 16, 512, 640})
      check_tuned<D, float>(
          {.m = 130, .n = 72, .k = k, .tuning = {.stages = 3, .group_tiles = group}, .clusters = 1});
  }
}
TEST_F(Tuned, promoted_tiles_of_two_parts) {
  using D = Loaded<128, 256, 256, promoted<4>>;
  for (const int64_t k : {0, 128, 256, 528})
    check_tuned<D, bf16>({.m = 256, .n = 264, .k = k, .tuning = {.cluster_m = 2}, .clusters = 1});
  check_tuned<D, bf16>({.m = 256, .n = 264, .k = 528, .beta = 2, .clusters = 1});
}
TEST_F(Tuned, sums_of_the_tensor_core_are_packed_in_halves) {
  using D = Loaded<128, 256, 256, fast>;
  for (const int64_t k : {0, 128, 256, 528, 1408})
    check_tuned<D, f16>({.m = 256, .n = 264, .k = k, .tuning = {.cluster_n = 2}, .clusters = 1});
  check_tuned<D, f16>({.m = 256, .n = 264, .k = 1408, .beta = 2, .clusters = 1});
  check_tuned<Loaded<128, 256, 256, fast>, f16, true>(
      {.m = 256, .n = 264, .k = 1664, .vectors = true, .clusters = 1});
}
TEST_F(Tuned, results_of_bytes_and_of_columns) {
  using D = Loaded<64, 64, 128, promoted<4>>;
  check_tuned<D, e4m3>({.m = 130, .n = 80, .k = 16, .clusters = 1});
  check_tuned<D, float, false, col_major>({.m = 130, .n = 77, .k = 272, .beta = 2, .bulk = false});
  check_tuned<D, bf16>({.m = 130, .n = 77, .k = 272, .batches = 2, .bulk = false});
}
TEST_F(Tuned, copied_operands_have_any_alignment) {
  using D = TunedTile<64, 128, 128, promoted<4>, Tunable<1, 1>, CopiedInput>;
  check_tuned<D, bf16>({.m = 100, .n = 152, .k = 277, .batches = 2, .alignment = 1});
  check_tuned<TunedTile<64, 64, 128, fast, CopiedInput, Tunable<1, 1>>, float>(
      {.m = 65, .n = 64, .k = 129, .alignment = 1});
}
TEST_F(Tuned, copied_tiles_have_any_columns) {
  // 8, 4 and 1 bytes: two sizes of cp.async, and words; the last copies of a tile go beyond it.
  for (const int alignment : {8, 4, 1}) {
    check_tuned<TunedTile<64, 40, 128, promoted<4>, CopiedInput, Tunable<1, 1>>, float>(
        {.m = 70, .n = 95, .k = 333, .alignment = alignment, .bulk = false});
    check_tuned<TunedTile<64, 8, 128, promoted<4>, CopiedInput, Tunable<1, 1>>, float>(
        {.m = 64, .n = 21, .k = 333, .alignment = alignment, .bulk = false});
  }
}
TEST_F(Tuned, scales_of_groups_are_applied_at_promotion) {
  using D = Loaded<64, 128, 128, promoted<4>, ScaledPromotion>;
  check_tuned<D, float>({.m = 100, .n = 264, .k = 700, .tuning = {.cluster_m = 2}, .groups = true});
  check_tuned<D, float>({.m = 100, .n = 264, .k = 300});  // none: all of them are 1
  check_tuned<D, float, true>({.m = 100, .n = 264, .k = 300, .vectors = true});
  using Wide = Loaded<128, 256, 256, promoted<4>, ScaledPromotion>;
  check_tuned<Wide, bf16>({.m = 130, .n = 264, .k = 528, .groups = true, .clusters = 1});
  using Copied = TunedTile<64, 128, 128, promoted<4>, Tunable<1, 1>, CopiedInput, ScaledPromotion>;
  check_tuned<Copied, bf16>({.m = 70, .n = 130, .k = 300, .groups = true, .alignment = 1, .bulk = false});
}
TEST_F(Tuned, epilogues_refuse_types_that_they_cannot_read_or_store) {
  using D = Loaded<64, 64, 128, promoted<4>>;
  Matrix<bf16, row_major> c(64, 64, 1, 0, true, "C");
  const auto view = blas::detail::operand_view(c.tensor());
  const auto error = [&](DType of_c, DType of_d, float beta = 1) {
    LinearEpilogueOps ops;
    ops.beta = beta;
    ops.c_type = of_c;
    ops.d_type = of_d;
    const auto made = make_linear_epilogue<D, 2>(view, view, ops);
    return made ? pipeline_error{} : made.error();
  };
  const auto expect_refused = [&](DType of_c, DType of_d, const char* text) {
    EXPECT_EQ(error(of_c, of_d).code, pipeline_error_code::unsupported_element);
    EXPECT_NE(error(of_c, of_d).message.find(text), std::string::npos) << error(of_c, of_d).message;
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    EXPECT_EQ(error(type, DType::bf16).code, pipeline_error_code::none);
  EXPECT_EQ(error(DType::f32, DType::f16).code, pipeline_error_code::none);
  EXPECT_EQ(error(DType::e4m3, DType::f16, 0).code, pipeline_error_code::none);  // C is not read
  expect_refused(DType::e4m3, DType::bf16, "C: elements are e4m3");
  expect_refused(DType::f64, DType::bf16, "C: elements are f64");
  expect_refused(DType::f32, DType::f32, "D: elements are f32; the nearest legal types are f16 and bf16");
  expect_refused(DType::f32, DType::e4m3, "D: elements are e4m3");
}
TEST_F(Tuned, what_no_result_needs_is_not_read) {
  using D = Loaded<64, 64, 128, promoted<4>>;
  Matrix<bf16, row_major> c(64, 64, 1, 0, true, "C");
  const auto a = make_gmem_tensor<row_major>(reinterpret_cast<const e4m3*>(uintptr_t{1} << 20), 64, 256);
  const auto b = make_gmem_tensor<col_major>(reinterpret_cast<const e4m3*>(uintptr_t{1} << 20), 256, 64);
  Buffer<float> zero(1, false, "alpha");
  zero.data()[0] = 0;
  LinearEpilogueOps ops;
  ops.scale_device[1] = zero.data();
  const auto epilogue = make_linear_epilogue<D>(c.tensor(), c.tensor(), ops);
  ASSERT_TRUE(epilogue) << epilogue.error().message;
  using Epilogue = std::decay_t<decltype(*epilogue)>;
  const auto p = suggest_pipeline<D>(a, b, Tuning{.scratch = Epilogue::scratch_bytes()});
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const auto tiles = p->make_schedule();
  const auto config = p->persistent_config(run_kernel<Handle, Epilogue>, tiles, Epilogue::scratch_bytes());
  ASSERT_TRUE(config) << config.error().message;
  run(run_kernel<Handle, Epilogue>, *config, tiles, p->get_device_handle(), *epilogue);
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t m = 0; m < 64; ++m) {
    for (int64_t n = 0; n < 64; ++n) ASSERT_EQ(value_of(c.at(m, n, 0)), 0);
  }
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
