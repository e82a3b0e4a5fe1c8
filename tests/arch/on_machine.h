// What the calls of arch/ do, on whichever machine this is compiled for: both must give these results.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tilewright/arch/atomics.h"
#include "tilewright/arch/cluster.h"
#include "tilewright/arch/convert.h"
#include "tilewright/arch/cp_async.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/launch.h"
#include "tilewright/arch/matrix.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/arch/wgmma.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/machine.h"
#else
#  include <cuda_runtime_api.h>
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

// ---- memory of the machine that the host can touch, and waiting for it

#if defined(TILEWRIGHT_EMULATE)
void* allocate(size_t bytes) { return emulator::Machine::default_machine().allocate_global(bytes); }
void release(void* pointer) { emulator::Machine::default_machine().free_global(pointer); }
void finish() {}
Expected<TensorMap> encode(const TensorMapSpec& spec) { return encode_for_emulator(spec); }
bool machine_is_there() { return true; }
#else
void* allocate(size_t bytes) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMallocManaged(&pointer, bytes), cudaSuccess);
  return pointer;
}
void release(void* pointer) { cudaFree(pointer); }
void finish() { EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << cudaGetErrorString(cudaGetLastError()); }
Expected<TensorMap> encode(const TensorMapSpec& spec) { return encode_for_gpu(spec); }
bool machine_is_there() {
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == 9;
}
#endif

