#include <algorithm>
#include <array>
#include <map>

#include "tests/kernels/covering_array.h"
#include "tests/kernels/text.h"
#include "tests/tensor/tensor_axes.h"
#include "tests/tensor/tensor_cases.h"

namespace tilewright::testing {
namespace {

using kernels::TensorKernelId;

// The first five belong to a kernel and depend on each other.
enum Axis : size_t {
  kTypes,
  kMajors,
  kTile,
  kCluster,
  kPathAndAlignment,
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
constexpr std::array<int, kAxes - kSize> kFreeLevels{5, 3, 3, 3, 6, 5, 3, 2, 2};

/// Numbers the different values of a property of the kernels.
class Levels {
 public:
  int of(int value) { return numbers_.emplace(value, static_cast<int>(numbers_.size())).first->second; }

 private:
  std::map<int, int> numbers_;
};

std::vector<Row> kernel_rows() {
  Levels types, tiles, ways;
  std::vector<Row> rows;
  for (const TensorKernelId& id : tensor_kernel_ids()) {
    const int type = (static_cast<int>(id.a) * 16 + static_cast<int>(id.b)) * 16 + static_cast<int>(id.d);
    rows.push_back({types.of(type), 2 * id.k_major_a + id.k_major_b, tiles.of(1000 * id.tile_m + id.tile_n),
                    id.cluster_m * id.cluster_n - 1,
                    ways.of(id.alignment + 100 * static_cast<int>(id.path))});
  }
  return rows;
}

void set_batches(GemmCase& c, int level) {
  if (level == 0) return;
  c.problem.l = 2;
  if (level == 2) c.problem.a.batch_stride = c.problem.b.batch_stride = 0;
}

void set_factors(GemmCase& c, int level) {
  set_factor_level(c, level);
  if (level == 3) c.options.tile = c.options.cluster = {};  // without a product any kernel does
  if (level != 5) return;
  c.in_place = true;
  c.problem.c.ld = c.problem.d.ld;
}

GemmCase covering_case(const TensorKernelId& id, const Row& at, size_t number) {
  constexpr std::array<Data, 5> kData_{Data::normal, Data::uniform, Data::integers, Data::specials,
                                       Data::codes};
  constexpr std::array<GemmCase::Offsets, 3> kOffsets{{{0, 0, 0, 0}, {16, 32, 4, 8}, {48, 16, 8, 4}}};
  const auto size = size_at_level(id, at[kSize], 40);
  GemmCase c = tensor_case(id, "", size[0], size[1], size[2], at[kLayoutD] == 1);
  c.name = text("covering ", number, ' ', kernels::tensor_kernel_name(id));
  set_padding_level(c, at[kPadding]);
  const GemmCase::Offsets own = c.offset;
  c.offset = kOffsets[static_cast<size_t>(at[kOffset])];
  c.offset.a += own.a, c.offset.b += own.b;
  const int least = bits_of(id.d) / 8;
  if (least > 4) c.offset.c = c.offset.c / least * least, c.offset.d = c.offset.d / least * least;
  set_batches(c, at[kBatches]);
  set_factors(c, at[kFactors]);
  c.data = kData_[static_cast<size_t>(at[kData])];
  if (at[kOrder] > 0) {
    c.options.raster = at[kOrder] == 1 ? schedule::Raster::along_m : schedule::Raster::along_n;
    c.options.swizzle = at[kOrder];
  }
  if (at[kSms] == 1) c.options.max_sms = id.cluster_m * id.cluster_n;
  c.seed = number;
  return c;
}

}  // namespace

std::vector<GemmCase> tensor_covering_cases() {
  const std::vector<Row> rows = kernel_rows();
  std::vector<Row> different = rows;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  std::vector<GemmCase> cases;
  for (const Row& row : covering_array(different, {kFreeLevels.begin(), kFreeLevels.end()})) {
    const Row kernel(row.begin(), row.begin() + kSize);
    const auto found = std::find(rows.begin(), rows.end(), kernel) - rows.begin();
    cases.push_back(covering_case(tensor_kernel_ids()[static_cast<size_t>(found)], row, cases.size()));
  }
  return cases;
}

}  // namespace tilewright::testing
