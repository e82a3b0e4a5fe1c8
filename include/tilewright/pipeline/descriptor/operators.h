// The operators of a descriptor. A descriptor is a sum of them, in any order, each at most once:
//
//   using MM = decltype(Size<128, 256, 64>() + Precision<bf16, bf16, float>() + Type<type::real>() +
//                       Function<function::MM>() + Arrangement<row_major, col_major, row_major>() +
//                       Block() + BlockDim<256>() + MaxAlignment() + WithPipeline() +
//                       EnableInputStreaming() + SM<900, arch_specific>());
#pragma once

#include <cstdint>

#include "tilewright/layout/tensor_shape.h"
#include "tilewright/pipeline/descriptor/elements.h"

namespace tilewright::blas {

enum class type : uint8_t { real, complex };
/// TRSM exists to be refused by name.
enum class function : uint8_t { MM, TRSM };
/// For TransposeMode.
enum class transpose_mode : uint8_t { non_transposed, transposed, conj_transposed };

/// Whether code may use the instructions that only one architecture has (sm_90a, sm_100a).
enum class sm_modifier : uint8_t { generic, arch_specific, family_specific };
inline constexpr sm_modifier generic = sm_modifier::generic;
inline constexpr sm_modifier arch_specific = sm_modifier::arch_specific;
inline constexpr sm_modifier family_specific = sm_modifier::family_specific;

/// The instructions that may carry a descriptor out, fastest first. `none`: none of them can.
enum class path : uint8_t { wgmma, tcgen05, mma_sync, simt, none };
inline constexpr int path_count = 4;

constexpr const char* name_of(path p) {
  constexpr const char* kNames[] = {"wgmma", "tcgen05", "mma_sync", "simt", "none"};
  return kNames[static_cast<size_t>(p)];
}

/// Largest alignment that any copy asks for, in bytes.
inline constexpr int max_alignment = 16;

namespace detail {

enum class OperatorKind : uint8_t {
  size,
  precision,
  type,
  function,
  arrangement,
  leading_dimension,
  execution,
  block_dim,
  batches,
  static_block_dim,
  alignment,
  with_pipeline,
  input_streaming,
  copied_input,
  sm,
  cluster,
  tunable,
  require_multicast,
  accumulation,
  scaled_promotion,
  mantissa_bits,
  split_into,
  products,
  block_scale,
  require_path,
  allow_paths,
};

struct OperatorTag {};
template <OperatorKind Kind>
struct Operator : OperatorTag {
  static constexpr OperatorKind kind = Kind;
};

constexpr bool is_alignment(int bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

}  // namespace detail

/// The tile of one block: C (M x N) = A (M x K) B (K x N). In elements.
template <int M, int N, int K>
struct Size : detail::Operator<detail::OperatorKind::size> {
  static_assert(M > 0 && N > 0 && K > 0, "Size: M, N and K are positive");
  static constexpr int m = M, n = N, k = K;
};

/// Element types of A and B, and the type in which products are summed: the tensor core's own for what it
/// is asked to multiply. float means FP32 arithmetic; TF32 has its own type. The types of the CUDA toolkit
/// (__half, __nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e5m2) and ours (f16, bf16, e4m3, e5m2) are the same.
template <class A, class B = A, class C = A>
struct Precision : detail::Operator<detail::OperatorKind::precision> {
  static_assert(
      element_of_v<A> != Element::other && element_of_v<B> != Element::other &&
          element_of_v<A> != Element::e8m0 && element_of_v<B> != Element::e8m0,
      "Precision: A and B are f16, bf16, tf32, e4m3, e5m2, e2m1, float, double or an integer of 8 to "
      "64 bits");
  static_assert(is_accumulator(element_of_v<C>),
                "Precision: products accumulate in f16 (__half), float, double or an integer of 32 or 64 "
                "bits; bf16, tf32 and 8-bit types are no accumulators");
  using a_type = A;
  using b_type = B;
  using c_type = C;
};

template <type T>
struct Type : detail::Operator<detail::OperatorKind::type> {
  static constexpr type value = T;
};

template <function F>
struct Function : detail::Operator<detail::OperatorKind::function> {
  static_assert(
      F == function::MM,
      "Function: only MM, the matrix product; the triangular solve TRSM is not part of this library");
  static constexpr function value = F;
};

/// How A, B and C lie in global memory: row_major has the second index contiguous. K-major ("TN") is
/// row_major A and col_major B.
template <arrangement A, arrangement B, arrangement C = row_major>
struct Arrangement : detail::Operator<detail::OperatorKind::arrangement> {
  static constexpr arrangement a = A, b = B, c = C;
};

namespace detail {

constexpr arrangement arrangement_of_mode(transpose_mode mode) {
  return mode == transpose_mode::non_transposed ? col_major : row_major;
}
template <transpose_mode A, transpose_mode B>
struct ArrangementOfModes {
  static_assert(A != transpose_mode::conj_transposed && B != transpose_mode::conj_transposed,
                "TransposeMode: conj_transposed is not an arrangement; give execute() a conj_transpose_view");
  using type = Arrangement<arrangement_of_mode(A), arrangement_of_mode(B), col_major>;
};

}  // namespace detail

/// The older spelling of Arrangement: matrices are column-major as BLAS has them, or transposed, that is
/// row-major; C is column-major.
template <transpose_mode A, transpose_mode B>
using TransposeMode = typename detail::ArrangementOfModes<A, B>::type;

/// Without a pipeline: leading dimensions, in elements, of A, B and C in shared memory (get_layout_smem_a).
/// Without it they are packed.
template <int A, int B, int C>
struct LeadingDimension : detail::Operator<detail::OperatorKind::leading_dimension> {
  static_assert(A > 0 && B > 0 && C > 0, "LeadingDimension: numbers of elements, positive");
  static constexpr int a = A, b = B, c = C;
};

/// Without a pipeline: one execute() multiplies Count pairs of matrices, which lie one behind the other
/// (the layouts have so many matrices).
template <int Count>
struct BatchesPerBlock : detail::Operator<detail::OperatorKind::batches> {
  static_assert(Count > 0, "BatchesPerBlock: a positive number");
  static constexpr int value = Count;
};

/// All threads of a block work on one tile.
struct Block : detail::Operator<detail::OperatorKind::execution> {};

/// The threads that compute. A pipeline may launch more: see get_block_dim().
template <int X, int Y = 1, int Z = 1>
struct BlockDim : detail::Operator<detail::OperatorKind::block_dim> {
  static_assert(X > 0 && Y > 0 && Z > 0 && X * Y * Z <= 1024, "BlockDim: a block has 1 to 1024 threads");
  static constexpr int x = X, y = Y, z = Z;
};

/// Promises that kernels are launched with exactly the block that get_block_dim() names.
struct StaticBlockDim : detail::Operator<detail::OperatorKind::static_block_dim> {};

/// A promise about base addresses and leading dimensions of A, B and C, in bytes. Without it they are
/// aligned to one element.
template <int A, int B, int C>
struct Alignment : detail::Operator<detail::OperatorKind::alignment> {
  static_assert(detail::is_alignment(A) && detail::is_alignment(B) && detail::is_alignment(C),
                "Alignment: 1, 2, 4, 8 or 16 bytes each");
  static constexpr int a = A, b = B, c = C;
};
using MaxAlignment = Alignment<max_alignment, max_alignment, max_alignment>;

/// Tiles come through a pipeline of stages in shared memory: suggest_pipeline, make_pipeline.
struct WithPipeline : detail::Operator<detail::OperatorKind::with_pipeline> {};

/// A and B need no transformation of their elements on the way, so that they may go from memory to the
/// tensor core without passing through registers.
struct EnableInputStreaming : detail::Operator<detail::OperatorKind::input_streaming> {};

/// In its place on the path wgmma: the producer warpgroup copies A and B, which may have any alignment, by
/// cp.async where lines begin at multiples of 4 bytes, else through registers.
struct CopiedInput : detail::Operator<detail::OperatorKind::copied_input> {};

/// The architecture to run on, as 100 times the compute capability (900 is sm_90).
template <int Architecture, sm_modifier Modifier = generic>
struct SM : detail::Operator<detail::OperatorKind::sm> {
  static_assert(Architecture >= 700 && Architecture <= 1300 && Architecture % 10 == 0,
                "SM: 700, 720, ... 900, 1000, ... 1210: the compute capability times 100");
  static constexpr int architecture = Architecture;
  static constexpr sm_modifier modifier = Modifier;
};

/// Blocks of a cluster share operands: A along the cluster's N, B along its M. Extents in blocks.
template <int M, int N = 1, int K = 1>
struct BlocksPerCluster : detail::Operator<detail::OperatorKind::cluster> {
  static_assert(M > 0 && N > 0, "BlocksPerCluster: extents are positive");
  static_assert(K == 1, "BlocksPerCluster: the extent along K is 1");
  static_assert(M * N <= 16, "BlocksPerCluster: a cluster has at most 16 blocks");
  static constexpr int m = M, n = N, k = K;
};

/// In its place: the cluster, of up to M x N blocks, is a number of the pipeline and not of its type, and so
/// are the stages and, where one part has the temporary to itself, the K tiles of a promotion group (Tuning).
template <int M, int N>
struct Tunable : detail::Operator<detail::OperatorKind::tunable> {
  static_assert(M > 0 && N > 0 && M * N <= 16, "Tunable: a cluster has 1 to 16 blocks");
  static constexpr int m = M, n = N;
};

/// A cluster whose operands cannot be multicast (see uses_multicast) does not compile.
struct RequireMulticast : detail::Operator<detail::OperatorKind::require_multicast> {};

/// The sum of every N MMAs (32 bytes of K each) is added to FP32 registers: what the tensor core keeps of a
/// running sum is less than FP32.
template <int N>
struct promoted {
  static_assert(N >= 1, "promoted<N>: a positive number of MMAs between promotions");
};
/// The tensor core's own accumulator all along K.
struct fast {};

namespace detail {

template <class Mode>
struct PromotionInterval {
  static constexpr int value = -1;
};
template <int N>
struct PromotionInterval<promoted<N>> {
  static constexpr int value = N;
};
template <>
struct PromotionInterval<fast> {
  static constexpr int value = 0;
};

}  // namespace detail

/// How products are summed: promoted<n> or fast. FP8 with float accumulators is promoted<4> by itself,
/// everything else fast.
template <class Mode>
struct Accumulation : detail::Operator<detail::OperatorKind::accumulation> {
  static constexpr int interval = detail::PromotionInterval<Mode>::value;  // MMAs; 0: fast
  static_assert(interval >= 0, "Accumulation: promoted<n> or fast");
};

/// The sum of each K tile of 128 elements is multiplied with FP32 scales when it is promoted: one for each
/// row of A, and one for each 128 columns of B (Pipeline::set_scales).
struct ScaledPromotion : detail::Operator<detail::OperatorKind::scaled_promotion> {};

/// FP32 or FP64 results of at least so many mantissa bits, computed on tensor cores.
template <int N>
struct RequiredMantissaBits : detail::Operator<detail::OperatorKind::mantissa_bits> {
  static_assert(N >= 1 && N <= 52, "RequiredMantissaBits: 1 to 52");
  static constexpr int value = N;
};

/// What RequiredMantissaBits makes of a float: tf32 numbers (the default), which keep every exponent, or f16
/// numbers, which are multiplied twice as fast. f16 parts are scaled by the largest element of their row of A
/// or column of B, and what is 2^-39 of it or less is lost: not FP32 for data whose magnitudes vary more
/// along K.
template <class T>
struct SplitInto : detail::Operator<detail::OperatorKind::split_into> {
  static constexpr Element element = element_of_v<T>;
  static_assert(element == Element::tf32 || element == Element::f16, "SplitInto: tf32 or f16");
};

/// A is multiplied with N matrices B of one shape: suggest_pipeline(A, B, B2), and an accumulator of each
/// product for the epilogue. Size is the tile of one product. N: 1 or 2.
template <int N>
struct Products : detail::Operator<detail::OperatorKind::products> {
  static_assert(N == 1 || N == 2, "Products: 1 or 2");
  static constexpr int value = N;
};

/// Every Vector neighbours along K of A, and of B, are multiplied with a scale of their own, of this type:
/// <32, e8m0> is mxfp8 and mxfp4, <16, e4m3> of e2m1 is nvfp4. The scales go to suggest_pipeline with A and
/// B, as PackedScales. Size is then the tile of a pair of blocks, half of its rows in each.
template <int Vector, class ScaleType>
struct BlockScale : detail::Operator<detail::OperatorKind::block_scale> {
  static_assert(Vector == 16 || Vector == 32, "BlockScale: a scale belongs to 16 or to 32 elements");
  static_assert(element_of_v<ScaleType> == Element::e8m0 || element_of_v<ScaleType> == Element::e4m3,
                "BlockScale: scales are e8m0 or e4m3");
  static constexpr int vector = Vector;
  using scale_type = canonical_t<ScaleType>;
};

/// The descriptor runs on this path or does not compile; the message names the rule that is broken.
template <path P>
struct RequirePath : detail::Operator<detail::OperatorKind::require_path> {
  static_assert(P != path::none, "RequirePath: wgmma, tcgen05, mma_sync or simt");
  static constexpr path value = P;
};

/// Only these paths may be chosen.
template <path... P>
struct AllowPaths : detail::Operator<detail::OperatorKind::allow_paths> {
  static_assert(sizeof...(P) > 0, "AllowPaths: at least one path");
  static constexpr uint32_t mask = ((1u << static_cast<uint32_t>(P)) | ...);
};

}  // namespace tilewright::blas
