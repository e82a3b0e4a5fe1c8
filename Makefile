# The everyday jobs. `make run` and `make test` need no GPU; with nvcc they build the GPU's kernels too.
JOBS ?= $(shell nproc)
BUILD := build
ARGS ?=

.PHONY: run test soak sanitize format configure build

configure:
	@scripts/install-deps
	@mkdir -p $(BUILD)
	@cmake --preset default -Wno-dev >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }
	@grep -E 'NO CUDA COMPILER|GPU kernels:' $(BUILD)/configure.log

# The main job: one FP8 GEMM checked against FP64, on the GPU if there is one, else on the emulated machine.
run: configure
	@cmake --build $(BUILD) -j $(JOBS) --target tilewright_cli
	$(BUILD)/bin/tilewright gemm $(ARGS)

build: configure
	cmake --build $(BUILD) -j $(JOBS)

test: build
	@scripts/run-tests $(BUILD)

# The planted faults and the clean kernels with 200 seeds of each schedule.
soak: build
	@scripts/soak $(BUILD) 200

sanitize:
	cmake --preset sanitize -Wno-dev
	cmake --build build-sanitize -j $(JOBS)
	@scripts/run-tests build-sanitize

format:
	@scripts/format
