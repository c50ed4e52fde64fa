#include "dataset/pack_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>

#include "dataset/pack_index.h"
#include "dataset/tar.h"
#include "dataset/target_folder.h"
#include "os/file/file.h"
#include "os/file/trust.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMost = 0666;

Result<> make_folders(const std::string& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  return ec ? Result<>(sys_error(ec.value(), "make directory " + path)) : Result<>();
}

Result<Fd> create_file(const std::string& path, mode_t mode) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & kMost));
  if (!fd) {
    return sys_error(errno, "create " + path);
  }
  return fd;
}

Result<std::vector<std::string>> names_in(const std::string& directory) {
  std::error_code ec;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory, ec)) {
    names.push_back(entry.path().filename());
  }
  if (ec) {
    return sys_error(ec.value(), "read directory " + directory);
  }
  std::ranges::sort(names);
  return names;
}

// What somebody has put under that name meanwhile is theirs.
Result<> move_to_free_name(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return {};
  }
  int error = errno;
  if (struct stat st{}; error == EINVAL || error == ENOSYS) {  // not on every filesystem (NFS)
    error = ::lstat(to.c_str(), &st) == 0             ? EEXIST
            : ::rename(from.c_str(), to.c_str()) == 0 ? 0
                                                      : errno;
  }
  return error == 0 ? Result<>() : Result<>(sys_error(error, "rename " + from + " to " + to));
}

}  // namespace

Result<PackOutput> PackOutput::begin(const PackSettings& s) {
  std::error_code ec;
  const bool there = fs::exists(s.directory, ec);
  BLKSWEEP_CHECK(make_folder_of_own(s.directory));
  BLKSWEEP_CHECK(refuse_cut_off_pack(s.directory));
  BLKSWEEP_CHECK(refuse_content(s.directory, "pack"));
  PackOutput out(s.directory, s.layout, s.shard, !there);
  BLKSWEEP_CHECK(make_folders(out.incoming()));
  return out;
}

PackOutput::PackOutput(PackOutput&& o) noexcept
    : directory_(std::exchange(o.directory_, {})),
      layout_(o.layout_),
      shard_(o.shard_),
      made_(o.made_),
      finished_(o.finished_),
      folder_(std::move(o.folder_)),
      tar_(std::move(o.tar_)),
      tar_name_(std::move(o.tar_name_)),
      used_(o.used_),
      files_(o.files_),
      bytes_(o.bytes_),
      placed_(std::move(o.placed_)) {}

PackOutput::~PackOutput() {
  if (directory_.empty() || finished_) {
    return;
  }
  if (!take_back()) {
    return;  // the working folder without a manifest marks what is left
  }
  std::error_code ec;
  fs::remove_all(directory_ + "/" + std::string(kPackFolder), ec);
  if (made_) {
    fs::remove(directory_, ec);  // when nothing else is in it
  }
}

std::string PackOutput::incoming() const {
  return fmt::format("{}/{}/incoming", directory_, kPackFolder);
}

std::string PackOutput::index_path() const { return pack_index_path(directory_); }

std::uint64_t PackOutput::bytes() const { return bytes_ + (tar_ ? kTarEnd : 0); }

Result<StoredAt> PackOutput::add(const Stored& sample) {
  const std::string name = sample.path + std::string(kPackedSuffix);
  return layout_ == PackLayout::files ? add_file(name, sample) : add_member(name, sample);
}

// Samples come in path order: a folder is made when the first of its files comes.
Result<StoredAt> PackOutput::add_file(const std::string& path, const Stored& sample) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (folder != folder_) {
    BLKSWEEP_CHECK(make_folders(incoming() + "/" + folder));
    folder_ = folder;
  }
  BLKSWEEP_TRY(Fd fd, create_file(incoming() + "/" + path, sample.mode | S_IWUSR));
  BLKSWEEP_CHECK(write_full(fd.get(), sample.bytes, path));
  BLKSWEEP_CHECK(fd.close(path));
  ++files_;
  bytes_ += sample.bytes.size();
  return StoredAt{path, 0};
}

Result<StoredAt> PackOutput::add_member(const std::string& path, const Stored& sample) {
  const std::span<const std::byte> stored = sample.bytes;
  if (tar_ && used_ >= shard_.n) {
    BLKSWEEP_CHECK(close_shard());
  }
  if (!tar_) {
    tar_name_ = fmt::format("shard_{:06}.tar", files_++);
    tar_mode_ = sample.mode | S_IWUSR;
    BLKSWEEP_TRY(tar_, create_file(incoming() + "/" + tar_name_, tar_mode_));
    used_ = 0;
  }
  BLKSWEEP_CHECK(close_to_others(sample.mode));
  const std::string head = tar_long_header(path, stored.size());
  const std::vector<std::byte> padding(align_up(stored.size(), kTarBlock) - stored.size());
  BLKSWEEP_CHECK(write_full(tar_.get(), std::as_bytes(std::span(head)), tar_name_));
  BLKSWEEP_CHECK(write_full(tar_.get(), stored, tar_name_));
  BLKSWEEP_CHECK(write_full(tar_.get(), padding, tar_name_));
  const StoredAt at{tar_name_, used_ + head.size()};
  const std::size_t taken = head.size() + stored.size() + padding.size();
  used_ += taken;
  bytes_ += taken;
  return at;
}

// Before the first byte that not everybody may read.
Result<> PackOutput::close_to_others(mode_t mode) {
  struct stat st {};
  const mode_t both = tar_mode_ & (mode | S_IWUSR);
  if (both == tar_mode_) {
    return {};
  }
  tar_mode_ = both;
  // The umask has had its part in what it has now.
  if (::fstat(tar_.get(), &st) != 0 || ::fchmod(tar_.get(), st.st_mode & both) != 0) {
    return sys_error(errno, "set the mode of " + tar_name_);
  }
  return {};
}

Result<> PackOutput::close_shard() {
  const std::vector<std::byte> end(kTarEnd);
  BLKSWEEP_CHECK(write_full(tar_.get(), end, tar_name_));
  bytes_ += kTarEnd;
  return tar_.close(tar_name_);
}

// The manifest is the mark of a whole pack, so it comes after everything else is on the device.
Result<> PackOutput::finish(const std::string& manifest) {
  if (tar_) {
    BLKSWEEP_CHECK(close_shard());
  }
  BLKSWEEP_CHECK(sync_filesystem(directory_));
  BLKSWEEP_CHECK(place());
  BLKSWEEP_CHECK(write_file(pack_manifest_path(directory_), manifest));
  BLKSWEEP_CHECK(sync_filesystem(directory_));
  finished_ = true;
  std::error_code ec;
  fs::remove(incoming(), ec);
  return {};
}

Result<> PackOutput::place() {
  BLKSWEEP_TRY(const std::vector<std::string> names, names_in(incoming()));
  for (const std::string& name : names) {
    BLKSWEEP_CHECK(move_to_free_name(incoming() + "/" + name, directory_ + "/" + name));
    placed_.push_back(name);
  }
  return {};
}

// The manifest first: from then on it is no pack, whatever else works. False: something is left
// under its final name.
bool PackOutput::take_back() {
  std::error_code ec;
  fs::remove(pack_manifest_path(directory_), ec);
  bool all = true;
  for (const std::string& name : placed_) {
    fs::rename(directory_ + "/" + name, incoming() + "/" + name, ec);
    all = all && !ec;
  }
  return all;
}

}  // namespace blksweep
