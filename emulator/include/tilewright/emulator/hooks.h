// What `arch/` calls when it is compiled for the emulated machine: one function per hardware operation.
//
// Every function acts for the calling fiber (one CUDA thread). Shared-memory addresses are the 32-bit
// addresses that a kernel sees: bits 0-23 are the offset in the CTA's shared window, bits 24-31 are zero for
// the CTA's own window (`shared::cta`) and 1 + rank for a window of the cluster (`shared::cluster`, made by
// map_shared). A function that would block on the hardware switches to another fiber.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/error.h"
#include "tilewright/tensor_map.h"

namespace tilewright::emulator {

struct Index3 {
  uint32_t x = 0, y = 0, z = 0;
};

// ---- launching a grid on the emulated machine
class Machine;
struct LaunchConfig {
  const char* kernel_name = "kernel";
  Index3 grid, block, cluster{1, 1, 1};
  uint32_t shared_bytes = 0;        // dynamic shared memory
  uint32_t ctas_per_sm = 1;         // that launch bounds promise: each has its share of the registers
  uint32_t registers_at_entry = 0;  // per thread; 0: what launch bounds (threads, ctas_per_sm) give
  bool dependent_launch = false;    // programmatic stream serialisation: inputs are ready only after the wait
  Machine* machine = nullptr;       // null: the calling thread's default machine
};
/// Runs `body(closure)` once per CUDA thread of the grid. The error carries the first report as its message.
Status launch(const LaunchConfig& config, void (*body)(void*), void* closure);

// ---- global memory for a stream. machine: null is the calling thread's default machine.
/// Memory with red zones, of zeros or never written.
Expected<void*> allocate(Machine* machine, size_t bytes, bool zeroed);
void release(Machine* machine, void* pointer);

// ---- who am I
Index3 thread_index();
Index3 block_index();
Index3 block_dim();
Index3 grid_dim();
Index3 cluster_dim();
uint32_t cluster_rank();
/// The calling thread works out its warp, which a GPU does with a shuffle of all lanes.
void note_warp_index();

// ---- names for reports; no effect on results
void name_role(const char* role);
void name_barrier(uint32_t bar, const char* name, int stage);
void name_shared(uint32_t address, uint32_t bytes, const char* name, int stage);

// ---- a rule of the library that the calling code has found broken
void misuse(const char* rule, const char* sentence);

// ---- shared memory
/// The state space that an instruction names: addresses of the own CTA alone, or of any of the cluster.
enum class Space { cta, cluster };
std::byte* dynamic_shared_memory();
uint32_t shared_address(const void* pointer);
void* shared_pointer(uint32_t address);
uint32_t map_shared(uint32_t address, uint32_t rank);
void load_shared(uint32_t address, void* out, uint32_t bytes, Space space = Space::cluster);
void store_shared(uint32_t address, const void* value, uint32_t bytes, Space space = Space::cluster);
void store_async(uint32_t address, const void* value, uint32_t bytes, uint32_t bar);

// ---- warp
void sync_warp(uint32_t mask);
bool elect_one(uint32_t mask);
uint64_t shuffle(uint32_t mask, uint64_t value, uint32_t source_lane);
uint32_t ballot(uint32_t mask, bool predicate);

// ---- block and cluster barriers
void named_barrier_sync(uint32_t id, uint32_t threads);
void named_barrier_arrive(uint32_t id, uint32_t threads);
void sync_threads();
void cluster_arrive(bool relaxed);
void cluster_wait();

enum class Scope { cta, cluster, gpu, system };

// ---- mbarrier. Arrivals release and waits acquire at `scope`.
void mbarrier_init(uint32_t bar, uint32_t count);
void mbarrier_invalidate(uint32_t bar);
void mbarrier_arrive(uint32_t bar, uint32_t count, Scope scope = Scope::cta, Space space = Space::cluster);
void mbarrier_arrive_drop(uint32_t bar);
void mbarrier_expect_tx(uint32_t bar, uint32_t bytes);
void mbarrier_complete_tx(uint32_t bar, uint32_t bytes);
void mbarrier_arrive_expect_tx(uint32_t bar, uint32_t bytes, Scope scope = Scope::cta,
                               Space space = Space::cluster);
bool mbarrier_test_wait_parity(uint32_t bar, uint32_t parity, Scope scope = Scope::cta);
void mbarrier_wait_parity(uint32_t bar, uint32_t parity, Scope scope = Scope::cta);

// ---- fences
enum class ProxyFence { all, shared_cta, shared_cluster, global };
void fence_mbarrier_init();
void fence_proxy_async(ProxyFence space);
void fence_acq_rel(Scope scope);
void fence_tensor_map_acquire(const TensorMap* map);
void fence_tensor_map_release();

// ---- createpolicy: `fraction` in (0, 1]
void check_cache_fraction(float fraction);

// ---- bulk asynchronous copies. multicast_mask 0 means no multicast.
void tma_load(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t* coords, int rank,
              uint16_t multicast_mask);
void tma_store(const TensorMap* map, uint32_t src, const int32_t* coords, int rank);
enum class Reduction { add, min, max, inc, dec, bit_and, bit_or, bit_xor };
void tma_reduce(const TensorMap* map, uint32_t src, const int32_t* coords, int rank, Reduction op);
void tma_prefetch(const TensorMap* map, const int32_t* coords, int rank);
void prefetch_tensor_map(const TensorMap* map);
void bulk_load(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar, uint16_t multicast_mask);
void bulk_store(void* dst, uint32_t src, uint32_t bytes);
void bulk_copy_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar);
// Reductions: of the values in shared memory, or of one value, into memory.
void bulk_reduce(void* dst, uint32_t src, uint32_t bytes, TmaType type, Reduction op);
void bulk_reduce_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar, TmaType type,
                            Reduction op);