/// `count` zeroed elements.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : data_(static_cast<T*>(allocate(count * sizeof(T)))) {
    memset(static_cast<void*>(data_), 0, count * sizeof(T));
  }
  ~Buffer() { release(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T* data_;
};

class OnMachine : public testing::Test {
 protected:
  void SetUp() override {
    if (!machine_is_there()) GTEST_SKIP() << "no GPU of compute capability 9.x";
  }

  template <class... P, class... A>
  void run(void (*kernel)(P...), uint32_t blocks, uint32_t threads, uint32_t shared, uint32_t cluster,
           A... arguments) {
    arch::LaunchConfig config;
    config.grid = {blocks};
    config.block = {threads};
    config.cluster = {cluster};
    config.shared_bytes = shared;
    const Status status = arch::launch(kernel, config, arguments...);
    ASSERT_FALSE(status.has_value()) << status->rule << ": " << status->message;
    finish();
  }
};

/// A row-major tensor of `rows` rows of 128 bytes (as u8), or of `columns` elements of `type`, tiled in boxes
/// of all.
Expected<TensorMap> encode_rows(void* base, TmaType type, uint32_t columns, uint32_t rows, Swizzle swizzle) {
  TensorMapSpec spec;
  spec.base = base;
  spec.type = type;
  spec.rank = 2;
  spec.extent = {columns, rows};
  spec.strides = {uint64_t{columns} * bytes_of(type)};
  spec.box = {columns, rows};
  spec.swizzle = swizzle;
  return encode(spec);
}

// ---- conversions

constexpr int kPacks = 6;

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(32) convert(const float* in, uint32_t* out) {
  const uint32_t i = arch::block_index().x * 32 + arch::thread_index().x;
  const float lo = in[2 * i], hi = in[2 * i + 1];
  uint32_t* o = out + kPacks * i;
  o[0] = arch::pack_f16x2(lo, hi);
  o[1] = arch::pack_bf16x2(lo, hi);
  o[2] = arch::pack_e4m3x2(lo, hi);
  o[3] = arch::pack_e5m2x2(lo, hi);
  o[4] = arch::pack_e4m3x2_nonsaturating(lo, hi);
  o[5] = arch::pack_e5m2x2_nonsaturating(lo, hi);
}

template <class T>
uint32_t pair(T lo, T hi) {
  return static_cast<uint32_t>(lo.bits) | static_cast<uint32_t>(hi.bits) << (8 * sizeof(T));
}

TEST_F(OnMachine, PacksAsTheNumericTypesDo) {
  // Every sign and exponent with the mantissas around a rounding, infinities and NaNs among them.
  std::vector<float> values;
  for (uint32_t upper = 0; upper < 512; ++upper) {
    for (const uint32_t mantissa : {0u, 1u, 0x80000u, 0x80001u, 0x180000u, 0x400000u, 0x680000u, 0x7FFFFFu}) {
      values.push_back(tilewright::detail::float_from_bits(upper << 23 | mantissa));
    }
  }
  const size_t pairs = values.size() / 2;
  Buffer<float> in(values.size());
  Buffer<uint32_t> out(kPacks * pairs);
  memcpy(in.data(), values.data(), values.size() * sizeof(float));
  run(convert, static_cast<uint32_t>(pairs / 32), 32, 0, 1, in.data(), out.data());
  for (size_t i = 0; i < pairs; ++i) {
    const float lo = values[2 * i], hi = values[2 * i + 1];
    const uint32_t expected[kPacks] = {pair(f16(lo), f16(hi)),
                                       pair(bf16(lo), bf16(hi)),
                                       pair(e4m3::saturate(lo), e4m3::saturate(hi)),
                                       pair(e5m2::saturate(lo), e5m2::saturate(hi)),
                                       pair(e4m3(lo), e4m3(hi)),
                                       pair(e5m2(lo), e5m2(hi))};
    for (size_t j = 0; j < kPacks; ++j)
      ASSERT_EQ(out[kPacks * i + j], expected[j]) << lo << " " << hi << " " << j;
  }
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(32) widen(float* out) {
  const uint32_t code = arch::block_index().x * 32 + arch::thread_index().x;
  const uint16_t both = static_cast<uint16_t>(code | code << 8);
  const arch::FloatPair pairs[3] = {arch::unpack_e4m3x2(both), arch::unpack_e5m2x2(both),
                                    arch::unpack_f16x2(code << 24 | code << 8)};
  for (int i = 0; i < 3; ++i) {
    out[6 * code + 2 * i] = pairs[i].lo;
    out[6 * code + 2 * i + 1] = pairs[i].hi;
  }
}

TEST_F(OnMachine, UnpacksAsTheNumericTypesDo) {
  Buffer<float> out(256 * 6);
  run(widen, 8, 32, 0, 1, out.data());
  for (uint32_t code = 0; code < 256; ++code) {
    float expected[3] = {float(e4m3::from_bits(code)), float(e5m2::from_bits(code)),
                         float(f16::from_bits(code << 8))};
    for (uint32_t i = 0; i < 6; ++i) {
      float& value = expected[i / 2];
      if (value != value) value = tilewright::detail::float_from_bits(0x7FFFFFFF);
      ASSERT_EQ(tilewright::detail::float_bits(out[6 * code + i]), tilewright::detail::float_bits(value))
          << code;
    }
  }
}

// ---- matrices

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(32) transpose(uint32_t* out) {
  const uint32_t lane = arch::lane_index();
  const uint32_t address = arch::shared_address(arch::dynamic_shared_memory()) + 16 * lane;
  uint32_t stored[4], loaded[4];
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t element = 64 * j + 2 * lane;  // its index in [matrix][row][column]
    stored[j] = element | (element + 1) << 16;
  }
  arch::stmatrix_x4(address, stored);
  arch::sync_warp();
  arch::ldmatrix_x4_trans(address, loaded);
  for (uint32_t j = 0; j < 4; ++j) {
    out[32 * j + lane] = loaded[j];
    out[128 + 32 * j + lane] = arch::movmatrix_trans(stored[j]);
  }
}

TEST_F(OnMachine, TransposesMatrices) {
  Buffer<uint32_t> out(256);
  run(transpose, 1, 32, 1024, 1, out.data());
  for (uint32_t i = 0; i < 128; ++i) {
    const uint32_t lane = i % 32, low = 64 * (i / 32) + 8 * (2 * (lane % 4)) + lane / 4;
    EXPECT_EQ(out[i], low | (low + 8) << 16) << "ldmatrix.trans " << i;
    EXPECT_EQ(out[128 + i], out[i]) << "movmatrix " << i;
  }
}

// ---- TMA and wgmma

constexpr uint32_t kRows = 64, kRowBytes = 128, kTileBytes = kRows * kRowBytes;
constexpr uint32_t kBarOffset = 2 * kTileBytes + kRows * kRows * 4;
constexpr uint32_t kSharedBytes = kBarOffset + 64;

/// D (64 x 64, 4-byte elements) = A B^T; A and B are 64 rows of 128 bytes of T.
template <class T, class D>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128)
    multiply_tile(const TILEWRIGHT_GRID_CONSTANT TensorMap map_a,
                  const TILEWRIGHT_GRID_CONSTANT TensorMap map_b,
                  const TILEWRIGHT_GRID_CONSTANT TensorMap map_d) {
  const uint32_t a = arch::shared_address(arch::dynamic_shared_memory()), b = a + kTileBytes,
                 out = b + kTileBytes;
  const uint32_t bar = a + kBarOffset, thread = arch::thread_index().x;
  if (thread == 0) {
    arch::mbarrier_init(bar, 1);
    arch::fence_mbarrier_init();
  }
  arch::sync_threads();
  if (thread == 0) {
    arch::mbarrier_arrive_expect_tx(bar, 2 * kTileBytes);
    arch::tma_load_2d(a, &map_a, bar, 0, 0, arch::CachePolicy::evict_first);
    arch::tma_load_2d(b, &map_b, bar, 0, 0);
  }
  arch::mbarrier_wait_parity(bar, 0);

  D d[kRows / 2];
  const uint64_t desc_a = arch::make_smem_descriptor(a, Swizzle::b128, 16, 1024);
  const uint64_t desc_b = arch::make_smem_descriptor(b, Swizzle::b128, 16, 1024);
  arch::wgmma_fence();
  TILEWRIGHT_UNROLL
  for (uint32_t k = 0; k < kRowBytes; k += 32) {
    arch::wgmma<kRows, T, T>(d, arch::advance_descriptor(desc_a, k), arch::advance_descriptor(desc_b, k),
                             k != 0);
  }
  arch::wgmma_commit();
  arch::wgmma_wait<0>();
  arch::fence_operand(d);

  const uint32_t lane = arch::lane_index(), warp = arch::warp_index();
  TILEWRIGHT_UNROLL
  for (uint32_t i = 0; i < kRows / 2; ++i) {
    const uint32_t row = 16 * warp + lane / 4 + 8 * (i / 2 % 2),
                   column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    arch::store_shared(out + 4 * (kRows * row + column), d[i]);
  }
  arch::fence_proxy_async_shared();
  arch::sync_threads();
  if (thread == 0) {
    arch::tma_store_2d(&map_d, out, 0, 0);
    arch::tma_commit();
    arch::tma_wait<0>();
  }
}

