// The sum of operators: a type that does not depend on their order.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tilewright/pipeline/descriptor/extents.h"
#include "tilewright/pipeline/descriptor/operators.h"

namespace tilewright::blas {

template <class... Operators>
struct Description;

inline namespace TILEWRIGHT_MODE {
/// The machine that a translation unit is compiled for, as a type: functions of a descriptor that contain
/// kernel code are other functions on each.
struct ThisMachine {};
}  // namespace TILEWRIGHT_MODE

namespace detail {

/// Without a pipeline: the layouts of a descriptor (block_layouts.h), and its products (block_execute.h).
template <class D>
struct BlockLayouts;
template <class D, class Machine>
class BlockExecution;

template <class T>
concept IsOperator = std::derived_from<T, OperatorTag>;

template <class... Operators>
struct List {};

// The operator of a kind, or Default.
template <OperatorKind Kind, class Default, class... Operators>
struct Find {
  using type = Default;
};
template <OperatorKind Kind, class Default, class First, class... Rest>
struct Find<Kind, Default, First, Rest...> {
  using type = typename std::conditional_t<First::kind == Kind, std::type_identity<First>,
                                           Find<Kind, Default, Rest...>>::type;
};

// One static_assert for each kind, so that the message names the operator.
template <OperatorKind Kind, bool Twice>
struct RefuseDuplicate {
  using K = OperatorKind;
  static_assert(!Twice || Kind != K::size, "the operator Size is given twice");
  static_assert(!Twice || Kind != K::precision, "the operator Precision is given twice");
  static_assert(!Twice || Kind != K::type, "the operator Type is given twice");
  static_assert(!Twice || Kind != K::function, "the operator Function is given twice");
  static_assert(!Twice || Kind != K::arrangement, "the operator Arrangement is given twice");
  static_assert(!Twice || Kind != K::execution, "the operator Block is given twice");
  static_assert(!Twice || Kind != K::block_dim, "the operator BlockDim is given twice");
  static_assert(!Twice || Kind != K::leading_dimension, "the operator LeadingDimension is given twice");
  static_assert(!Twice || Kind != K::batches, "the operator BatchesPerBlock is given twice");
  static_assert(!Twice || Kind != K::static_block_dim, "the operator StaticBlockDim is given twice");
  static_assert(!Twice || Kind != K::alignment, "the operator Alignment (or MaxAlignment) is given twice");
  static_assert(!Twice || Kind != K::with_pipeline, "the operator WithPipeline is given twice");
  static_assert(!Twice || Kind != K::input_streaming, "the operator EnableInputStreaming is given twice");
  static_assert(!Twice || Kind != K::copied_input, "the operator CopiedInput is given twice");
  static_assert(!Twice || Kind != K::sm, "the operator SM is given twice");
  static_assert(!Twice || Kind != K::cluster, "the operator BlocksPerCluster is given twice");
  static_assert(!Twice || Kind != K::tunable, "the operator Tunable is given twice");
  static_assert(!Twice || Kind != K::require_multicast, "the operator RequireMulticast is given twice");
  static_assert(!Twice || Kind != K::accumulation, "the operator Accumulation is given twice");
  static_assert(!Twice || Kind != K::scaled_promotion, "the operator ScaledPromotion is given twice");
  static_assert(!Twice || Kind != K::mantissa_bits, "the operator RequiredMantissaBits is given twice");
  static_assert(!Twice || Kind != K::split_into, "the operator SplitInto is given twice");
  static_assert(!Twice || Kind != K::products, "the operator Products is given twice");
  static_assert(!Twice || Kind != K::block_scale, "the operator BlockScale is given twice");
  static_assert(!Twice || Kind != K::require_path, "the operator RequirePath is given twice");
  static_assert(!Twice || Kind != K::allow_paths, "the operator AllowPaths is given twice");
};

// Operators sorted by kind, New at its place among them.
template <class New, class Before, class After>
struct Insert;
template <class New, class... Before>
struct Insert<New, List<Before...>, List<>> {
  using type = Description<Before..., New>;
};
template <class New, class... Before, class First, class... Rest>
struct Insert<New, List<Before...>, List<First, Rest...>>
    : RefuseDuplicate<New::kind, New::kind == First::kind> {
  using type = typename std::conditional_t<(New::kind <= First::kind),
                                           std::type_identity<Description<Before..., New, First, Rest...>>,
                                           Insert<New, List<Before..., First>, List<Rest...>>>::type;
};

template <class Sum, class... New>
struct Add;
template <class... Operators>
struct Add<Description<Operators...>> {
  using type = Description<Operators...>;
};
template <class... Operators, class First, class... Rest>
struct Add<Description<Operators...>, First, Rest...> {
  using Inserted = Insert<First, List<>, List<Operators...>>;
  using type = typename Add<typename Inserted::type, Rest...>::type;
};

struct NoPrecision {
  using a_type = void;
  using b_type = void;
  using c_type = void;
};

template <class T, type Kind>
struct ValueType {
  using type = T;
};
template <class T>
struct ValueType<T, type::complex> {
  using type = complex<T>;
};
template <>
struct ValueType<void, type::complex> {
  using type = void;
};

}  // namespace detail

/// A descriptor. Write it as a sum of operators; what is left out has a default, except Size, Precision and
/// SM, which a pipeline needs. Two sums of the same operators are the same type.
template <class... Operators>
struct Description {
  template <detail::OperatorKind Kind, class Default = void>
  using find = typename detail::Find<Kind, Default, Operators...>::type;
  template <detail::OperatorKind Kind>
  static constexpr bool has = !std::is_void_v<find<Kind>>;

