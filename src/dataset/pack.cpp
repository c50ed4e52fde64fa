#include "dataset/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "base/worker_pool.h"
#include "dataset/pack_index.h"
#include "dataset/pack_output.h"
#include "dataset/walk.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBlockBytes = std::uint64_t{64} << 20;
constexpr std::size_t kBlockSamples = 1024;
constexpr std::size_t kKeptBuffer = std::size_t{64} << 10;  // larger ones are given back

struct XxhDeleter {
  void operator()(XXH3_state_t* s) const { XXH3_freeState(s); }
};

std::string canonical(const std::string& path) {
  std::error_code ec;
  return fs::weakly_canonical(path, ec).string();
}

Result<> check_folders(const PackSettings& s) {
  const std::string from = canonical(s.source) + "/";
  const std::string to = canonical(s.directory) + "/";
  if (to.starts_with(from) || from.starts_with(to)) {
    return usage_error(fmt::format("pack {} into {}: one lies in the other; name another -o",
                                   s.source, s.directory));
  }
  return {};
}

// What the walk left out is missing from the result: unreadable is an error, the rest is said.
Result<> judge_walk(const ScanReport& walked, PackReport& report) {
  const OddityCount& unreadable = walked.of(Oddity::unreadable);
  if (unreadable.count > 0) {
    return fail(fmt::format("pack: {} entries cannot be read: {}", unreadable.count,
                            unreadable.named.front()));
  }
  for (std::size_t i = 0; i < kOddities; ++i) {
    const auto kind = static_cast<Oddity>(i);
    if (const OddityCount& odd = walked.of(kind); odd.count > 0) {
      report.warnings.push_back(
          fmt::format("{}: {}, first {}", explain(kind), odd.count, odd.named.front()));
    }
  }
  return {};
}

mode_t left_by(mode_t folder) {
  return S_IRWXU | ((folder & S_IXGRP) != 0 ? S_IRWXG : 0) |
         ((folder & S_IXOTH) != 0 ? S_IRWXO : 0);
}

// What the folders above an open file leave of its mode to group and others: those from the data
// set's on, and all where the file lies elsewhere. Where it really is, links or none: who may not
// pass a folder has no use of the mode of a file in it.
mode_t reach_of(int fd, const fs::path& root) {
  std::error_code error;
  fs::path folder = fs::read_symlink(fmt::format("/proc/self/fd/{}", fd), error);
  mode_t reach = S_IRWXU | S_IRWXG | S_IRWXO;
  while (!error && folder != root && folder.has_relative_path()) {
    folder = folder.parent_path();
    struct stat st {};
    reach &= ::stat(folder.c_str(), &st) == 0 ? left_by(st.st_mode) : S_IRWXU;
  }
  return error ? S_IRWXU : reach;
}

struct Slot {  // of one sample of the block that is being packed
  std::string path;
  std::uint64_t expected = 0;  // bytes, when the block was made up
  std::vector<std::byte> stored;
  SampleHeader header;
  mode_t mode = 0;  // the source's, as far as its folders let others through
  std::optional<Error> error;
};

struct Worker {
  Encoder encoder;
  std::vector<std::byte> source;
  std::string scratch;
};

class Packer {
 public:
  Packer(const PackSettings& settings, Tree tree, PackOutput output)
      : settings_(settings),
        tree_(std::move(tree)),
        root_(canonical(settings.source)),
        order_(files_by_path(tree_)),
        output_(std::move(output)),
        pool_(settings.threads) {
    for (unsigned i = 0; i < pool_.threads(); ++i) {
      workers_.push_back({Encoder(settings.encode), {}, {}});
    }
    XXH3_128bits_reset(hash_.get());
  }

  Result<> run(const PackListener& listener, const std::atomic<bool>& stop, PackReport& report) {
    for (std::size_t begin = 0; begin < order_.size();) {
      const std::size_t end = make_up_block(begin);
      pool_.run(end - begin, [&](unsigned w, std::size_t i) {
        slots_[i].error.reset();
        if (const Result<> done = encode(workers_[w], tree_.entries[order_[begin + i]], slots_[i]);
            !done) {
          slots_[i].error = done.error();
        }
      });
      for (std::size_t i = 0; i < end - begin; ++i) {
        if (stop.load()) {
          return fail("pack: interrupted; nothing is left of it", Exit::interrupted);
        }
        BLKSWEEP_CHECK(write(slots_[i], report));
      }
      begin = end;
      if (listener) {
        listener({report.samples, order_.size(), report.source_bytes});
      }
    }
    return finish(report);
  }

 private:
  // As many samples as fit a block; where it ends.
  std::size_t make_up_block(std::size_t begin) {
    std::uint64_t bytes = 0;
    std::size_t end = begin;
    while (end < order_.size() && end - begin < kBlockSamples && bytes < kBlockBytes) {
      slots_.resize(std::max(slots_.size(), end - begin + 1));
      Slot& slot = slots_[end - begin];
      slot.path = tree_.path(tree_.entries[order_[end++]]);
      struct stat st {};  // an error shows when it is opened
      slot.expected = ::fstatat(tree_.root.get(), slot.path.c_str(), &st, 0) == 0
                          ? static_cast<std::uint64_t>(st.st_size)
                          : 0;
      bytes += slot.expected;
    }
    return end;
  }

