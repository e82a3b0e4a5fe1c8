// D = scale_d * activation(alpha * scale_a * scale_b * A B + beta * C + bias), batched, on a GPU or on the
// emulated machine:
//
//   Problem problem{.m = 4096, .n = 4096, .k = 4096};
//   Expected<Plan> p = plan(problem);            // binds shapes, picks a kernel
//   if (p) p->run({.a = a, .b = b, .d = d}, stream);  // binds pointers, launches
//
// What cannot run is refused by plan() with the rule that is broken, the value found and the nearest legal
// value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/error.h"
#include "tilewright/layout/scale_factors.h"
#include "tilewright/numeric/activation.h"
#include "tilewright/numeric/block_format.h"
#include "tilewright/numeric/dtype.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright {

/// Which elements of a matrix are neighbours in memory: those of a row, or those of a column.
enum class Layout : uint8_t { row_major, column_major };

/// One operand: a matrix of each batch, as the formula has it (A is m x k, B is k x n, C and D are m x n).
struct Operand {
  DType type = DType::e4m3;
  Layout layout = Layout::row_major;
  int64_t ld = 0;  // elements between neighbouring rows (row-major) or columns; 0: packed
  /// Elements between neighbouring batches; empty: packed. 0 makes every batch read the same A, B or C, and
  /// of block-scaled operands the same scales, then those of one batch.
  std::optional<int64_t> batch_stride = std::nullopt;
  /// Bytes that the base pointer given to run() will be a multiple of (a power of two). A smaller one than 16
  /// costs speed: A and B are then loaded, or D stored, without bulk copies.
  int alignment = 16;
  /// A and B: block-scaled along K, with scales in Buffers; `type` is then the type of the format's elements.
  std::optional<BlockFormat> block = std::nullopt;
};

/// How products are summed along K.
enum class Accumulation : uint8_t {
  promoted,  // the tensor core's short accumulator is added to FP32 registers every `interval` MMAs
  fast,      // the tensor core's accumulator all along K: about 13 bits, an error that grows with K
};

/// Which FP32 scales the elements of A and B are multiplied with. docs/accumulation.md has the order of the
/// operations.
enum class ScaleMode : uint8_t {
  per_tensor,           // one factor each
  per_row_column,       // one for each row of A and each column of B
  block_1x128_128x128,  // A: one for each row and 128 of K; B: one for each 128 of K and 128 columns
};

/// Where the scales of A or B lie, in floats from Buffers::scale_a or scale_b: that of line i (a row of A, a
/// column of B, or the columns 128 i and on of B) and block j of 128 along K is at
/// batch * batch_stride + i * line_stride + j * k_stride. Only multiples of strides that exist are read.
struct ScaleStrides {
  /// Both 0: packed. Vectors: 1. Blocks of A: 1 and m, the rows contiguous; of B: ceil(k / 128) and 1.
  int64_t line_stride = 0, k_stride = 0;
  /// Empty: packed. 0 makes every batch read the same scales.
  std::optional<int64_t> batch_stride = std::nullopt;
};

/// What is done with t = alpha * scale_a * scale_b * A B + beta * C on the way to D, in this order, in FP32,
/// each sum and product rounded once:
///   t += bias;  aux = t;  u = activation(t);  amax_d = max |u|;  D = convert(scale_d * u)
/// For f16, bf16 and FP8 operands with K contiguous in A and B that bulk copies can address; FP8: e4m3 x
/// e4m3, e4m3 x e5m2 (D of 8 or 16 bits) or the reverse, promoted with interval 4, one scale for each
/// operand.
struct EpilogueOps {
  /// A vector in Buffers::bias, added to D's rows (one element for each: m of them) or columns (n of them),
  /// whatever D's layout is. f16, bf16 or f32, aligned to its elements (16-bit pairs and 8 bytes of f32 at
  /// even strides are read together).
  BiasKind bias = BiasKind::none;
  DType bias_type = DType::f32;
  int64_t bias_batch_stride = 0;  // elements; 0: one bias for all batches

  Activation activation = Activation::none;