void reduce_async(uint32_t address, const void* value, TmaType type, Reduction op, uint32_t bar);
void bulk_commit();
void bulk_wait(int pending, bool read_only);

// ---- cp.async (sm_80 style). bytes 4, 8 or 16; the bytes past src_bytes are zero-filled.
void cp_async(uint32_t dst, const void* src, uint32_t bytes, uint32_t src_bytes);
void cp_async_commit();
void cp_async_wait(int pending);
void cp_async_mbarrier_arrive(uint32_t bar, bool no_increment);

// ---- warpgroup MMA. One call is one instruction of one thread; all 128 threads of the warpgroup must make
// it.
enum class MmaType : uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };
enum class AccumulatorType : uint8_t { f16, f32, s32 };
struct WgmmaInstruction {
  int n;  // m is 64, k is 32 bytes
  MmaType a, b;
  AccumulatorType d;
  bool transpose_a = false, transpose_b = false;  // MN-major operand in shared memory
  bool negate_a = false, negate_b = false;
  bool saturate = false;
};
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(int pending);
// d: this thread's accumulator registers (n/2 floats or ints, n/4 packed f16x2). a_registers: 4 words or
// null.
void wgmma(const WgmmaInstruction& instruction, void* d, const uint32_t* a_registers, uint64_t desc_a,
           uint64_t desc_b, bool accumulate);

// ---- warp MMA (m16n8, and m8n8 of f64). One call is one instruction of one lane; all 32 lanes must make it.
struct MmaSyncInstruction {
  int k;  // elements: one or two registers of B
  MmaType a, b;
  AccumulatorType d;
  bool saturate = false;
};
// d: this lane's registers of C (4 floats or ints, 2 packed f16x2), which become those of D.
void mma_sync(const MmaSyncInstruction& instruction, void* d, const uint32_t* a, const uint32_t* b);
// m 16, or 8 with k 4. d: m / 4 registers of C, which become those of D.
void mma_sync_f64(int m, int k, double* d, const double* a, const double* b);

// ---- register reallocation
void setmaxnreg(bool increase, uint32_t registers);

// ---- matrix loads and stores, m8n8 b16, count 1, 2 or 4
void stmatrix(uint32_t row_address, const uint32_t* registers, int count, bool transpose);
void ldmatrix(uint32_t row_address, uint32_t* registers, int count, bool transpose);

// ---- ordinary global memory with ordering
uint64_t load_acquire(const void* address, uint32_t bytes, Scope scope);
void store_release(void* address, uint64_t value, uint32_t bytes, Scope scope);
enum class AtomicType { u32, s32, u64, f32 };
enum class AtomicOp { add, min, max, exchange, compare_exchange };
uint64_t atomic(void* address, uint64_t operand, uint64_t compare, AtomicType type, AtomicOp op, Scope scope);

// ---- dependent launch
void grid_dependency_wait();
void launch_dependents();

// ---- cluster launch control. A request takes a cluster of the grid that has not started; its answer is 16
// bytes.
void cluster_launch_try_cancel(uint32_t response, uint32_t bar, bool multicast);
bool cluster_launch_is_canceled(const void* response);
Index3 cluster_launch_first_block(const void* response);

}  // namespace tilewright::emulator
