// Each rule of the table, broken once from a problem that otherwise runs.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "src/gemm_enumerators.h"
#include "tests/host/fake_target.h"

namespace tilewright::testing {
namespace {

/// All that a plan and a run depend on.
struct Case {
  Problem problem = small_problem();
  Options options;
  Target target = fake_gpu();
  Buffers buffers = fake_buffers();
  int two_cta_clusters = 66;
};

Status outcome(const Case& c) {
  fake_resident(2) = c.two_cta_clusters;
  const Expected<Plan> plan = plan_on(c.target, c.problem, c.options);
  fake_resident(2) = 66;
  if (!plan) return plan.error();
  return plan->run(c.buffers);
}

struct Flip {
  const char* rule;
  std::function<void(Case&)> breaks;
  const char* found;    // in the message
  const char* nearest;  // in the message, after "nearest legal: "
};

/// Makes it the case of a fused problem, and breaks that.
template <class Break>
std::function<void(Case&)> fused(Break breaks) {
  return [breaks](Case& c) {
    c.problem = fused_problem();
    c.buffers = fake_fused_buffers();
    breaks(c);
  };
}

/// A value that the type of `enumerator` does not declare.
template <class E>
void spoil(E& enumerator) {
  enumerator = static_cast<E>(17);
}
template <class E>
void spoil(std::optional<E>& enumerator) {
  enumerator = static_cast<E>(255);
}

const Flip kFlips[] = {
    {"enumerator.value", [](Case& c) { spoil(c.problem.a.type); }, "A type: value 17", "cbf16"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.b.type); }, "B type: value 17", "cbf16"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.c.type); }, "C type: value 17", "cbf16"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.d.type); }, "D type: value 17", "cbf16"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.a.layout); }, "A layout: value 17", "column_major"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.b.layout); }, "B layout: value 17", "column_major"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.c.layout); }, "C layout: value 17", "column_major"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.d.layout); }, "D layout: value 17", "column_major"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.a.block); }, "A block: value 255", "nvfp4"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.b.block); }, "B block: value 255", "nvfp4"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.accumulation); }, "accumulation: value 17", "fast"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.scale_mode); }, "scale_mode: value 17",
     "block_1x128_128x128"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.epilogue.bias); }, "bias: value 17", "column"},
    {"enumerator.value", fused([](Case& c) { spoil(c.problem.epilogue.bias_type); }), "bias_type: value 17",
     "cbf16"},
    {"enumerator.value", [](Case& c) { spoil(c.problem.epilogue.activation); }, "activation: value 17",
     "gelu"},
    {"enumerator.value", fused([](Case& c) { spoil(c.problem.epilogue.aux->type); }), "aux type: value 17",
     "cbf16"},
    {"enumerator.value", fused([](Case& c) { spoil(c.problem.epilogue.aux->layout); }),
     "aux layout: value 17", "column_major"},
    {"enumerator.value", [](Case& c) { spoil(c.options.device); }, "device: value 17", "emulator"},
    {"enumerator.value", [](Case& c) { spoil(c.options.chip); }, "chip: value 17", "sm_100a"},
    {"enumerator.value", [](Case& c) { spoil(c.options.raster); }, "raster: value 255", "along_n"},
    {"enumerator.value", [](Case& c) { spoil(c.options.load); }, "load: value 17", "copy"},
    {"enumerator.value", [](Case& c) { spoil(c.options.store); }, "store: value 17", "direct"},
    {"enumerator.value", [](Case& c) { spoil(c.options.pipeline); }, "pipeline: value 17", "async"},
    {"enumerator.value", [](Case& c) { spoil(c.options.scheduler); }, "scheduler: value 17",
     "cluster_launch_control"},
    {"block.operand", [](Case& c) { c.problem.c.block = BlockFormat::mxfp8; }, "C: mxfp8", "no format"},
    {"block.operand", [](Case& c) { c.problem.d.block = BlockFormat::nvfp4; }, "D: nvfp4", "no format"},
    {"block.operand", fused([](Case& c) { c.problem.epilogue.aux->block = BlockFormat::mxfp4; }),
     "aux: mxfp4", "no format"},
    {"epilogue.operands", fused([](Case& c) { c.problem.a.type = DType::s8; }), "A: type s8", "e4m3"},
    {"epilogue.operands", fused([](Case& c) { c.problem.b.type = DType::f32; }), "B: type f32", "e4m3"},
    {"epilogue.operands", fused([](Case& c) { c.problem.a.block = c.problem.b.block = BlockFormat::mxfp8; }),
     "A: block-scaled", "e4m3"},
    {"epilogue.operands", fused([](Case& c) { c.problem.a.type = c.problem.b.type = DType::e5m2; }),
     "types: e5m2 x e5m2", "e4m3 x e4m3"},
    {"epilogue.operands", fused([](Case& c) { c.problem.a.alignment = 8; }), "A: base aligned to 8", "16"},
    {"epilogue.operands", fused([](Case& c) { c.problem.b.ld = 1025; }), "B: leading dimension 1025", "1040"},
    {"epilogue.operands", fused([](Case& c) { c.options.load = LoadKind::copy; }), "loads: of kind copy",
     "tma"},
    {"epilogue.operands", fused([](Case& c) {
       c.problem = fused_problem(DType::bf16, DType::bf16);
       c.problem.b.layout = Layout::row_major;
     }),
     "B: layout row_major", "column_major"},
    {"epilogue.sums", fused([](Case& c) { c.problem.accumulation = Accumulation::fast; }),
     "accumulation: fast", "promoted"},
    {"epilogue.sums", fused([](Case& c) { c.problem.interval = 8; }), "interval: 8", "4"},
    {"epilogue.sums", fused([](Case& c) { c.problem.scale_mode = ScaleMode::per_row_column; }),
     "scales: of rows and columns", "per_tensor"},
    {"epilogue.types", fused([](Case& c) { c.problem.epilogue.bias_type = DType::e4m3; }), "bias: type e4m3",
     "f32"},
    {"epilogue.types", fused([](Case& c) { c.problem.epilogue.aux->type = DType::s8; }), "aux: type s8",
     "f32"},
    {"epilogue.layout", fused([](Case& c) { c.problem.epilogue.aux->layout = Layout::column_major; }),
     "aux: layout column_major", "row_major"},
    {"epilogue.layout", fused([](Case& c) { c.problem.d.layout = Layout::column_major; }),
     "aux: layout row_major", "column_major"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.bias = nullptr; }), "bias: null", "memory"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.aux = nullptr; }), "aux: null", "memory"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.amax_d = nullptr; }), "amax_d: null", "memory"},
    {"epilogue.pointer", fused([](Case& c) { c.problem.epilogue.bias = BiasKind::none; }), "bias: a pointer",
     "bias is row or column"},
    {"epilogue.pointer", fused([](Case& c) { c.problem.epilogue.aux.reset(); }), "aux: a pointer",
     "aux is given"},
    {"epilogue.pointer", fused([](Case& c) { c.problem.epilogue.amax_d = false; }), "amax_d: a pointer",
     "amax_d is true"},
    {"epilogue.pointer", [](Case& c) { c.buffers.bias = c.buffers.a; }, "bias: a pointer", "null"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.bias = reinterpret_cast<void*>(0x600002); }),
     "bias: address is 2 modulo 4", "a multiple of 4"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.aux = reinterpret_cast<void*>(0x700008); }),
     "aux: address is 8 modulo 16", "a multiple of 16"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.aux = c.buffers.d; }), "aux: the address of D",
     "memory of its own"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.aux = const_cast<void*>(c.buffers.bias); }),
     "aux: the address of bias", "memory of its own"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.bias = c.buffers.d; }), "bias: the address of D",
     "memory of its own"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.scale_d = c.buffers.amax_d; }),
     "amax_d: the address of scale_d", "memory of its own"},
    {"epilogue.pointer",
     fused([](Case& c) { c.buffers.amax_d = static_cast<float*>(const_cast<void*>(c.buffers.a)); }),
     "amax_d: the address of A", "memory of its own"},
    {"operand.span", fused([](Case& c) {
       c.problem.l = (int64_t{1} << 31) - 1;
       c.problem.m = 16, c.problem.n = 512;
       c.problem.c.ld = c.problem.d.ld = 0;
       c.problem.c.batch_stride = c.problem.d.batch_stride = std::nullopt;
       c.problem.a.batch_stride = c.problem.b.batch_stride = 0;
       c.problem.epilogue.aux.reset();
       c.problem.epilogue.bias_batch_stride = int64_t{1} << 36;
     }),
     "bias: 2147483647 batches", "smaller stride"},
    {"batch_stride.d", fused([](Case& c) {
       c.problem.l = 2;
       c.problem.epilogue.aux->batch_stride = 16;
     }),
     "aux: batch stride 16", "393216"},
    {"batch_stride.sign", fused([](Case& c) { c.problem.epilogue.bias_batch_stride = -1; }),
     "bias: batch stride -1", "0"},
    {"ld.length", fused([](Case& c) { c.problem.epilogue.aux->ld = 3; }), "aux: leading dimension 3", "768"},
    {"tile.built", fused([](Case& c) {
       c.problem.b.type = DType::e5m2;
       c.problem.d.type = DType::f32;
     }),
     "D: type f32 of mixed operands", "f16"},
    {"extent.range", [](Case& c) { c.problem.m = -1; }, "m: -1", "0"},
    {"extent.range", [](Case& c) { c.problem.k = int64_t{1} << 31; }, "k: 2147483648", "2147483647"},
    {"type.ab", [](Case& c) { c.problem.b.type = DType::e2m1; }, "B: type e2m1", "e4m3"},
    {"type.ab", [](Case& c) { c.problem.b.type = DType::f16; }, "A: type e4m3", "f16"},
    {"type.d_tensor", [](Case& c) { c.problem = tensor_problem(DType::bf16, DType::f16); }, "D: type f16",
     "bf16"},
    {"type.c_tensor",
     [](Case& c) {
       c.problem = tensor_problem(DType::bf16, DType::bf16);
       c.problem.beta = 1;
       c.problem.c.type = DType::f32;
     },
     "C: type f32", "bf16"},
    {"type.c",
     [](Case& c) {
       c.problem.beta = 1;
       c.problem.c.type = DType::e4m3;
     },
     "C: type e4m3", "f16"},
    {"type.f32", [](Case& c) { c.problem.b.type = DType::f32; }, "A: type e4m3", "f32"},
    {"type.f32",
     [](Case& c) {
       c.problem = simt_problem();
       c.problem.d.type = DType::f16;
     },
     "D: type f16", "f32"},
    {"type.f32",
     [](Case& c) {
       c.problem = simt_problem();
       c.problem.beta = 1;
       c.problem.c.type = DType::bf16;
     },
     "C: type bf16", "f32"},
    {"type.d", [](Case& c) { c.problem.d.type = DType::s32; }, "D: type s32", "f16"},
    {"layout.k_major", [](Case& c) { c.problem.a.layout = Layout::column_major; }, "A: layout column_major",
     "row_major"},
    {"layout.k_major", [](Case& c) { c.problem.b.layout = Layout::row_major; }, "B: layout row_major",
     "column_major"},
    {"layout.c",
     [](Case& c) {
       c.problem.beta = 1;
       c.problem.c.layout = Layout::column_major;
     },
     "C: layout column_major", "row_major"},
    {"ld.length", [](Case& c) { c.problem.a.ld = 1023; }, "A: leading dimension 1023", "1024"},
    {"ld.length", [](Case& c) { c.problem.d.ld = -768; }, "D: leading dimension -768", "768"},
    {"stride.range", [](Case& c) { c.problem.d.ld = int64_t{1} << 39; },
     "D: leading dimension 549755813888 of 2 bytes", "549755813887"},
    {"stride.range",
     [](Case& c) {
       c.problem.l = 2;
       c.problem.b.batch_stride = int64_t{1} << 40;
     },
     "B: batch stride 1099511627776", "1099511627775"},
    {"batch_stride.sign",
     [](Case& c) {
       c.problem.l = 2;
       c.problem.a.batch_stride = -16;
     },
     "A: batch stride -16", "0"},
    {"batch_stride.sign",
     [](Case& c) {
       c.problem.l = 2;
       c.problem.d.batch_stride = -1;
     },
     "D: batch stride -1", "768 x 512"},
    {"batch_stride.d",
     [](Case& c) {
       c.problem.l = 2;
       c.problem.d.ld = 2048;
       c.problem.d.batch_stride = 767;
     },
     "D: batch stride 767", "768"},
    {"batch_stride.d",
     [](Case& c) {
       c.problem.l = 2;
       c.problem.d.ld = 2048;
       c.problem.d.batch_stride = 1281;
     },
     "D: batch stride 1281", "1280"},
    {"batch_stride.d",
     [](Case& c) {
       c.problem.l = 3;
       c.problem.d.batch_stride = 0;
     },
     "D: batch stride 0", "393216"},
    {"batch_stride.d",
     [](Case& c) {
       c.problem.l = 3;
       c.problem.d.batch_stride = 512 * 768 - 1;
     },
     "D: batch stride 393215", "393216"},
    {"operand.span",
     [](Case& c) {
       c.problem.m = 1 << 20;
       c.problem.a.ld = int64_t{1} << 30;
     },
     "A: 1048576 lines of stride 1073741824", "smaller"},
    {"alignment.value", [](Case& c) { c.problem.a.alignment = 12; }, "A: alignment 12", "8"},
    {"alignment.value", [](Case& c) { c.problem.d.alignment = 1; }, "D: alignment 1", "2"},
    {"interval.value", [](Case& c) { c.problem.interval = 0; }, "interval: 0", "1"},
    {"interval.value", [](Case& c) { c.problem.interval = -4; }, "interval: -4", "1"},
    {"interval.value", [](Case& c) { c.problem.interval = 3; }, "interval: 3", "2 or 4"},
    {"interval.value", [](Case& c) { c.problem.interval = 6; }, "interval: 6", "4 or 8"},
    {"interval.value", [](Case& c) { c.problem.interval = std::numeric_limits<int64_t>::max(); },
     "interval: 9223372036854775807", "9223372036854775804"},
    {"interval.kernel",
     [](Case& c) {
       c.problem.interval = 1;
       c.options.tile = Shape2{128, 256};
     },
     "interval: 1 on tile 128x256", "4, or tile 128x128"},
    {"interval.kernel",
     [](Case& c) {
       c.problem.interval = 2;
       c.problem.a.type = DType::e5m2;
     },
     "interval: 2", "4"},
    {"interval.kernel",
     [](Case& c) {
       c.problem.interval = 8;
       c.options.tile = Shape2{128, 256};
     },
     "interval: 8 on tile 128x256", "4, or tile 128x192"},
    {"tile.built",
     [](Case& c) {
       c.options.tile = Shape2{256, 256};
     },
     "tile: 256x256", "128x256"},
    {"tile.built",
     [](Case& c) {
       c.options.tile = Shape2{0, 128};
     },
     "tile: 0x128", "128x128"},
    {"tile.built",
     [](Case& c) {
       c.problem = simt_problem();
       c.options.pipeline = PipelineKind::async;
       c.options.load = LoadKind::tma;
     },
     "f32 with the loads and the pipeline", "automatic"},
    {"tile.built",
     [](Case& c) {
       c.problem = simt_problem();
       c.target.simt = {};
     },
     "types: f32", "none on this machine"},
    {"tile.built",
     [](Case& c) {
       c.problem = simt_problem();
       c.options.tile = Shape2{128, 160};
     },
     "tile: 128x160", "128x128"},
    // What the kernels in question are, where the tile alone would do.
    {"tile.built",
     [](Case& c) {
       c.problem.m = c.problem.n = c.problem.k = 300;
       c.options.tile = Shape2{128, 128};
     },
     "tile: 128x128, no bulk loads (A: leading dimension 300 of 1 byte)", "64x128"},
    {"tile.built",
     [](Case& c) {
       c.problem = tensor_problem(DType::bf16, DType::bf16, 300, 300, 300);
       c.options.tile = Shape2{128, 256};
     },
     "tile: 128x256, no bulk loads (A: leading dimension 300 of 2 bytes)", "128x128"},
    {"cluster.shape",
     [](Case& c) {
       c.options.cluster = Shape2{3, 1};
     },
     "cluster: 3x1", "2x1"},
    {"cluster.shape",
     [](Case& c) {
       c.options.cluster = Shape2{1, 0};
     },
     "cluster: 1x0", "1x1"},
    {"cluster.copy",
     [](Case& c) {
       c.problem.a.ld = 1025;
       c.options.cluster = Shape2{2, 1};
     },
     "cluster: 2x1", "1x1"},
    {"cluster.copy",
     [](Case& c) {
       c.problem = simt_problem();
       c.options.cluster = Shape2{1, 2};
     },
     "cluster: 1x2", "1x1"},
    {"cluster.built",
     [](Case& c) {
       c.problem = tensor_problem(DType::bf16, DType::bf16);
       c.options.cluster = Shape2{1, 2};
     },
     "cluster: 1x2", "1x1"},
    {"cluster.resident",
     [](Case& c) {
       c.options.cluster = Shape2{2, 1};
       c.two_cta_clusters = 0;
     },
     "cluster: 2x1 on 132", "1x1"},
    {"cluster.resident",
     [](Case& c) {
       c.options.cluster = Shape2{2, 1};
       c.options.max_sms = 1;
     },
     "cluster: 2x1 on 1", "1x1"},
    {"swizzle.value", [](Case& c) { c.options.swizzle = 0; }, "swizzle: 0", "1"},
    {"stages.value", [](Case& c) { c.options.stages = 1; }, "stages: 1", "2"},
    {"stages.value",
     [](Case& c) {
       c.options.tile = Shape2{128, 256};
       c.options.stages = 5;
     },
     "stages: 5 of 49152 bytes", "4"},
    {"stages.value",
     [](Case& c) {
       c.problem = simt_problem();
       c.options.stages = 7;
     },
     "stages: 7 of", "3"},
    {"splits.value", [](Case& c) { c.options.splits = 0; }, "splits: 0", "1"},
    {"splits.value", [](Case& c) { c.options.splits = 2; }, "splits: 2", "1"},  // of an 8-bit product
    {"workspace.limit", [](Case& c) { c.options.max_workspace = -1; }, "max_workspace: -1", "0"},
    {"workspace.limit",
     [](Case& c) {
       c.problem = simt_problem(128, 128, 1024);
       c.options.tile = Shape2{128, 128};
       c.options.splits = 4;
       c.options.max_workspace = 4 * 131072 - 1;
     },
     "max_workspace: 524287", "524288"},
    {"workspace.limit",
     [](Case& c) {
       c.problem = simt_problem(128, 128, 1024);
       c.problem.a.layout = Layout::row_major;
       c.options.load = LoadKind::tma;
       c.options.splits = 1;
       c.options.max_workspace = 0;
     },
     "max_workspace: 0", "524288"},
    {"scheduler.built",
     [](Case& c) { c.options.scheduler = schedule::TileScheduler::cluster_launch_control; },
     "cluster launch control", "static_persistent"},
    {"shape.static", [](Case& c) { c.options.static_shape = true; }, "operands of tensor cores", "a dynamic one"},
    {"shape.static",
     [](Case& c) {
       c.problem = simt_problem(512, 768, 1024);
       c.options.static_shape = true;
       c.options.load = LoadKind::copy;
       c.options.tile = Shape2{64, 128};
     },
     "512x768x1024", "a dynamic shape"},
    {"shape.static",
     [](Case& c) {
       c.problem = simt_problem(512, 767, 1000);
       c.options.tile = Shape2{128, 128};
       c.options.static_shape = true;
     },
     "512x767x1000", "512x768x1000"},
    {"pipeline.built", [](Case& c) { c.options.pipeline = PipelineKind::async; }, "async on tensor cores",
     "a producer warpgroup"},
    {"sms.value", [](Case& c) { c.options.max_sms = 0; }, "max_sms: 0", "1"},
    {"tiles.count",
     [](Case& c) {
       c.problem.m = (int64_t{1} << 31) - 1;
       c.problem.n = c.problem.k = 64;
       c.problem.l = 128;
       c.problem.a.batch_stride = c.problem.b.batch_stride = 0;
       c.options.tile = Shape2{64, 64};
     },
     "tiles: 33554432 x 1 x 128", "a larger tile"},
    {"load.tma",
     [](Case& c) {
       c.problem.b.ld = 1032;
       c.options.load = LoadKind::tma;
     },
     "B: leading dimension 1032", "1040, or loads of kind copy"},
    {"store.tma",
     [](Case& c) {
       c.problem = simt_problem();
       c.options.store = StoreKind::tma;
     },
     "D: f32", "direct stores"},
    {"store.tma",
     [](Case& c) {
       c.problem.d.ld = 769;
       c.options.store = StoreKind::tma;
     },
     "D: leading dimension 769", "multiples of 8 elements"},
    {"device.gpu", [](Case& c) { c.target.capability = 80; }, "8-bit operands on compute capability 8.0",
     "9.0"},
    {"device.gpu",
     [](Case& c) {
       c.problem = simt_problem();
       c.target.capability = 75;
     },
     "f32 operands on compute capability 7.5", "8.0 or later"},
    {"device.current", [](Case& c) { c.target.current_ordinal = [] { return Expected<int>(1); }; },
     "device: GPU 1 is current", "GPU 0"},
    {"pointer.null", [](Case& c) { c.buffers.b = nullptr; }, "B: null", "memory"},
    {"pointer.null", [](Case& c) { c.buffers.d = nullptr; }, "D: null", "memory"},
    {"pointer.null",
     [](Case& c) {
       c.problem.beta = 1;
       c.buffers.c = nullptr;
     },
     "C: null", "memory"},
    {"pointer.alignment", [](Case& c) { c.buffers.a = reinterpret_cast<void*>(0x100001); },
     "A: address is 1 modulo 16", "Operand::alignment is 1"},
    {"pointer.alignment", [](Case& c) { c.buffers.d = reinterpret_cast<void*>(0x400008); },
     "D: address is 8 modulo 16", "Operand::alignment is 8"},
    {"pointer.in_place", [](Case& c) { c.buffers.d = const_cast<void*>(c.buffers.a); }, "D: the address of A",
     "memory of its own"},
    {"pointer.in_place",
     [](Case& c) {
       c.problem.beta = 1;
       c.problem.c.ld = 1024;
       c.buffers.c = c.buffers.d;
     },
     "another type or stride", "C's type and strides"},
    {"pointer.workspace",
     [](Case& c) {
       c.problem = simt_problem(128, 128, 1024);
       c.options.splits = 4;
       c.buffers.workspace = nullptr;
     },
     "workspace: null", "bytes at a multiple of 256"},
    {"pointer.workspace",
     [](Case& c) {
       c.problem = simt_problem(128, 128, 1024);
       c.options.splits = 4;
       c.buffers.workspace = reinterpret_cast<void*>(0x500080);
     },
     "workspace: address is 128 modulo 256", "bytes at a multiple of 256"},
    {"scale.device",
     [](Case& c) {
       c.problem = simt_problem();
       c.buffers.scale_a = reinterpret_cast<const float*>(0x600000);
     },
     "scale_a: a device pointer", "null"},
    {"scale.mode",
     [](Case& c) {
       c.problem = scaled_problem(ScaleMode::per_row_column);
       c.problem.b.type = DType::e5m2;
     },
     "B: type e5m2", "e4m3"},
    {"scale.mode",
     [](Case& c) {
       c.problem = scaled_problem(ScaleMode::block_1x128_128x128);
       c.problem.d.type = DType::e4m3;
     },
     "D: type e4m3", "f16"},
    {"scale.mode",
     [](Case& c) {
       c.problem = simt_problem();
       c.problem.scale_mode = ScaleMode::per_row_column;
     },
     "A: type f32", "e4m3"},
    {"scale.promotion",
     [](Case& c) {
       c.problem = scaled_problem(ScaleMode::block_1x128_128x128);
       c.problem.interval = 8;
     },
     "interval: 8", "4"},
    {"scale.promotion",
     [](Case& c) {
       c.problem = scaled_problem(ScaleMode::block_1x128_128x128);
       c.problem.accumulation = Accumulation::fast;
     },
     "accumulation: fast", "promoted"},
    {"scale.stride",
     [](Case& c) {
       c.problem = scaled_problem(ScaleMode::block_1x128_128x128);
       c.problem.b_scales.k_stride = -1;
     },
     "scale_b: K stride -1", "0"},
    {"scale.stride",
     [](Case& c) {
       c.problem = scaled_problem(ScaleMode::per_row_column);
       c.problem.a_scales.line_stride = int64_t{1} << 38;
     },
     "scale_a: line stride 274877906944", "274877906943"},
    {"pointer.null", [](Case& c) { c.problem = scaled_problem(ScaleMode::per_row_column); }, "scale_a: null",
     "memory"},
    {"pointer.alignment",
     [](Case& c) {
       c.problem = scaled_problem(ScaleMode::block_1x128_128x128);
       c.buffers.scale_a = reinterpret_cast<const float*>(0x600000);
       c.buffers.scale_b = reinterpret_cast<const float*>(0x700002);
     },
     "scale_b: address is 2 modulo 4", "a multiple of 4"},
    {"pointer.alignment", [](Case& c) { c.buffers.alpha = reinterpret_cast<const float*>(0x600002); },
     "alpha: address is 2 modulo 4", "a multiple of 4"},
    {"pointer.alignment", [](Case& c) { c.buffers.beta = reinterpret_cast<const float*>(0x600001); },
     "beta: address is 1 modulo 4", "a multiple of 4"},
    {"pointer.alignment", [](Case& c) { c.buffers.scale_a = reinterpret_cast<const float*>(0x600003); },
     "scale_a: address is 3 modulo 4", "a multiple of 4"},
    {"pointer.alignment", [](Case& c) { c.buffers.scale_b = reinterpret_cast<const float*>(0x600002); },
     "scale_b: address is 2 modulo 4", "a multiple of 4"},
    {"pointer.alignment", [](Case& c) { c.buffers.scale_d = reinterpret_cast<const float*>(0x600002); },
     "scale_d: address is 2 modulo 4", "a multiple of 4"},
    {"pointer.alignment",
     [](Case& c) {
       c.problem = tensor_problem(DType::f64, DType::f64);
       c.buffers.alpha = reinterpret_cast<const float*>(0x600002);
     },
     "alpha: address is 2 modulo 4", "a multiple of 4"},
    {"epilogue.pointer", fused([](Case& c) { c.buffers.amax_d = reinterpret_cast<float*>(0x800002); }),
     "amax_d: address is 2 modulo 4", "a multiple of 4"},
};

