#include "loader/address_proof.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"

namespace blksweep {
namespace {

constexpr const char* kWatched = "watched";
constexpr const char* kCompared = "compared";
constexpr const char* kChanged = "changed";

void mark(AddressFindings& found, const std::string& reason) {
  found.wrong.push_back(reason);
  found.state = kChanged;
}

std::string how_many(std::size_t some, const Catalog& catalog) {
  return fmt::format("{} of {} files", format_count(some), format_count(catalog.files.size()));
}

// Files of the set among the inodes.
std::vector<std::uint32_t> files_of(const Catalog& catalog,
                                    const std::vector<std::uint64_t>& inodes) {
  std::vector<std::uint32_t> files;
  std::uint32_t f = 0;
  for (const auto& file : catalog.files) {
    if (std::ranges::binary_search(inodes, file.inode)) {
      files.push_back(f);
    }
    ++f;
  }
  return files;
}

// Where no file has an address: that they are the same files.
Result<ExtentCheck> compare_files(const Catalog& catalog) {
  BLKSWEEP_TRY(CatalogCheck check, check_catalog(catalog, Inodes::may_change));
  ExtentCheck found;
  found.files = check.files;
  found.changed = std::move(check.changed);
  return found;
}

class Stopwatch {
 public:
  explicit Stopwatch(std::int64_t& sum) : sum_(sum), begin_(now_ns()) {}
  ~Stopwatch() { sum_ += now_ns() - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::int64_t& sum_;
  std::int64_t begin_;
};

}  // namespace

AddressProof::AddressProof(const Source& source, const LoaderSettings& settings)
    : any_(address_refusal(source.catalog).empty() && source.catalog.has_bytes()),
      reads_device_(any_ && settings.merge == Merge::device && source.catalog.device_readable) {}

Result<ExtentCheck> AddressProof::before(const Source& source) {
  if (const std::string other = other_filesystem(source); !other.empty()) {
    return fail(other + " (what was measured is kept; nothing more is read)");
  }
  const Stopwatch clock(ns_);
  if (!any_) {
    return compare_files(source.catalog);
  }
  if (reads_device_) {
    Result<WriteWatch> watch = WriteWatch::begin(std::string(source.catalog.root));
    if (watch) {
      watch_ = *std::move(watch);
    } else {
      unwatched_ = watch.error().message();
    }
  }
  folders_ = std::make_shared<const FolderTimes>(FolderTimes::of(source.catalog));
  BLKSWEEP_TRY(ExtentCheck check, check_extents(source.catalog));
  // After the look, not before: pages that a mover left dirty are in the right place by now, and
  // the device has them when the first read comes.
  BLKSWEEP_CHECK(write_back(source.catalog));
  return check;
}

AddressFindings AddressProof::after(const Source& source) {
  AddressFindings found;
  if (const std::string other = other_filesystem(source); !other.empty()) {
    mark(found, other);
    return found;
  }
  if (any_) {
    found.layout = layout_hash(source.catalog);
    found.state = kCompared;
  }
  {
    const Stopwatch clock(ns_);
    if (const Result<> looked = look(source, found); !looked) {
      mark(found, "files could not be compared after the run: " + looked.error().message());
    }
  }
  found.ns = ns_;
  return found;
}

Result<> AddressProof::look(const Source& source, AddressFindings& found) {
  const Catalog& catalog = source.catalog;
  BLKSWEEP_TRY(const ExtentCheck now,
               any_ ? check_extents(catalog, watch_ ? AskWriters::yes : AskWriters::no)
                    : compare_files(catalog));
  const std::string writers = reads_device_ ? open_for_writing(source, now, found) : "";
  if (!now.changed.empty()) {
    mark(found, fmt::format("{} changed during the run: {}", how_many(now.changed.size(), catalog),
                            name_first(now.changed)));
  }
  if (!now.moved.empty()) {
    mark(found, fmt::format("{} moved on the device during the run: {}",
                            how_many(now.moved.size(), catalog), name_first(now.moved)));
  }
  if (!writers.empty()) {
    mark(found, writers);
  }
  if (const std::string folder = folders_ ? folders_->exchanged(catalog) : ""; !folder.empty()) {
    mark(found, fmt::format("{}/{} was renamed during the run, so another folder may have been "
                            "read in its place",
                            catalog.root, folder));
  }
  return {};
}

// Who could have moved blocks away and back; empty: nobody, or it is not known.
std::string AddressProof::open_for_writing(const Source& source, const ExtentCheck& now,
                                           AddressFindings& found) {
  const auto unknown = [&found](const std::string& why) {
    found.unsure.push_back(
        "addresses were compared before and after the run, but not watched in between: " + why +
        "; blocks that were moved away and back while they were read would not be noticed");
    return std::string();
  };
  if (!watch_) {
    return unknown(unwatched_);
  }
  const auto touched = watch_->touched();
  std::vector<std::uint32_t> files = now.held;
  if (touched) {
    const std::vector<std::uint32_t> more = files_of(source.catalog, *touched);
    files.insert(files.end(), more.begin(), more.end());
    std::ranges::sort(files);
    files.erase(std::unique(files.begin(), files.end()), files.end());
  }
  if (!files.empty()) {
    return fmt::format(
        "{} were written or open for writing during the run (first: {}), so what the device gave "
        "need not be theirs",
        how_many(files.size(), source.catalog), source.catalog.path(files.front()));
  }
  if (!touched || now.unasked > 0) {
    return unknown(!touched ? touched.error().message() : "leases are refused on this filesystem");
  }
  found.state = kWatched;
  return {};
}

std::string layout_hash(const Catalog& c) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for (ExtentRecord e : c.extents) {
    e.flags = e.kind();
    XXH3_64bits_update(state.get(), &e, sizeof e);
  }
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

std::string other_filesystem(const Source& source) {
  const auto now = filesystem_of(std::string(source.catalog.root));
  return !now || *now == source.catalog.device
             ? ""
             : fmt::format(
                   "{}: another filesystem is mounted there than at the beginning (device {}:{} -> "
                   "{}:{})",
                   source.catalog.root, major(source.catalog.device), minor(source.catalog.device),
                   major(*now), minor(*now));
}

std::string moved_text(const Source& source, const ExtentCheck& check) {
  return fmt::format(
      "{} lie elsewhere on the device than when they were catalogued: the catalog was made anew "
      "before this run, and runs before it read another layout ({})",
      how_many(check.moved.size(), source.catalog), name_first(check.moved));
}

std::string other_files(const Source& then, const Source& now) {
  const auto same = [](const FileRecord& a, const FileRecord& b) {
    return a.inode == b.inode && a.size == b.size && a.mtime_ns == b.mtime_ns &&
           a.ctime_ns == b.ctime_ns;
  };
  const bool equal = std::ranges::equal(then.catalog.files, now.catalog.files, same) &&
                     then.catalog.path_bytes == now.catalog.path_bytes;
  return equal ? ""
               : fmt::format(
                     "{}: files changed while the catalog was made anew (what was measured "
                     "is kept; the same command again begins with the files as they are "
                     "then)",
                     then.origin.data);
}

std::string stale_catalog(const Source& source, const ExtentCheck& check) {
  const bool by_name = !source.origin.catalog.empty();
  if (check.clean() || (check.changed.empty() && !by_name)) {
    return {};
  }
  const bool changed = !check.changed.empty();
  const auto& files = changed ? check.changed : check.moved;
  const std::string what = fmt::format(
      "{} {}: {}", how_many(files.size(), source.catalog),
      changed ? "changed since the scan" : "lie elsewhere on the device than at the scan",
      name_first(files));
  return by_name
             ? fmt::format("{}: {} (scan again: blksweep catalog {} -o {})", source.origin.catalog,
                           what, source.catalog.root, source.origin.catalog)
             : fmt::format(
                   "{}: {} (what was measured is kept; the same command again begins "
                   "with the files as they are then)",
                   source.origin.data, what);
}

}  // namespace blksweep
