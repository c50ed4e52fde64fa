#include "dataset/folder_times.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string_view>
#include <unordered_map>

#include "base/fd.h"
#include "os/file.h"

namespace blksweep {
namespace {

struct Folder {
  std::string_view path;     // of the catalog
  std::uint32_t parent = 0;  // index; the root is its own
};

class FolderList {
 public:
  explicit FolderList(const Catalog& catalog) : list_{{}} {
    std::string_view last;
    for (std::uint32_t file = 0; file < catalog.files.size(); ++file) {
      const std::string_view folder = holder_of(catalog.path(file));
      if (folder != last) {
        add(folder);
        last = folder;
      }
    }
  }
  std::vector<Folder> take() { return std::move(list_); }

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

}  // namespace

FolderTimes FolderTimes::of(const Catalog& catalog) {
  FolderTimes times;
  const Fd root(::open(std::string(catalog.root).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const Folder& folder : FolderList(catalog).take()) {
    struct statx st {};
    const std::string path(folder.path);
    const bool asked = ::statx(root.get(), path.c_str(), AT_EMPTY_PATH,
                               STATX_INO | STATX_MTIME | STATX_CTIME, &st) == 0;
    times.folders_.push_back(asked ? Times{st.stx_ino, to_ns(st.stx_ctime), to_ns(st.stx_mtime)}
                                   : Times{});
  }
  return times;
}

std::string FolderTimes::exchanged(const Catalog& catalog) const {
  const std::vector<Folder> list = FolderList(catalog).take();
  const FolderTimes now = of(catalog);
  for (std::size_t i = 1; i < list.size() && list.size() == folders_.size(); ++i) {
    const Times &was = folders_[i], &is = now.folders_[i];
    const std::uint32_t parent = list[i].parent;
    const bool touched = was.ctime_ns != is.ctime_ns || was.inode != is.inode || is.inode == 0;
    if (touched && folders_[parent].mtime_ns != now.folders_[parent].mtime_ns) {
      return std::string(list[i].path);
    }
  }
  return {};
}

}  // namespace blksweep
