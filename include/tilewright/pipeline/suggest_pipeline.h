// Making pipelines on the host.
//
//   auto a = make_gmem_tensor<row_major>(a_ptr, m, k, lda);
//   auto b = make_gmem_tensor<col_major>(b_ptr, k, n, ldb);
//   auto p = suggest_pipeline<D>(a, b);
//   if (!p) return p.error().message;
//
// Host-only work: rules are checked and two TMA descriptors encoded; nothing is allocated and no stream used
// (the optional last argument is accepted and not looked at). RequiredMantissaBits is the exception: memory
// for the parts of A and B is allocated on the stream that is the last argument, and they are split there.
#pragma once

#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>

#include "tilewright/arch/launch.h"
#include "tilewright/arch/occupancy.h"
#include "tilewright/config.h"
#include "tilewright/pipeline/block_scaled_binding.h"
#include "tilewright/pipeline/block_scaled_pipeline.h"
#include "tilewright/pipeline/pipeline_binding.h"
#include "tilewright/pipeline/pipeline_handle.h"
#include "tilewright/pipeline/shared_storage.h"
#include "tilewright/pipeline/suggest_schedule.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {

/// A pipeline on the host: what to launch with, and the handle for the kernel.
template <class Handle>
class Pipeline {
 public:
  using handle_type = Handle;
  using descriptor = typename Handle::descriptor;
  static constexpr uint32_t max_threads_per_block = Handle::max_threads_per_block;
  static constexpr bool uses_cluster = Handle::uses_cluster, uses_multicast = Handle::uses_multicast;
  static constexpr int depth = Handle::depth;
  /// Whether it has device memory of its own (RequiredMantissaBits).
  static constexpr bool owns_operands = Handle::Operands::kOwns;

  static constexpr uint32_t buffer_size() requires(!Handle::is_tunable) { return Handle::buffer_size(); }
  uint32_t buffer_size() const requires(Handle::is_tunable) { return Handle::buffer_size(handle_.stages()); }
  static constexpr uint32_t buffer_alignment() { return Handle::buffer_alignment(); }
  /// The block to launch, the threads that bring operands included.
  static constexpr Extent3 get_block_dim() { return Handle::get_block_dim(); }
  static constexpr Extent3 get_cluster_dim() requires(!Handle::is_tunable) {
    return Handle::get_cluster_dim();
  }
  Extent3 get_cluster_dim() const requires(Handle::is_tunable) { return handle_.get_cluster_dim(); }
  /// Tiles of the product along M and N, of a block each.
  Extent3 get_tile_count() const {
    constexpr auto kRows = static_cast<uint32_t>(Handle::block_shape.rows),
                   kColumns = static_cast<uint32_t>(Handle::block_shape.columns);
    return {(handle_.rows() + kRows - 1) / kRows, (handle_.columns() + kColumns - 1) / kColumns, 1};
  }
  /// A block for each of them, padded to whole clusters: blocks past the edge take part in the loads and
  /// barriers of their cluster. None for a product without elements.
  Extent3 get_grid_dim() const {
    const Extent3 tiles = get_tile_count(), cluster = get_cluster_dim();
    if (tiles.x == 0 || tiles.y == 0) return {0, 0, 1};
    return {(tiles.x + cluster.x - 1) / cluster.x * cluster.x,
            (tiles.y + cluster.y - 1) / cluster.y * cluster.y, 1};
  }
  /// Error cluster_grid_divisibility where get_grid_dim() had to be padded: for users who want no idle
  /// blocks.
  pipeline_status require_whole_clusters() const {
    const Extent3 tiles = get_tile_count(), grid = get_grid_dim();
    if (tiles == grid || grid.x == 0) return {};
    return detail::cluster_grid_error(tiles.x, tiles.y, get_cluster_dim().x, get_cluster_dim().y);
  }

  /// A value for kernels; copies are interchangeable. With RequiredMantissaBits it points into memory that
  /// this object owns, so a temporary has none to give.
  const Handle& get_device_handle() const& { return handle_; }
  const Handle& get_device_handle() const&& requires(!Handle::Operands::kOwns) { return handle_; }
  template <class Refused = Handle>
  const Refused& get_device_handle() const&& requires(Handle::Operands::kOwns) {
    static_assert(!Refused::Operands::kOwns,
                  "a pipeline with RequiredMantissaBits owns the memory that its handle points into: keep "
                  "the pipeline in a variable until the launch");
    return handle_;
  }

