// An error of the kernel that refused BPF `what`, with what libbpf said of it and the way out: who
// may, where it is a matter of rights, what interrupted it, and else `otherwise`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace blksweep {

tl::unexpected<Error> refused_by_bpf(const std::string& what, int errnum,
                                     std::string_view libbpf_words, std::string_view otherwise);

}  // namespace blksweep
