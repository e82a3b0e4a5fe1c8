// The matrices of one run in host memory, made from a seed or read from files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/matrix_init.h"
#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

/// Where the values come from.
struct OperandSource {
  std::string a_file,
      b_file;  // .npy: A is (M, K) or (L, M, K), B is (N, K) or (L, N, K); other types as they are
  Init init = Init::normal;
  uint64_t seed = 0;
};

/// All matrices packed in the layout that the problem gives them: A [l][m][k] or, column-major, [l][k][m],
/// and so on.
struct Operands {
  Problem problem;  // the extents and the scales of quantised files filled in
  std::vector<uint8_t> a, b, c, d;
  std::vector<float> a_scales, b_scales;  // of rows and columns, or of blocks; packed
  std::vector<uint8_t> bias, aux;         // of the problem's epilogue
  std::vector<float> amax;                // one, if the problem has it

  /// What D should be.
  ReferenceGemm reference() const;
  MatrixView d_view() const;
  MatrixView aux_view() const;
};

/// The files, and the extents: those of `problem` if they were given, else those of the files, else
/// `default_mnk`. Errors: a file (unreadable, wrong rank, shape or type, extents that do not agree).
Expected<Operands> read_operands(const Problem& problem, bool extents_given,
                                 const std::array<int64_t, 3>& default_mnk, const OperandSource& source);
/// Whether this machine has the bytes of memory for a run, and those for what judges it afterwards (0:
/// nothing does): without, the system would end the program at some page of them. Error: it has not.
Status check_memory(double run, double judged);
/// The same of what is still to be made of these. `emulated`: the operands are there twice. `checked`: they
/// are judged.
Status check_memory(const Operands& operands, bool emulated, bool checked);
/// The matrices that no file gave; D, aux and amax are poisoned (NaN). Errors: too large for this machine.
Status fill_operands(Operands& operands, const OperandSource& source);

/// Writes D as (M, N) or (L, M, N) in C order.
Status write_d(const Operands& operands, const std::string& path);

}  // namespace tilewright::cli