  /// A launch of `grid` blocks on `stream` with this pipeline's block, cluster and shared memory, the latter
  /// with `scratch` more bytes behind the buffer.
  arch::LaunchConfig launch_config(arch::Index3 grid, uint32_t scratch = 0, void* stream = nullptr,
                                   const char* name = "kernel") const {
    arch::LaunchConfig config;
    config.grid = grid;
    config.block = get_block_dim();
    config.cluster = get_cluster_dim();
    config.shared_bytes = buffer_size() + scratch;
    config.stream = stream;
    config.name = name;
    return config;
  }

  /// The tiles of the product for run(), in strips of `strip` clusters for reuse in L2. Empty products have
  /// none.
  schedule::TileSchedule make_schedule(uint32_t batches = 1,
                                       schedule::Raster raster = schedule::Raster::along_m,
                                       uint32_t strip = 8) const {
    const Extent3 tiles = get_tile_count();
    if (tiles.x == 0 || tiles.y == 0 || batches == 0) return {};
    const Extent3 cluster = get_cluster_dim();
    return schedule::TileSchedule::make(tiles.x, tiles.y, batches, cluster.x, cluster.y, raster, strip);
  }

  /// The same in the order that the library's planner would take (suggest_schedule.h), for this cluster.
  schedule::TileSchedule suggest_schedule(uint32_t batches = 1) const {
    detail::Candidate of = detail::candidate<descriptor>();
    if constexpr (Handle::is_tunable) {
      of.facts.cluster_m = static_cast<int>(get_cluster_dim().x);
      of.facts.cluster_n = static_cast<int>(get_cluster_dim().y);
    }
    const ScheduleChoice chosen =
        detail::choose_schedule(of, handle_.rows(), handle_.columns(), handle_.depth_of_k(), batches);
    return make_schedule(batches, chosen.raster, chosen.strip);
  }

  /// The same tiles, handed out by cluster launch control: with persistent_config() a cluster for each.
  schedule::ScheduledTiles make_controlled_schedule(uint32_t batches = 1,
                                                    schedule::Raster raster = schedule::Raster::along_m,
                                                    uint32_t strip = 8) const {
    static_assert(path_of_v<descriptor> == path::tcgen05, "cluster launch control is for the path tcgen05");
    return {make_schedule(batches, raster, strip), schedule::TileScheduler::cluster_launch_control};
  }

  /// A launch of a kernel that calls run(): as many clusters of blocks as the device holds at once, and no
  /// more than `clusters` (0: those of the schedule). `scratch`: bytes of the epilogue. Errors: as
  /// arch::max_active_clusters.
  template <class... P>
  Expected<arch::LaunchConfig> persistent_config(void (*kernel)(P...), const schedule::TileSchedule& tiles,
                                                 uint32_t scratch = 0, void* stream = nullptr,
                                                 uint32_t clusters = 0, const char* name = "kernel") const {
    const Extent3 cluster = get_cluster_dim();
    arch::LaunchConfig config = launch_config({cluster.x, cluster.y, 1}, 0, stream, name);
    if (scratch != 0) config.shared_bytes = scratch_offset() + scratch;
    const Expected<int> resident = arch::max_active_clusters(kernel, config);
    if (!resident) return resident.error();
    uint32_t count = tiles.clusters_total;
    if (clusters != 0 && clusters < count) count = clusters;
    if (static_cast<uint32_t>(*resident) < count) count = static_cast<uint32_t>(*resident);
    config.grid.x = cluster.x * count;
    return config;
  }

  /// The same for tiles that cluster launch control may hand out: then a cluster for each of them.
  template <class... P>
  Expected<arch::LaunchConfig> persistent_config(void (*kernel)(P...), const schedule::ScheduledTiles& tiles,
                                                 uint32_t scratch = 0, void* stream = nullptr,
                                                 uint32_t clusters = 0, const char* name = "kernel") const {
    Expected<arch::LaunchConfig> config =
        persistent_config(kernel, tiles.tiles, scratch, stream, clusters, name);
    if (config && tiles.scheduler == schedule::TileScheduler::cluster_launch_control)
      config->grid.x = get_cluster_dim().x * tiles.tiles.clusters_total;
    return config;
  }

