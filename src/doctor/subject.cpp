#include "doctor/subject.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "dataset/placement.h"
#include "os/file/open_regular.h"
#include "os/mount/foreign_mounts.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 100'000;

Fd open_quietly(const std::string& path) {
  return Fd(open_quietly_at(AT_FDCWD, path.c_str(), O_NOFOLLOW, Links::anywhere));
}

// The first file with data that can be opened, else an empty one.
void find_file(Subject& s, const std::string& root) {
  if (const Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); !fd) {
    s.no_file = sys_error(errno, "open directory " + root).value().message();
    return;
  }
  std::error_code ec;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator at(root, kOptions, ec);
  std::string unreadable;
  std::size_t seen = 0;
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    if (++seen > kMostEntries) {
      s.searched_all = false;
      break;
    }
    std::error_code ignored;
    if (at->is_symlink(ignored) || !at->is_regular_file(ignored)) {
      continue;
    }
    const Fd fd = open_quietly(at->path());
    if (!fd) {
      unreadable = at->path().string() + ": " + std::strerror(errno);
      continue;
    }
    s.file = at->path().string();
    if (at->file_size(ignored) > 0) {
      return;
    }
  }
  s.no_file = unreadable.empty() ? "no files below " + root : unreadable;
}

// Extents of the file as the scan takes them, and what the scan warns of.
void map_file(Subject& s, CatalogParts& parts) {
  const Fd root(::open(parts.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ScanReport report;
  Result<Placement> found = Placement::find(parts.root, root.get(), parts, report);
  if (!found) {
    s.scan_warnings.push_back(found.error().message());
    return;
  }
  Placement& placement = *found;
  s.filesystem = report.filesystem;
  struct stat st {};
  const Fd fd = open_quietly(s.file);
  if (!fd || ::fstat(fd.get(), &st) != 0) {
    s.scan_warnings = std::move(report.warnings);
    return;
  }
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > 0) {
    s.has_extents = ExtentReader().read(fd.get()) == 0;
    placement.append_extents(fd.get(), 0, size, false);
    placement.report_refusals(report);
    s.has_address = std::ranges::any_of(placement.extents(), &ExtentRecord::has_address);
  }
  s.scan_warnings = std::move(report.warnings);
  parts.add_file({st.st_ino, size, 0, 0, 0, 0},
                 fs::path(s.file).lexically_relative(parts.root).string());
  parts.extents = std::move(placement.extents());
  parts.whole.push_back({0, kNoLabel});
}

void look_at_folder(Subject& s, const fs::path& folder) {
  if (s.file.empty()) {
    find_file(s, folder.string());
  }
  auto parts = std::make_shared<CatalogParts>();
  parts->root = folder.string();
  map_file(s, *parts);
  s.source.catalog = parts->view();
  s.source.owner = parts;
  examine_source(s.source);
}

}  // namespace

Result<Subject> look_at(const DoctorSettings& settings) {
  BLKSWEEP_CHECK(refuse_foreign_mounts(settings.path));
  struct stat st {};
  if (::stat(settings.path.c_str(), &st) != 0) {
    return sys_error(errno, "doctor " + settings.path);
  }
  Subject s;
  s.path = settings.path;
  s.figures = settings.figures;
  s.is_device = S_ISBLK(st.st_mode);
  if (s.is_device) {
    BLKSWEEP_TRY(s.source.device, block_device_of_dev(st.st_rdev));
    return s;
  }
  if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
    return fail(fmt::format("doctor {}: neither a folder, a file nor a block device", s.path));
  }
  std::error_code ec;
  const fs::path real = fs::canonical(settings.path, ec);
  if (ec) {
    return sys_error(ec.value(), "doctor " + settings.path);
  }
  if (S_ISREG(st.st_mode)) {
    if (!open_quietly(real)) {
      return sys_error(errno, "doctor " + settings.path);
    }
    s.file = real.string();
    s.is_file = true;
  }
  look_at_folder(s, S_ISREG(st.st_mode) ? real.parent_path() : real);
  return s;
}

}  // namespace blksweep
