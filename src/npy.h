// NumPy's .npy files, and the quantisation that turns what they hold into FP8 operands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewright/error.h"
#include "tilewright/numeric/dtype.h"

namespace tilewright {

/// An array as a file holds it. Types without a NumPy name travel as unsigned integers: bf16 as u2, FP8 codes
/// as u1 (read back as DType::u8).
struct NpyArray {
  DType type = DType::f32;
  std::vector<int64_t> shape;  // empty: one scalar
  bool fortran_order = false;  // the first index is the contiguous one
  std::vector<uint8_t> bytes;  // elements in the file's order

  int64_t elements() const;
};

/// Reads a file of format version 1, 2 or 3 with little-endian elements f8, f4, f2, c16, c8, i4, i1, u2 (as
/// bf16) or u1. Nothing in the file is trusted: the error is one sentence that names the file and says what
/// is wrong (not a .npy file, cut short, data shorter or longer than the shape says, big-endian or other
/// types, ...).
Expected<NpyArray> read_npy(const std::string& path);

/// Writes format version 1 (version 2 if the header needs it), whole or not at all
/// (detail::write_whole_file). `data` holds the elements in C order, or
/// Fortran order if `fortran_order`; not e2m1, cf16 and cbf16, which NumPy cannot hold. Errors: no space
/// (needed and free bytes), permission, a directory that is not there, such a type.
Status write_npy(const std::string& path, DType type, std::span<const int64_t> shape, const void* data,
                 bool fortran_order = false);

/// Whether NumPy has a type for it. Error, that names the path: there is none.
Status check_npy_type(const std::string& path, DType type);

/// FP8 codes, each of which stands for scale * code.
struct QuantisedTensor {
  std::vector<uint8_t> codes;
  float scale = 1;
};

/// Quantises `count` elements of type f64, f32, f16 or bf16 to e4m3 or e5m2 with one scale: the largest
/// finite magnitude over the format's largest value, 1 if that is zero, never less than 2^-126. Quotients are
/// rounded to nearest even. NaN stays NaN; infinity becomes what the format has for it (e4m3: NaN), and
/// neither touches the scale. Errors: another source or target type; a largest magnitude that no FP32 scale
/// makes a normal number of the format.
Expected<QuantisedTensor> quantise_fp8(const void* data, DType source, int64_t count, DType target);

}  // namespace tilewright
