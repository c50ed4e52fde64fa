#include "loader/source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "dataset/catalog_check.h"
#include "dataset/catalog_file.h"
#include "dataset/extent_check.h"
#include "dataset/scan.h"
#include "os/file/direct_io.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

// Fewer samples than there are is another epoch.
void warn_of_left_out(const ScanReport& report, std::vector<std::string>& warnings) {
  for (const Oddity kind : {Oddity::unreadable, Oddity::vanished, Oddity::dangling_symlink,
                            Oddity::too_large, Oddity::damaged_tar, Oddity::outside_link}) {
    if (const OddityCount& odd = report.of(kind); odd.count > 0) {
      warnings.push_back(fmt::format("{} of the folder's entries: {}, the first: {}", odd.count,
                                     explain(kind), odd.named.front()));
    }
  }
}

constexpr std::size_t kProbedFiles = 16;
constexpr std::size_t kNamedChanges = 3;

// One run reads one disk: its statistics, its ceiling and whether it was cold are of that disk
// alone. A btrfs subvolume or a layer of an overlay has another number and may well be on the same
// disk.
Result<> refuse_other_disks(const std::string& root, const std::vector<std::string>& elsewhere) {
  const auto own = block_device_of(root);
  for (const std::string& path : elsewhere) {
    const auto other = block_device_of(root + "/" + path);
    if (own && other && own->whole_disk != other->whole_disk) {
      return fail(
          fmt::format("{}/{} is on {} and {} on {}: a run reads one disk; give what is mounted "
                      "there a run of its own, or leave it out",
                      root, path, other->node, root, own->node));
    }
  }
  return {};
}

Result<Source> scan_source(const std::string& dir, bool follow_links) {
  auto parts = std::make_shared<CatalogParts>();
  ScanReport report;
  BLKSWEEP_TRY(*parts, scan(dir, ScanSettings{.follow_links = follow_links}, report));
  Source s;
  s.catalog = parts->view();
  s.owner = std::move(parts);
  s.warnings = std::move(report.warnings);
  warn_of_left_out(report, s.warnings);
  BLKSWEEP_CHECK(
      refuse_other_disks(std::string(s.catalog.root), report.of(Oddity::other_device).named));
  return s;
}

Result<> refuse_changes(const CatalogCheck& check, const std::string& path,
                        const Catalog& catalog) {
  if (check.clean()) {
    return {};
  }
  std::string text =
      fmt::format("{}: {} of {} files changed since the scan", path,
                  format_count(check.changed.size()), format_count(catalog.files.size()));
  for (std::size_t i = 0; i < std::min(kNamedChanges, check.changed.size()); ++i) {
    text += (i == 0 ? ": " : "; ") + check.changed[i].text;
  }
  text += check.changed.size() > kNamedChanges ? "; ..." : "";
  return fail(fmt::format("{} (scan again: blksweep catalog {} -o {})", text, catalog.root, path));
}

Result<Source> load_source(const std::string& path, bool follow_links) {
  BLKSWEEP_TRY(CatalogFile file, CatalogFile::open(path));
  if (file.view().links_followed && !follow_links) {
    return fail(path + " was made with --follow-links: a run needs it, too, to follow them");
  }
  auto owner = std::make_shared<CatalogFile>(std::move(file));
  BLKSWEEP_TRY(const CatalogCheck check, check_catalog(owner->view()));
  BLKSWEEP_CHECK(refuse_changes(check, path, owner->view()));
  BLKSWEEP_CHECK(refuse_other_disks(std::string(owner->view().root), check.elsewhere));
  Source s;
  s.catalog = owner->view();
  s.owner = std::move(owner);
  return s;
}

// Why the scan did not take the filesystem's addresses for bytes that may be read.
std::string unreadable_by_scan(const Source& s) {
  const std::string filesystem = s.mount ? s.mount->filesystem : "this filesystem";
  const bool plain = filesystem == "ext4" || filesystem == "xfs";
  return plain ? filesystem + " is mounted with data=journal, so the device may hold old bytes"
               : "the bytes of files on " + filesystem + " are not read from the device";
}

// Filesystem and device are found again by path: their numbers may have changed since the catalog
// was written.
void find_device(Source& s) {
  const std::string root(s.catalog.root);
  s.catalog.device = filesystem_of(root).value_or(s.catalog.device);
  if (auto mount = mount_of(root)) {
    s.mount = *std::move(mount);
  }
  auto device = block_device_of(root);
  if (!device) {
    s.catalog.device_readable = false;
    s.device_refused = device.error().message();
    s.warnings.push_back(s.device_refused +
                         "; no block statistics, probe or device reads in this run");
    return;
  }
  s.device = *std::move(device);
  s.catalog.partition_start = s.device->partition_start;
  if (!s.catalog.device_readable) {
    s.device_refused = unreadable_by_scan(s);
    return;
  }
  const Fd fd(::open(s.device->node.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!fd) {
    s.catalog.device_readable = false;
    s.device_refused = sys_error(errno, "open " + s.device->node).value().message();
  }
}

}  // namespace

