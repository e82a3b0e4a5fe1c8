// The shared memory of a kernel that multiplies without a pipeline: how much, and where A, B and C lie in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/mainloop/mma_sync_plan.h"
#include "tilewright/pipeline/block_layouts.h"
#include "tilewright/pipeline/shared_storage.h"

namespace tilewright::blas {

/// Of an architecture, as SM<> names it.
template <int Architecture>
struct device_info {
  /// Bytes of shared memory that a block may have.
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t shared_memory() { return kShared; }

 private:
  static constexpr uint32_t kShared = tiles::shared_limit_of(Architecture);
};

/// Bytes for A and B, one behind the other, in the layouts of get_layout_smem_a and _b or in those given.
template <AnyDescription D, class LayoutA, class LayoutB>
TILEWRIGHT_HOST_DEVICE constexpr uint32_t get_shared_storage_size_ab(const LayoutA& a, const LayoutB& b) {
  return make_shared_storage_calculator()
      .add(static_cast<uint32_t>(alignment_of_v_a<D>), sizeof(typename D::a_value_type), a)
      .add(static_cast<uint32_t>(alignment_of_v_b<D>), sizeof(typename D::b_value_type), b)
      .get();
}
template <AnyDescription D>
TILEWRIGHT_HOST_DEVICE constexpr uint32_t get_shared_storage_size_ab() {
  return get_shared_storage_size_ab<D>(D::get_layout_smem_a(), D::get_layout_smem_b());
}
/// Bytes for A, B and C.
template <AnyDescription D, class LayoutA, class LayoutB, class LayoutC>
TILEWRIGHT_HOST_DEVICE constexpr uint32_t get_shared_storage_size(const LayoutA& a, const LayoutB& b,
                                                                  const LayoutC& c) {
  return SharedStorageCalculator(get_shared_storage_size_ab<D>(a, b))
      .add(static_cast<uint32_t>(alignment_of_v_c<D>), sizeof(typename D::c_value_type), c)
      .get();
}
template <AnyDescription D>
TILEWRIGHT_HOST_DEVICE constexpr uint32_t get_shared_storage_size() {
  return get_shared_storage_size<D>(D::get_layout_smem_a(), D::get_layout_smem_b(), D::get_layout_smem_c());
}

/// Whether A, B and C, or A and B alone, fit in the shared memory of a block of an architecture.
template <AnyDescription D, int Architecture>
inline constexpr bool is_supported_smem_v =
    get_shared_storage_size<D>() <= device_info<Architecture>::shared_memory();
template <AnyDescription D, int Architecture>
inline constexpr bool is_supported_rmem_v =
    get_shared_storage_size_ab<D>() <= device_info<Architecture>::shared_memory();

namespace detail {

/// What slicing returns: auto [a, b, c] = ...
template <class... T>
struct Slices;
template <class A>
struct Slices<A> {
  A* a;
};
template <class A, class B>
struct Slices<A, B> {
  A* a;
  B* b;
};
template <class A, class B, class C>
struct Slices<A, B, C> {
  A* a;
  B* b;
  C* c;
};
template <class A, class B, class C, class E>
struct Slices<A, B, C, E> {
  A* a;
  B* b;
  C* c;
  E* e;
};

/// The pieces one behind the other, as SharedStorageCalculator adds them.
class Slicer {
 public:
  TILEWRIGHT_HOST_DEVICE constexpr explicit Slicer(std::byte* start) : start_(start) {}

  template <class T, class Layout>
  TILEWRIGHT_HOST_DEVICE T* next(uint32_t alignment, const Layout& layout) {
    constexpr auto kBytes = static_cast<uint32_t>(sizeof(T));
    uint32_t bytes = 0;
    if constexpr (requires { layout.cosize(); }) {
      bytes = kBytes * static_cast<uint32_t>(layout.cosize());
      used_ = used_.add(alignment, kBytes, layout);
    } else {
      bytes = kBytes * static_cast<uint32_t>(layout);
      used_ = used_.add(alignment, bytes);
    }
    return reinterpret_cast<T*>(start_ + (used_.get() - bytes));
  }

