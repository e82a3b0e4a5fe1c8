// Tiles between global and shared memory by the threads of a block, and arithmetic of one thread on tiles.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/cp_async.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/config.h"
#include "tilewright/layout/block_tensor.h"
#include "tilewright/pipeline/block_check.h"
#include "tilewright/pipeline/convert.h"
#include "tilewright/pipeline/descriptor.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// The copy of a tile. Bytes: of one access where both tiles allow it.
template <int Bytes, class From, class To>
class TileCopy {
  using T = typename To::value_type;
  static constexpr bool kSameElements = is_same_element_v<typename From::value_type, T>;
  static constexpr bool kByRows = From::contiguous_rows && To::contiguous_rows;
  static constexpr bool kByColumns = !kByRows && From::contiguous_columns && To::contiguous_columns;
  static constexpr bool kAsync = detail::is_shared_v<To> && !detail::is_shared_v<From>;
  static constexpr uint32_t kSize = sizeof(T);
  static constexpr bool kInChunks = kSameElements && (kByRows || kByColumns) &&
                                    Bytes > static_cast<int>(kSize);
  static constexpr uint32_t kOfChunk = kInChunks ? static_cast<uint32_t>(Bytes) / kSize : 1;
  static constexpr auto kLines = static_cast<uint32_t>(kByColumns ? To::tile_columns : To::tile_rows),
                        kOfLine = static_cast<uint32_t>(kByColumns ? To::tile_rows : To::tile_columns);
  static constexpr uint32_t kChunks = (kOfLine + kOfChunk - 1) / kOfChunk;

  static_assert(From::tile_rows == To::tile_rows && From::tile_columns == To::tile_columns,
                "copy(from, to): the tiles have the same extents");
  static_assert(!std::is_const_v<typename To::element_type>, "copy(from, to): `to` has const elements");

 public:
  TILEWRIGHT_DEVICE static void copy(uint32_t thread, uint32_t threads, const From& from, const To& to) {
    if (thread >= threads) return;
    if constexpr (kInChunks) {
      // A tile that does not keep the promise is copied right all the same.
      if ((misalignment(from) | misalignment(to)) % static_cast<uintptr_t>(Bytes) == 0) {
        for (uint32_t i = thread; i < kLines * kChunks; i += threads) {
          copy_chunk(from, to, i / kChunks, i % kChunks * kOfChunk);
        }
        return;
      }
    }
    for (uint32_t i = thread; i < kLines * kOfLine; i += threads) {
      copy_element(from, to, row(i / kOfLine, i % kOfLine), column(i / kOfLine, i % kOfLine));
    }
  }

 private:
  static TILEWRIGHT_DEVICE uint32_t row(uint32_t line, uint32_t at) { return kByColumns ? at : line; }
  static TILEWRIGHT_DEVICE uint32_t column(uint32_t line, uint32_t at) { return kByColumns ? line : at; }

  template <class View>
  TILEWRIGHT_DEVICE static uintptr_t misalignment(const View& view) {
    const auto start = reinterpret_cast<uintptr_t>(view.data());
    if constexpr (AnyTileView<View>) {
      const int64_t step = kByColumns ? view.column_stride() : view.row_stride();
      return start | static_cast<uintptr_t>(step) * kSize;
    } else {
      return start;
    }
  }

  TILEWRIGHT_DEVICE static void copy_element(const From& from, const To& to, uint32_t r, uint32_t c) {
    if (r >= to.rows() || c >= to.columns()) return;
    T* const target = &to(r, c);
    const bool exists = r < from.rows() && c < from.columns();
    if constexpr (kSameElements && kAsync && (kSize == 4 || kSize == 8 || kSize == 16)) {
      copy_async<kSize>(target, exists ? &from(r, c) : from.data(), exists ? kSize : 0);
    } else if constexpr (kSameElements) {
      using U = typename From::value_type;
      const U value = exists ? from(r, c) : U{};
      T bits;  // of the same element, spelled otherwise
      memcpy(static_cast<void*>(&bits), static_cast<const void*>(&value), kSize);
      *target = bits;
    } else {
      *target = exists ? convert_to<T>(from(r, c)) : T{};
    }
  }

  struct alignas(Bytes < 1 ? 1 : Bytes) Chunk {
    std::byte bytes[Bytes < 1 ? 1 : Bytes];
  };

