# blksweep: how Linux reads training data from block devices
#
#   make            build build/blksweep
#   make loader     build/libblksweep-loader.a, .so and build/include: the loader for other programs
#   make python     build/python/blksweep, the package for PYTHONPATH; or: pip install ./python
#   make demo       install what is missing, build, run the main job, write build/demo/report.html
#   make test       install what is missing, build, run every test (root tests skip without root)
#   make experiments   the field's experiments in quick form, a figure each; ONLY=name for one, FULL=1 for hours
#   make bench      measure against fio and plain loops; prints ratios
#   make lint       layers, sizes, includes, format, clang-tidy, shellcheck, includes of headers
#   make fuzz       each fuzz target for FUZZ_SECONDS (60); ONLY=name for one
#   make soak       campaigns of hours: movers, twins, ceilings, null pairs, fuzz targets; ONLY=name for one
#   make mutate     changes the program in one place at a time: which tests notice; SECONDS= FILES=
#   make test-gpu bench-gpu   what needs a GPU; says why it skips without one
#   make test-unit test-root test-cli test-python   one suite, without installing (test-cli ONLY=name)
#   make bundle     build/bundle/blksweep-VERSION(.tar.gz): runs on a node with nothing installed
#   make test-guest Linux 6.1 and 6.12, several disks, in an emulator (KERNEL=package SUITE=name for another)
#   make deps format check-headers install clean help
#
#   V=1  full commands     SAN=asan|tsan  sanitizer build     BPF=0 CUDA=0 MPI=0  without a feature
#   B=DIR  where programs go (must begin with build)     OBJ=DIR  where objects are, if not in B
#   PLAIN='tests src/plan'  a sanitizer build that takes these folders' objects from build/, as they are
#   PCH=0  without precompiled headers
#   SETS=4  sources of a folder that are compiled at once, 24 if not said: for who changes them, seconds after each change

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

CXX      ?= g++
CLANG    ?= clang-14
CLANGXX  ?= clang++-14
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
PREFIX   ?= /usr/local
ifeq ($(origin CXX),default)
CXX := g++
endif

B := build$(if $(SAN),-$(SAN))
hash := \#
probe      = $(shell { $(1); } >/dev/null 2>&1 && echo 1 || echo 0)
has_header = printf '%s\n' '$(hash)include <$(1)>' | $(CXX) -E -x c++ -
# BPF=0 and CUDA=0 are first-class builds: the *_off.cpp files are linked in place of the others.
CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda /usr/lib/cuda))
NVCC      ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc /usr/bin/nvcc) nvcc)
ifeq ($(origin BPF),undefined)
BPF := $(call probe,command -v $(CLANG) && command -v $(BPFTOOL) && $(call has_header,bpf/libbpf.h))
endif
ifeq ($(origin CUDA),undefined)
CUDA := $(call probe,command -v $(NVCC))
endif
# blksweep-mpi is a program of its own, so that blksweep needs no MPI; with MPI=0 it is not built.
ifeq ($(origin MPI),undefined)
MPI := $(call probe,pkg-config --exists ompi-c pmix)
endif

VERSION := 0.1.0
GIT_REV := $(shell git -c safe.directory='*' describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)

SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_tsan := -fsanitize=thread
SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor \
        -Woverloaded-virtual -Wundef -Werror

CPPFLAGS ?=
CXXFLAGS ?= -O2 -g1
LDFLAGS  ?=
# Objects are the same with and without a feature: only which of them are linked differs, so that
# several programs (B=build-plain OBJ=build BPF=0 CUDA=0) are made of one set of objects.
OBJ      ?= $(B)
override CPPFLAGS += -Isrc -Iebpf -isystem $(OBJ)/gen -isystem /usr/include/fuse3 -D_GNU_SOURCE
# One set of objects serves the program and the shared library. gcc takes an eighth less time where it collects no garbage, and 1.1 GB.
is_clang  := $(filter clang%,$(notdir $(CXX)))
override CXXFLAGS += -std=c++20 $(WARN) $(SAN_$(SAN)) -fPIC -fno-semantic-interposition -pthread -MMD -MP \
                     $(if $(is_clang),,--param=ggc-min-heapsize=1000000)