  Result<> encode(Worker& w, const TreeEntry& entry, Slot& slot) const {
    const Fd fd(tree_.open(entry, w.scratch));
    if (!fd) {
      return sys_error(errno, "open " + slot.path);
    }
    struct stat st {};
    if (::fstat(fd.get(), &st) != 0) {
      return sys_error(errno, "fstat " + slot.path);
    }
    if (!S_ISREG(st.st_mode)) {
      return fail("pack " + slot.path + ": it is no longer a regular file");
    }
    slot.mode = st.st_mode & reach_of(fd.get(), root_);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    if (size > slot.expected) {  // it would take memory that the block has not
      return fail("pack " + slot.path + ": it grew while it was packed");
    }
    if (size > kMaxDecodedBytes) {
      return fail(fmt::format("pack {}: {} are more than the 1 GiB that a packed sample may have",
                              slot.path, format_bytes({size})));
    }
    w.source.resize(std::max<std::size_t>(w.source.size(), size));
    const std::span<std::byte> source = std::span(w.source).first(size);
    BLKSWEEP_TRY(const std::size_t got, pread_full(fd.get(), source, 0, slot.path));
    if (got != size) {
      return fail("pack " + slot.path + ": it became shorter while it was read");
    }
    BLKSWEEP_TRY(slot.header, w.encoder.encode(source, slot.stored));
    return {};
  }

  Result<> write(Slot& slot, PackReport& report) {
    if (slot.error) {
      return tl::unexpected(*slot.error);
    }
    const SampleHeader& h = slot.header;
    const std::size_t bytes = kSampleHeaderBytes + h.payload_bytes;
    BLKSWEEP_TRY(const StoredAt at,
                 output_.add({slot.path, std::span(slot.stored).first(bytes), slot.mode}));
    index_.add(at.file, at.offset, h.decoded_bytes);
    XXH3_128bits_update(hash_.get(), slot.stored.data(), kSampleHeaderBytes);
    ++report.samples;
    report.source_bytes += h.source_bytes;
    report.decoded_bytes += h.decoded_bytes;
    report.stored_bytes += bytes;
    report.largest_decoded_bytes = std::max(report.largest_decoded_bytes, h.decoded_bytes);
    report.kept_raw += h.dtype != settings_.encode.dtype ? 1 : 0;
    report.kept_uncompressed += h.codec != settings_.encode.codec ? 1 : 0;
    if (slot.stored.size() > kKeptBuffer) {
      slot.stored = {};
    }
    return {};
  }

  Result<> finish(PackReport& report) {
    const XXH128_hash_t hash = XXH3_128bits_digest(hash_.get());
    report.content_hash = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
    report.on_disk_files = output_.files();
    report.on_disk_bytes = output_.bytes();
    BLKSWEEP_CHECK(index_.save(output_.index_path()));
    return output_.finish(manifest(report));
  }

  std::string manifest(const PackReport& r) const {
    const EncodeSettings& e = settings_.encode;
    const bool tar = settings_.layout == PackLayout::tar;
    Json j{{"format", "blksweep-pack"},
           {"version", 1},
           {"tool", settings_.tool},
           {"source", canonical(settings_.source)},
           {"layout", tar ? "tar" : "files"},
           {"dtype", kElementNames.at(static_cast<std::size_t>(e.dtype))},
           {"compress", kCodecNames.at(static_cast<std::size_t>(e.codec))},
           {"level", e.level == 0 ? default_level(e.codec) : e.level},
           {"library", library_of(e.codec)},
           {"shard_bytes", nullptr},
           {"samples", r.samples},
           {"on_disk_files", r.on_disk_files},
           {"on_disk_bytes", r.on_disk_bytes},
           {"source_bytes", r.source_bytes},
           {"decoded_bytes", r.decoded_bytes},
           {"stored_bytes", r.stored_bytes},
           {"largest_decoded_bytes", r.largest_decoded_bytes},
           {"kept_raw", r.kept_raw},
           {"kept_uncompressed", r.kept_uncompressed},
           {"content_hash", r.content_hash}};
    if (tar) {
      j["shard_bytes"] = settings_.shard.n;
    }
    return json_text(j) + "\n";
  }

  const PackSettings& settings_;
  Tree tree_;
  fs::path root_;
  std::vector<std::uint32_t> order_;
  PackOutput output_;
  PackIndex index_;
  std::unique_ptr<XXH3_state_t, XxhDeleter> hash_{XXH3_createState()};
  std::vector<Slot> slots_;
  std::vector<Worker> workers_;
  WorkerPool pool_;  // its threads end before what they work on goes
};

}  // namespace

Result<PackReport> pack_dataset(const PackSettings& settings, const PackListener& listener,
                                const std::atomic<bool>& stop) {
  const std::int64_t begin = now_ns();
  PackReport report;
  BLKSWEEP_CHECK(check_level(settings.encode));
  BLKSWEEP_CHECK(check_folders(settings));
  ScanReport walked;
  BLKSWEEP_TRY(Tree tree,
               walk_tree(settings.source, walked,
                         settings.follow_links ? Walking::everywhere : Walking::beneath));
  BLKSWEEP_CHECK(judge_walk(walked, report));
  if (std::ranges::none_of(tree.entries, [](const TreeEntry& e) { return e.child == kFile; })) {
    return fail("pack " + settings.source + ": no files in this directory");
  }
  BLKSWEEP_TRY(PackOutput output, PackOutput::begin(settings));
  Packer packer(settings, std::move(tree), std::move(output));
  BLKSWEEP_CHECK(packer.run(listener, stop, report));
  if (report.kept_raw > 0) {
    report.warnings.push_back(
        fmt::format("{} of {} samples have a size that is no multiple of 4 and stay as they are: "
                    "they are no arrays of float32",
                    format_count(report.kept_raw), format_count(report.samples)));
  }
  report.time_ns = now_ns() - begin;
  return report;
}

}  // namespace blksweep