  using size_operator = find<detail::OperatorKind::size, Size<1, 1, 1>>;
  using precision_operator = find<detail::OperatorKind::precision, detail::NoPrecision>;
  using type_operator = find<detail::OperatorKind::type, Type<type::real>>;
  using function_operator = find<detail::OperatorKind::function, Function<function::MM>>;
  using arrangement_operator =
      find<detail::OperatorKind::arrangement, Arrangement<row_major, col_major, row_major>>;
  using block_dim_operator = find<detail::OperatorKind::block_dim, BlockDim<128>>;
  using cluster_operator = find<detail::OperatorKind::cluster, BlocksPerCluster<1>>;

  /// Elements of A, B and C as the descriptor spells them (complex<T> for a complex Type).
  using a_value_type =
      typename detail::ValueType<typename precision_operator::a_type, type_operator::value>::type;
  using b_value_type =
      typename detail::ValueType<typename precision_operator::b_type, type_operator::value>::type;
  using c_value_type =
      typename detail::ValueType<typename precision_operator::c_type, type_operator::value>::type;

  /// Extents of the tiles, for get_tile: M x K, K x N and M x N.
  static constexpr Shape<size_operator::m, size_operator::k> a_shape{};
  static constexpr Shape<size_operator::k, size_operator::n> b_shape{};
  static constexpr Shape<size_operator::m, size_operator::n> c_shape{};
  static constexpr uint32_t a_size = static_cast<uint32_t>(size_operator::m * size_operator::k);
  static constexpr uint32_t b_size = static_cast<uint32_t>(size_operator::k * size_operator::n);
  static constexpr uint32_t c_size = static_cast<uint32_t>(size_operator::m * size_operator::n);

  /// Products that a block computes at once, without a pipeline (BatchesPerBlock).
  static constexpr uint32_t batches_per_block =
      static_cast<uint32_t>(find<detail::OperatorKind::batches, BatchesPerBlock<1>>::value);

  /// The threads that compute; a pipeline may launch more.
  static constexpr Extent3 block_dim{static_cast<uint32_t>(block_dim_operator::x),
                                     static_cast<uint32_t>(block_dim_operator::y),
                                     static_cast<uint32_t>(block_dim_operator::z)};
  static constexpr uint32_t max_threads_per_block =
      static_cast<uint32_t>(block_dim_operator::x * block_dim_operator::y * block_dim_operator::z);

  // ---- without a pipeline: layouts of A, B and C, and products of matrices in shared memory

