// Puts the queue settings of a disk back at its end: a loop device keeps them for whoever gets it
// next. Attached to its file or not makes no difference.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <system_error>

namespace blksweep {

class QueueGuard {
 public:
  explicit QueueGuard(const std::string& disk) : folder_("/sys/block/" + disk + "/queue") {
    before_ = settings(folder_);
  }
  QueueGuard(QueueGuard&& o) noexcept = default;
  QueueGuard& operator=(QueueGuard&&) = delete;
  ~QueueGuard() { restore(); }

  void restore() const {
    if (before_.empty()) {
      return;
    }
    write(folder_ + "/scheduler");          // the others are its to reset
    for (int pass = 0; pass < 2; ++pass) {  // and some reset others
      for (const auto& [path, text] : before_) {
        write(path);
      }
    }
  }

  // Writable files and their text; "none [bfq]" as it reads.
  static std::map<std::string, std::string> settings(const std::string& folder) {
    std::map<std::string, std::string> found;
    std::error_code gone;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, gone)) {
      struct stat st {};
      const std::string path = entry.path().string();
      if (::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IWUSR) != 0) {
        found[path] = text_of(path);
      }
    }
    return found;
  }

 private:
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void write(const std::string& path) const {
    const auto at = before_.find(path);
    if (at == before_.end() || text_of(path) == at->second) {
      return;
    }
    const std::size_t marked = at->second.find('[');
    const std::string value =
        marked == std::string::npos
            ? at->second
            : at->second.substr(marked + 1, at->second.find(']') - marked - 1);
    std::ofstream(path) << value;
  }

  std::string folder_;
  std::map<std::string, std::string> before_;
};

}  // namespace blksweep
