// From a descriptor to its path, with the static_asserts that make a wish a contract.
#pragma once

#include "tilewright/pipeline/descriptor/rules.h"

namespace tilewright::blas {
namespace detail {

/// What no pipeline can do without, and operators that contradict each other.
template <class D>
struct CheckComplete {
  static constexpr Facts f = facts_of_v<D>;
  static_assert(f.has_size, "the descriptor has no Size<M, N, K>()");
  static_assert(f.has_precision, "the descriptor has no Precision<A, B, C>()");
  static_assert(f.has_sm, "the descriptor has no SM<architecture, modifier>()");
  static_assert(!f.has_accumulation || f.interval == 0 || f.c == Element::f32 || !f.has_precision,
                "Accumulation<promoted<n>>() contradicts Precision: only float accumulators are promoted");
  static_assert(!f.has_precision || (f.a_alignment >= bytes_of(f.a) && f.b_alignment >= bytes_of(f.b) &&
                                     f.c_alignment >= bytes_of(f.c)),
                "Alignment is below the size of an element");
  static_assert(f.required == path::none || (f.allowed >> static_cast<int>(f.required) & 1) != 0,
                "RequirePath contradicts AllowPaths: the required path is not among the allowed ones");
  static_assert(f.mantissa_bits == 0 || !f.has_precision ||
                    (f.a == f.c && f.b == f.c && (f.c == Element::f32 || f.c == Element::f64)),
                "RequiredMantissaBits needs Precision<float> or Precision<double>");
  static_assert(f.mantissa_bits != 0 || !D::template has<OperatorKind::split_into>,
                "SplitInto belongs to RequiredMantissaBits, which is not there");
  static_assert(f.mantissa_bits <= 23 || f.c != Element::f32,
                "RequiredMantissaBits: float has 23 bits; ask for more of double");
  static constexpr bool has_leading_dimension = D::template has<OperatorKind::leading_dimension>;
  static_assert(
      !f.with_pipeline || !has_leading_dimension,
      "LeadingDimension is of matrices in shared memory, which a pipeline lays out by itself: leave "
      "WithPipeline() out, or give make_gmem_tensor a static_ld<n>");
  static_assert(!f.with_pipeline || f.batches == 1,
                "BatchesPerBlock multiplies without a pipeline: leave WithPipeline() out, or use rank-3 "
                "tensors and the batch coordinates of get_tile");
  static constexpr bool scaled_elements =
      is_scaled_element(f.a) && is_scaled_element(f.b) && f.c == Element::f32 && !f.is_complex;
  static_assert(
      !f.has_precision || !f.is_scaled() || scaled_elements,
      "BlockScale contradicts Precision: scales belong to e4m3, e5m2 or e2m1 with float accumulators");
  static_assert(f.is_scaled() || (f.a != Element::e2m1 && f.b != Element::e2m1),
                "Precision of e2m1 needs BlockScale<vector, type>()");
  static_assert(!f.is_scaled() || f.interval == 0,
                "BlockScale contradicts Accumulation<promoted<n>>(): tensor memory sums in FP32");
  static_assert(!f.is_scaled() || f.mantissa_bits == 0, "BlockScale contradicts RequiredMantissaBits");
  static_assert(!f.require_multicast || f.cluster_m * f.cluster_n > 1,
                "RequireMulticast needs blocks that share operands: BlocksPerCluster<M, N>() or Tunable<M, "
                "N>() of more than one");
  static constexpr bool ok = true;
};

constexpr bool is_rule(int index, const char* name) {
  if (index < 0) return false;
  const char* found = pipeline_rules[static_cast<size_t>(index)].name;
  for (; *found != 0 && *found == *name; ++found, ++name) {
  }
  return *found == *name;
}

/// RequirePath: the first broken rule of the required path is the message of the compile error.
template <class D>
struct CheckRequired {
  static constexpr Facts f = facts_of_v<D>;
  static constexpr int broken = f.required == path::none ? -1 : first_broken_rule(f.required, f);
#define TILEWRIGHT_X(PATH, NAME, NEEDED, CONDITION, ...) \
  static_assert(!is_rule(broken, NAME),                  \
                "RequirePath<path::" #PATH ">: the rule " NAME " is broken; needed: " NEEDED);
  TILEWRIGHT_PIPELINE_RULES(TILEWRIGHT_X)
#undef TILEWRIGHT_X
  static constexpr bool ok = broken < 0;
};

constexpr path resolve(const Facts& f) { return f.required != path::none ? f.required : choose_path(f); }

}  // namespace detail

/// The one path that carries D out, or path::none. Does not compile for an incomplete or contradictory
/// descriptor, nor where RequirePath cannot be had.
template <AnyDescription D>
inline constexpr path path_of_v =
    detail::CheckComplete<std::remove_cvref_t<D>>::ok&& detail::CheckRequired<std::remove_cvref_t<D>>::ok
        ? detail::resolve(facts_of_v<D>)
        : path::none;

namespace detail {

/// Whether all that keeps a descriptor from a path is that its stages are too large.
template <class D>
constexpr bool is_too_large() {
  constexpr Facts f = facts_of_v<D>;
  return path_of_v<D> == path::none && (is_rule(first_broken_rule(path::wgmma, f), "wgmma.stage") ||
                                        is_rule(first_broken_rule(path::mma_sync, f), "mma_sync.stage"));
}

/// Where there is no path, the first broken rule of each that is allowed is a compile error. RequirePath has
/// said its own.
template <class D, bool None = path_of_v<D> == path::none>
struct CheckSome {
  static constexpr bool ok = true;
};
template <class D>
struct CheckSome<D, true> {
  static constexpr Facts f = facts_of_v<D>;
  static constexpr bool large = is_too_large<D>();
  static_assert(!large,
                "The tile is too large: not even one pipeline stage fits in shared memory (232448 bytes on "
                "SM<900>); shrink the tile or lower the precision");
  static constexpr int broken(path p) {
    const bool asked = !large && f.required == path::none && (f.allowed >> static_cast<int>(p) & 1) != 0;
    return asked ? first_broken_rule(p, f) : -1;
  }
#define TILEWRIGHT_X(PATH, NAME, NEEDED, CONDITION, ...)                             \
  static_assert(!is_rule(broken(path::PATH), NAME),                                  \
                "no path can carry this descriptor out; of " #PATH " the rule " NAME \
                " is broken; needed: " NEEDED "; explain<D>() lists all that each of them needs");
  TILEWRIGHT_PIPELINE_RULES(TILEWRIGHT_X)
#undef TILEWRIGHT_X
  static constexpr bool ok = false;
};

/// There is a path, and kernels exist for it.
template <class D>
struct CheckBuilt {
  static constexpr bool is_dense_tcgen05 = path_of_v<D> == path::tcgen05 && !facts_of_v<D>.is_scaled();
  static_assert(!is_dense_tcgen05,
                "the descriptor resolves to the path tcgen05 (dense, SM<1000>), which is not built yet; "
                "explain<D>() lists what each path needs");
  static constexpr bool ok = CheckSome<D>::ok && !is_dense_tcgen05;
};

}  // namespace detail
}  // namespace tilewright::blas