 private:
  std::byte* start_;
  SharedStorageCalculator used_;
};

}  // namespace detail

namespace shared_memory {

/// Pointers to up to four pieces of shared memory, one behind the other: for each type an alignment in bytes
/// and a layout or a number of elements.
///   auto [a, b] = shared_memory::slice<f16, f16>(smem, 16, layout_a, 16, layout_b);
/// The bytes are those of a SharedStorageCalculator to which the same is added. `smem` has the largest of the
/// alignments, and those of the layouts (16 for suggested ones).
template <class A, class... More>
TILEWRIGHT_HOST_DEVICE detail::Slices<A> slice(std::byte* smem, uint32_t alignment,
                                               const More&... more) requires(sizeof...(More) == 1) {
  detail::Slicer slicer(smem);
  return {slicer.next<A>(alignment, more...)};
}
template <class A, class B, class LayoutA, class LayoutB>
TILEWRIGHT_HOST_DEVICE detail::Slices<A, B> slice(std::byte* smem, uint32_t align_a, const LayoutA& a,
                                                  uint32_t align_b, const LayoutB& b) {
  detail::Slicer slicer(smem);
  A* const at_a = slicer.next<A>(align_a, a);
  return {at_a, slicer.next<B>(align_b, b)};
}
template <class A, class B, class C, class LayoutA, class LayoutB, class LayoutC>
TILEWRIGHT_HOST_DEVICE detail::Slices<A, B, C> slice(std::byte* smem, uint32_t align_a, const LayoutA& a,
                                                     uint32_t align_b, const LayoutB& b, uint32_t align_c,
                                                     const LayoutC& c) {
  detail::Slicer slicer(smem);
  A* const at_a = slicer.next<A>(align_a, a);
  B* const at_b = slicer.next<B>(align_b, b);
  return {at_a, at_b, slicer.next<C>(align_c, c)};
}
template <class A, class B, class C, class E, class LayoutA, class LayoutB, class LayoutC, class LayoutE>
TILEWRIGHT_HOST_DEVICE detail::Slices<A, B, C, E> slice(std::byte* smem, uint32_t align_a, const LayoutA& a,
                                                        uint32_t align_b, const LayoutB& b, uint32_t align_c,
                                                        const LayoutC& c, uint32_t align_e,
                                                        const LayoutE& e) {
  detail::Slicer slicer(smem);
  A* const at_a = slicer.next<A>(align_a, a);
  B* const at_b = slicer.next<B>(align_b, b);
  C* const at_c = slicer.next<C>(align_c, c);
  return {at_a, at_b, at_c, slicer.next<E>(align_e, e)};
}

}  // namespace shared_memory

/// Pointers to A and B in get_shared_storage_size_ab<D>(...) bytes of shared memory, for the same layouts.
template <AnyDescription D, class LayoutA, class LayoutB>
TILEWRIGHT_HOST_DEVICE auto slice_shared_memory_ab(std::byte* smem, const LayoutA& a, const LayoutB& b) {
  return shared_memory::slice<typename D::a_value_type, typename D::b_value_type>(
      smem, static_cast<uint32_t>(alignment_of_v_a<D>), a, static_cast<uint32_t>(alignment_of_v_b<D>), b);
}
template <AnyDescription D>
TILEWRIGHT_HOST_DEVICE auto slice_shared_memory_ab(std::byte* smem) {
  return slice_shared_memory_ab<D>(smem, D::get_layout_smem_a(), D::get_layout_smem_b());
}
/// Pointers to A, B and C in get_shared_storage_size<D>(...) bytes of shared memory.
template <AnyDescription D, class LayoutA, class LayoutB, class LayoutC>
TILEWRIGHT_HOST_DEVICE auto slice_shared_memory(std::byte* smem, const LayoutA& a, const LayoutB& b,
                                                const LayoutC& c) {
  return shared_memory::slice<typename D::a_value_type, typename D::b_value_type, typename D::c_value_type>(
      smem, static_cast<uint32_t>(alignment_of_v_a<D>), a, static_cast<uint32_t>(alignment_of_v_b<D>), b,
      static_cast<uint32_t>(alignment_of_v_c<D>), c);
}
template <AnyDescription D>
TILEWRIGHT_HOST_DEVICE auto slice_shared_memory(std::byte* smem) {
  return slice_shared_memory<D>(smem, D::get_layout_smem_a(), D::get_layout_smem_b(), D::get_layout_smem_c());
}

}  // namespace tilewright::blas
