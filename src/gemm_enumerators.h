// The enumerations of Problem and Options: which values they have, and that a problem holds no other.
#pragma once

#include "tilewright/gemm.h"

namespace tilewright {

/// The last enumerator of a type whose enumerators are 0, 1, ... up to it.
template <class E>
struct Last {
  E value;
  const char* name;
};

// Every type of an enumerator in Problem, EpilogueOps and Options.
template <class E>
inline constexpr Last<E> last_of;
template <>
inline constexpr Last<DType> last_of<DType>{DType::cbf16, "cbf16"};
template <>
inline constexpr Last<Layout> last_of<Layout>{Layout::column_major, "column_major"};
template <>
inline constexpr Last<BlockFormat> last_of<BlockFormat>{BlockFormat::nvfp4, "nvfp4"};
template <>
inline constexpr Last<Accumulation> last_of<Accumulation>{Accumulation::fast, "fast"};
template <>
inline constexpr Last<ScaleMode> last_of<ScaleMode>{ScaleMode::block_1x128_128x128, "block_1x128_128x128"};
template <>
inline constexpr Last<BiasKind> last_of<BiasKind>{BiasKind::column, "column"};
template <>
inline constexpr Last<Activation> last_of<Activation>{Activation::gelu, "gelu"};
template <>
inline constexpr Last<Device> last_of<Device>{Device::emulator, "emulator"};
template <>
inline constexpr Last<Chip> last_of<Chip>{Chip::sm_100a, "sm_100a"};
template <>
inline constexpr Last<LoadKind> last_of<LoadKind>{LoadKind::copy, "copy"};
template <>
inline constexpr Last<StoreKind> last_of<StoreKind>{StoreKind::direct, "direct"};
template <>
inline constexpr Last<PipelineKind> last_of<PipelineKind>{PipelineKind::async, "async"};
template <>
inline constexpr Last<schedule::Raster> last_of<schedule::Raster>{schedule::Raster::along_n, "along_n"};
template <>
inline constexpr Last<schedule::TileScheduler> last_of<schedule::TileScheduler>{
    schedule::TileScheduler::cluster_launch_control, "cluster_launch_control"};

/// The rule enumerator.value, for all of them: to be checked before any is looked at.
Status check_enumerators(const Problem& problem, const Options& options);

}  // namespace tilewright
