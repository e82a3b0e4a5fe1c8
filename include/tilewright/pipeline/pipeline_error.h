// Why a pipeline could not be made. Mode-neutral.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#if defined(__CUDACC__)
#  include <cuda_runtime_api.h>
#endif

namespace tilewright::blas {

/// The rules that tensors must satisfy. What a descriptor must satisfy does not compile instead.
enum class pipeline_error_code : uint8_t {
  none,
  negative_extent,
  incompatible_k,        // A's columns and B's rows differ
  incompatible_n,        // the two matrices B of Products<2> differ in their columns
  incompatible_batches,  // A and B have different numbers of matrices
  extent_out_of_range,   // 2^31 or more rows, columns, K or batches
  arrangement_mismatch,  // the contiguous index of an mdspan is not the one that Arrangement names
  leading_dimension_too_small,
  alignment_unfulfilled,  // a base address, leading dimension or batch stride breaks the promised alignment
  stride_out_of_range,    // 2^40 bytes or more
  scale_mismatch,  // scales that are missing, or of other rows, columns or batches than their operand needs
  cluster_grid_divisibility,
  invalid_tuning,       // a cluster, stages or groups that a pipeline with Tunable cannot have
  unsupported_element,  // a type of C or D that an epilogue cannot read or store
  tensor_map,           // the driver refused a descriptor that satisfies every rule
  cuda,                 // no driver, no device
};

/// The stable name of a code, with what it means.
const char* pipeline_error_string(pipeline_error_code code);

struct pipeline_error {
  pipeline_error_code code = pipeline_error_code::none;
  /// The rule, the operand, the value found, the nearest legal one.
  std::string message;
  /// The CUDA runtime's code where one was behind the error; 0 otherwise.
  int cuda_code = 0;

#if defined(__CUDACC__)
  cudaError_t get_cuda_error() const { return static_cast<cudaError_t>(cuda_code); }
#else
  int get_cuda_error() const { return cuda_code; }
#endif
};

/// Success, or a pipeline_error. True when it succeeded.
class [[nodiscard]] pipeline_status {
 public:
  pipeline_status() = default;
  pipeline_status(pipeline_error error) : error_(std::move(error)) {}
  explicit operator bool() const { return error_.code == pipeline_error_code::none; }
  const pipeline_error& error() const { return error_; }

 private:
  pipeline_error error_;
};

namespace detail {

/// Whether T's handle points into memory that a T owns.
template <class T>
inline constexpr bool owns_operands_v = false;
template <class T>
requires requires { T::owns_operands; }
inline constexpr bool owns_operands_v<T> = T::owns_operands;

}  // namespace detail

/// A pipeline, or a pipeline_error: what std::expected offers of it. Of a temporary result the value is a
/// temporary too.
template <class T>
class [[nodiscard]] pipeline_result {
 public:
  pipeline_result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  pipeline_result(pipeline_error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  /// Only when has_value().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() & { return &value(); }
  const T* operator->() const& { return &value(); }
  /// Not of a pipeline that owns memory: a handle from there would outlive it.
  const T* operator->() && requires(!detail::owns_operands_v<T>) { return &value(); }
  template <class Refused = T>
      const Refused* operator->() &&
      requires(detail::owns_operands_v<T>) {
    static_assert(!detail::owns_operands_v<Refused>,
                  "a pipeline with RequiredMantissaBits owns the memory that its handle points into: keep "
                  "the result of suggest_pipeline() in a variable until the launch");
    return nullptr;
  }
  /// Only when !has_value().
  const pipeline_error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, pipeline_error> state_;
};

}  // namespace tilewright::blas
