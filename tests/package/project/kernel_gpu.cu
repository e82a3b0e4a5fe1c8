// Compiled and linked for a GPU; not run.
#include "kernel.h"

int main() { return multiply(nullptr, nullptr, nullptr, 0) ? 1 : 0; }
