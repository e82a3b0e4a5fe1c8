#include "tests/kernels/operands.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "src/matrix_init.h"
#include "tilewright/numeric/element.h"

namespace tilewright::testing {
namespace {

constexpr uint8_t kNan = 0xFF;  // every byte of a NaN of each type

/// Numbers in an element. Functions and specials are about the real part of a complex one.
int64_t parts_of(DType type) { return is_complex(type) ? 2 : 1; }

/// Codes that break careless kernels. e4m3 has no infinity.
std::array<uint8_t, 6> special_codes(DType type) {
  if (type == DType::e4m3) return {0x7F, 0x80, 0x7E, 0xFE, 0x01, 0xFF};
  return {0x7E, 0x80, 0x7C, 0x7B, 0x01, 0xFC};
}

constexpr std::array<float, 6> kSpecialFloats{
    std::numeric_limits<float>::quiet_NaN(),
    -0.0f,
    std::numeric_limits<float>::infinity(),
    1e30f,  // the largest number would overflow on its way to an infinity of the other sign
    std::numeric_limits<float>::denorm_min(),
    -std::numeric_limits<float>::infinity()};

/// The same for other types; integers have their ends only.
double special_value(DType element, size_t which) {
  const DType type = real_type_of(element);
  if (is_integer(type))
    return with_type(type, [&](auto t) -> double {
      using Traits = NumericTraits<decltype(t)>;
      return which % 2 == 0 ? Traits::max : Traits::lowest;
    });
  if (type != DType::f16) return kSpecialFloats[which];
  constexpr double kLarge = 60000, kLeast = 0x1p-24;
  return which == 3 ? kLarge : which == 4 ? kLeast : static_cast<double>(kSpecialFloats[which]);
}

/// One special code in every seventh row, or column of B.
void plant_specials(HostOperand& o, bool along_columns) {
  const OperandShape& s = o.shape;
  const int64_t lines = along_columns ? s.columns : s.rows, depth = along_columns ? s.rows : s.columns;
  if (depth == 0) return;
  const auto codes = special_codes(s.type);
  for (int64_t batch = 0; batch < s.batches; ++batch) {
    for (int64_t line = 3; line < lines; line += 7) {
      const int64_t at = (line * 37 + batch) % depth;
      const int64_t index = along_columns ? s.index(batch, at, line) : s.index(batch, line, at);
      const size_t which = static_cast<size_t>(line / 7 + batch) % codes.size();
      if (is_fp8(s.type)) {
        o.bytes[static_cast<size_t>(index)] = codes[which];
      } else {
        store_element(o.bytes.data(), s.type, parts_of(s.type) * index, special_value(s.type, which), false);
      }
    }
  }
}

void fill(HostOperand& o, const GemmCase& c, const ElementFunction& value, uint64_t seed) {
  OperandShape& s = o.shape;
  const int64_t batches = s.batch_stride == 0 ? std::min<int64_t>(s.batches, 1) : s.batches;
  if (value) {
    for (int64_t batch = 0; batch < batches; ++batch)
      for (int64_t row = 0; row < s.rows; ++row)
        for (int64_t column = 0; column < s.columns; ++column)
          for (int64_t part = 0; part < parts_of(s.type); ++part)
            store_element(o.bytes.data(), s.type, parts_of(s.type) * s.index(batch, row, column) + part,
                          part == 0 ? value(batch, row, column) : 0, false);
    return;
  }
  const MatrixShape shape{s.type, s.rows, s.columns, batches, s.row_stride, s.column_stride, s.batch_stride};
  // Sums of any f64 or f32 leave the range of the reference.
  const DType number = real_type_of(s.type);
  if (c.data == Data::codes && number != DType::f64 && number != DType::f32 && number != DType::s32) {
    fill_any_codes(o.bytes.data(), shape, false, seed);
    return;
  }
  const Init init = c.data == Data::uniform    ? Init::uniform
                    : c.data == Data::ones     ? Init::ones
                    : c.data == Data::integers ? Init::integers
                                               : Init::normal;
  fill_matrix(o.bytes.data(), shape, init, seed);
}

HostOperand make(const OperandShape& shape) {
  return {shape, std::vector<uint8_t>(static_cast<size_t>(shape.bytes()), kNan)};
}

/// All different: 1/8 to 2, every fifth one negative.
double default_scale(int64_t number) {
  const double value = std::exp2(number % 4 - 3) * (1 + static_cast<double>(number % 8191) / 8192);
  return number % 5 == 3 ? -value : value;
}

/// k_blocks are contiguous in packed scales if `by_lines`, else the lines are.
HostScales make_scales(const ScaleStrides& strides, int64_t lines, int64_t k_blocks, int64_t batches,
                       bool by_lines, const ElementFunction& value, bool read) {
  HostScales s{lines, k_blocks, batches, strides.line_stride, strides.k_stride};
  if (s.line_stride == 0 && s.k_stride == 0) {
    s.line_stride = by_lines ? k_blocks : 1;
    s.k_stride = by_lines ? 1 : lines;
  }
  const int64_t packed = std::max(s.line_stride * lines, s.k_stride * k_blocks);
  s.batch_stride = batches > 1 ? strides.batch_stride.value_or(packed) : 0;
  if (lines == 0 || k_blocks == 0 || batches == 0) return s;
  s.bytes.assign(static_cast<size_t>(s.index(batches - 1, lines - 1, k_blocks - 1) + 1) * sizeof(float),
                 kNan);
  if (!read) return s;
  for (int64_t batch = 0; batch < (s.batch_stride == 0 ? 1 : batches); ++batch) {
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t block = 0; block < k_blocks; ++block) {
        const int64_t number = (batch * lines + line) * k_blocks + block;
        const auto scale = static_cast<float>(value ? value(batch, line, block) : default_scale(number));
        std::memcpy(&s.bytes[static_cast<size_t>(s.index(batch, line, block)) * sizeof(float)], &scale,
                    sizeof scale);
      }
    }
  }
  return s;
}