template <class T>
T small_integer(uint32_t i) {
  const int value = static_cast<int>(i * 2654435761u >> 28) % 5 - 2;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

template <class T>
int to_int(T value) {
  return static_cast<int>(static_cast<float>(value));
}

/// Sums of at most 128 small integers are exact in every accumulator.
template <class T, class D>
void expect_exact_product(Buffer<T>& a, Buffer<T>& b, Buffer<D>& d) {
  constexpr size_t depth = kRowBytes / sizeof(T);
  for (size_t m = 0; m < kRows; ++m) {
    for (size_t n = 0; n < kRows; ++n) {
      int sum = 0;
      for (size_t k = 0; k < depth; ++k) sum += to_int(a[m * depth + k]) * to_int(b[n * depth + k]);
      ASSERT_EQ(static_cast<int>(d[m * kRows + n]), sum) << m << " " << n;
    }
  }
}

template <class Types>
class Product : public OnMachine {};
template <class TypeT, class TypeD, TmaType kTma>
struct ProductTypes {
  using T = TypeT;
  using D = TypeD;
  static constexpr TmaType tma = kTma;
};
using Products =
    testing::Types<ProductTypes<e4m3, float, TmaType::f32>, ProductTypes<e5m2, float, TmaType::f32>,
                   ProductTypes<f16, float, TmaType::f32>, ProductTypes<bf16, float, TmaType::f32>,
                   ProductTypes<tf32, float, TmaType::f32>, ProductTypes<int8_t, int32_t, TmaType::s32>>;
TYPED_TEST_SUITE(Product, Products);

TYPED_TEST(Product, OfATileIsExactForSmallIntegers) {
  using T = typename TypeParam::T;
  using D = typename TypeParam::D;
  constexpr size_t count = kTileBytes / sizeof(T);
  Buffer<T> a(count), b(count);
  Buffer<D> d(kRows * kRows);
  for (uint32_t i = 0; i < count; ++i) {
    a[i] = small_integer<T>(i);
    b[i] = small_integer<T>(i + 12345);
  }
  const auto map_a = encode_rows(a.data(), TmaType::u8, kRowBytes, kRows, Swizzle::b128);
  const auto map_b = encode_rows(b.data(), TmaType::u8, kRowBytes, kRows, Swizzle::b128);
  const auto map_d = encode_rows(d.data(), TypeParam::tma, kRows, kRows, Swizzle::none);
  ASSERT_TRUE(map_a && map_b && map_d);
  this->run(multiply_tile<T, D>, 1, 128, kSharedBytes, 1, *map_a, *map_b, *map_d);
  expect_exact_product(a, b, d);
}

// ---- clusters

/// Rank 0 loads the tile for both blocks; each adds its bytes up when both have said that theirs arrived.
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(32)
    share_tile(const TILEWRIGHT_GRID_CONSTANT TensorMap map, uint32_t* sums) {
  const uint32_t tile = arch::shared_address(arch::dynamic_shared_memory()), full = tile + kTileBytes,
                 told = full + 8;
  const uint32_t lane = arch::lane_index(), rank = arch::cluster_rank();
  if (lane == 0) {
    arch::mbarrier_init(full, 1);
    arch::mbarrier_init(told, 1);
    arch::fence_mbarrier_init();
  }
  arch::cluster_sync();
  if (lane == 0) {
    arch::mbarrier_arrive_expect_tx(full, kTileBytes);
    if (rank == 0) arch::tma_load_multicast_2d(tile, &map, full, 3, 0, 0);
  }
  arch::mbarrier_wait_parity(full, 0);
  if (lane == 0) arch::mbarrier_arrive_cluster(arch::map_shared(told, rank ^ 1));
  arch::mbarrier_wait_parity(told, 0);

  uint32_t sum = 0;
  for (uint32_t i = lane; i < kTileBytes; i += 32) sum += arch::load_shared<uint8_t>(tile + i);
  for (uint32_t step = 16; step > 0; step /= 2) sum += arch::shuffle_xor(sum, step);
  if (arch::elect_one()) sums[rank] = sum;
  arch::cluster_sync();
}

TEST_F(OnMachine, MulticastReachesBothBlocksOfACluster) {
  Buffer<uint8_t> tile(kTileBytes);
  Buffer<uint32_t> sums(2);
  uint32_t expected = 0;
  for (uint32_t i = 0; i < kTileBytes; ++i) expected += tile[i] = static_cast<uint8_t>(i * 31);
  const auto map = encode_rows(tile.data(), TmaType::u8, kRowBytes, kRows, Swizzle::b128);
  ASSERT_TRUE(map.has_value());
  run(share_tile, 2, 32, kTileBytes + 16, 2, *map, sums.data());
  EXPECT_EQ(sums[0], expected);
  EXPECT_EQ(sums[1], expected);
}

// ---- cp.async, bulk copies, atomics

/// Each thread copies thread % 17 bytes of its 16; the block stores all of them and counts its threads.
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128)
    copy_part(const uint8_t* in, uint8_t* out, uint32_t* threads, float* half_of_them) {
  const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory()),
                 thread = arch::thread_index().x;
  arch::cp_async_16(shared + 16 * thread, in + 16 * thread, thread % 17);
  arch::cp_async_commit();
  arch::cp_async_wait<0>();
  arch::fence_proxy_async_shared();
  arch::NamedBarrier<1, 128>::sync();
  if (thread == 0) {
    arch::bulk_store(out, shared, 2048);
    arch::tma_commit();
    arch::tma_wait<0>();
  }
  arch::atomic_add(threads, 1u);
  arch::atomic_add(half_of_them, 0.5f);
}

