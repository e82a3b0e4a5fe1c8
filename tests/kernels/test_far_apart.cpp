// Operands whose rows or batches lie more than 2^31 bytes and elements apart, on the emulated machine.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/kernels/text.h"
#include "tilewright/emulator/machine.h"
#include "tilewright/gemm.h"
#include "tilewright/numeric/element.h"

namespace tilewright::testing {
namespace {

constexpr int64_t kM = 40, kN = 32, kK = 32;
constexpr int64_t kFar = int64_t{1} << 31;

/// Address space: what nobody touches takes no memory.
class Span {
 public:
  explicit Span(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    data_ =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Span() {
    if (data_ != MAP_FAILED) ::munmap(data_, bytes_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  bool there() const { return data_ != MAP_FAILED; }
  void* data() const { return data_; }

 private:
  size_t bytes_;
  void* data_;
};

struct FarApart {
  Layout layout;  // of C and D
  StoreKind store;
  LoadKind load;
  DType d;
  int64_t ld, batches, batch_stride;  // of every operand
};

std::string describe(const FarApart& f) {
  return text(f.layout == Layout::row_major ? "row-major " : "column-major ", name_of(f.d),
              f.load == LoadKind::copy ? ", copied" : "", f.store == StoreKind::direct ? ", direct" : "",
              ", ld ", f.ld, ", batch stride ", f.batch_stride);
}

double a_at(int64_t row, int64_t k) { return (row + k) % 3 == 0 ? 1 : 2; }
double b_at(int64_t batch, int64_t k, int64_t column) { return (column * k + batch) % 5 == 0 ? 1 : 0; }
double c_at(int64_t row, int64_t column) { return static_cast<double>(row - column); }

double d_at(int64_t batch, int64_t row, int64_t column) {
  double sum = 0.5 * c_at(row, column);
  for (int64_t k = 0; k < kK; ++k) sum += a_at(row, k) * b_at(batch, k, column);
  return sum;
}

/// Calls with (batch, row, column, index in C and D) for each element.
template <class Function>
void for_each_output(const FarApart& f, Function&& function) {
  const bool rows = f.layout == Layout::row_major;
  for (int64_t batch = 0; batch < f.batches; ++batch)
    for (int64_t i = 0; i < kM; ++i)
      for (int64_t j = 0; j < kN; ++j)
        function(batch, i, j, batch * f.batch_stride + (rows ? i * f.ld + j : j * f.ld + i));
}

void expect_exact(const FarApart& f) {
  Problem p{.m = kM, .n = kN, .k = kK, .l = f.batches};
  p.beta = 0.5f;
  p.c.type = p.d.type = f.d;
  p.c.layout = p.d.layout = f.layout;
  for (Operand* operand : {&p.a, &p.b, &p.c, &p.d})
    operand->ld = f.ld, operand->batch_stride = f.batch_stride;
  Options options;
  options.device = Device::emulator;
  options.load = f.load;
  options.store = f.store;
  const Expected<Plan> planned = plan(p, options);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->info().tma_load, f.load == LoadKind::tma);
  EXPECT_EQ(planned->info().tma_store, f.store == StoreKind::tma);

  const int64_t span = kM * f.ld + (f.batches - 1) * f.batch_stride, out = span * bits_of(f.d) / 8;
  const Span a(span), b(span), c(out), d(out);
  if (!a.there() || !b.there() || !c.there() || !d.there())
    GTEST_SKIP() << "no address space for " << out << " bytes";
  for (int64_t batch = 0; batch < f.batches; ++batch)
    for (int64_t k = 0; k < kK; ++k) {
      for (int64_t i = 0; i < kM; ++i)
        store_as<e4m3>(a.data(), batch * f.batch_stride + i * f.ld + k, a_at(i, k), true);
      for (int64_t j = 0; j < kN; ++j)
        store_as<e4m3>(b.data(), batch * f.batch_stride + j * f.ld + k, b_at(batch, k, j), true);
    }
  for_each_output(f, [&](int64_t, int64_t i, int64_t j, int64_t at) {
    store_element(c.data(), f.d, at, c_at(i, j), true);
  });
  emulator::Machine machine;
  const Status failed = planned->run({.a = a.data(), .b = b.data(), .c = c.data(), .d = d.data()}, &machine);
  ASSERT_FALSE(failed) << failed->message;
  for_each_output(f, [&](int64_t batch, int64_t i, int64_t j, int64_t at) {
    ASSERT_EQ(load_element(d.data(), f.d, at), d_at(batch, i, j)) << batch << ", " << i << ", " << j;
  });
}

TEST(FarApart, C50_rows_and_batches_of_more_than_2_to_the_31_elements_are_exact) {
  const struct {
    int64_t ld, batches, batch_stride;
  } strides[] = {{kFar / 16 + 16, 1, 0}, {64, 3, kFar + 16}, {64, 2, 2 * kFar + 16}};
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const StoreKind store : {StoreKind::tma, StoreKind::direct})
      for (const LoadKind load : {LoadKind::tma, LoadKind::copy})
        for (const DType d : {DType::f32, DType::f16})
          for (const auto& [ld, batches, batch_stride] : strides) {
            const FarApart f{layout, store, load, d, ld, batches, batch_stride};
            SCOPED_TRACE(describe(f));
            expect_exact(f);
            if (HasFatalFailure() || IsSkipped()) return;
          }
}

}  // namespace
}  // namespace tilewright::testing
