// Host atomics of kernel translation units (reference counts, guards): the compiler calls these where it
// would emit the instruction. They do just that; kernels synchronise through arch/, which calls the hooks.
#include <cstdint>

extern "C" {

#define TILEWRIGHT_TSAN_ATOMICS(bits)                                                                     \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* p, int) {                      \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                       \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* p, uint##bits##_t v, int) {                   \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                             \
  }                                                                                                       \
  uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t* p, uint##bits##_t v, int) {      \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                       \
  uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile uint##bits##_t* p, uint##bits##_t v, int) {     \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile uint##bits##_t* p, uint##bits##_t v, int) {     \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  uint##bits##_t __tsan_atomic##bits##_fetch_and(volatile uint##bits##_t* p, uint##bits##_t v, int) {     \
    return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  uint##bits##_t __tsan_atomic##bits##_fetch_or(volatile uint##bits##_t* p, uint##bits##_t v, int) {      \
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                       \
  uint##bits##_t __tsan_atomic##bits##_fetch_xor(volatile uint##bits##_t* p, uint##bits##_t v, int) {     \
    return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t* p, uint##bits##_t* expected, \
                                                    uint##bits##_t v, int, int) {                         \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }                                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* p, uint##bits##_t* expected,   \
                                                  uint##bits##_t v, int, int) {                           \
    return __atomic_compare_exchange_n(p, expected, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);         \
  }
TILEWRIGHT_TSAN_ATOMICS(8)
TILEWRIGHT_TSAN_ATOMICS(16)
TILEWRIGHT_TSAN_ATOMICS(32)
TILEWRIGHT_TSAN_ATOMICS(64)
#undef TILEWRIGHT_TSAN_ATOMICS

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
}
