// The elements of a tile that one thread holds, in registers.
#pragma once

#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/pipeline/convert.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {

/// `Count` values of a thread. Indices must be constants once loops are unrolled: a fragment that is indexed
/// by a run-time number leaves the registers. for_each does that by itself.
template <class T, int Count>
class Fragment {
 public:
  using value_type = T;
  static constexpr int count = Count;
  static TILEWRIGHT_HOST_DEVICE constexpr int size() { return Count; }

  TILEWRIGHT_DEVICE T& operator[](int i) { return values_[i]; }
  TILEWRIGHT_DEVICE const T& operator[](int i) const { return values_[i]; }
  TILEWRIGHT_DEVICE T& operator()(int i) { return values_[i]; }
  TILEWRIGHT_DEVICE const T& operator()(int i) const { return values_[i]; }

  TILEWRIGHT_DEVICE void clear() {
    for_each([](int, T& value) { value = T{}; });
  }
  /// f(index, value) for each value, in a loop that is always unrolled.
  template <class F>
  TILEWRIGHT_DEVICE void for_each(F&& f) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) f(i, values_[i]);
  }
  template <class F>
  TILEWRIGHT_DEVICE void for_each(F&& f) const {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) f(i, values_[i]);
  }

 private:
  T values_[Count];
};

namespace impl {

template <class T>
struct IsFragment : std::false_type {};
template <class T, int Count>
struct IsFragment<Fragment<T, Count>> : std::true_type {};

}  // namespace impl

template <class T>
concept AnyFragment = impl::IsFragment<std::remove_cvref_t<T>>::value;

/// The number of its values.
template <class T, int Count>
TILEWRIGHT_HOST_DEVICE constexpr int size(const Fragment<T, Count>&) {
  return Count;
}

/// An uninitialised fragment of the same size: of T, or of the same type without one.
template <class T = void, class U, int Count>
TILEWRIGHT_DEVICE auto make_fragment_like(const Fragment<U, Count>&) {
  return Fragment<std::conditional_t<std::is_void_v<T>, U, T>, Count>{};
}

template <class T, int Count>
TILEWRIGHT_DEVICE void clear(Fragment<T, Count>& fragment) {
  fragment.clear();
}

/// to[i] = f(from[i]).
template <class From, class To, int Count, class F>
TILEWRIGHT_DEVICE void transform_fragment(const Fragment<From, Count>& from, Fragment<To, Count>& to, F&& f) {
  from.for_each([&](int i, const From& value) { to[i] = impl::convert_to<To>(f(value)); });
}

/// d = alpha * c + beta * d, element by element; beta = 0 does not read d.
template <class Alpha, class Beta, class C, class T, int Count>
TILEWRIGHT_DEVICE void axpby(const Alpha& alpha, const Fragment<C, Count>& c, const Beta& beta,
                             Fragment<T, Count>& d) {
  using Type = impl::LinearType<C, Alpha, Beta, T>;
  const auto a = impl::convert_to<Type>(alpha), b = impl::convert_to<Type>(beta);
  c.for_each([&](int i, const C& value) {
    Type sum = impl::scale(a, impl::convert_to<Type>(value));
    if (b != Type{}) sum = impl::scale_add(b, impl::convert_to<Type>(d[i]), sum);
    d[i] = impl::convert_to<T>(sum);
  });
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
