// The axes along which GEMM kernels and their options vary, as levels that make up a case.
#pragma once

#include <array>
#include <cstddef>
#include <ostream>
#include <vector>

#include "tests/kernels/covering_array.h"
#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// The first kDependentAxes decide together whether there is a kernel. Tile, cluster, types and raster are as
/// the kernel sees them: a column-major D exchanges M and N in the case.
enum Axis : size_t {
  kTile,
  kTypes,
  kOutput,        // type of D, and for 8 bits whether it saturates
  kAccumulation,  // fast, or the interval
  kLoad,
  kCluster,
  kStore,
  kSource,  // beta and the type of C
  kLayout,  // of C and D
  kBatches,
  kRaster,
  kSwizzle,
  kStages,
  kData,
  kScalars,  // on the host or the device
  kPadding,  // no more than bulk copies need, or more
  kAxes,
};
inline constexpr size_t kDependentAxes = kCluster + 1;

/// Levels of each axis.
const std::array<int, kAxes>& axis_levels();

inline constexpr int kLoadTma = 0, kLoadCopy = 1;
inline constexpr int kLevelFast = 0, kLevelInterval4 = 3;  // of kAccumulation

struct KernelTile {
  int m, n;
};
inline void PrintTo(const KernelTile& tile, std::ostream* out) { *out << tile.m << 'x' << tile.n; }
/// Levels of kTile.
inline constexpr std::array<KernelTile, 10> kTiles{{{64, 64},
                                                    {64, 128},
                                                    {64, 192},
                                                    {64, 256},
                                                    {128, 64},
                                                    {128, 128},
                                                    {128, 192},
                                                    {128, 256},
                                                    {256, 64},
                                                    {256, 128}}};

enum class Size {
  few_tiles,  // one cluster works on all of them, so that it goes from tile to tile and around its ring
  least,      // one tile
};

/// A small ragged problem at this point. `number` varies extents and seed.
GemmCase case_at(const Row& row, int number, Size size = Size::few_tiles);

/// Every combination of levels of the dependent axes (the others at 0), and those of them that `device` has a
/// kernel for, without the other axes.
std::vector<Row> dependent_combinations();
std::vector<Row> runnable_combinations(Device device);

/// Rows in which all pairs of levels meet that can meet on `device`, and their cases.
std::vector<Row> covering_rows(Device device);
std::vector<GemmCase> covering_cases(Device device);

/// All combinations of the levels of `varied` (axis by axis), the other axes as in `base`; those with a
/// kernel on `device` only.
std::vector<GemmCase> product_cases(Device device, const Row& base, const std::vector<Axis>& varied,
                                    Size size);

/// On a 64 x 128 tile, what values go through: outputs, sources, layouts, loads, stores, fast and promoted
/// sums. `whole`: also types, all intervals, and where scalars are.
std::vector<GemmCase> value_product(Device device, bool whole);
/// On 64 x 64 tiles, in what order many of them are taken: clusters, rasters, swizzles, batches.
std::vector<GemmCase> order_product(Device device);

}  // namespace tilewright::testing
