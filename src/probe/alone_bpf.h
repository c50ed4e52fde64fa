// Whether the kernel takes one program of an object by itself. Private to src/probe.
#pragma once

#include <bpf/libbpf.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "probe/libbpf_words.h"

namespace blksweep {

inline bool is_chosen(const bpf_object* object, const char* program) {
  return bpf_program__autoload(bpf_object__find_program_by_name(object, program));
}

inline void leave_out(const bpf_object* object, const char* program) {
  bpf_program__set_autoload(bpf_object__find_program_by_name(object, program), false);
}

// What the verifier takes from nobody: a program that does not end. For tests. A program that was
// left out already is not touched. It stays as long as it was: libbpf 1.1 leaks its candidates for
// relocations where one lies behind the end.
inline void spoil(const bpf_object* object, const char* program) {
  if (!is_chosen(object, program)) {
    return;
  }
  bpf_program* const spoilt = bpf_object__find_program_by_name(object, program);
  std::vector<bpf_insn> code(bpf_program__insns(spoilt),
                             bpf_program__insns(spoilt) + bpf_program__insn_cnt(spoilt));
  code.back() = {};
  code.back().code = BPF_ALU64 | BPF_MOV | BPF_K;
  bpf_program__set_insns(spoilt, code.data(), code.size());
}

// Why not; "" when it does. `opened`: a skeleton that is set up and not yet loaded; it is used up.
template <class Skeleton, class Deleter>
std::string refusal_alone(const std::unique_ptr<Skeleton, Deleter>& opened, int (*load)(Skeleton*),
                          const char* program) {
  LibbpfWords::forget();
  bpf_program* other = nullptr;
  bpf_object__for_each_program(other, opened->obj) {
    if (std::string_view(bpf_program__name(other)) != program) {
      bpf_program__set_autoload(other, false);
    }
  }
  if (const int err = load(opened.get()); err != 0) {
    const std::string& words = LibbpfWords::last();
    return std::strerror(-err) + (words.empty() ? "" : " (" + words + ")");
  }
  return {};
}

}  // namespace blksweep