override LDFLAGS  += $(SAN_$(SAN)) -pthread
LDLIBS := -luring -laio -lsqlite3 -lxxhash -lfmt -lfuse3 -lhwloc -lzstd -llz4 -lblosc -larchive $(if $(filter 1,$(BPF)),-lbpf -lelf -lz)
# Nothing of CUDA is linked: the driver's libcuda.so.1 is looked for when it is first used.
cuda_include := -isystem $(CUDA_HOME)/include
# nvcc makes the kernels' PTX only.
NVCCFLAGS ?= -O2
override NVCCFLAGS += -std=c++20 -arch=compute_75 --expt-relaxed-constexpr -Werror all-warnings -Isrc
PTXAS     ?= $(firstword $(wildcard $(CUDA_HOME)/bin/ptxas /usr/bin/ptxas) ptxas)

Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(2)')

# Link-time variants: x_bpf.cpp with BPF=1, x_off.cpp in its place with BPF=0.
in_src   = $(wildcard $(foreach f,$(1),src/*/$(f) src/*/*/$(f)))
bpf_on  := $(call in_src,*_bpf.cpp)
# The same with *_cuda.cpp, which carry the kernels of *.cu as PTX, and cuda_off.cpp.
cuda_on  := $(call in_src,*_cuda.cpp)
cuda_off := $(call in_src,cuda_off.cpp)
bpf_off := $(filter-out $(cuda_off),$(call in_src,*_off.cpp))
mpi_src  := $(wildcard src/mpi/*.cpp)
variants := $(bpf_on) $(bpf_off) $(cuda_on) $(cuda_off)
main    := src/cli/main.cpp
sources := $(filter-out $(main) $(mpi_src) $(if $(filter 1,$(BPF)),$(bpf_off),$(bpf_on)) \
             $(if $(filter 1,$(CUDA)),$(cuda_off),$(cuda_on)),$(call in_src,*.cpp))

# Sources of a room (src/os with its corners) are compiled some at a time, as even sets: reading headers is most of the work. What is
# linked in place of something else or needs flags of its own is compiled alone (what is linked with BPF=1 as sets of its own); in
# small sets, so is what takes long.
sets_of = $(shell printf '%s\n' $(1) | awk -F/ '{ room[NR] = $$1 "/" $$2; place[NR] = n[room[NR]]++; file[NR] = $$0 } END { \
            for (i = 1; i <= NR; ++i) { d = room[i]; sets = int(n[d] / $(2) + 0.5); \
              print d "/$(3)set" int(place[i] * (sets ? sets : 1) / n[d]) ":" file[i] } }')
set_size := $(or $(SETS),24)
small    := $(filter 1 2 3 4,$(set_size))
slow    := $(if $(small),src/cli/command.cpp src/cli/run/options.cpp src/cli/run/answer.cpp \
           src/store/export/trace_events.cpp src/experiment/fio_twin.cpp $(call in_src,verb_*.cpp))
alone   := $(main) $(slow) src/cli/version.cpp src/loader/loader.cpp $(variants) \
           tests/unit/allocations_test.cpp $(wildcard tests/gpu/*_cuda*.cpp) tests/standin/nvml.cpp
# With PLAIN a sanitizer sees what the program does in a test, and not the test: that is compiled once, for `make test`.
PLAIN    ?=
plain    := $(addsuffix /%,$(PLAIN))
# No threads run in the tests of verbs, plans, models, estimators and formats: the thread sanitizer has nothing to see there. The signals of
# fatal_end it keeps for later.
threadless := $(if $(filter tsan,$(SAN)),$(foreach t,account account_% batch_slots catalog_format compute_time elevator emission_file fatal_end \
           epoch_part fio_iolog histogram intervals json layer_facts map_% mark_reads matrix miss_ratio model_% noise order order_survival \
           pair_judge paired part_hash peer_report plan planned_epoch precision prediction_% probe_math quantile replay_orders rig rig_verdict \
           schedule series shuffle_quality simulate_epoch stored_documents summary table tar trace_% units unpaired wide_view window_search,tests/unit/$(t)_test.cpp))
in_sets := $(filter-out $(alone) $(threadless),$(call in_src,*.cpp) $(wildcard $(foreach t,unit root gpu support standin,tests/$(t)/*.cpp)))
sets    := $(call sets_of,$(in_sets),$(set_size)) $(call sets_of,$(bpf_on),$(set_size),bpf_)
sources_in = $(patsubst $(1):%,%,$(filter $(1):%,$(sets)))
object_of  = $(if $(filter $(plain),$(1)),build,$(OBJ))/$(firstword $(patsubst %:$(1),%,$(filter %:$(1),$(sets))) $(1:.cpp=)).o
objects_of = $(sort $(foreach s,$(1),$(call object_of,$(s))))
objects := $(call objects_of,$(sources))
# Tests need what is below src/cli only, and are built without waiting for it.
lib     := $(B)/libblksweep.a
cli_lib := $(B)/libblksweep-cli.a
cli     := $(filter $(OBJ)/src/cli/%,$(objects))
mpi     := $(if $(filter 1,$(MPI)),$(B)/blksweep-mpi)

.PHONY: all
all: $(B)/blksweep $(mpi)

# What a program is linked of. Of an inline function the linker takes the first it sees: one that the sanitizer sees, too.
own_first = $(filter $(OBJ)/%.o,$(1)) -Wl,--whole-archive $(filter %.a,$(1)) -Wl,--no-whole-archive $(filter-out $(OBJ)/%.o %.a,$(1))
linked    = $(if $(PLAIN),$(own_first),$(1))
$(B)/blksweep: $(OBJ)/$(main:.cpp=.o) $(cli_lib) $(lib)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) $(call linked,$^) $(LDLIBS) -o $@

mpi_include := $(if $(filter 1,$(MPI)),$(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I ompi-c pmix)))
$(OBJ)/src/mpi/%.o: private override CPPFLAGS += $(mpi_include)
$(B)/blksweep-mpi: $(call objects_of,$(mpi_src)) $(cli_lib) $(lib)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) $^ $(LDLIBS) $(shell pkg-config --libs ompi-c pmix) -o $@

# The loader for other programs: it and what lies below it; src/loader/loader.h is its one header.
loader_parts := base stats os codec plan io dataset stage loader
loader_lib   := $(B)/libblksweep-loader.a
loader_so    := $(B)/libblksweep-loader.so
loader_h     := $(B)/include/blksweep/loader.h
loader_needs := -luring -laio -lxxhash -lfmt -lzstd -llz4 -lblosc
$(loader_lib): $(foreach part,$(loader_parts),$(filter $(OBJ)/src/$(part)/%,$(objects)))
$(loader_so): $(OBJ)/src/loader/loader.o $(loader_lib) src/loader/loader.map
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/loader/loader.map $(filter %.o %.a,$^) $(loader_needs) -o $@
$(loader_h): src/loader/loader.h
	$(Q)mkdir -p $(@D) && cp $< $@
.PHONY: loader
loader: $(loader_lib) $(loader_so) $(loader_h)

# The Python package: its sources beside the module, which is linked with the loader alone. A bundle has the libraries that
# it needs in lib/ beside it; they find each other there too (a run path of the new kind is not passed on).
PYTHON     ?= /usr/bin/python3
native     := $(B)/python/blksweep/_native.so
native_src := $(wildcard python/native/*.cpp)
package    := $(patsubst %,$(B)/%,$(wildcard python/blksweep/*.py python/blksweep/py.typed python/blksweep/*.pyi))
$(OBJ)/python/native/%.o: private PCH := 0
$(OBJ)/python/native/%.o: private override CPPFLAGS += $(shell $(PYTHON) -c 'import sysconfig; print("-isystem", sysconfig.get_path("include"))') -I$(B)/include
$(OBJ)/python/native/%.o: private override CXXFLAGS += -fvisibility=hidden
$(native_src:%.cpp=$(OBJ)/%.o): $(loader_h)
$(native): $(native_src:%.cpp=$(OBJ)/%.o) $(loader_lib)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib' $^ $(loader_needs) -o $@
$(package): $(B)/python/%: python/%
	$(Q)mkdir -p $(@D) && cp $< $@
.PHONY: python
python: $(native) $(package)

$(cli_lib): $(cli)
$(lib): $(filter-out $(cli),$(objects))
# Which objects are linked; without it a feature switched on again would find the archive of before.
$(B)/features: FORCE
	$(Q)mkdir -p $(@D) && echo 'BPF=$(BPF) CUDA=$(CUDA)' | cmp -s - $@ || echo 'BPF=$(BPF) CUDA=$(CUDA)' > $@
$(lib) $(cli_lib) $(loader_lib): $(B)/features
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter $(OBJ)/%.o,$^) $(filter-out $(OBJ)/%,$(filter %.o,$^))

# What decides the objects beside their sources; another compiler or version builds them anew.
config := $(CXX) $(VERSION)
$(OBJ)/config: FORCE
	$(Q)mkdir -p $(@D) && echo '$(config)' | cmp -s - $@ || echo '$(config)' > $@
.PHONY: FORCE
FORCE:

version_inc := constexpr const char *kVersion = "$(VERSION)", *kGitRevision = "$(GIT_REV)";
$(OBJ)/gen/version.inc: FORCE
	$(Q)mkdir -p $(@D) && echo '$(version_inc)' | cmp -s - $@ || echo '$(version_inc)' > $@
$(OBJ)/src/cli/version.o: $(OBJ)/gen/version.inc
# What stands around the measured paths (verbs, settings, records, tables) and the tests: two fifths less of the compiler's time.
quick  := $(if $(filter -O2,$(CXXFLAGS)),-Og)
around := base cli store experiment node doctor rig ranks mpi map record
$(addsuffix /%.o,$(around:%=$(OBJ)/src/%)) $(OBJ)/pch/around.h.gch $(OBJ)/pch/tests.h.gch: private override CXXFLAGS += $(quick)
$(patsubst %,$(OBJ)/tests/%.o,unit/% root/% gpu/% support/% standin/%): private override CXXFLAGS += $(quick)
# What is pure is cheap to compile, and most of the sanitizers' time in tests.
pure := $(foreach part,plan model map stats,$(OBJ)/src/$(part))
ifneq ($(filter asan tsan,$(SAN)),)
$(pure:%=%/%.o): private override CXXFLAGS += -O1
$(pure:%=%/%.o): private PCH := 0
endif
$(OBJ)/%_cuda.o $(OBJ)/%_cuda_test.o $(OBJ)/tests/standin/%.o: private override CPPFLAGS += $(cuda_include)

# Precompiled headers: what nearly every source of a part reads, parsed once. Sources include what
# they use all the same (check-headers and clang-tidy see to it); without them nothing changes but time.
PCH ?= 1
# With one gcc 12 takes operator+ of std::string for a copy out of bounds (GCC bugs 105329, 105651), and in large sets a
# constant for a value that was never set.
pch_quiet := $(if $(is_clang),,-Wno-subobject-linkage -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict $(if $(small),,-Wno-maybe-uninitialized))
use_pch = -Winvalid-pch $(pch_quiet) -include $(call pch_of,$(1))
pch_src    := $(OBJ)/pch/src.h
pch_around := $(OBJ)/pch/around.h
pch_tests  := $(OBJ)/pch/tests.h
$(pch_src).gch: private header := src/precompiled.h
$(pch_around).gch: private header := src/precompiled_around.h
$(pch_tests).gch: private header := tests/precompiled.h
$(addsuffix .gch,$(pch_src) $(pch_around) $(pch_tests)): $(OBJ)/config Makefile
	$(call say,PCH,$@)
	$(Q)mkdir -p $(@D) && echo '#include "$(header)"' > $(@:.gch=)
	$(Q)$(CXX) -iquote . $(CPPFLAGS) $(CXXFLAGS) -MF $@.d $(if $(is_clang),-fpch-instantiate-templates) -x c++-header $(@:.gch=) -o $@
pch_of = $(if $(filter $(addsuffix /%,$(around:%=src/%)),$(1)),$(pch_around),$(if $(filter-out tests/bench/%,$(filter tests/%,$(1))),$(pch_tests),$(pch_src)))

.SECONDEXPANSION:
$(OBJ)/%.o: %.cpp Makefile $(OBJ)/config $$(if $$(filter 1,$$(PCH)),$$(call pch_of,$$*).gch)
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(if $(filter 1,$(PCH)),$(call use_pch,$<)) -c $< -o $@

# Which sources a folder's sets have: one more, or one less, and they are compiled anew.
$(OBJ)/%/sets: FORCE
	$(Q)mkdir -p $(@D) && echo '$(filter $*/set% $*/bpf_set%,$(sets))' | cmp -s - $@ || echo '$(filter $*/set% $*/bpf_set%,$(sets))' > $@
