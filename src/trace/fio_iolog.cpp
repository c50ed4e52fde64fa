#include "trace/fio_iolog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <utility>

#include "base/fd.h"

namespace blksweep {
namespace {

// fio 3.33, iolog.c: names are scanned with "%256s" and lines with a 4096-byte fgets.
constexpr std::size_t kMaxName = 255;
constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
constexpr std::uint32_t kNever = 0xFFFFFFFF;

// One iolog being written: buffered, synced at the end so that no writeback falls into the replay.
class IologFile {
 public:
  static Result<IologFile> create(const std::string& path) {
    IologFile f;
    f.path_ = path;
    f.fd_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!f.fd_) {
      return sys_error(errno, "create " + path);
    }
    f.text_ = "fio version 3 iolog\n";
    return f;
  }
  Result<> action(std::string_view name, std::string_view what) {
    text_ += fmt::format("0 {} {}\n", name, what);
    return text_.size() < kFlushBytes ? Result<>{} : flush();
  }
  Result<> read(std::string_view name, std::uint64_t offset, std::uint32_t length) {
    text_ += fmt::format("0 {} read {} {}\n", name, offset, length);
    return text_.size() < kFlushBytes ? Result<>{} : flush();
  }
  Result<> finish() {
    BLKSWEEP_CHECK(flush());
    if (::fsync(fd_.get()) != 0) {
      return sys_error(errno, "fsync " + path_);
    }
    return fd_.close(path_);
  }

 private:
  Result<> flush() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
      if (n < 0 && errno != EINTR) {
        return sys_error(errno, "write " + path_);
      }
      rest.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    text_.clear();
    return {};
  }

  std::string path_, text_;
  Fd fd_;
};

std::uint64_t file_size(const Catalog& catalog, const Read& r) {
  return r.source == kFromDevice ? ~std::uint64_t{0} : catalog.files[r.source].size;
}

// Bytes that exist in the range of a read.
std::uint32_t held(const Catalog& catalog, const Read& r) {
  const std::uint64_t size = file_size(catalog, r);
  const std::uint64_t left = size > r.offset ? size - r.offset : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, r.length));
}

// Which files the replaying fio has open, oldest first.
class OpenSet {
 public:
  explicit OpenSet(std::size_t slots) : open_(slots, false) {}
  bool contains(std::size_t s) const { return open_[s]; }
  std::size_t size() const { return count_; }
  void insert(std::size_t s) {
    open_[s] = true;
    ++count_;
    while (!age_.empty() && !open_[age_.front()]) {
      age_.pop_front();
    }
    age_.push_back(s);
  }
  void erase(std::size_t s) {
    open_[s] = false;
    --count_;
  }
  // Of a full set: nothing was closed since the last one was opened.
  std::size_t oldest() const { return age_.front(); }
  void clear() {
    for (const std::size_t s : age_) {
      open_[s] = false;
    }
    age_.clear();
    count_ = 0;
  }

 private:
  std::vector<bool> open_;
  std::deque<std::size_t> age_;  // may hold closed ones; they are skipped
  std::size_t count_ = 0;
};

class Exporter {
 public:
  Exporter(const Catalog& catalog, const Plan& plan, const IologSettings& settings)
      : catalog_(catalog),
        plan_(plan),
        settings_(settings),
        device_slot_(catalog.files.size()),
        open_(device_slot_ + 1),
        added_(device_slot_ + 1, kNever),
        last_read_(device_slot_ + 1, kNever),
        linked_(device_slot_ + 1, false) {
    for (std::uint32_t i = 0; i < plan.reads.size(); ++i) {
      if (wanted(plan.reads[i])) {
        last_read_[slot(plan.reads[i])] = i;
      }
    }
  }

  Result<IologExport> run() {
    for (std::uint32_t i = 0; i < plan_.reads.size(); ++i) {
      if (wanted(plan_.reads[i])) {
        BLKSWEEP_CHECK(add_read(i));
      }
    }
    BLKSWEEP_CHECK(end_segment());
    return std::move(out_);
  }

 private:
  // A read that begins behind the end of its file has nothing to read; fio would call it an error.
  bool wanted(const Read& r) const { return r.source != kZeros && held(catalog_, r) > 0; }
  std::size_t slot(const Read& r) const {
    return r.source == kFromDevice ? device_slot_ : r.source;
  }

  Result<> add_read(std::uint32_t index) {
    const Read& r = plan_.reads[index];
    const std::size_t s = slot(r);
    BLKSWEEP_CHECK(make_room(s));
    if (done_) {
      BLKSWEEP_CHECK(close_file(*std::exchange(done_, std::nullopt)));
    }
    BLKSWEEP_TRY(const std::string name, name_of(s));
    BLKSWEEP_CHECK(open_file(s, name));
    const std::uint32_t bytes = held(catalog_, r);
    const std::uint32_t length = settings_.clip_to_file ? bytes : r.length;
    BLKSWEEP_CHECK(log_->read(name, r.offset, length));
    count(r, bytes, length);
    if (last_read_[s] == index) {
      done_ = s;
    }
    return {};
  }

