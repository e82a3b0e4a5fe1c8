#include <array>

#include "tests/fused/fused_cases.h"
#include "tests/kernels/covering_array.h"
#include "tests/kernels/text.h"
#include "tests/tensor/tensor_axes.h"

namespace tilewright::testing {
namespace {

using kernels::TensorKernelId;

enum Axis : size_t {
  kKernel,
  kTypeD,  // of its size
  kBias,
  kBiasType,
  kActivation,
  kAux,
  kAmax,
  kSize,
  kPadding,
  kOffset,
  kBatches,
  kFactors,
  kData,
  kOrder,
  kSms,
  kLayoutD,
  kAxes
};
constexpr std::array<int, kAxes - kBias> kFreeLevels{3, 3, 3, 4, 2, 5, 3, 3, 4, 6, 4, 3, 2, 2};
constexpr std::array<DType, 3> kWide{DType::f32, DType::bf16, DType::f16};

std::vector<DType> types_of_d(const TensorKernelId& id) {
  if (!is_fp8(id.a) || id.d == DType::f32) return {id.d};
  if (bits_of(id.d) == 8) return {DType::e4m3, DType::e5m2};
  return {DType::f16, DType::bf16};
}

void set_padding(GemmCase& c, int level) {
  set_padding_level(c, level);
  if (level == 2 && c.problem.epilogue.aux) c.problem.epilogue.aux->ld += 5;
}

void set_batches(GemmCase& c, int level) {
  if (level == 0) return;
  c.problem.l = 2;
  const bool of_rows = c.problem.epilogue.bias == BiasKind::row;
  const int64_t lines = of_rows ? c.problem.m : c.problem.n;
  c.problem.epilogue.bias_batch_stride = level == 1 ? 0 : level == 2 ? lines + lines % 2 : lines + 3;
  if (level == 2) c.problem.a.batch_stride = c.problem.b.batch_stride = 0;
}

void set_factors(GemmCase& c, int level) {
  Problem& p = c.problem;
  set_factor_level(c, level);
  if (level == 1) p.scale_a = 0.5f, p.scale_b = 3;
  if (level >= 1 && level <= 3) p.scale_d = level == 2 ? -0.25f : 2.5f;
  if (level == 4 && is_fp8(p.a.type)) p.scale_a = 1.5f, p.scale_d = 0.75f;
  if (level != 5 || bits_of(p.d.type) == 8) return;
  c.in_place = true;
  p.c.type = p.d.type;
  p.c.ld = p.d.ld;
}

GemmCase covering_case(const Row& at, size_t number) {
  constexpr std::array<Data, 4> kData_{Data::normal, Data::uniform, Data::integers, Data::specials};
  constexpr std::array<GemmCase::Offsets, 3> kOffsets{{{}, {16, 32, 4, 8, 0, 4, 4}, {48, 16, 8, 4, 0, 8, 8}}};
  const TensorKernelId& id = fused_kernel_ids()[static_cast<size_t>(at[kKernel])];
  const auto size = size_at_level(id, at[kSize], 48);
  GemmCase c = fused_case(id, "", size[0], size[1], size[2], at[kLayoutD] == 1);
  c.name = text("fused ", number);
  Problem& p = c.problem;
  p.d.type = types_of_d(id)[static_cast<size_t>(at[kTypeD])];
  if (is_fp8(p.a.type))
    p.c.type = kWide[number % kWide.size()];
  else
    p.c.type = p.d.type;
  pad_for_bulk(p);
  EpilogueOps& e = p.epilogue;
  e.bias = static_cast<BiasKind>(at[kBias]);
  e.bias_type = kWide[static_cast<size_t>(at[kBiasType])];
  e.activation = static_cast<Activation>(at[kActivation]);
  if (at[kAux] > 0) e.aux = aux_of(p, kWide[static_cast<size_t>(at[kAux] - 1)]);
  e.amax_d = at[kAmax] == 1 || !e.any();
  set_padding(c, at[kPadding]);
  c.offset = kOffsets[static_cast<size_t>(at[kOffset])];
  set_batches(c, at[kBatches]);
  set_factors(c, at[kFactors]);
  c.data = kData_[static_cast<size_t>(at[kData])];
  if (at[kOrder] > 0) {
    c.options.raster = at[kOrder] == 1 ? schedule::Raster::along_m : schedule::Raster::along_n;
    c.options.swizzle = at[kOrder];
  }
  if (at[kSms] == 0) c.options.max_sms.reset();
  c.seed = number;
  return c;
}

}  // namespace

std::vector<GemmCase> fused_covering_cases() {
  std::vector<Row> kernels;
  for (size_t i = 0; i < fused_kernel_ids().size(); ++i)
    for (size_t type = 0; type < types_of_d(fused_kernel_ids()[i]).size(); ++type)
      kernels.push_back({static_cast<int>(i), static_cast<int>(type)});
  std::vector<GemmCase> cases;
  for (const Row& row : covering_array(kernels, {kFreeLevels.begin(), kFreeLevels.end()}))
    cases.push_back(covering_case(row, cases.size()));
  return cases;
}

}  // namespace tilewright::testing