TEST(GemmRules, the_problems_that_each_flip_breaks_run) {
  for (const Problem& problem : {small_problem(), simt_problem(), fused_problem()}) {
    Case c;
    c.problem = problem;
    if (problem.epilogue.any()) c.buffers = fake_fused_buffers();
    const Status s = outcome(c);
    EXPECT_FALSE(s) << s->message;
  }
}

TEST(GemmRules, each_broken_rule_is_named_with_the_value_found_and_the_nearest_legal_one) {
  for (const Flip& flip : kFlips) {
    Case c;
    flip.breaks(c);
    const Status s = outcome(c);
    SCOPED_TRACE(std::string(flip.rule) + " " + flip.found);
    ASSERT_TRUE(s);
    EXPECT_EQ(s->rule, flip.rule) << s->message;
    const size_t nearest = s->message.find("nearest legal: ");
    ASSERT_NE(nearest, std::string::npos) << s->message;
    EXPECT_NE(s->message.find(flip.found), std::string::npos) << s->message;
    EXPECT_NE(s->message.find(flip.nearest, nearest), std::string::npos) << s->message;
  }
}

TEST(GemmRules, every_rule_of_the_table_is_flipped) {
  std::set<std::string> flipped;
  for (const Flip& flip : kFlips) flipped.insert(flip.rule);
  for (const Rule& rule : gemm_rules()) EXPECT_EQ(flipped.count(rule.name), 1u) << rule.name;
}

