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
    constexpr Facts f = facts_of_v<D>;
    arch::LaunchConfig config;
    config.grid = {plan_.blocks, 1, 1};
    config.block = {mainloop::kRepackThreads, 1, 1};
    config.shared_bytes = mainloop::kRepackSharedBytes;
    config.stream = stream;
    const mainloop::SplitParams params = plan_.bind(parts(), any());
    if constexpr (mainloop::SplitQuad<Part>::kScaled) {
      config.name = "largest_f32";
      if (const Status refused = arch::launch(split_f32<mainloop::LargestTile>, config, params))
        return failed(*refused);
    }
    config.name = "split_f32";
    using Tile =
        mainloop::SplitTile<Part, static_cast<uint32_t>(f.k), static_cast<uint32_t>(f.split_parts())>;
    const Status refused = arch::launch(split_f32<Tile>, config, params);
    return refused ? failed(*refused) : pipeline_status();
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