  /// The value before the activation, in Buffers::aux: f16, bf16 (which overflow to infinity) or f32, stored
  /// in D's layout (a single row or column: in either) with strides of its own.
  std::optional<Operand> aux = std::nullopt;

  /// The largest magnitude of u in all batches, in Buffers::amax_d: the scale of D is not in it, nor is D's
  /// rounding. NaN if a u is NaN; 0 if D is empty. The run overwrites what was there.
  bool amax_d = false;

  bool any() const {
    return bias != BiasKind::none || activation != Activation::none || aux.has_value() || amax_d;
  }
};

/// What is to be computed. Extents may be zero: no output means no work, and K = 0 gives scale_d * beta * C.
///
/// A and B of e4m3 or e5m2 (in any mixture) are multiplied on the tensor cores, and D is any of these types,
/// f16, bf16 or f32. A and B of f32 are multiplied by the ordinary cores, FP32 throughout (never TF32), and
/// then C and D are f32 too.
///
/// The other types run on the tensor cores through the pipeline API, C and D of one type:
///   f16, bf16  sums in the tensor core's FP32; D of the same type or f32
///   tf32       FP32 in memory, of which the tensor core reads the upper 19 bits; D of f32
///   s8, u8     exact sums, which wrap around beyond 32 bits; D of s32 or f32
///   f64        FP64 throughout; D of f64
/// and complex numbers, real part first, with real alpha and beta:
///   cf16, cbf16, ctf32, cf64  each part summed as a real product of 2 K terms; D of cf16, cbf16 or cf32, of
///              cf64 ones of cf64
///   cf32       FP32 throughout, on the ordinary cores; D of cf32
/// wgmma multiplies what it can: f16 and bf16 in any order, tf32, s8 and u8 with K contiguous (mixtures of s8
/// and u8 only so), all with addresses and strides that are multiples of 16 bytes. mma.sync, half as fast or
/// less, multiplies all else (PlanInfo::path).
///
/// Block-scaled A and B (mxfp8, mxfp4, mxfp8 x mxfp4, nvfp4) run on the tensor cores of sm_100a, or of sm_90a
/// after a kernel has made bf16 matrices of them in the workspace, sums in FP32; D and C are f16, bf16 or
/// f32, row-major. K is whole vectors of scales (docs/block-scaled.md); scale_a and scale_b are the scales of
/// the tensors.
struct Problem {
  int64_t m = 0, n = 0, k = 0;
  int64_t l = 1;  // batches
  // FP8 wants K-major operands: A row-major, B column-major ("TN"). All others take every layout.
  Operand a{};
  Operand b{.layout = Layout::column_major};
  Operand c{.type = DType::f16};  // read only when beta is not zero; but for f32: stored as D is
  Operand d{.type = DType::f16};
  /// alpha, scale_a, scale_b and scale_d (and beta with scale_d) become one factor, multiplied in double and
  /// rounded once to FP32: only the whole may overflow or vanish. (With an epilogue scale_d comes later, and
  /// factors in device memory are multiplied in FP32.) Integer and f64 sums are scaled by it in double, and
  /// rounded to nearest even.
  float alpha = 1, beta = 0;
  float scale_a = 1, scale_b = 1, scale_d = 1;
  // FP8 only, from here.
  Accumulation accumulation = Accumulation::promoted;
  /// MMAs (of 32 along K) between promotions: 1, 2 or a multiple of 4. Ignored by fast accumulation.
  int64_t interval = 4;
  /// Scales other than per_tensor: e4m3 operands, D of f16, bf16 or f32. Blocks: promoted, interval 4.
  /// scale_a and scale_b above multiply them.
  ScaleMode scale_mode = ScaleMode::per_tensor;
  ScaleStrides a_scales{}, b_scales{};  // not per_tensor
  /// 8-bit D: clamp to the largest finite value. Otherwise overflow gives NaN (e4m3) or infinity (e5m2).
  bool saturate = true;
  // FP8, f16 and bf16.
  EpilogueOps epilogue{};
};