/// The product of factors in device memory: a zero stays zero.
float product(std::initializer_list<float> factors) {
  float result = 1;
  for (const float factor : factors) result = result == 0 ? 0.0f : result * factor;
  return result;
}

}  // namespace

int64_t OperandShape::bytes() const {
  if (rows == 0 || columns == 0 || batches == 0) return 0;
  return (index(batches - 1, rows - 1, columns - 1) + 1) * bits_of(type) / 8;
}

OperandShape shape_of(const Operand& operand, int64_t rows, int64_t columns, int64_t batches) {
  const bool row_major = operand.layout == Layout::row_major;
  const int64_t ld = operand.ld != 0 ? operand.ld : row_major ? columns : rows;
  const int64_t packed = ld * (row_major ? rows : columns);
  OperandShape s{operand.type, rows, columns, batches};
  s.row_stride = row_major ? ld : 1;
  s.column_stride = row_major ? 1 : ld;
  s.batch_stride = batches > 1 ? operand.batch_stride.value_or(packed) : 0;
  return s;
}

double HostScales::greatest() const {
  double most = 1;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t block = 0; block < k_blocks; ++block)
        if (const double value = std::fabs(at(batch, line, block)); std::isfinite(value))
          most = std::max(most, value);
  return most;
}

HostOperands make_operands(const GemmCase& c) {
  const Problem& p = c.problem;
  HostOperands o;
  o.a = make(shape_of(p.a, p.m, p.k, p.l));
  o.b = make(shape_of(p.b, p.k, p.n, p.l));
  o.c = make(shape_of(p.c, p.m, p.n, p.l));
  o.d = make(shape_of(p.d, p.m, p.n, p.l));
  const Factors factors = factors_of(c);
  if (factors.reads_ab()) {
    fill(o.a, c, c.a_value, c.seed);
    fill(o.b, c, c.b_value, c.seed + 1);
    if (c.data == Data::specials) {
      plant_specials(o.a, false);
      plant_specials(o.b, true);
    }
  }
  if (factors.reads_c()) fill(o.c, c, c.c_value, c.seed + 2);
  const EpilogueOps& e = p.epilogue;
  if (e.bias != BiasKind::none) {
    const int64_t count = e.bias == BiasKind::row ? p.m : p.n;
    o.bias = make({e.bias_type, count, 1, p.l, 1, count, p.l > 1 ? e.bias_batch_stride : 0});
    fill(o.bias, c, c.bias_value, c.seed + 3);
  }
  if (e.aux) o.aux = make(shape_of(*e.aux, p.m, p.n, p.l));
  if (p.scale_mode != ScaleMode::per_tensor) {
    const bool blocks = p.scale_mode == ScaleMode::block_1x128_128x128;
    const int64_t k_blocks = blocks ? (p.k + 127) / 128 : 1, n_lines = blocks ? (p.n + 127) / 128 : p.n;
    o.a_scales = make_scales(p.a_scales, p.m, k_blocks, p.l, false, c.a_scale, factors.reads_ab());
    o.b_scales = make_scales(p.b_scales, n_lines, k_blocks, p.l, blocks, c.b_scale, factors.reads_ab());
  }
  return o;
}

// Factors in device memory: those of one that is zero read nothing behind them.
Factors device_factors(const Problem& p) {
  Factors f;
  if (p.epilogue.any()) {
    f.scale = p.alpha == 0 || p.k == 0 ? 0.0f : product({p.alpha, p.scale_a, p.scale_b});
    f.beta = p.beta;
    f.after = p.scale_d;
  } else {
    // With more scales, scale_a and scale_b are on the host.
    if (p.k != 0)
      f.scale = p.scale_mode != ScaleMode::per_tensor
                    ? product({static_cast<float>(double{p.scale_a} * p.scale_b), p.alpha, p.scale_d})
                    : product({p.alpha, p.scale_a, p.scale_b, p.scale_d});
    f.beta = product({p.beta, p.scale_d});
  }
  return f;
}

// Factors on the host, by a formula of the tests' own.
Factors host_factors(const Problem& p) {
  Factors f;
  const bool zero = p.k == 0 || p.alpha == 0 || p.scale_a == 0 || p.scale_b == 0;
  if (p.epilogue.any()) {
    f.scale = zero ? 0.0f : static_cast<float>(double{p.alpha} * p.scale_a * p.scale_b);
    f.beta = p.beta;
    f.after = p.scale_d;
  } else {
    if (!zero && p.scale_d != 0)
      f.scale = static_cast<float>(double{p.alpha} * p.scale_a * p.scale_b * p.scale_d);
    if (p.beta != 0 && p.scale_d != 0) f.beta = static_cast<float>(double{p.beta} * p.scale_d);
  }
  return f;
}

Factors factors_of(const GemmCase& c) {
  return c.device_scalars ? device_factors(c.problem) : host_factors(c.problem);
}

}  // namespace tilewright::testing
