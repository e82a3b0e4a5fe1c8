#include "tests/tensor/tensor_cases.h"

#include <limits>

#include "tests/kernels/text.h"
#include "tests/tensor/tensor_kernel_case.h"

namespace tilewright::testing {
namespace {

using kernels::TensorKernelId;

constexpr bool k = true;
constexpr bool m = false, n = false;
using kernels::TensorPath;
#define TILEWRIGHT_TENSOR_KERNEL(tm, tn, a, b, d, ka, kb, cm, cn, path, alignment) \
  TensorKernelId{tm, tn, DType::a, DType::b, DType::d, ka, kb, cm, cn, TensorPath::path, alignment},
constexpr TensorKernelId kIds[] = {
#include "src/tensor_kernels.def"
};
#undef TILEWRIGHT_TENSOR_KERNEL

constexpr DType kTypes[] = {DType::bf16, DType::f16,   DType::tf32,  DType::s8,   DType::u8,  DType::f64,
                            DType::cf16, DType::cbf16, DType::ctf32, DType::cf32, DType::cf64};
/// What sums of the type are stored as without loss.
DType wide_of(DType type) { return is_complex(type) ? DType::cf32 : DType::f32; }
DType output_of(DType type) {
  return bits_of(type) == 8 ? DType::s32 : real_type_of(type) == DType::tf32 ? wide_of(type) : type;
}

}  // namespace

std::span<const TensorKernelId> tensor_kernel_ids() { return kIds; }

GemmCase tensor_case(const TensorKernelId& id, const char* name, int64_t rows, int64_t columns, int64_t depth,
                     bool exchanged) {
  GemmCase c = kernel_case(id, name, rows, columns, depth, exchanged);
  if (id.alignment < 16) {  // what no wider copies reach
    c.problem.a.ld += id.alignment * 8 / bits_of(id.a);
    c.problem.b.ld += id.alignment * 8 / bits_of(id.b);
    c.offset.a = c.offset.b = id.alignment;
  }
  c.options.cluster = flip_if(exchanged, id.cluster_m, id.cluster_n);
  return c;
}

const TensorKernelId& small_kernel(DType a, DType d) {
  return smallest_kernel(kIds, [&](const TensorKernelId& id) {
    return id.a == a && id.b == a && id.d == d && id.k_major_a && id.k_major_b &&
           id.cluster_m * id.cluster_n == 1;
  });
}

std::vector<GemmCase> tensor_kernel_cases() {
  std::vector<GemmCase> cases;
  for (const TensorKernelId& id : kIds) {
    const bool exchanged = cases.size() % 2 == 1;
    const int64_t tile_k = kernels::tensor_tile_k(id), number = static_cast<int64_t>(cases.size());
    GemmCase c = tensor_case(id, "", id.tile_m + 5 + number % 7, id.tile_n + 24, 2 * tile_k + 3, exchanged);
    c.name = text("kernel ", kernels::tensor_kernel_name(id));
    c.data = Data::normal;
    c.seed = static_cast<uint64_t>(number);
    c.options.max_sms = 2;
    const bool narrow = id.d != wide_of(id.a) && id.stores(wide_of(id.a));
    if (narrow) {
      GemmCase wide = c;
      wide.name += " to f32";
      wide.problem.d.type = wide.problem.c.type = wide_of(id.a);
      wide.problem.beta = 0.5f;
      cases.push_back(std::move(wide));
    }
    // A problem that has no kernel of its own order: that of the exchanged one stores D column by column.
    if (id.path != TensorPath::wgmma && id.k_major_a && !id.k_major_b) {
      GemmCase flipped = tensor_case(id, "", c.problem.m, c.problem.n, c.problem.k, true);
      if (!exchanged) std::swap(flipped.problem.m, flipped.problem.n);
      flipped.name = c.name + " flipped";
      flipped.problem.c.layout = flipped.problem.d.layout = Layout::row_major;
      flipped.problem.beta = -0.5f;
      flipped.options.max_sms = 2;
      pad_for_bulk(flipped.problem, static_cast<int64_t>(cases.size() % 2));
      if (id.alignment < 16) flipped.problem.a.ld += id.alignment * 8 / bits_of(id.a);
      cases.push_back(std::move(flipped));
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<GemmCase> tensor_edge_cases() {
  std::vector<GemmCase> cases;
  const auto add = [&](const TensorKernelId& id, int64_t rows, int64_t columns, int64_t depth) {
    const bool exchanged =
        cases.size() % 3 == 2 && rows > 1 && columns > 0;  // a single column of D is a row, too
    GemmCase c = tensor_case(id, "", rows, columns, depth, exchanged);
    c.name = text("edge ", kernels::tensor_kernel_name(id), ' ', rows, " x ", columns, " x ", depth);
    c.problem.beta = cases.size() % 4 == 1 ? 2.0f : 0.0f;
    c.options.max_sms = 1;
    cases.push_back(std::move(c));
  };
  for (const DType type : kTypes) {
    const TensorKernelId& id = small_kernel(type, output_of(type));
    const int64_t tile = kernels::tensor_tile_k(id), mma = tile / 4;
    for (const int64_t depth :
         {int64_t{0}, int64_t{1}, mma - 1, mma, mma + 1, tile - 1, tile, tile + 1, 2 * tile, 9 * tile + 1})
      add(id, 70, 136, depth);
  }
  const TensorKernelId& id = small_kernel(DType::bf16, DType::bf16);
  for (const int64_t rows : {0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 128, 129}) add(id, rows, 72, 70);
  for (const int64_t columns : {0, 1, 2, 7, 8, 9, 16, 63, 64, 65, 72, 127, 128, 129, 136, 256})
    add(id, 33, columns, 70);
  const TensorKernelId& wide = small_kernel(DType::s8, DType::s32);
  for (const int64_t columns : {1, 3, 4, 5, 31, 32, 33, 36}) add(wide, 33, columns, 130);
  for (const TensorKernelId& other : kIds) {
    if (other.path == TensorPath::wgmma) continue;
    const int64_t tile = kernels::tensor_tile_k(other);
    add(other, 70, 72, tile + 1);
    add(other, 129, 17, tile / 2 - 1);
    add(other, 3, 9, 3);
  }
  // A single row or column has no leading dimension, and either order.
  for (const TensorKernelId* one : {&id, &wide}) {
    add(*one, 1, 1, 1);
    add(*one, 1, 130, 64);
    add(*one, 130, 1, 64);
  }
  // A row of C whose elements lie apart, beside a row of D whose do not, and the reverse.
  for (const DType type : kTypes)
    for (const bool of_c : {true, false}) {
      const TensorKernelId& small = small_kernel(type, output_of(type));
      GemmCase c = tensor_case(small, "", 1, 70, 33);
      c.name = text("a row apart, ", kernels::tensor_kernel_name(small));
      Operand& apart = of_c ? c.problem.c : c.problem.d;
      apart.layout = Layout::column_major;
      apart.ld = 5;
      c.problem.beta = 2;
      c.options.tile.reset(), c.options.cluster.reset();
      c.options.max_sms = 1;
      cases.push_back(std::move(c));
    }
  // A column of D flipped into a row, and a C that has a leading dimension where D has none.
  for (const TensorKernelId& other : kIds) {
    if (other.path == TensorPath::wgmma || !other.k_major_a || other.k_major_b || is_complex(other.a))
      continue;
    GemmCase c = tensor_case(other, "", 1, 70, 33, true);
    c.name = text("a column, ", kernels::tensor_kernel_name(other));
    c.problem.c.layout = Layout::row_major;
    c.problem.c.ld = 5;
    c.problem.beta = 2;
    c.options.max_sms = 1;
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<GemmCase> tensor_value_cases() {
  std::vector<GemmCase> cases;
  const auto add = [&](const char* name, DType a, DType d, int64_t depth, const auto& change) {
    const auto make = [&](bool exchanged) {
      GemmCase c = tensor_case(small_kernel(a, d), name, 70, 136, depth, exchanged);
      c.options.max_sms = 1;
      return c;
    };
    add_both_ways(cases, make, change);
  };
  for (const DType type : kTypes)
    for (const Data data : {Data::integers, Data::specials, Data::ones, Data::codes})
      add("data", type, output_of(type), 150, [&](GemmCase& c) { c.data = data; });
  // C19: sums above 2^24, where FP32 has no odd numbers.
  const auto full = [](int64_t, int64_t, int64_t) { return 255.0; };
  const auto with_one = [](int64_t, int64_t row, int64_t column) {
    return row == 3 || column == 3 ? 1.0 : 255.0;
  };
  add("u8 above 2^24", DType::u8, DType::s32, 700,
      [&](GemmCase& c) { c.a_value = full, c.b_value = with_one; });
  const auto least = [](int64_t, int64_t, int64_t) { return -128.0; };
  add("s8 above 2^24", DType::s8, DType::s32, 1100, [&](GemmCase& c) { c.a_value = c.b_value = least; });
  add("s8, factors are exact", DType::s8, DType::s32, 1100, [&](GemmCase& c) {
    c.a_value = c.b_value = least;
    c.problem.alpha = 3, c.problem.beta = -2;
    c.c_value = [](int64_t, int64_t row, int64_t column) {
      return 20000001.0 + static_cast<double>(row - column);
    };
  });
  add("s8, results clamp", DType::s8, DType::s32, 64, [&](GemmCase& c) { c.problem.alpha = 1e7f; });
  add("s8, results round to even", DType::s8, DType::s32, 64, [&](GemmCase& c) { c.problem.alpha = 0.5f; });
  add("s8 to f32", DType::s8, DType::f32, 200, [&](GemmCase& c) { c.problem.alpha = 0.0123f; });
  add("s8 to f32 with C", DType::s8, DType::f32, 200,
      [&](GemmCase& c) { c.problem.alpha = 0.0123f, c.problem.beta = -1.5f; });
  // f16 overflows to infinity.
  add("f16 overflow", DType::f16, DType::f16, 300, [&](GemmCase& c) {
    c.a_value = c.b_value = [](int64_t, int64_t row, int64_t) { return row % 2 == 0 ? 16.0 : -16.0; };
  });
  // A row of A that is NaN leaves the rows beside it alone.
  add("a row of NaN", DType::bf16, DType::bf16, 33, [&](GemmCase& c) {
    c.a_value = [](int64_t, int64_t row, int64_t) {
      return row == 3 ? std::numeric_limits<double>::quiet_NaN() : 0.5;
    };
  });
  // C16: with alpha = 0 operands do not matter; with beta = 0 C does not.
  for (const bool device : {false, true})
    for (const DType type : {DType::bf16, DType::s8})
      add("zero alpha", type, output_of(type), 64,
          [&](GemmCase& c) { c.problem.alpha = 0, c.problem.beta = 0.5f, c.device_scalars = device; });
  add("zero beta on the device", DType::f16, DType::f32, 64,
      [&](GemmCase& c) { c.problem.alpha = 2, c.problem.beta = 0, c.device_scalars = true; });
  return cases;
}

}  // namespace tilewright::testing
