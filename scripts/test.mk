# Tests, benchmarks, fuzzers and checks; included by the Makefile.
#
# tests/unit/*_test.cpp   no privileges, under 5 s together      -> $(B)/unit_tests
# tests/root/*_test.cpp   loop devices, BPF, drop_caches         -> $(B)/root_tests (skip without root)
# tests/cli/*.sh          the program as a user calls it; exit 0 passed, 77 skipped
# tests/fuzz/*_fuzz.cpp   libFuzzer targets
# tests/bench/*.cpp *.sh  measurements, never assertions
support   := $(wildcard tests/support/*.cpp)
unit_src  := $(wildcard tests/unit/*_test.cpp) $(support)
root_src  := $(wildcard tests/root/*_test.cpp) $(support)

$(B)/tests/%.o: override CPPFLAGS += -Itests

$(B)/unit_tests: $(unit_src:%.cpp=$(B)/%.o) $(lib)
$(B)/root_tests: $(root_src:%.cpp=$(B)/%.o) $(lib)
$(B)/unit_tests $(B)/root_tests:
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) $^ $(LDLIBS) -lgtest -lgtest_main -o $@

.PHONY: unit
unit: $(B)/unit_tests
	$(Q)$(B)/unit_tests --gtest_brief=1