/// Whether g++ and clang have a name for the value.
template <auto value>
constexpr bool is_declared() {
  const std::string_view function = __PRETTY_FUNCTION__;
  return function.substr(function.find("value = ")).find('(') == std::string_view::npos;
}
template <class E>
constexpr bool is_last() {
  constexpr auto last = static_cast<unsigned>(last_of<E>.value);
  return is_declared<static_cast<E>(last)>() && !is_declared<static_cast<E>(last + 1)>();
}

TEST(GemmRules, the_last_enumerators_that_the_planner_knows_are_the_last) {
  EXPECT_TRUE(is_last<DType>());
  EXPECT_TRUE(is_last<Layout>());
  EXPECT_TRUE(is_last<BlockFormat>());
  EXPECT_TRUE(is_last<Accumulation>());
  EXPECT_TRUE(is_last<ScaleMode>());
  EXPECT_TRUE(is_last<BiasKind>());
  EXPECT_TRUE(is_last<Activation>());
  EXPECT_TRUE(is_last<Device>());
  EXPECT_TRUE(is_last<Chip>());
  EXPECT_TRUE(is_last<LoadKind>());
  EXPECT_TRUE(is_last<StoreKind>());
  EXPECT_TRUE(is_last<PipelineKind>());
  EXPECT_TRUE(is_last<schedule::Raster>());
  EXPECT_TRUE(is_last<schedule::TileScheduler>());
}