std::optional<std::uint64_t> filesystem_of(const std::string& root) {
  struct stat st {};
  return ::stat(root.c_str(), &st) == 0 ? std::optional<std::uint64_t>(st.st_dev) : std::nullopt;
}

namespace {

// Whether direct reads are possible, and their granule, by asking some of the files.
void examine_alignment(Source& s) {
  std::size_t asked = 0;
  std::uint32_t align = s.device ? s.device->logical_block : kSectorBytes;
  for (std::uint32_t f = 0; f < s.catalog.files.size() && asked < kProbedFiles; ++f) {
    if (s.catalog.files[f].size == 0) {
      continue;
    }
    ++asked;
    if (const auto direct = direct_io_of(s.catalog.full_path(f))) {
      s.direct_possible = s.direct_possible && direct->possible;
      align = std::max(align, direct->align);
    }
  }
  s.direct_align = align;
  if (!s.direct_possible) {
    s.warnings.push_back(
        fmt::format("{}: O_DIRECT is refused; reads go through the page cache", s.catalog.root));
  }
}

std::vector<std::uint32_t> some_files(const Catalog& c) {
  const std::size_t count = std::min(c.files.size(), kProbedFiles);
  std::vector<std::uint32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint32_t>(i * c.files.size() / count);
  }
  return out;
}

// A plan reads nothing; that the files lie where it says is seen by some of them. An error: why
// they do not; there may be none, or a folder of that name on another disk.
Result<> look_at_files(Source& s) {
  const Catalog& c = s.catalog;
  const std::vector<std::uint32_t> some = some_files(c);
  if (std::ranges::none_of(
          some, [&](std::uint32_t f) { return ::access(c.full_path(f).c_str(), F_OK) == 0; })) {
    return fail(fmt::format("{}: the files of the catalog are not here", c.root));
  }
  BLKSWEEP_TRY(const ExtentCheck check, check_extents(c, AskWriters::no, some));
  if (!check.clean()) {
    const auto& first = check.changed.empty() ? check.moved : check.changed;
    s.warnings.push_back(fmt::format(
        "of {} files that were looked at, {} differ from the catalog, {} lie elsewhere on the "
        "device, and {} have no address here (btrfs: to root alone), so that a run may have "
        "another plan: {} (scan again: blksweep catalog {} -o FILE)",
        some.size(), check.changed.size(), check.moved.size() - check.unplaced, check.unplaced,
        name_first(first), c.root));
  }
  return check.changed.size() < some.size()
             ? Result<>()
             : fail(fmt::format("{}: other files than those of the catalog", c.root));
}

}  // namespace

Source planning_source(const Catalog& catalog) {
  Source s;
  s.catalog = catalog;
  s.direct_align = kSectorBytes;
  if (const Result<> here = look_at_files(s); !here) {
    s.device_refused = here.error().message();
    return s;
  }
  if (auto device = block_device_of(std::string(catalog.root))) {
    s.device = *std::move(device);
  } else {
    s.device_refused = device.error().message();
  }
  examine_alignment(s);
  return s;
}

void examine_source(Source& source) {
  find_device(source);
  examine_alignment(source);
}

Result<Source> open_source(const SourceSettings& settings) {
  BLKSWEEP_TRY(Source s, settings.catalog.empty()
                             ? scan_source(settings.data, settings.follow_links)
                             : load_source(settings.catalog, settings.follow_links));
  s.origin = settings;
  examine_source(s);
  return s;
}

Source part_of(const Source& whole, ReadShare share) {
  Source part = whole;
  part.catalog.share = share;
  return part;
}

// With a tail of the data set's own bytes: empty files have no address, and need none.
std::string address_refusal(const Catalog& catalog) {
  const bool any = std::ranges::any_of(
      catalog.extents, [](const ExtentRecord& e) { return e.length > 0 && e.has_address(); });
  return any || !catalog.has_bytes()
             ? ""
             : fmt::format("no file of {} has a device address", catalog.root);
}

std::string poll_refusal(const Source& source) {
  if (!source.device) {
    return source.catalog.device_readable ? "" : "no disk is known that could be polled";
  }
  const std::string file = "/sys/block/" + source.device->disk + "/queue/io_poll";
  if (first_line(file) == "1") {
    return source.direct_possible ? ""
                                  : "O_DIRECT is refused, and only direct reads are polled for";
  }
  return fmt::format(
      "{} does not poll ({} is not 1): its driver needs poll queues, such as nvme.poll_queues=2 at "
      "boot",
      source.device->disk, file);
}

std::string device_refusal(const Source& source) {
  if (!source.catalog.device_readable) {
    return source.device_refused.empty() ? "the device is not read here" : source.device_refused;
  }
  const auto& extents = source.catalog.extents;
  return !source.catalog.has_bytes() || std::ranges::any_of(extents, &ExtentRecord::on_device)
             ? ""
             : "all extents are inline, encoded, unwritten or unaligned";
}

}  // namespace blksweep