  void count(const Read& r, std::uint32_t bytes, std::uint32_t length) {
    ++out_.segments.back().reads;
    ++out_.reads;
    out_.bytes += bytes;
    out_.device_reads += r.source == kFromDevice ? 1U : 0U;
    out_.past_end += bytes < r.length ? 1U : 0U;
    out_.largest_read = std::max(out_.largest_read, length);
  }

  // Begins the first segment, or the next one when a new file would be one too many.
  Result<> make_room(std::size_t s) {
    if (log_ && added_[s] != segment_ && out_.segments.back().files >= settings_.segment_files) {
      BLKSWEEP_CHECK(end_segment());
    }
    if (!log_) {
      segment_ = static_cast<std::uint32_t>(out_.segments.size());
      const std::string path = fmt::format("{}/segment{:04}.iolog", settings_.directory, segment_);
      BLKSWEEP_TRY(IologFile file, IologFile::create(path));
      log_ = std::move(file);
      out_.segments.push_back({path, 0, 0});
    }
    return {};
  }

  // A segment ends in a read: fio closes what is open at the end of a job, outside its measure.
  Result<> end_segment() {
    if (log_) {
      BLKSWEEP_CHECK(log_->finish());
    }
    log_.reset();
    done_.reset();
    open_.clear();
    return {};
  }

  Result<> close_file(std::size_t s) {
    open_.erase(s);
    BLKSWEEP_TRY(const std::string name, name_of(s));
    return log_->action(name, "close");
  }

  Result<> open_file(std::size_t s, const std::string& name) {
    if (open_.contains(s)) {
      return {};
    }
    if (open_.size() >= std::max(1U, settings_.open_files)) {
      BLKSWEEP_CHECK(close_file(open_.oldest()));
    }
    if (added_[s] != segment_) {
      added_[s] = segment_;
      ++out_.segments.back().files;
      BLKSWEEP_CHECK(log_->action(name, "add"));
    }
    open_.insert(s);
    return log_->action(name, "open");
  }

  std::string file_path(std::uint32_t file) const {
    return settings_.root_link.empty()
               ? catalog_.full_path(file)
               : fmt::format("{}/{}", settings_.root_link, catalog_.path(file));
  }

  Result<std::string> name_of(std::size_t s) {
    std::string path =
        s == device_slot_ ? settings_.device_node : file_path(static_cast<std::uint32_t>(s));
    if (iolog_can_name(path)) {
      return path;
    }
    if (s == device_slot_) {
      return usage_error(
          fmt::format("fio iolog: '{}' cannot name the block device that the plan reads", path));
    }
    const std::string name = fmt::format("file{}", s), link = settings_.directory + "/" + name;
    if (!linked_[s]) {
      if (::symlink(path.c_str(), link.c_str()) != 0) {
        return sys_error(errno, "link " + link + " to " + path);
      }
      linked_[s] = true;
      ++out_.links;
    }
    return settings_.relative ? name : link;
  }

  const Catalog& catalog_;
  const Plan& plan_;
  const IologSettings& settings_;
  std::size_t device_slot_;  // files have their index, the device comes behind them
  OpenSet open_;
  std::vector<std::uint32_t> added_;      // segment that knows this file
  std::vector<std::uint32_t> last_read_;  // of this file in the plan
  std::vector<bool> linked_;
  std::optional<IologFile> log_;
  std::optional<std::size_t> done_;  // its last read was written; closed before the next read
  std::uint32_t segment_ = kNever;
  IologExport out_;
};

}  // namespace

bool iolog_can_name(std::string_view path) {
  return !path.empty() && path.size() <= kMaxName &&
         std::ranges::none_of(path, [](unsigned char c) { return c <= ' ' || c == 0x7F; });
}

std::uint64_t reads_past_end(const Catalog& catalog, const Plan& plan) {
  return static_cast<std::uint64_t>(std::ranges::count_if(plan.reads, [&](const Read& r) {
    return r.source != kZeros && held(catalog, r) < r.length;
  }));
}

Result<IologExport> export_fio_iolog(const Catalog& catalog, const Plan& plan,
                                     const IologSettings& settings) {
  // Room for "/segment0000.iolog" and "/file4294967295".
  if (!settings.relative &&
      (settings.directory.size() > kMaxName - 32 || !iolog_can_name(settings.directory))) {
    return usage_error(
        fmt::format("fio iolog: directory '{}' is too long or has white space, which an iolog "
                    "cannot name; choose "
                    "another with TMPDIR",
                    settings.directory));
  }
  return Exporter(catalog, plan, settings).run();
}

}  // namespace blksweep