TEST(GemmRules, a_gpu_that_is_absent_old_or_not_built_for_is_refused) {
  const GpuLimits h200{.ordinal = 0, .major = 9, .minor = 0, .sms = 132, .l2_bytes = 0};
  ASSERT_TRUE(gpu_target(h200, fake_kernels(), {}, {}).has_value());
  EXPECT_EQ(gpu_target(h200, fake_kernels(), {}, {})->capability, 90);
  const auto expect_refused = [](const Expected<Target>& target, const std::string& found) {
    ASSERT_FALSE(target);
    EXPECT_EQ(target.error().rule, "device.gpu");
    EXPECT_EQ(target.error().code, ErrorCode::no_device);
    EXPECT_NE(target.error().message.find(found), std::string::npos) << target.error().message;
  };
  expect_refused(gpu_target(h200, {}, {}, {}), "no kernels in this build");
  expect_refused(gpu_target(Error{ErrorCode::no_device, "x", "no driver"}, fake_kernels(), {}, {}),
                 "no driver");
}

TEST(Case, C92_what_is_planned_runs_and_what_is_refused_gives_its_reason) {
  // A query and a launch share one check: whatever plan_on accepts, run() launches.
  launches().clear();
  for (const int64_t m : {1, 63, 64, 65, 512})
    for (const int64_t k : {0, 1, 127, 128, 129})
      for (const int64_t interval : {1, 2, 4, 8, 1024}) {
        Case c;
        c.problem.m = m;
        c.problem.k = k;
        c.problem.interval = interval;
        const Status s = outcome(c);
        if (s) {
          EXPECT_EQ(s->rule, "interval.kernel") << s->message;
          EXPECT_LT(interval, 4) << s->message;
          EXPECT_NE(k % 16, 0) << s->message;
        }
      }
  EXPECT_GT(launches().size(), 80u);
}

}  // namespace
}  // namespace tilewright::testing
