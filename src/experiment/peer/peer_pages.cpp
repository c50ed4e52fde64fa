#include "experiment/peer/peer_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "base/fd.h"
#include "os/process/process_tree.h"

namespace blksweep {

bool is_peer_data(const std::string& path, std::string_view root, const std::string& form) {
  return path.starts_with(std::string(root) + "/") ||
         (!form.empty() && path.starts_with(form + "/"));
}

void warm_program(pid_t pid, std::string_view root, const std::string& form) {
  std::vector<char> chunk(std::size_t{1} << 20);
  for (const std::string& path : mapped_files(pid)) {
    const Fd fd(is_peer_data(path, root, form)
                    ? -1
                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    while (fd && ::read(fd.get(), chunk.data(), chunk.size()) > 0) {
    }
  }
}

}  // namespace blksweep