  /// The layout of a tile in shared memory: as Arrangement has it, with the leading dimensions of
  /// LeadingDimension, or packed; or with `ld...` (a number, or static_ld<n>), in elements: at least the row
  /// (row_major) or column (col_major) of the tile. A number below that is undefined on a GPU; the emulated
  /// machine names it.
  template <class... Ld>
  static TILEWRIGHT_HOST_DEVICE constexpr auto get_layout_smem_a(Ld... ld) {
    return detail::BlockLayouts<Description>::shared_a(ld...);
  }
  template <class... Ld>
  static TILEWRIGHT_HOST_DEVICE constexpr auto get_layout_smem_b(Ld... ld) {
    return detail::BlockLayouts<Description>::shared_b(ld...);
  }
  template <class... Ld>
  static TILEWRIGHT_HOST_DEVICE constexpr auto get_layout_smem_c(Ld... ld) {
    return detail::BlockLayouts<Description>::shared_c(ld...);
  }
  /// The layout that execute() reads fastest, without bank conflicts.
  static TILEWRIGHT_HOST_DEVICE constexpr auto suggest_layout_smem_a() {
    return detail::BlockLayouts<Description>::suggested_a();
  }
  static TILEWRIGHT_HOST_DEVICE constexpr auto suggest_layout_smem_b() {
    return detail::BlockLayouts<Description>::suggested_b();
  }
  static TILEWRIGHT_HOST_DEVICE constexpr auto suggest_layout_smem_c() { return get_layout_smem_c(); }
  /// The layout of a tile in global memory: packed, or with `ld...` as above.
  template <class... Ld>
  static TILEWRIGHT_HOST_DEVICE constexpr auto get_layout_gmem_a(Ld... ld) {
    return detail::BlockLayouts<Description>::global_a(ld...);
  }
  template <class... Ld>
  static TILEWRIGHT_HOST_DEVICE constexpr auto get_layout_gmem_b(Ld... ld) {
    return detail::BlockLayouts<Description>::global_b(ld...);
  }
  template <class... Ld>
  static TILEWRIGHT_HOST_DEVICE constexpr auto get_layout_gmem_c(Ld... ld) {
    return detail::BlockLayouts<Description>::global_c(ld...);
  }

  /// The product of one block (pipeline/block_execute.h says what each form does):
  ///   execute(alpha, a, b, beta, c[, a_load, b_load, c_load, c_store])  C = alpha A B + beta C
  ///   execute(a, b, accumulator[, a_load, b_load])                      accumulator += A B
  ///   execute(a, b[, a_load, b_load])                                   an accumulator of A B
  template <class Machine = ThisMachine, class... Arguments>
  TILEWRIGHT_DEVICE auto execute(Arguments&&... arguments) const {
    return detail::BlockExecution<Description, Machine>::execute(std::forward<Arguments>(arguments)...);
  }
  /// An empty accumulator of the calling thread, for execute(a, b, accumulator).
  template <class Machine = ThisMachine>
  static TILEWRIGHT_DEVICE auto suggest_accumulator() {
    return detail::BlockExecution<Description, Machine>::make_accumulator();
  }
  template <class Machine = ThisMachine>
  static TILEWRIGHT_DEVICE auto get_accumulator() {
    return suggest_accumulator<Machine>();
  }
};

template <detail::IsOperator A, detail::IsOperator B>
constexpr auto operator+(A, B) {
  return typename detail::Add<Description<>, A, B>::type{};
}
template <class... Operators, detail::IsOperator B>
constexpr auto operator+(Description<Operators...>, B) {
  return typename detail::Add<Description<Operators...>, B>::type{};
}
template <detail::IsOperator A, class... Operators>
constexpr auto operator+(A, Description<Operators...>) {
  return typename detail::Add<Description<Operators...>, A>::type{};
}
template <class... A, class... B>
constexpr auto operator+(Description<A...>, Description<B...>) {
  return typename detail::Add<Description<A...>, B...>::type{};
}

namespace detail {

template <class T>
struct IsDescription : std::false_type {};
template <class... Operators>
struct IsDescription<Description<Operators...>> : std::true_type {};

}  // namespace detail

/// Whether T is a sum of operators.
template <class T>
concept AnyDescription = detail::IsDescription<std::remove_cvref_t<T>>::value;

}  // namespace tilewright::blas
