// One GEMM with everything around it: run on a machine and judged element by element.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/reference.h"
#include "tests/kernels/test_machine.h"
#include "tilewright/gemm.h"

namespace tilewright::testing {

/// What operands are filled with.
enum class Data : uint8_t {
  normal,
  uniform,  // [0, 1)
  ones,
  integers,  // -5..4: exact
  codes,     // every finite code, all equally likely
  specials,  // normal, and in some rows one NaN, infinity, negative zero, largest or least number
};
const char* name_of(Data data);

/// Value of element (row, column) of a batch of A (m x k), B (k x n) or C (m x n); overflow is not clamped.
using ElementFunction = std::function<double(int64_t batch, int64_t row, int64_t column)>;

struct GemmCase {
  std::string name;
  Problem problem;
  Options options;  // without the device
  Data data = Data::normal;
  uint64_t seed = 1;
  ElementFunction a_value, b_value, c_value;  // instead of `data`, where given
  /// Scales of A by (batch, row, block along K) and of B by (batch, column or block of columns, block along
  /// K), where the problem's mode has them. Default: all different, some negative.
  ElementFunction a_scale, b_scale;
  /// Of (batch, number, 0), for the problem's bias. Default: as C is filled.
  ElementFunction bias_value;

  struct Offsets {
    int a = 0, b = 0, c = 0, d = 0, scales = 0, bias = 0, aux = 0;
  };
  /// Bytes by which the base pointers miss a multiple of 256. The problem's alignments follow.
  Offsets offset;
  /// Factors in device memory; those of the problem are then 1.
  bool device_scalars = false;
  bool in_place = false;  // C is D
  /// Compares bits with the model of the tensor core; costs about as much as an emulated run.
  bool check_model = true;
  int runs = 2;
};

struct CaseResult {
  std::string failure;           // empty: passed; else sentences that name the case
  std::optional<Error> refusal;  // plan() refused, nothing ran
  PlanInfo info;
  Comparison comparison;     // with FP64
  std::vector<uint8_t> d;    // elements of D: dense [batch][row][column]
  std::vector<uint8_t> aux;  // the same of aux, if there is one
  float amax = 0;            // if it was asked for
};

/// The problem and options as they are given to plan().
Problem planned_problem(const GemmCase& c);
Options planned_options(const GemmCase& c, Device device);

/// Plans and runs the case, and checks after each run that
///   * every element of D (and of aux, and amax_d) lies within its theoretical bound of the FP64 result of
///   the dequantised inputs, and
///     has the bits that the model of the tensor core predicts (NaNs compare as a class; not after gelu);
///   * nothing around the operands, no padding of D and no input has changed;
///   * the bits of D are those of the run before.
/// Padding, guard bands and operands that must not be read hold NaN; D holds a pattern, another one in each
/// run.
CaseResult run_case(const GemmCase& c, TestMachine& machine);

/// All of a case on one line.
std::string describe(const GemmCase& c);

/// First element where two results of run_case differ, NaNs as a class; empty if none.
std::string difference(DType type, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right);

/// The least leading dimension that bulk copies can address, plus `wider` x 16 bytes.
int64_t bulk_ld(int64_t line, DType type, int64_t wider = 0);

/// Sets the leading dimensions of A, B, C and D to bulk_ld, and packs the batches.
void pad_for_bulk(Problem& problem, int64_t wider = 0);

}  // namespace tilewright::testing
