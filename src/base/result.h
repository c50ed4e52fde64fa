// Errors are values: Result<T> is a T or an Error, and dropping one is a compiler warning.
//
// Errors:    an Error says operation, object and cause in one line ("open /a: No such file or
//            directory"); only the layer that knows the object adds context. `exit_code` is what
//            the command line exits with when this error ends it.
// Threads:   values; no shared state.
// Source:    tl::expected (Debian libexpected-dev); std::expected is out of reach of clang 14.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace blksweep {

// The documented exit codes of the program (docs/cli in README).
enum class Exit : int {
  done = 0,
  failed = 1,
  usage = 2,
  incomplete = 3,
  unsupported = 77,
  interrupted = 130,
};

struct Error {
  std::string text;
  int sys_errno = 0;  // 0: not from a system call
  Exit exit_code = Exit::failed;

  const std::string& message() const { return text; }
};

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

// Builds "what: strerror(errnum)". Capture errno in the same statement as the failing call.
tl::unexpected<Error> sys_error(int errnum, const std::string& what);

// A failure that no errno describes; say what to do about it in the text.
tl::unexpected<Error> fail(std::string text, Exit code = Exit::failed);
inline tl::unexpected<Error> usage_error(std::string text) {
  return fail(std::move(text), Exit::usage);
}
inline tl::unexpected<Error> unsupported(std::string text) {
  return fail(std::move(text), Exit::unsupported);
}

#define BLKSWEEP_CAT_(a, b) a##b
#define BLKSWEEP_CAT(a, b) BLKSWEEP_CAT_(a, b)
#define BLKSWEEP_TRY_(tmp, lhs, expr)              \
  auto tmp = (expr);                               \
  if (!tmp) {                                      \
    return tl::unexpected(std::move(tmp).error()); \
  }                                                \
  lhs = *std::move(tmp)
// BLKSWEEP_TRY(Fd fd, open_readonly(path)): several statements, so braces are mandatory around it.
#define BLKSWEEP_TRY(lhs, expr) BLKSWEEP_TRY_(BLKSWEEP_CAT(try_, __COUNTER__), lhs, expr)
// For Result<void>.
#define BLKSWEEP_CHECK_(tmp, expr)                 \
  if (auto tmp = (expr); !tmp) {                   \
    return tl::unexpected(std::move(tmp).error()); \
  }
#define BLKSWEEP_CHECK(expr) BLKSWEEP_CHECK_(BLKSWEEP_CAT(check_, __COUNTER__), expr)

}  // namespace blksweep
