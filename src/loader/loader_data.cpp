#include "loader/loader_data.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "dataset/extent_check.h"
#include "loader/loader_options.h"
#include "loader/planned_epoch.h"
#include "os/mount/mounts_around.h"
#include "plan/plan.h"

namespace blksweep {
namespace {

template <class T>
std::uint64_t hash_of(std::span<const T> values, std::uint64_t seed) {
  return XXH3_64bits_withSeed(values.data(), values.size_bytes(), seed);
}

// Where files lie and when they were written does not count: copies of a data set are alike.
std::uint64_t identity_of(const Catalog& catalog) {
  std::uint64_t hash = hash_of(std::span(catalog.path_bytes), 0);
  hash = hash_of(catalog.path_end, hash);
  hash = hash_of(std::span(catalog.label_bytes), hash);
  hash = hash_of(catalog.label_end, hash);
  for (std::uint32_t i = 0; i < catalog.samples(); ++i) {
    const Sample s = catalog.sample(i);
    const std::array<std::uint64_t, 4> facts{s.file, s.offset, s.length, s.label};
    hash = hash_of(std::span<const std::uint64_t>(facts), hash);
  }
  return hash;
}

std::uint64_t places_of(const Catalog& catalog, Order order) {
  if (order == Order::random || order == Order::path || order == Order::recorded) {
    return 0;
  }
  // Chunks are cut from the order by address.
  const bool chunks = order == Order::chunked || order == Order::elevator;
  const auto samples = make_order(catalog, {.order = chunks ? Order::lba : order});
  return hash_of(std::span(std::as_const(samples)), 0);
}

// Inodes of the folders that the files' names lead through, sorted. Nothing when one is not there,
// or a name is a link: where it leads to may be changed without the file.
std::vector<std::uint64_t> folders_of(const Catalog& catalog) {
  std::set<std::string> paths;
  std::error_code ec;  // one that is not there is no link; its folder tells
  for (std::uint32_t file = 0; file < catalog.files.size(); ++file) {
    const std::string name = catalog.full_path(file);
    if (std::filesystem::is_symlink(name, ec)) {
      return {};
    }
    auto folder = std::filesystem::path(name).parent_path();
    while (paths.insert(folder.string()).second) {
      folder = folder.parent_path();
    }
  }
  std::vector<std::uint64_t> inodes;
  for (const std::string& path : paths) {
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) {
      return {};
    }
    inodes.push_back(st.st_ino);
  }
  std::ranges::sort(inodes);
  return inodes;
}

// Nothing where they cannot be read.
std::vector<std::uint64_t> mounts_of(const Catalog& catalog) {
  std::vector<std::uint64_t> ids;
  const auto around = mounts_around(std::string(catalog.root));
  for (const MountFacts& mount : around.value_or(std::vector<MountFacts>())) {
    ids.push_back(mount.id);
  }
  return ids;
}

}  // namespace

// A watch that lost events, or was refused, says nothing: then all are compared.
bool LoaderData::State::written() {
  const auto touched = watch_->touched();
  if (!touched) {
    watch_.reset();
    return true;
  }
  const auto has = [&](std::uint64_t inode) { return std::ranges::binary_search(*touched, inode); };
  return !touched->empty() && (has(0) || std::ranges::any_of(folders_, has) ||
                               std::ranges::any_of(source->catalog.files, has, &FileRecord::inode));
}

// Something over the files, or away from them.
bool LoaderData::State::mounted() {
  const std::vector<std::uint64_t> now = mounts_of(source->catalog);
  return now.empty() || now != mounts_;
}

void LoaderData::State::begin_look(const std::string& root) {
  const std::lock_guard lock(mutex_);
  as_catalogued_ = proven_ = false;
  if (Result<WriteWatch> watch = WriteWatch::begin(root)) {
    watch_ = *std::move(watch);
  } else {
    watch_.reset();
  }
}

