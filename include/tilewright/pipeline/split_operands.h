// The host's side of FP32 on tensor cores: A and B are split into tf32 numbers, in memory of the pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tilewright/arch/launch.h"
#include "tilewright/arch/stream_memory.h"
#include "tilewright/config.h"
#include "tilewright/mainloop/split_f32.h"
#include "tilewright/mainloop/split_rows.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/pipeline_binding.h"
#include "tilewright/pipeline/split_params.h"
#include "tilewright/pipeline/split_plan.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// The numbers that a descriptor's elements are split into.
template <class D>
using SplitPart = std::conditional_t<facts_of_v<D>.split_into == Element::f16, f16, tf32>;

/// All tiles of A and B, for mainloop::repack_tiles: LargestTile or a SplitTile. Any number of blocks of
/// mainloop::kRepackThreads threads, with mainloop::kRepackSharedBytes each.
template <class Tile>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(mainloop::kRepackThreads)
    split_f32(const TILEWRIGHT_GRID_CONSTANT mainloop::SplitParams params) {
  mainloop::repack_tiles<Tile>(params.operand, arch::shared_address(arch::dynamic_shared_memory()));
}

/// The same for operands whose rows are contiguous and short, in one pass.
template <class Part, uint32_t TileK, uint32_t Parts>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(mainloop::kRepackThreads)
    split_f32_rows(const TILEWRIGHT_GRID_CONSTANT mainloop::SplitParams params) {
  mainloop::split_rows<Part, TileK, Parts>(params, arch::shared_address(arch::dynamic_shared_memory()));
}

/// Owns the parts of A and B. Movable: moving leaves nothing behind.
template <class D>
class SplitOperands {
 public:
  static constexpr bool kOwns = true;

  /// Memory for the parts of A and B, which were checked. Kept from before where it suffices. Errors: no
  /// memory.
  pipeline_status reserve(const detail::OperandView& a, const detail::OperandView& b, void* stream) {
    plan_ = detail::plan_split(a, b, facts_of_v<D>);
    if (plan_.bytes == 0) return {};
    if (!parts_.serves(plan_.bytes, stream)) {
      Expected<arch::StreamMemory> parts = arch::StreamMemory::allocate(plan_.bytes, false, stream);
      if (!parts) return failed(parts.error());
      parts_ = std::move(*parts);
    }
    if (!flags_.serves(4 * plan_.flags, stream)) {
      Expected<arch::StreamMemory> flags = arch::StreamMemory::allocate(4 * plan_.flags, true, stream);
      if (!flags) return failed(flags.error());
      flags_ = std::move(*flags);
    } else if (const Status refused = flags_.zero()) {
      return failed(*refused);
    }
    return {};
  }

  /// Launches the kernels that split A and B. Errors: the launches'.
  pipeline_status split(void* stream) const {
    if (plan_.bytes == 0) return {};
    using Part = SplitPart<D>;
    constexpr auto kTileK = static_cast<uint32_t>(facts_of_v<D>.k);
    constexpr auto kParts = static_cast<uint32_t>(facts_of_v<D>.split_parts());
    const mainloop::SplitParams all = plan_.bind(parts(), any());
    mainloop::SplitParams tiles = all;
    if constexpr (mainloop::SplitQuad<Part>::kScaled) {
      mainloop::SplitParams rows = all;
      for (int i = 0; i < 2; ++i) {
        const bool one_pass = plan_.has_short_rows(i);
        (one_pass ? tiles : rows).operand[i].from = nullptr;
      }
      const pipeline_status scaled =
          run("split_f32_rows", split_f32_rows<Part, kTileK, kParts>, rows, stream);
      if (!scaled) return scaled;
      const pipeline_status known = run("largest_f32", split_f32<mainloop::LargestTile>, tiles, stream);
      if (!known) return known;
    }
    return run("split_f32", split_f32<mainloop::SplitTile<Part, kTileK, kParts>>, tiles, stream);
  }

  /// The parts, as the matrices that TMA reads.
  detail::OperandView a(const detail::OperandView& given) const { return plan_.parts_of_a(given, parts()); }
  detail::OperandView b(const detail::OperandView& given) const { return plan_.parts_of_b(given, parts()); }
  void describe(detail::SplitPipelineParams& p) const {
    p.any = any();
    p.a_flags = any() + plan_.flags_a;
    p.b_flags = any() + plan_.flags_b;
    p.a_largest = any() + plan_.largest_a;
    p.b_largest = any() + plan_.largest_b;
  }

 private:
  using Kernel = void (*)(mainloop::SplitParams);

  /// Launches a kernel, unless it has nothing to do.
  pipeline_status run(const char* name, Kernel kernel, const mainloop::SplitParams& params,
                      void* stream) const {
    if (params.operand[0].from == nullptr && params.operand[1].from == nullptr) return {};
    arch::LaunchConfig config;
    config.grid = {plan_.blocks, 1, 1};
    config.block = {mainloop::kRepackThreads, 1, 1};
    config.shared_bytes = mainloop::kRepackSharedBytes;
    config.stream = stream;
    config.name = name;
    const Status refused = arch::launch(kernel, config, params);
    return refused ? failed(*refused) : pipeline_status();
  }

  static pipeline_status failed(const Error& error) {
    return pipeline_error{pipeline_error_code::cuda, "RequiredMantissaBits: " + error.message};
  }
  std::byte* parts() const { return plan_.bytes == 0 ? nullptr : parts_.template as<std::byte>(); }
  uint32_t* any() const { return flags_.template as<uint32_t>(); }

  detail::SplitPlan plan_;
  arch::StreamMemory parts_, flags_;
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