set_objects := $(sort $(foreach s,$(sets),$(OBJ)/$(firstword $(subst :, ,$(s))).o))
$(set_objects): $(OBJ)/%.o: $$(call sources_in,$$*) $(OBJ)/$$(*D)/sets Makefile $(OBJ)/config $$(if $$(filter 1,$$(PCH)),$$(call pch_of,$$*).gch)
	$(call say,CXX,$(*D): $(basename $(notdir $(call sources_in,$*))))
	$(Q)printf '#include "%s"\n' $(call sources_in,$*) > $(@:.o=.cpp)
	$(Q)$(CXX) -iquote . $(CPPFLAGS) $(CXXFLAGS) $(if $(filter 1,$(PCH)),$(call use_pch,$*)) -c $(@:.o=.cpp) -o $@

# The driver compiles PTX for the GPU that it has. nvcc names its own version and the oldest GPU that
# it knows; a driver refuses a version above its own. The kernels need no more than that of CUDA 9 for
# Volta, which the assembler confirms for every GPU that it knows.
ptx_inc := $(OBJ)/gen/kernels.ptx.inc
$(ptx_inc): src/stage/cuda/kernels.cu src/stage/cuda/kernels_cuda.h src/stage/part_hash.h Makefile
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCCFLAGS) -ptx $< -o $(@:.inc=.new)
	$(Q)sed -e 's/^\.version .*/.version 6.0/' -e 's/^\.target .*/.target sm_70/' $(@:.inc=.new) > $(@:.inc=)
	$(Q)for gpu in $$($(NVCC) --list-gpu-code); do $(PTXAS) -arch=$$gpu $(@:.inc=) -o $(@:.inc=.new) || exit 1; done
	$(Q)rm $(@:.inc=.new) && { echo 'R"ptx('; cat $(@:.inc=); echo ')ptx"'; } > $@