void LoaderData::State::looked() {
  const std::lock_guard lock(mutex_);
  folders_ = folders_of(source->catalog);
  folder_times_ = std::make_shared<const FolderTimes>(FolderTimes::of(source->catalog));
  mounts_ = mounts_of(source->catalog);
  as_catalogued_ = watch_ && !folders_.empty() && !written();
}

std::shared_ptr<const FolderTimes> LoaderData::State::folder_times() {
  const std::lock_guard lock(mutex_);
  return folder_times_;
}

void LoaderData::State::proven() {
  const bool untouched_now = untouched();
  const std::lock_guard lock(mutex_);
  proven_ = untouched_now;
}

bool LoaderData::State::proven_since() {
  const bool untouched_now = untouched();
  const std::lock_guard lock(mutex_);
  return untouched_now && proven_;
}

bool LoaderData::State::untouched() {
  const std::lock_guard lock(mutex_);
  as_catalogued_ = as_catalogued_ && watch_ && !written() && !mounted();
  return as_catalogued_;
}

LoaderData::LoaderData(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoaderData::~LoaderData() = default;

std::shared_ptr<const LoaderData> LoaderData::open(const std::string& folder,
                                                   const std::string& catalog, std::string& error) {
  if (folder.empty() == catalog.empty()) {
    error = "one of data (a folder) and catalog (a file) is given";
    return nullptr;
  }
  auto state = std::make_unique<State>();
  if (catalog
          .empty()) {  // the scan of a folder looks at all files: they need not be compared again
    state->begin_look(folder);
  }
  Result<Source> source = open_source({folder, catalog});
  if (!source) {
    error = source.error().message();
    return nullptr;
  }
  state->identity = identity_of(source->catalog);
  state->source = std::make_shared<const Source>(*std::move(source));
  if (catalog.empty() && write_back(state->source->catalog)) {  // the device has them too
    state->looked();
  }
  error.clear();
  return std::shared_ptr<const LoaderData>(new LoaderData(std::move(state)));
}

std::shared_ptr<const LoaderData> LoaderDataOf::source(Source source) {
  auto state = std::make_unique<LoaderData::State>();
  state->identity = identity_of(source.catalog);
  state->source = std::make_shared<const Source>(std::move(source));
  return std::shared_ptr<const LoaderData>(new LoaderData(std::move(state)));
}

std::uint32_t LoaderData::samples() const {
  return static_cast<std::uint32_t>(state_->source->catalog.samples());
}
std::uint64_t LoaderData::bytes() const { return state_->source->catalog.bytes().n; }
std::string_view LoaderData::root() const { return state_->source->catalog.root; }
std::string LoaderData::path(std::uint32_t sample) const {
  const Catalog& catalog = state_->source->catalog;
  return sample < catalog.samples() ? catalog.full_path(catalog.sample(sample).file)
                                    : std::string();
}
std::uint64_t LoaderData::sample_bytes(std::uint32_t sample) const {
  const Catalog& catalog = state_->source->catalog;
  return sample < catalog.samples() ? catalog.sample(sample).length : 0;
}
std::uint32_t LoaderData::label_of(std::uint32_t sample) const {
  const Catalog& catalog = state_->source->catalog;
  return sample < catalog.samples() ? catalog.sample(sample).label : kNoLabelOfSample;
}
std::uint32_t LoaderData::labels() const {
  return static_cast<std::uint32_t>(state_->source->catalog.label_end.size());
}
std::string_view LoaderData::label(std::uint32_t label) const {
  return state_->source->catalog.label(label);
}
const std::vector<std::string>& LoaderData::warnings() const { return state_->source->warnings; }
std::uint64_t LoaderData::identity() const { return state_->identity; }
std::uint32_t LoaderData::granule(const LoaderOptions& options) const {
  const Result<LoaderSettings> settings = settings_of(options);
  return settings ? read_align(*state_->source, *settings) : 0;
}
std::uint64_t LoaderData::places(const LoaderOptions& options) const {
  const Result<LoaderSettings> settings = settings_of(options);
  return settings ? places_of(state_->source->catalog, settings->order) : 0;
}

}  // namespace blksweep
