# The two commands of the README, and the steps they are made of.
BUILD := build
JOBS := $(shell nproc)

.PHONY: all setup build demo test test-quick test-torch test-assertions test-sanitize fuzz campaigns docs format tidy gpu-bundle clean
all: build

setup:
	@tools/setup.sh

$(BUILD)/build.ninja: | setup
	cmake -G Ninja -B $(BUILD) .

build: setup $(BUILD)/build.ninja
	ninja -C $(BUILD) -j$(JOBS)

demo: build
	tools/demo.sh $(BUILD)

test: build
	tools/test.sh $(BUILD)

# The part of the tests that finds most faults of compiler and runtime, for the time between two changes (QUICK in tools/ci/run_tests.py).
test-quick: build
	tools/test.sh $(BUILD) --quick

# By hand, for it needs PyTorch (test/torch/requirements.txt): tools/torch/export.py, and networks as PyTorch's exporters write them, compared with PyTorch. Without torch it says so
# and does nothing.
PYTHON := python3
test-torch: build
	$(PYTHON) -B test/torch/export_checks.py --build $(BUILD)
	$(PYTHON) test/torch/exporters.py --build $(BUILD) --markdown $(BUILD)/exporters.md
	$(PYTHON) test/torch/verified.py --build $(BUILD) --markdown $(BUILD)/verify.md
	$(PYTHON) -B test/torch/tensorboard_checks.py --build $(BUILD)
	$(PYTHON) -B test/torch/augmentation_checks.py --build $(BUILD)
	$(PYTHON) -B test/torch/detection.py
	$(PYTHON) -B test/torch/detection_ops.py --build $(BUILD) --markdown $(BUILD)/detection_ops.md

# By hand: all fuzz targets, SECONDS each (test/fuzz); TARGETS names some of them.
SECONDS := 600
fuzz: setup
	tools/ci/fuzz.py --build $(BUILD) --seconds $(SECONDS) $(TARGETS)

# By hand, for it takes two hours: the fuzz targets, random graphs against PyTorch, failing calls, norms, layouts and sizes in their long forms, and a table of what they said.
campaigns: build
	tools/ci/campaigns.py --build $(BUILD) --python $(PYTHON)

# By hand, for it takes half an hour of CPU time where ccache knows none of it: the tools that lit tests dialects, passes and PTX with, with assertions, and these tests.
test-assertions: setup
	cmake --preset assertions
	ninja -C build-assertions -j$(JOBS) mpc-opt mpc-interpret mpc-ptx
	/usr/lib/llvm-22/bin/lit -q $(addprefix build-assertions/test/,dialects passes codegen)

# By hand, for it takes hours: the whole compiler and its tests with assertions under AddressSanitizer and UndefinedBehaviorSanitizer.
test-sanitize: setup
	tools/ci/sanitize.py

# The pages of docs/ that are printed from code.
docs: build
	tools/mpc-docs/generate.py --build $(BUILD)

# Formats every C++ file; `make test` fails for one that is not formatted.
format: setup
	tools/ci/clang_format.py

# By hand, for it takes more than an hour of CPU time: clang-tidy over all files, or those that differ from the revision CHANGED (HEAD, main), or FILES.
tidy: setup $(BUILD)/build.ninja
	ninja -C $(BUILD) -j$(JOBS) mpc-tablegen
	tools/ci/clang_tidy.py --build $(BUILD) $(if $(CHANGED),--changed $(CHANGED)) $(FILES)

# A folder that measures the programs on a GPU machine (benchmarks/gpu).
gpu-bundle: build
	benchmarks/gpu/bundle.py --build $(BUILD)

clean:
	rm -rf $(BUILD)