  TILEWRIGHT_DEVICE static void copy_chunk(const From& from, const To& to, uint32_t line, uint32_t at) {
    const uint32_t r = row(line, at), c = column(line, at);
    const uint32_t there = left(from, line, at), room = left(to, line, at);
    if (room == 0) return;
    if (room == kOfChunk && kAsync && Bytes >= 4) {
      if constexpr (Bytes >= 4) {
        copy_async<static_cast<uint32_t>(Bytes)>(&to(r, c), there != 0 ? &from(r, c) : from.data(),
                                                 there * kSize);
      }
    } else if (room == kOfChunk && there == kOfChunk) {
      *reinterpret_cast<Chunk*>(&to(r, c)) = *reinterpret_cast<const Chunk*>(&from(r, c));
    } else {
      TILEWRIGHT_NO_UNROLL
      for (uint32_t i = 0; i < kOfChunk; ++i) copy_element(from, to, row(line, at + i), column(line, at + i));
    }
  }
  /// Elements of the chunk that exist in a tile.
  template <class View>
  TILEWRIGHT_DEVICE static uint32_t left(const View& view, uint32_t line, uint32_t at) {
    const uint32_t lines = kByColumns ? view.columns() : view.rows();
    const uint32_t end = kByColumns ? view.rows() : view.columns();
    if (line >= lines || at >= end) return 0;
    return end - at < kOfChunk ? end - at : kOfChunk;
  }

  template <uint32_t Count>
  TILEWRIGHT_DEVICE static void copy_async(T* to, const void* from, uint32_t bytes) {
    const uint32_t address = arch::shared_address(to);
    if constexpr (Count == 16) {
      arch::cp_async_16(address, from, bytes);
    } else if constexpr (Count == 8) {
      arch::cp_async_8(address, from, bytes);
    } else {
      arch::cp_async_4(address, from, bytes);
    }
  }
};

}  // namespace impl

/// to = from, by `Threads` threads of which the caller is number `thread`; elements that only `to` has become
/// zero. Alignment: bytes of both tiles' addresses and of the strides of both, for the widest accesses; tiles
/// aligned to less are copied element by element. Into shared memory (tiles of get_layout_smem_* and
/// suggest_layout_smem_*) copies are asynchronous: copy_wait() before the elements are read. Elements of
/// another type are converted.
template <uint32_t Threads, uint32_t Alignment, AnyTile From, AnyTile To>
TILEWRIGHT_DEVICE void copy(uint32_t thread, const From& from, const To& to) {
  static_assert(Alignment == 1 || Alignment == 2 || Alignment == 4 || Alignment == 8 || Alignment == 16,
                "copy: alignments are 1, 2, 4, 8 or 16");
  impl::check_leading_dimension("the tile copied from", from);
  impl::check_leading_dimension("the tile copied to", to);
  impl::TileCopy<static_cast<int>(Alignment), From, To>::copy(thread, Threads, from, to);
}
/// The same by the BlockDim threads of a descriptor; all of them, or all of the block.
template <AnyDescription D, uint32_t Alignment, AnyTile From, AnyTile To>
TILEWRIGHT_DEVICE void copy(const From& from, const To& to) {
  copy<D::max_threads_per_block, Alignment>(arch::linear_thread_index(), from, to);
}
/// The same for all tiles of a batch.
template <AnyDescription D, uint32_t Alignment, AnyTileBatch From, AnyTileBatch To>
TILEWRIGHT_DEVICE void copy(const From& from, const To& to) {
  static_assert(From::count == To::count, "copy(from, to): as many tiles there as here");
  for (int i = 0; i < From::count; ++i) copy<D, Alignment>(get_batch(from, i), get_batch(to, i));
}

/// Waits for the copies of all threads of the block, and lets all see what they wrote: a block barrier. All
/// threads.
TILEWRIGHT_DEVICE void copy_wait() {
  arch::cp_async_commit();
  arch::cp_async_wait<0>();
  arch::sync_threads();
}

/// Every element of a tile becomes zero: by the calling thread alone.
template <AnyTile To>
TILEWRIGHT_DEVICE void clear(const To& to) {
  impl::check_leading_dimension("a cleared tile", to);
  for (uint32_t r = 0; r < to.rows(); ++r) {
    for (uint32_t c = 0; c < to.columns(); ++c) to(r, c) = typename To::value_type{};
  }
}
/// y = alpha x + beta y, element by element where both exist; beta = 0 does not read y. By the calling thread
/// alone.
template <class Alpha, class Beta, AnyTile X, AnyTile Y>
TILEWRIGHT_DEVICE void axpby(const Alpha& alpha, const X& x, const Beta& beta, const Y& y) {
  using T = typename Y::value_type;
  using Type = impl::LinearType<typename X::value_type, Alpha, Beta, T>;
  impl::check_leading_dimension("x", x);
  impl::check_leading_dimension("y", y);
  const auto a = impl::convert_to<Type>(alpha), b = impl::convert_to<Type>(beta);
  for (uint32_t r = 0; r < x.rows() && r < y.rows(); ++r) {
    for (uint32_t c = 0; c < x.columns() && c < y.columns(); ++c) {
      Type sum = impl::scale(a, impl::convert_to<Type>(x(r, c)));
      if (b != Type{}) sum = impl::scale_add(b, impl::convert_to<Type>(y(r, c)), sum);
      y(r, c) = impl::convert_to<T>(sum);
    }
  }
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
