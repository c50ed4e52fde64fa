#include "cli/answer.h"

#include <cerrno>
#include <cstdio>

namespace blksweep {
namespace {

int failure = 0;  // errno of the first write that failed

}  // namespace

void say_text(std::string_view text) {
  const std::string safe = printable(text, /*newlines=*/true);
  if (failure == 0 && std::fwrite(safe.data(), 1, safe.size(), stdout) != safe.size()) {
    failure = errno;
  }
}

void say_json(const Json& document) { say_text(json_text(document) + "\n"); }

void flush_answer() {
  if (std::fflush(stdout) != 0 && failure == 0) {
    failure = errno;
  }
}

bool answer_lost() { return failure != 0; }

Result<> finish_answer() {
  flush_answer();
  return failure == 0 ? Result<>() : Result<>(sys_error(failure, "write to standard output"));
}

}  // namespace blksweep