  /// Points the pipeline at other tensors, of any extents. With RequiredMantissaBits they are split anew, on
  /// `stream` (a cudaStream_t, or an emulator::Machine*), over the parts of the tensors before. Errors: as
  /// suggest_pipeline; the pipeline is then as it was, or, where memory or a launch was refused, good for
  /// nothing but rebind.
  template <class A, class B, class... Stream>
  pipeline_status rebind(const A& a, const B& b, const Stream&... stream) {
    static_assert(sizeof...(Stream) <= 1, "rebind(A, B) or rebind(A, B, stream)");
    static_assert(Handle::products == 1, "Products<2>: rebind(A, B, B2)");
    static_assert(
        !facts_of_v<descriptor>.is_scaled(),
        "BlockScale: the scales come after the operands: suggest_pipeline(A, B, scales of A, scales of "
        "B), rebind(A, B, scales of A, scales of B)");
    check_tensors<A, B>();
    void* on = nullptr;
    if constexpr (Handle::Operands::kOwns) ((on = static_cast<void*>(stream)), ...);
    if constexpr (Handle::is_tunable) return rebind(a, b, tuning_);
    return handle_.bind(detail::operand_view(a), detail::operand_view(b), operands_, on);
  }

  /// The same with Tunable, tuned anew: rebind(A, B) keeps the tuning. Errors besides: invalid_tuning.
  template <class A, class B>
  pipeline_status rebind(const A& a, const B& b, const Tuning& tuning) {
    static_assert(Handle::is_tunable, "a Tuning belongs to Tunable");
    check_tensors<A, B>();
    const pipeline_status bound =
        handle_.bind(detail::operand_view(a), detail::operand_view(b), operands_, nullptr, tuning);
    if (bound) tuning_ = tuning;
    return bound;
  }

  /// The same with Products<2>. Errors besides: incompatible_n.
  template <class A, class B, detail::AnyOperand B2, class... Stream>
  pipeline_status rebind(const A& a, const B& b, const B2& b2, const Stream&...) {
    static_assert(sizeof...(Stream) <= 1, "rebind(A, B, B2) or rebind(A, B, B2, stream)");
    static_assert(Handle::products == 2, "a second matrix B belongs to Products<2>");
    check_tensors<A, B>();
    check_tensors<A, B2>();
    Handle handle = handle_;
    const pipeline_status bound =
        handle.bind(detail::operand_view(a), detail::operand_view(b), operands_, nullptr);
    if (!bound) return bound;
    const pipeline_status second = handle.bind_second(detail::operand_view(b), detail::operand_view(b2));
    if (second) handle_ = handle;
    return second;
  }

  /// The same with BlockScale: `a_scales` has a row for each of A and a column for each vector of K,
  /// `b_scales` a row for each column of B. Errors besides: scale_mismatch.
  template <class A, class B, detail::AnyScales ScalesA, detail::AnyScales ScalesB, class... Stream>
  pipeline_status rebind(const A& a, const B& b, const ScalesA& a_scales, const ScalesB& b_scales,
                         const Stream&...) {
    static_assert(sizeof...(Stream) <= 1, "rebind(A, B, scales, scales) or with a stream");
    constexpr Facts f = facts_of_v<descriptor>;
    static_assert(f.is_scaled(), "scales belong to BlockScale");
    static_assert(ScalesA::layout == ScaleLayout::packed && ScalesB::layout == ScaleLayout::packed,
                  "kernels take packed scales: pack_scales");
    static_assert(element_of_v<typename ScalesA::value_type> == f.scale &&
                      element_of_v<typename ScalesB::value_type> == f.scale,
                  "the scales are not of the type that BlockScale names");
    check_tensors<A, B>();
    return handle_.bind({detail::operand_view(a), f.block_format(f.a), a_scales},
                        {detail::operand_view(b), f.block_format(f.b), b_scales});
  }

