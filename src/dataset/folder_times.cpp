#include "dataset/folder_times.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string_view>
#include <unordered_map>

#include "base/fd.h"
#include "os/file/file.h"

namespace blksweep {

// Those of a catalog, in an order that its paths alone decide.
class FolderTimes::Folders {
 public:
  struct Folder {
    std::string_view path;     // of the catalog
    std::uint32_t parent = 0;  // index; the root is its own
  };

  explicit Folders(const Catalog& catalog) : list_{{}} {
    std::string_view last;
    for (std::uint32_t file = 0; file < catalog.files.size(); ++file) {
      const std::string_view folder = holder_of(catalog.path(file));
      if (folder != last) {
        add(folder);
        last = folder;
      }
    }
  }
  const std::vector<Folder>& list() const { return list_; }

 private:
  static std::string_view holder_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }

  std::uint32_t add(std::string_view folder) {
    if (folder.empty()) {
      return 0;
    }
    if (const auto known = index_.find(folder); known != index_.end()) {
      return known->second;
    }
    const std::uint32_t parent = add(holder_of(folder));
    list_.push_back({folder, parent});
    return index_[folder] = static_cast<std::uint32_t>(list_.size() - 1);
  }

  std::vector<Folder> list_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
};

std::vector<FolderTimes::Times> FolderTimes::times_of(const Catalog& catalog,
                                                      const Folders& folders) {
  std::vector<Times> times;
  const Fd root(::open(std::string(catalog.root).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const Folders::Folder& folder : folders.list()) {
    struct statx st {};
    const std::string path(folder.path);
    const bool asked = ::statx(root.get(), path.c_str(), AT_EMPTY_PATH,
                               STATX_INO | STATX_MTIME | STATX_CTIME, &st) == 0;
    times.push_back(asked ? Times{st.stx_ino, to_ns(st.stx_ctime), to_ns(st.stx_mtime)} : Times{});
  }
  return times;
}

FolderTimes FolderTimes::of(const Catalog& catalog) {
  FolderTimes times;
  times.folders_ = times_of(catalog, Folders(catalog));
  return times;
}

std::string FolderTimes::exchanged(const Catalog& catalog) const {
  const Folders folders(catalog);
  const auto& list = folders.list();
  const std::vector<Times> now = times_of(catalog, folders);
  for (std::size_t i = 1; i < list.size() && list.size() == folders_.size(); ++i) {
    const Times &was = folders_[i], &is = now[i];
    const std::uint32_t parent = list[i].parent;
    const bool touched = was.ctime_ns != is.ctime_ns || was.inode != is.inode || is.inode == 0;
    if (touched && folders_[parent].mtime_ns != now[parent].mtime_ns) {
      return std::string(list[i].path);
    }
  }
  return {};
}

}  // namespace blksweep
