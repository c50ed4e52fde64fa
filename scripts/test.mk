# Tests, benchmarks, fuzzers and checks; included by the Makefile.
#
# tests/unit/*_test.cpp   no privileges, under 5 s together      -> $(B)/unit_tests
# tests/root/*_test.cpp   loop devices, BPF, drop_caches         -> $(B)/root_tests (skip without root)
# tests/gpu/*_test.cpp    a GPU, or the stand-in               -> $(B)/gpu_tests (skip without one)
# tests/standin/*.cpp     the stand-in for a GPU's driver      -> $(B)/standin/
# tests/cli/*.sh          the program as a user calls it; exit 0 passed, 77 skipped
# tests/guest/           other kernels, disks and cgroups, in an emulator  -> make test-guest
# tests/figures/*.py      unittest, with Debian's python3 (another one in PATH may lack numpy)
# tests/fuzz/*_fuzz.cpp   libFuzzer targets                      -> build-fuzz/
# tests/bench/*.cpp *.sh  measurements, never assertions         -> $(B)/bench/
support   := $(wildcard tests/support/*.cpp)
# allocations_test counts in its own operator new, where the sanitizers have theirs.
no_san    := tests/unit/allocations_test.cpp
unit_src  := $(filter-out $(if $(SAN),$(no_san)) $(threadless),$(wildcard tests/unit/*_test.cpp)) $(support)
root_src  := $(wildcard tests/root/*_test.cpp) $(support)
# *_cuda_test.cpp call CUDA themselves.
gpu_src   := $(filter-out $(if $(filter 1,$(CUDA)),,%_cuda_test.cpp),$(wildcard tests/gpu/*_test.cpp)) $(support)
fuzz_src  := $(wildcard tests/fuzz/*_fuzz.cpp)
bench_src := $(wildcard tests/bench/*.cpp)
JOBS      ?= $(shell nproc)
FUZZ_SECONDS ?= 60

# A second make, because what deps installs decides variables (BPF) that this one has read already.
# A -j of the caller's goes on; without one all CPUs are used.
again = +$(Q)$(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))

$(OBJ)/tests/%.o: private override CPPFLAGS += -Itests

$(B)/unit_tests: $(call objects_of,$(unit_src)) $(if $(threadless),,$(cli_lib)) $(lib)
$(B)/root_tests: $(call objects_of,$(root_src)) $(lib)
# What compares with CUPTI is the tests' and the benchmark's.
cupti     := $(if $(filter 1,$(CUDA)),$(call object_of,tests/gpu/cupti_cuda.cpp))
$(B)/gpu_tests: $(call objects_of,$(gpu_src)) $(cupti) $(lib)
$(B)/unit_tests $(B)/root_tests $(B)/gpu_tests:
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) $(call linked,$^) $(LDLIBS) -lgtest_main -lgtest -o $@

# --- tests -----------------------------------------------------------------------------------
gpu_bench  := $(B)/bench/gpu_bench_cuda
# With CUDA these are built by `make test` too, which runs them on the stand-in; the bundle packs them.
cuda_tests := $(if $(filter 1,$(CUDA)),$(B)/gpu_tests $(gpu_bench))
# In place of the driver's libraries where there is no GPU, for tests only: found by LD_LIBRARY_PATH.
standin     := $(B)/standin/libcuda.so.1 $(B)/standin/libcupti.so.13 $(B)/standin/libnvidia-ml.so.1
standin_src := $(filter-out %/nvml.cpp,$(wildcard tests/standin/*.cpp))
$(B)/standin/libcuda.so.1: $(call objects_of,$(standin_src))
$(B)/standin/libnvidia-ml.so.1: $(call object_of,tests/standin/nvml.cpp)
$(B)/standin/libcupti.so.13: $(B)/standin/libcuda.so.1
	$(Q)ln -sf $(<F) $@
$(filter-out %/libcupti.so.13,$(standin)):
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -shared -Wl,-soname,$(@F) $^ -o $@
# As somebody else's program is built: with the library's header and nothing else of src/.
pull_program := $(B)/pull_program
$(pull_program): tests/loader/pull_program.cpp $(loader_h) $(loader_so)
	$(call say,LINK,$@)
	$(Q)$(CXX) -std=c++20 -O2 $(WARN) $(SAN_$(SAN)) -I$(B)/include $< -L$(B) -lblksweep-loader -Wl,-rpath,'$$ORIGIN' -pthread -o $@
tests     := $(B)/blksweep $(mpi) $(B)/unit_tests $(B)/root_tests $(pull_program) $(native) $(package) $(cuda_tests) $(if $(cuda_tests),$(standin))
run_tests := $(PYTHON) scripts/run_tests.py --build $(B)

.PHONY: test test-built test-unit test-root test-gpu test-standin test-standin-programs test-cli test-python unit test-programs
test:
	$(Q)scripts/install-deps.sh build bpf mpi measure test figures latex peers python
	$(again) test-programs
	$(again) test-built
# What a sanitizer build with PLAIN compiles itself: before the rest is there.
.PHONY: own-objects
own-objects: $(filter $(OBJ)/%,$(if $(threadless),$(filter-out $(cli),$(objects)),$(objects)) $(call objects_of,$(unit_src) $(root_src) $(gpu_src) $(standin_src)))
test-programs: $(tests)
test-built: $(tests)
	$(Q)$(run_tests) unit root $(if $(cuda_tests),standin) cli python
test-unit: $(B)/unit_tests
	$(Q)$(run_tests) --label '$@: ' unit
test-root: $(B)/root_tests
	$(Q)$(run_tests) --label '$@: ' root
test-gpu: $(B)/gpu_tests $(B)/blksweep
	$(Q)scripts/test-gpu.sh $(B)
test-standin-programs: $(if $(cuda_tests),$(B)/gpu_tests $(standin))
test-standin: $(if $(cuda_tests),$(B)/gpu_tests $(standin))
	$(Q)$(if $(cuda_tests),$(run_tests) --label '$@: ' standin,echo '$@: no GPU stages: built without CUDA')
# The stages once more with gcov in them, linked in place of those in the library.
coverage_objects := $(cuda_on:%.cpp=$(B)/coverage/%.o)
$(coverage_objects): $(B)/coverage/%.o: %.cpp $(ptx_inc) $(OBJ)/config
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(cuda_include) $(filter-out -fno-semantic-interposition,$(CXXFLAGS)) -O0 --coverage -c $< -o $@
$(B)/coverage/gpu_tests: $(call objects_of,$(gpu_src)) $(cupti) $(coverage_objects) $(lib)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) --coverage $^ $(LDLIBS) -lgtest_main -lgtest -o $@
# One stage with a fault planted in it (tests/soak/gpu_faults.sh), likewise.
planted_objects := $(patsubst %.cpp,%.o,$(wildcard $(B)/planted/*_cuda.cpp))
$(planted_objects): %.o: %.cpp $(OBJ)/config
	$(Q)$(CXX) $(CPPFLAGS) $(cuda_include) $(CXXFLAGS) -c $< -o $@
$(B)/planted/gpu_tests: $(call objects_of,$(gpu_src)) $(cupti) $(planted_objects) $(lib)
	$(Q)$(CXX) $(LDFLAGS) $^ $(LDLIBS) -lgtest_main -lgtest -o $@
.PHONY: coverage-gpu
coverage-gpu: $(B)/coverage/gpu_tests $(B)/blksweep $(standin)
	$(Q)scripts/coverage-gpu.sh $(B)
test-cli: $(B)/blksweep $(mpi) $(pull_program)
	$(Q)$(run_tests) --label '$@: ' --only '$(ONLY)' cli
test-python: $(B)/blksweep python
	$(Q)$(run_tests) --label '$@: ' python
unit: $(B)/unit_tests
	$(Q)$(B)/unit_tests --gtest_brief=1

# Linux 6.1 and 6.12 in an emulator; KERNEL="package..." for others, SUITE= of Debian, CHECKS= of tests/guest/guest.sh.
KERNEL ?= linux-image-amd64 linux-image-6.12-amd64
.PHONY: test-guest
test-guest: $(B)/blksweep $(B)/root_tests
	$(Q)for kernel in $(KERNEL); do tests/guest/guest.sh $(B) $$kernel || exit; done

# --- demo and bench --------------------------------------------------------------------------
.PHONY: demo demo-built bench bench-programs
demo:
	$(Q)scripts/install-deps.sh build bpf measure figures
	$(again) $(B)/blksweep
	$(Q)BLKSWEEP=$(B)/blksweep scripts/demo.sh $(B)/demo

bench_bin := $(bench_src:tests/bench/%.cpp=$(B)/bench/%)
$(bench_bin): $(B)/bench/%: $(OBJ)/tests/bench/%.o $(call objects_of,$(support)) $(lib)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) $^ $(LDLIBS) -lgtest -o $@
bench-programs: $(B)/blksweep $(native) $(package) $(pull_program) $(bench_bin)
bench:
	$(Q)scripts/install-deps.sh build bpf measure test peers python
	$(again) bench-programs
	$(Q)BLKSWEEP=$(B)/blksweep scripts/bench.sh $(B)/bench $(ONLY)

# scripts/experiments; ONLY='name name', FULL=1 the long form, DRAW=1 only the figures again.
.PHONY: experiments
experiments:
	$(Q)scripts/install-deps.sh build bpf measure figures peers python
	$(again) all python
	$(Q)BLKSWEEP=$(B)/blksweep $(PYTHON) scripts/experiments.py --out $(B)/experiments$(if $(FULL),-full --full) $(if $(DRAW),--draw) $(ONLY)

# Everything that needs a GPU, in one go: under 8 minutes, the table last.
.PHONY: bench-gpu
$(gpu_bench): $(OBJ)/tests/gpu/gpu_bench_cuda.o $(cupti) $(lib)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@
bench-gpu: $(B)/blksweep $(if $(filter 1,$(CUDA)),$(gpu_bench))
	$(Q)BLKSWEEP=$(B)/blksweep scripts/bench-gpu.sh $(B)/bench

# --- fuzz: the library and the targets compiled with clang into build-fuzz ----------------------
.PHONY: fuzz fuzz-programs soak
fuzz_build := SAN=fuzz BPF=0 CUDA=0 CXX='$(CLANGXX)' CXXFLAGS='-O1 -g1'
fuzz:
	$(Q)scripts/install-deps.sh build lint
	$(again) $(fuzz_build) fuzz-programs
	$(Q)scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS) $(ONLY)
fuzz_bin := $(fuzz_src:tests/fuzz/%.cpp=$(B)/fuzz/%)
# With other objects than those of SAN=fuzz only the targets themselves are instrumented: enough to run what is
# stored for them. A precompiled header would have to be made with that flag too.
fuzz_objects := $(fuzz_bin:$(B)/fuzz/%=$(OBJ)/tests/fuzz/%.o)
$(fuzz_objects): private override CXXFLAGS += -fsanitize=fuzzer-no-link
$(fuzz_objects): private PCH := 0
$(fuzz_bin): $(B)/fuzz/%: $(OBJ)/tests/fuzz/%.o $(cli_lib) $(lib)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -fsanitize=fuzzer $^ $(LDLIBS) -o $@
fuzz-programs: $(fuzz_bin)

# Campaigns of minutes to hours: tests/soak/*.sh (ONLY=name for one), then each fuzz target for ten minutes.
soak:
	$(Q)scripts/install-deps.sh build bpf mpi measure test figures lint
	$(again) all $(B)/bench/coverage_study $(B)/bench/stopping_study
	$(Q)scripts/soak.sh $(B) $(ONLY)
	$(if $(ONLY),,$(again) check-headers)
	$(if $(ONLY),,$(again) fuzz FUZZ_SECONDS=600)

# Which changes of the program no test notices (scripts/mutate/mutate.py --help): SECONDS=, FILES=, COUNT=, SEED=, STAGES=, AGAIN=1.
.PHONY: mutate
mutate:
	$(Q)scripts/install-deps.sh build bpf measure test lint
	$(Q)nice scripts/mutate/mutate.py $(if $(SECONDS),--seconds $(SECONDS)) $(if $(COUNT),--count $(COUNT)) $(if $(FILES),--files '$(FILES)') \
	  $(if $(SEED),--seed $(SEED)) $(if $(STAGES),--stages $(STAGES)) $(if $(AGAIN),--again)

# --- lint ------------------------------------------------------------------------------------
headers     := $(call in_src,*.h) $(wildcard tests/*/*.h ebpf/wire/*.h)
native_h    := $(wildcard python/native/*.h)
all_cpp     := $(call in_src,*.cpp) $(wildcard tests/*/*.cpp) $(native_src)
all_cu      := $(call in_src,*.cu)
our_bpf     := $(wildcard ebpf/*.c ebpf/*.h ebpf/wire/*.h)
bash_files  := $(wildcard scripts/*.sh scripts/*.bash scripts/*/*.sh scripts/*/*.bash tests/*/*.sh tests/*/*.bash) .ci/run
python_files := $(wildcard scripts/*.py scripts/*/*.py tests/*/*.py python/*.py python/*/*.py) $(filter-out %.py,$(wildcard scripts/peers/*))
FORMAT      ?= clang-format-14
TIDY        ?= clang-tidy-14

.PHONY: lint lint-checks lint-layers lint-tree lint-sizes lint-includes lint-format lint-shell lint-python lint-tidy check-headers
lint:
	$(Q)scripts/install-deps.sh build bpf mpi test python lint
	$(again) --keep-going lint-checks
	@echo 'lint: clean'
lint-checks: lint-layers lint-tree lint-sizes lint-includes lint-format lint-shell lint-python lint-tidy

lint-layers:
	$(call say,LINT,layers)
	$(Q)$(PYTHON) scripts/lint/layers.py
lint-tree:
	$(call say,LINT,tree)
	$(Q)$(PYTHON) scripts/lint/tree.py
lint-sizes:
	$(call say,LINT,sizes)
	$(Q)$(PYTHON) scripts/lint/sizes.py $(headers) $(native_h) $(all_cpp) $(all_cu) $(our_bpf) $(bash_files) $(python_files)
lint-includes:
	$(call say,LINT,includes)
	$(Q)$(PYTHON) scripts/lint/includes.py $(filter-out ebpf/%,$(headers)) $(native_h)
lint-format:
	$(call say,LINT,format)
	$(Q)$(FORMAT) --dry-run --Werror --ferror-limit=1 $(filter-out ebpf/%,$(headers)) $(native_h) $(all_cpp) $(all_cu)
lint-shell:
	$(call say,LINT,shell)
	$(Q)shellcheck -x $(bash_files)
lint-python:
	$(call say,LINT,python)
	$(Q)$(PYTHON) -c 'import ast, sys; [ast.parse(open(f).read(), f) for f in sys.argv[1:]]' $(python_files)

# Each header alone, as the compiler sees it: minutes, for what lint-includes sees in a second by the names' words (of 162
# includes taken away one at a time it saw 161). What a header includes is found as for any object; the standard library comes
# from a precompiled header, parsed once for all.
checked     := $(filter-out $(if $(filter 1,$(CUDA)),,%_cuda.h) $(if $(filter 1,$(BPF)),,%_bpf.h) $(if $(filter 1,$(MPI)),,src/mpi/%),$(headers))
check_flags  = -iquote . $(CPPFLAGS) $(cuda_include) $(mpi_include) -Itests -std=c++20 $(WARN)
check_pch    = $(B)/check/$(if $(filter tests/%,$(1)),tests,src).pch
check-headers: $(checked:%=$(B)/check/%.ok)
$(B)/check/src.pch $(B)/check/tests.pch: $(B)/check/%.pch: %/precompiled.h $(OBJ)/config
	$(call say,PCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANGXX) $(check_flags) -fpch-instantiate-templates -x c++-header $< -o $@
$(B)/check/%.ok: % $$(call check_pch,$$*) | $(if $(filter 1,$(BPF)),$(skeletons))
	$(call say,HEAD,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANGXX) $(check_flags) -MMD -MP -MF $(@:.ok=.d) -MT $@ -include-pch $(call check_pch,$*) -fsyntax-only -x c++ -include $< /dev/null
	$(Q)touch $@

# A source that BPF=0 or CUDA=0 leaves out is checked too; with BPF=0 the other way round it cannot be. Tests are
# not: their findings were style, and they would double the time.
tidy_all := $(filter src/%,$(all_cpp))
tidy_src := $(filter-out $(if $(filter 1,$(BPF)),,$(bpf_on)) $(if $(filter 1,$(CUDA)),,$(cuda_on)) $(if $(filter 1,$(MPI)),,$(mpi_src)),$(tidy_all))
# An area is a set, small ones together where their names do not meet: clang-tidy walks every header of the standard
# library in each, which takes 10 s. What is linked in place of something else is a set by its suffix (_bpf, _cuda, _off).
tidy_together := base+codec+os+stats model+simulate dataset+map io+loader+stage doctor+probe+record+replay mpi+ranks+rig
tidy_area = $(shell printf '%s\n' $(1) | awk -F/ -v together='$(tidy_together)' 'BEGIN { split(together, sets, " ") } \
              { d = match($$0, /_(bpf|cuda|off)\.cpp$$/) ? substr($$0, RSTART + 1, RLENGTH - 5) : $$2; \
                for (s in sets) if (index("+" sets[s] "+", "+" d "+")) d = sets[s]; \
                print "src/" d ":" $$0 }')
tidy_sets := $(call tidy_area,$(tidy_src))
tidy_names := $(sort $(foreach f,$(tidy_sets),$(firstword $(subst :, ,$(f)))))
files_of_set = $(patsubst $(1):%,%,$(filter $(1):%,$(tidy_sets)))
tidy       = $(TIDY) --quiet --config-file=.clang-tidy
tidy_flags = -std=c++20 $(CPPFLAGS) $(cuda_include) $(mpi_include) -Itests -I.
lint-tidy: $(tidy_names:%=$(B)/tidy/%.ok)
define tidy_rule
$(B)/tidy/$(1).ok: $(call files_of_set,$(1)) .clang-tidy $(headers) | $(OBJ)/gen/version.inc $(if $(filter 1,$(BPF)),$(skeletons)) $(if $(filter 1,$(CUDA)),$(ptx_inc))
	$$(call say,TIDY,$(1))
	$$(Q)mkdir -p $$(@D) && printf '#include "%s"  // NOLINT\n' $(call files_of_set,$(1)) > $$@.cpp
	$$(Q)$$(tidy) $$@.cpp -- $$(tidy_flags) > $$@.log 2>&1 || { cat $$@.log >&2; exit 1; }
	$$(Q)touch $$@
endef
$(foreach s,$(tidy_names),$(eval $(call tidy_rule,$(s))))
