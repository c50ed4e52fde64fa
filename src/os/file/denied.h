// The words for what the kernel denied, by its errno and by who we are.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>

namespace blksweep {

// `needs`: who may, such as "changing it needs root", which is no answer for root.
inline std::string denied_words(int errnum, const std::string& needs) {
  if (::geteuid() != 0) {
    return needs;
  }
  return errnum == EROFS ? "it is mounted read-only, for root too: run on the host"
                         : "root is refused it here (container, device cgroup): run on the host";
}

}  // namespace blksweep
