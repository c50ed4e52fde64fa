// PrivateFolder: a new folder of this user alone (0700), removed with everything in it.
//
// Place:   `parent`, else $TMPDIR, else /tmp.
// Errors:  one line with the name. Removing follows no links and reports nothing.
// Threads: one owner.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace blksweep {

class PrivateFolder {
 public:
  static Result<PrivateFolder> make(const std::string& purpose, const std::string& parent = "");
  PrivateFolder(PrivateFolder&& o) noexcept : path_(std::exchange(o.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&& o) noexcept {
    std::swap(path_, o.path_);
    return *this;
  }
  ~PrivateFolder();
  const std::string& path() const { return path_; }

 private:
  PrivateFolder() = default;
  std::string path_;
};

}  // namespace blksweep