  /// With ScaledPromotion: FP32 scales in device memory, of A one for each row and K tile, of B one for each
  /// tiles::kScaleColumns columns and K tile. They stay when the pipeline is bound anew. To be called before
  /// a launch where the parts of a warpgroup share the temporary (tiles of 128 x 256); a pipeline of other
  /// tiles has none until then, as with two null ones: all of them are 1. Errors: scale_mismatch where one
  /// operand has none, or neither has where both must;
  /// invalid_tuning where groups are of more than one K tile.
  pipeline_status set_scales(const tiles::ScaleLines& a, const tiles::ScaleLines& b) {
    static_assert(facts_of_v<descriptor>.scaled_promotion, "scales belong to ScaledPromotion");
    const pipeline_status checked =
        detail::check_group_scales(a.data != nullptr, b.data != nullptr, Handle::Config::kParts > 1);
    return checked ? handle_.set_scales(a, b) : checked;
  }

 private:
  uint32_t scratch_offset() const {
    if constexpr (Handle::is_tunable) return Handle::scratch_offset(handle_.stages());
    return Handle::scratch_offset();
  }

  template <class A, class B>
  static constexpr void check_tensors() {
    using TraitsA = detail::OperandTraits<A>;
    using TraitsB = detail::OperandTraits<B>;
    static_assert(is_same_element_v<typename TraitsA::value_type, typename descriptor::a_value_type>,
                  "the elements of tensor A are not exactly the descriptor's a_value_type");
    static_assert(is_same_element_v<typename TraitsB::value_type, typename descriptor::b_value_type>,
                  "the elements of tensor B are not exactly the descriptor's b_value_type");
    static_assert(TraitsA::fits(facts_of_v<descriptor>.a_arrangement),
                  "the arrangement of tensor A is not the one that Arrangement<> names");
    static_assert(TraitsB::fits(facts_of_v<descriptor>.b_arrangement),
                  "the arrangement of tensor B is not the one that Arrangement<> names");
  }

  struct Untuned {};

  Handle handle_;
  [[no_unique_address]] typename Handle::Operands operands_;
  [[no_unique_address]] std::conditional_t<Handle::is_tunable, Tuning, Untuned> tuning_;
};

namespace impl {

/// Facts with the alignment that a compile-time leading dimension leaves of the promised one.
template <class D, class A, class B>
constexpr Facts effective_facts() {
  Facts f = facts_of_v<D>;
  const auto reduce = [&](int alignment, int64_t ld, Element e) {
    return ld == 0 ? alignment
                   : static_cast<int>(std::gcd<int64_t>(alignment, ld * bytes_of(e) * (f.is_complex ? 2 : 1) /
                                                                       (e == Element::e2m1 ? 2 : 1)));
  };
  f.a_alignment = reduce(f.a_alignment, detail::OperandTraits<A>::static_ld, f.a);
  f.b_alignment = reduce(f.b_alignment, detail::OperandTraits<B>::static_ld, f.b);
  return f;
}

template <class D, class A, class B>
struct CheckPipeline {
  static constexpr Facts f = facts_of_v<D>;
  static constexpr bool tensors = detail::AnyOperand<A> && detail::AnyOperand<B>;
  static_assert(tensors,
                "suggest_pipeline(A, B): A and B are tensors, of make_gmem_tensor<row_major>(pointer, rows, "
                "columns, leading dimension), or mdspans of rank 2 or 3");
  static_assert(f.with_pipeline,
                "suggest_pipeline needs WithPipeline() in the descriptor; without it D().execute(...) "
                "multiplies what lies in shared memory");
  static constexpr bool built = detail::CheckBuilt<D>::ok;