$(OBJ)/src/stage/cuda/device_cuda.o: $(ptx_inc)

# --- eBPF: clang -> object -> skeleton header -------------------------------------------------
# As libbpf's bpf_tracing.h names it.
bpf_arch    := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
bpf_sources := $(wildcard ebpf/*.bpf.c)
skeletons   := $(bpf_sources:ebpf/%.bpf.c=$(OBJ)/gen/%.skel.h)
ifeq ($(BPF),1)
# Generated headers: the first build cannot learn these from -MMD.
$(filter $(OBJ)/src/probe/%,$(objects)): $(skeletons)
endif

.SECONDARY: $(skeletons:.skel.h=.bpf.o)
$(OBJ)/gen/%.bpf.o: ebpf/%.bpf.c $(wildcard ebpf/*.h ebpf/wire/*.h)
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -g -O2 -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_$(bpf_arch) -Iebpf -c $< -o $@
$(OBJ)/gen/%.skel.h: $(OBJ)/gen/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $* > $@

include scripts/test.mk

.PHONY: deps install bundle clean help format
deps:
	$(Q)scripts/install-deps.sh

install: all loader
	$(Q)install -D -t $(DESTDIR)$(PREFIX)/bin $(B)/blksweep $(mpi)
	$(Q)install -Dm644 -t $(DESTDIR)$(PREFIX)/lib $(loader_lib) $(loader_so)
	$(Q)install -Dm644 -t $(DESTDIR)$(PREFIX)/include/blksweep $(loader_h)
	$(Q)mkdir -p $(DESTDIR)$(PREFIX)/share/blksweep
	$(Q)cp -r scripts $(DESTDIR)$(PREFIX)/share/blksweep/

bundle: $(B)/blksweep $(B)/unit_tests $(native) $(package) $(cuda_tests)
	$(Q)CXX='$(CXX)' NVCC='$(NVCC)' scripts/bundle.sh $(B) $(VERSION)

format:
	$(Q)$(FORMAT) -i $(filter-out ebpf/%,$(headers)) $(native_h) $(all_cpp) $(all_cu)

clean:
	$(Q)rm -rf build build-*/

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

.PHONY: objects
objects: $(objects)

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