/// Which machine runs a plan. automatic: the current CUDA device, if this build has kernels for one and it is
/// there, else the emulated machine.
enum class Device : uint8_t { automatic, gpu, emulator };
/// Which chip the emulated machine is. automatic: sm_100a for block-scaled problems, sm_90a for others.
enum class Chip : uint8_t { automatic, sm_90a, sm_100a };
/// automatic takes bulk tensor copies (TMA) where alignment allows them. f32: tma also repacks operands that
/// bulk copies cannot address, automatic does where that is estimated to be faster.
enum class LoadKind : uint8_t { automatic, tma, copy };
enum class StoreKind : uint8_t { automatic, tma, direct };
/// Who fills the stages of a kernel: a producer warpgroup (sm_90), or by asynchronous copies the threads that
/// multiply (f32, sm_80 and later).
enum class PipelineKind : uint8_t { automatic, producer, async };

/// Rows and columns of D, in elements (tile) or in tiles (cluster).
struct Shape2 {
  int64_t m = 0, n = 0;
  friend bool operator==(const Shape2&, const Shape2&) = default;
};

/// What the planner would otherwise choose. Everything may stay empty.
struct Options {
  Device device = Device::automatic;  // the current GPU if it can run the kernels, else the emulated machine
  std::optional<Shape2> tile = std::nullopt;
  std::optional<Shape2> cluster = std::nullopt;
  std::optional<schedule::Raster> raster = std::nullopt;
  std::optional<int64_t> swizzle = std::nullopt;  // width of a raster strip, in clusters
  std::optional<int64_t> stages = std::nullopt;   // of the shared-memory ring
  /// At most this many multiprocessors, to leave room for other kernels. On the emulated machine, the size of
  /// the chip; empty: every CTA gets at least three tiles, so that persistence is exercised.
  std::optional<int64_t> max_sms = std::nullopt;
  LoadKind load = LoadKind::automatic;
  StoreKind store = StoreKind::automatic;
  PipelineKind pipeline = PipelineKind::automatic;
  /// Let the kernel start while the one before it in the stream drains (programmatic dependent launch).
  bool dependent_launch = true;
  /// f32: cut K into about so many parts, which work side by side and are then added in order; 1: never.
  /// Empty: the planner's choice, which may cut some tiles of D and not others.
  std::optional<int64_t> splits = std::nullopt;
  /// Bytes that Plan::workspace_bytes() may ask for at most; 0: neither parts of K nor repacked operands.
  std::optional<int64_t> max_workspace = std::nullopt;
  /// f32: only kernels without checks of M and N, whose tiles divide them. (Where there is one it is also
  /// chosen without this.)
  bool static_shape = false;
  /// On a GPU, the one that it must be.
  Chip chip = Chip::automatic;
  /// Block-scaled on sm_100a: two accumulators that share columns of tensor memory, or one.
  bool overlap = true;
  /// Block-scaled on sm_100a: who gives a cluster its next tile. Others are static_persistent only.
  schedule::TileScheduler scheduler = schedule::TileScheduler::static_persistent;
};

/// The pointers of one run, in the memory of the plan's device (host memory for the emulated machine). Device
/// scalars may be null; where given, at multiples of 4 bytes, they multiply their namesakes in Problem (only
/// FP8 has scales there). C may equal D if both have the same type and strides. With a ScaleMode other than
/// per_tensor, scale_a and scale_b are the scales of A and B, and not null.
struct Buffers {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  const float* alpha = nullptr;
  const float* beta = nullptr;
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  const float* scale_d = nullptr;
  /// Problem::epilogue's; null where it has none. Read and written on the plan's device; aux and amax_d are
  /// memory of their own, and bias is not D.
  const void* bias = nullptr;
  void* aux = nullptr;
  float* amax_d = nullptr;
  /// Block-scaled A and B: a scale for each vector of each row (of B: each column), e4m3 for nvfp4, else
  /// e8m0. May have more columns than K needs. Those of one batch where Operand::batch_stride is 0.
  PackedBlockScales a_scales{}, b_scales{};
  /// Plan::workspace_bytes() bytes at a multiple of 256, of any contents; may be null when that is 0. Runs
  /// that may overlap need one each.
  void* workspace = nullptr;
};