  static constexpr Facts effective() {
    if constexpr (tensors) {
      return effective_facts<D, A, B>();
    } else {
      return facts_of_v<D>;
    }
  }
  static constexpr bool keeps_path = !built || first_broken_rule(path_of_v<D>, effective()) < 0;
  static_assert(keeps_path,
                "the leading dimension known at compile time breaks the alignment of 16 bytes that the path "
                "needs; explain<D>(A, B) shows what is left");
  static constexpr bool keeps_promise =
      !built || path_of_v<D> != path::mma_sync ||
      (effective().a_alignment == f.a_alignment && effective().b_alignment == f.b_alignment);
  static_assert(keeps_promise,
                "the leading dimension known at compile time breaks the alignment that Alignment<> promises; "
                "explain<D>(A, B) shows what is left");
  static constexpr bool ok = tensors && f.with_pipeline && built && keeps_path && keeps_promise;
};

template <int Depth, class D>
struct CheckDepth {
  static constexpr bool in_range = Depth >= 1 && Depth <= tiles::kMaxTileDepth;
  static_assert(in_range, "the depth of a pipeline is 1 to 16 stages");
  static constexpr bool fits = !in_range || Depth <= PathPlan<D>::max_depth;
  static_assert(fits,
                "so many stages do not fit in shared memory (232448 bytes, of which each stage takes its A "
                "tile, its B tile and 16 bytes of barriers); suggest_pipeline<D> picks the largest depth");
  static constexpr bool ok = in_range && fits;
};

/// A second matrix B, if that is what comes next, must fit the descriptor too.
template <class D, class A>
constexpr bool check_second() {
  return true;
}
template <class D, class A, class B2, class... More>
constexpr bool check_second() {
  if constexpr (detail::AnyOperand<B2>) return CheckPipeline<D, A, B2>::ok;
  return true;
}

/// More: a second matrix B, scales or a Tuning, then a stream, or nothing.
template <int Depth, class D, class Tag, class A, class B, class... More>
auto make_checked(const A& a, const B& b, const More&... more) {
  constexpr bool kScaled = path_of_v<D> == path::tcgen05;
  static_assert(
      std::is_same_v<Tag, internal_accumulator> ||
          std::is_same_v<Tag, std::conditional_t<kScaled, single_accumulator, reusable_accumulator>>,
      "the accumulator is internal_accumulator or reusable_accumulator, on the path tcgen05 "
      "internal_accumulator or single_accumulator");
  using Made = Pipeline<DevicePipeline<D, Depth, Tag>>;
  Made pipeline;
  const pipeline_status status = pipeline.rebind(a, b, more...);
  if (!status) return pipeline_result<Made>(status.error());
  return pipeline_result<Made>(std::move(pipeline));
}

}  // namespace impl

/// A pipeline of Depth stages (1 to 16; more than there are K tiles do no harm) over A (M x K) and B (K x N),
/// whose addresses kernels will read. Tensors: make_gmem_tensor, make_gmem_tensor_batched, or an mdspan of
/// rank 2 or 3. Any extents: what a tile has beyond them is zero. Errors: pipeline_error_code.
///
/// `more`: with Products<2> a second matrix B of B's extents, arrangement and alignment, for A B and A B2
/// (the functor of execute() gets an accumulator of each product, and so does a one-phase epilogue of run());
/// with BlockScale the scales of A and of B, as PackedScales (elements of e2m1 lie two to a byte; pointers to
/// them are to the first byte, extents and leading dimensions in elements); with Tunable a Tuning. Then a
/// stream, or nothing.
template <int Depth, AnyDescription D, class Tag = internal_accumulator, class A, class B, class... More>
auto suggest_pipeline(const A& a, const B& b, const More&... more) {
  if constexpr (impl::CheckPipeline<D, A, B>::ok) {
    if constexpr (impl::CheckDepth<Depth, D>::ok && impl::check_second<D, A, More...>())
      return impl::make_checked<Depth, D, Tag>(a, b, more...);
  }
}
/// The same with as many stages as fit in shared memory.
template <AnyDescription D, class Tag = internal_accumulator, class A, class B, class... More>
auto suggest_pipeline(const A& a, const B& b, const More&... more) {
  if constexpr (impl::CheckPipeline<D, A, B>::ok)
    return suggest_pipeline<impl::PathPlan<D>::max_depth, D, Tag>(a, b, more...);
}
/// The same as suggest_pipeline with everything said: depth and accumulator.
template <int Depth, AnyDescription D, class Tag, class A, class B, class... More>
auto make_pipeline(const A& a, const B& b, const More&... more) {
  return suggest_pipeline<Depth, D, Tag>(a, b, more...);
}

/// explain<D>() for these tensors: with the alignment that their compile-time leading dimensions leave.
template <AnyDescription D, class A, class B>
std::string explain(const A&, const B&) {
  return explain(impl::effective_facts<D, A, B>());
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
