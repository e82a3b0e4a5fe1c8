// On the emulated machine: A of ones, B of twos, C of fours.
#include "kernel.h"

#include <cstdio>

#include "tilewright/emulator/machine.h"

namespace {
template <class T>
T* filled(int count, float value) {
  T* values = static_cast<T*>(emulator::Machine::default_machine().allocate_global(count * sizeof(T)));
  for (int i = 0; i < count; ++i) values[i] = T(value);
  return values;
}
}  // namespace

int main() {
  const int n = 64;
  float* c = filled<float>(n * n, 4);
  if (const Status status = multiply(filled<bf16>(n * n, 1), filled<bf16>(n * n, 2), c, n))
    return std::printf("%s\n", status->message.c_str()), 1;
  for (int i = 0; i < n * n; ++i)
    if (c[i] != 258) return std::printf("found %g; needed 258\n", c[i]), 1;
  return 0;
}