TEST_F(OnMachine, CopiesZeroFillAndAtomicsCount) {
  Buffer<uint8_t> in(2048), out(2048);
  Buffer<uint32_t> threads(1);
  Buffer<float> half(1);
  for (uint32_t i = 0; i < 2048; ++i) in[i] = static_cast<uint8_t>(1 + i % 255);
  run(copy_part, 1, 128, 2048, 1, in.data(), out.data(), threads.data(), half.data());
  for (uint32_t i = 0; i < 2048; ++i) ASSERT_EQ(out[i], i % 16 < i / 16 % 17 ? in[i] : 0) << i;
  EXPECT_EQ(threads[0], 128u);
  EXPECT_EQ(half[0], 64.0f);
}

TEST_F(OnMachine, RefusesALaunchWithTooMuchSharedMemory) {
  arch::LaunchConfig config;
  config.grid = {1};
  config.block = {32};
  config.shared_bytes = 300000;
  config.name = "transpose";
  const Status status = arch::launch(transpose, config, static_cast<uint32_t*>(nullptr));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->rule, "launch.shared_memory") << status->message;
}

#if !defined(TILEWRIGHT_EMULATE)
TEST_F(OnMachine, RefusesMoreThreadsThanTheLaunchBounds) {
  arch::LaunchConfig config;
  config.grid = {1};
  config.block = {1024};
  config.name = "multiply_tile";
  const Status status =
      arch::launch(multiply_tile<e4m3, float>, config, TensorMap{}, TensorMap{}, TensorMap{});
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->rule, "launch.bounds") << status->message;
}
#endif

}  // namespace
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
