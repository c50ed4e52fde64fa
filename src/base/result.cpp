#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace blksweep {

tl::unexpected<Error> sys_error(int errnum, const std::string& what) {
  const char* way_out = errnum == EMFILE ? ": RLIMIT_NOFILE leaves none, raise it (ulimit -n)" : "";
  return tl::unexpected(Error{what + ": " + std::strerror(errnum) + way_out, errnum, Exit::failed});
}

tl::unexpected<Error> fail(std::string text, Exit code) {
  return tl::unexpected(Error{std::move(text), 0, code});
}

}  // namespace blksweep
