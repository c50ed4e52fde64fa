#include "base/result.h"

#include <cstring>

namespace blksweep {

tl::unexpected<Error> sys_error(int errnum, const std::string& what) {
  return tl::unexpected(Error{what + ": " + std::strerror(errnum), errnum, Exit::failed});
}

tl::unexpected<Error> fail(std::string text, Exit code) {
  return tl::unexpected(Error{std::move(text), 0, code});
}

}  // namespace blksweep
