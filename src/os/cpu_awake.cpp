#include "os/cpu_awake.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace blksweep {

Result<CpuAwake> CpuAwake::hold(const std::string& file) {
  constexpr std::int32_t kLatencyUs = 0;
  Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), &kLatencyUs, sizeof kLatencyUs) != sizeof kLatencyUs) {
    return unsupported(
        fmt::format("--awake: {}: {}: CPUs cannot be kept from idle states here; "
                    "leave the option away",
                    file, std::strerror(errno)));
  }
  return CpuAwake(std::move(fd));
}

}  // namespace blksweep