/// A kernel that the planner compared.
struct PlanCandidate {
  Shape2 tile;
  double clocks;  // of the whole problem, by the planner's model
};

/// What plan() chose. Tile and cluster are those of D as the caller sees it; a column-major D is computed as
/// D^T = B^T A^T, and `kernel` then names the exchanged tile.
struct PlanInfo {
  Device device = Device::emulator;
  std::string kernel;  // its row in the library's tables: family, tile, types
  std::string path;    // instruction class of the products: "wgmma", "mma_sync", "tcgen05" or "simt"
  std::string why;     // one line: which kernel, and why
  /// Those whose modelled times were compared, the fastest first; none for f32 and sm_100a, or where the tile
  /// was asked for.
  std::vector<PlanCandidate> candidates;
  Shape2 tile, cluster{1, 1};
  schedule::Raster raster = schedule::Raster::along_m;
  int64_t swizzle = 1;
  int stages = 0;
  int sms = 0;               // multiprocessors the kernel may use
  int64_t tiles = 0;         // output tiles, those added to fill clusters included
  int64_t grid_ctas = 0;     // 0: nothing to launch
  int64_t shared_bytes = 0;  // per CTA
  int64_t tile_k = 0;        // elements of K in a stage
  int64_t group_tiles = 0;   // K tiles of 128 per promotion group; 0 for an interval shorter than a K tile
  /// Groups whose sums are added per element of D, ceil(K / (32 interval)), the first included; 1 for fast.
  int64_t promotions = 0;
  bool tma_load = false, tma_store = false;
  bool exchanged = false;  // D^T = B^T A^T
  ScaleMode scale_mode = ScaleMode::per_tensor;
  /// f32: the last so many tiles, in the order of the raster, are one row of K tiles that is cut into equal
  /// pieces, one for each CTA; 0: every tile is computed by one CTA.
  int64_t shared_tiles = 0;
  int64_t splits = 1;                       // parts of K that are added for an element of D, at most
  bool repack_a = false, repack_b = false;  // copied to the workspace in another order first
  int64_t workspace_bytes = 0;
  int launches = 0;      // kernels of one run
  bool overlap = false;  // block-scaled: two accumulators
  schedule::TileScheduler scheduler = schedule::TileScheduler::static_persistent;
};

namespace detail {
struct PlanState;
}

/// A kernel bound to a problem. Cheap to copy; all members are const and may be used by many threads and
/// streams.
class Plan {
 public:
  const PlanInfo& info() const;
  /// Bytes of device memory that run() needs besides the operands, as Buffers::workspace. FP8: none.
  int64_t workspace_bytes() const { return info().workspace_bytes; }
  /// Launches one kernel on `stream` (a cudaStream_t, or an emulator::Machine*; null is the default one),
  /// with another before it when operands are repacked or dequantised and one after it when K is cut
  /// (PlanInfo::launches), or none when D is empty. amax_d is set to zero before it. Allocates no device
  /// memory. A and B are not touched when K or their factor (see Problem::alpha) is zero, nor is C when
  /// its factor, beta scale_d rounded to FP32 (with an epilogue beta alone), is, whatever the device scalars
  /// are. Errors: a pointer that is null or less aligned than it must be; a current GPU other than the
  /// plan's; the launch's own.
  [[nodiscard]] Status run(const Buffers& buffers, void* stream = nullptr) const;

  explicit Plan(std::shared_ptr<const detail::PlanState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const detail::PlanState> state_;
};

/// Checks the problem against every rule and chooses a kernel for the current device. No kernel runs.
Expected<Plan> plan(const Problem& problem, const Options& options = {});
/// The error plan() would give, or nothing.
[[nodiscard]] Status can_run(const Problem& problem, const Options& options = {});

/// A condition that a problem, an option or a pointer must meet.
struct Rule {
  const char* name;  // Error::rule
  const char* text;
  ErrorCode code;
};
/// Every rule that plan() and Plan::run() check.
std::span<const Rule> gemm_rules();

}  // namespace tilewright
