#include "tests/fused/fused_cases.h"

#include <limits>

#include "tests/kernels/text.h"
#include "tests/tensor/tensor_kernel_case.h"

namespace tilewright::testing {
namespace {

using kernels::TensorKernelId;

#define TILEWRIGHT_FUSED_KERNEL(m, n, a, b, d) \
  TensorKernelId{m, n, DType::a, DType::b, DType::d, true, true, 1, 1, kernels::TensorPath::wgmma, 16},
constexpr TensorKernelId kIds[] = {
#include "src/fused_kernels.def"
};
#undef TILEWRIGHT_FUSED_KERNEL

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::span<const TensorKernelId> fused_kernel_ids() { return kIds; }

GemmCase fused_case(const TensorKernelId& id, const char* name, int64_t rows, int64_t columns, int64_t depth,
                    bool exchanged) {
  GemmCase c = kernel_case(id, name, rows, columns, depth, exchanged);
  if (bits_of(id.d) == 8) c.problem.c.type = DType::f16;
  pad_for_bulk(c.problem);
  c.options.max_sms = 1;
  return c;
}

const TensorKernelId& small_fused_kernel(DType a, DType d) {
  return smallest_kernel(kIds,
                         [&](const TensorKernelId& id) { return id.a == a && id.b == a && id.stores(d); });
}

Operand aux_of(const Problem& p, DType type) {
  Operand aux = operand_in(type, p.d.layout == Layout::row_major);
  aux.ld = bulk_ld(aux.layout == Layout::row_major ? p.n : p.m, type);
  return aux;
}

std::vector<GemmCase> fused_edge_cases() {
  std::vector<GemmCase> cases;
  const auto add = [&](const TensorKernelId& id, int64_t rows, int64_t columns, int64_t depth) {
    const size_t number = cases.size();
    const bool exchanged = number % 3 == 2 && rows > 1 && columns > 1;
    GemmCase c = fused_case(id, "", rows, columns, depth, exchanged);
    c.name = text("edge ", rows, " x ", columns, " x ", depth);
    Problem& p = c.problem;
    p.beta = number % 4 == 1 ? 2.0f : 0.0f;
    p.epilogue.bias = number % 2 == 0 ? BiasKind::row : BiasKind::column;
    p.epilogue.bias_type = number % 3 == 0 ? DType::f32 : number % 3 == 1 ? DType::bf16 : DType::f16;
    p.epilogue.activation = number % 5 == 0 ? Activation::gelu : Activation::relu;
    p.epilogue.aux = aux_of(p, number % 3 == 0 ? DType::bf16 : number % 3 == 1 ? DType::f16 : DType::f32);
    p.epilogue.amax_d = true;
    cases.push_back(std::move(c));
  };
  const TensorKernelId& half = small_fused_kernel(DType::bf16, DType::bf16);
  const TensorKernelId& byte = small_fused_kernel(DType::e4m3, DType::e4m3);
  for (const TensorKernelId* id : {&half, &byte}) {
    const int64_t tile = kernels::tensor_tile_k(*id);
    for (const int64_t depth : {int64_t{0}, int64_t{1}, tile - 1, tile, tile + 1, 9 * tile + 1})
      add(*id, 70, 136, depth);
    for (const int64_t rows : {0, 1, 2, 7, 8, 9, 15, 16, 17, 64, 65, 129}) add(*id, rows, 72, 70);
    for (const int64_t columns : {0, 1, 2, 7, 8, 9, 16, 17, 63, 64, 65, 72, 127, 128, 129, 200})
      add(*id, 33, columns, 70);
    add(*id, 1, 1, 1);
    // A single row of D, C or aux may have either layout; column-major, its elements lie apart.
    for (const int64_t d_ld : {0, 1, 3})
      for (const int64_t c_ld : {0, 4})
        for (const int64_t aux_ld : {0, 5}) {
          add(*id, 1, 130, 70);
          Problem& p = cases.back().problem;
          cases.back().options.tile.reset();  // it may be that of the transpose
          p.beta = 2;
          const auto lie = [](Operand& operand, int64_t ld) {
            operand.layout = ld == 0 ? Layout::row_major : Layout::column_major;
            operand.ld = ld;
          };
          lie(p.d, d_ld), lie(p.c, c_ld), lie(*p.epilogue.aux, aux_ld);
          cases.back().name = text("a row, ", d_ld, ' ', c_ld, ' ', aux_ld);
        }
  }
  return cases;
}

std::vector<GemmCase> fused_value_cases() {
  std::vector<GemmCase> cases;
  const auto add = [&](const char* name, DType a, DType d, const auto& change) {
    const auto make = [&](bool exchanged) {
      GemmCase c = fused_case(small_fused_kernel(a, d), name, 70, 144, 150, exchanged);
      c.problem.d.type = d;
      return c;
    };
    add_both_ways(cases, make, change);
  };
  // Each operation alone, for each size of D: it must be done, and nothing else.
  const std::pair<DType, DType> types[] = {{DType::bf16, DType::bf16},
                                           {DType::f16, DType::f32},
                                           {DType::e4m3, DType::bf16},
                                           {DType::e4m3, DType::e5m2}};
  for (const auto& [a, d] : types) {
    for (const BiasKind kind : {BiasKind::row, BiasKind::column})
      add("bias", a, d, [&](GemmCase& c) { c.problem.epilogue.bias = kind; });
    for (const Activation f : {Activation::relu, Activation::gelu})
      add(name_of(f), a, d, [&](GemmCase& c) { c.problem.epilogue.activation = f; });
    add("aux", a, d, [](GemmCase& c) { c.problem.epilogue.aux = aux_of(c.problem, DType::f32); });
    add("amax", a, d, [](GemmCase& c) { c.problem.epilogue.amax_d = true; });
  }
  // The scale of D comes after activation and amax, and is not in aux.
  for (const float scale : {-0.375f, 8.0f, 0.0f})
    for (const auto& [a, d] : types)
      add("scale_d", a, d, [&](GemmCase& c) {
        Problem& p = c.problem;
        p.scale_d = scale;
        p.epilogue = {.bias = BiasKind::column, .activation = Activation::gelu, .amax_d = true};
        p.epilogue.aux = aux_of(p, DType::f32);
      });
  for (const bool saturate : {true, false})
    for (const DType d : {DType::e4m3, DType::e5m2})
      add("overflow of 8 bits", DType::e4m3, d, [&](GemmCase& c) {
        c.problem.scale_d = 4000;
        c.problem.saturate = saturate;
        c.problem.epilogue = {.bias = BiasKind::row, .amax_d = true};
      });
  add("f16 overflow", DType::f16, DType::f16, [](GemmCase& c) {
    c.bias_value = [](int64_t, int64_t i, int64_t) { return i % 2 == 0 ? 70000.0 : -70000.0; };
    c.problem.epilogue = {.bias = BiasKind::column, .amax_d = true};
    c.problem.epilogue.aux = aux_of(c.problem, DType::f16);
  });
  // NaN and infinities in a bias stay in their row or column, and make amax NaN or infinite.
  for (const double special : {kNan, kInfinity, -kInfinity})
    for (const Activation f : {Activation::none, Activation::relu, Activation::gelu})
      for (const BiasKind kind : {BiasKind::row, BiasKind::column})
        add("special bias", DType::bf16, DType::f32, [&](GemmCase& c) {
          c.bias_value = [special](int64_t, int64_t i, int64_t) { return i == 5 ? special : 0.5; };
          c.problem.epilogue = {.bias = kind, .activation = f, .amax_d = true};
          c.problem.epilogue.aux = aux_of(c.problem, DType::bf16);
        });
  add("specials", DType::bf16, DType::bf16, [](GemmCase& c) {
    c.data = Data::specials;
    c.problem.epilogue = {.bias = BiasKind::row, .activation = Activation::gelu, .amax_d = true};
  });
  // The largest magnitude in one place, at the end of everything, of either sign.
  for (const double value : {-1000.0, 1000.0})
    add("one large element", DType::e4m3, DType::f32, [&](GemmCase& c) {
      c.bias_value = [value, last = c.problem.m - 1](int64_t, int64_t i, int64_t) {
        return i == last ? value : 0.0;
      };
      c.problem.epilogue = {.bias = BiasKind::row, .amax_d = true};
    });
  // A bias of what does not exist is not in amax: where there is a product, they cancel.
  add("bias outside", DType::bf16, DType::f32, [](GemmCase& c) {
    c.a_value = [](int64_t, int64_t, int64_t) { return 1.0; };
    c.b_value = [](int64_t, int64_t, int64_t) { return -1.0; };
    c.bias_value = [k = c.problem.k](int64_t, int64_t, int64_t) { return static_cast<double>(k); };
    c.problem.epilogue = {.bias = BiasKind::row, .amax_d = true};
  });
  // With alpha = 0 operands do not matter; with beta = 0 C does not.
  for (const bool device : {false, true})
    for (const DType type : {DType::bf16, DType::e4m3})
      add("zero alpha", type, DType::f32, [&](GemmCase& c) {
        c.problem.alpha = 0, c.problem.beta = 0.5f, c.device_scalars = device;
        c.problem.epilogue = {.bias = BiasKind::column, .activation = Activation::gelu, .amax_d = true};
      });
  add("factors on the device", DType::e4m3, DType::e4m3, [](GemmCase& c) {
    c.device_scalars = true;
    c.problem.alpha = 0.75f, c.problem.beta = -1.5f;
    c.problem.scale_a = 0.5f, c.problem.scale_b = 1.25f, c.problem.scale_d = 3;
    c.problem.epilogue = {.bias = BiasKind::row, .activation = Activation::relu, .amax_d = true};
    c.problem.epilogue.aux = aux_of(c.problem, DType::bf16);
  });
  // C of another type than D, and C that is D.
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    for (const DType d : {DType::bf16, DType::e4m3})
      add("C of a type of its own", DType::e4m3, d, [&](GemmCase& c) {
        c.problem.c.type = type;
        c.problem.beta = 0.5f;
        pad_for_bulk(c.problem);
        c.problem.epilogue.activation = Activation::relu;
      });
  for (const auto& [a, d] : types)
    if (bits_of(d) > 8)
      add("in place", a, d, [type = d](GemmCase& c) {
        c.problem.c.type = type;
        c.problem.beta = 1;
        pad_for_bulk(c.problem, 1);
        c.in_place = true;
        c.problem.epilogue = {.bias = BiasKind::column, .activation = Activation::gelu, .amax_d = true};
      });
  return cases;
}

}  // namespace tilewright::testing
