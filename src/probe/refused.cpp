#include "probe/refused.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace blksweep {

tl::unexpected<Error> refused_by_bpf(const std::string& what, int errnum,
                                     std::string_view libbpf_words, std::string_view otherwise) {
  const std::string cause = sys_error(errnum, what).value().message();
  if ((errnum == EPERM || errnum == EACCES) && ::geteuid() != 0) {
    return unsupported(cause + ": run as root (needs CAP_BPF and CAP_PERFMON)");
  }
  if (errnum == EPERM) {
    otherwise =
        "needs CAP_BPF and CAP_PERFMON, which a container or kernel lockdown may withhold: run on "
        "the host";
  }
  if (errnum == EAGAIN || errnum == EINTR) {  // EAGAIN: of the verifier
    otherwise = "signals interrupted it again and again: try again without what sends them";
  }
  const std::string detail = libbpf_words.empty() ? "" : fmt::format(" ({})", libbpf_words);
  return unsupported(fmt::format("{}{}: {}", cause, detail, otherwise));
}

}  // namespace blksweep
