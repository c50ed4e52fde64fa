#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "base/clock.h"
#include "base/units.h"
#include "os/block/blockdev.h"
#include "probe/alone_bpf.h"
#include "probe/bpf_map.h"
#include "probe/cache/cache_probe.h"
#include "probe/cache/cache_programs.h"
#include "probe/cache/cache_report.h"
#include "probe/cache/choose_cache_programs_bpf.h"
#include "probe/cache/inode_maker.h"
#include "probe/libbpf_words.h"
#include "probe/probe_programs.h"
#include "probe/program_runs_bpf.h"
#include "probe/refused.h"
#include "wire/cache_probe.h"

#include "cache_probe.skel.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kWordPages = CACHE_PROBE_WORD_PAGES;
constexpr std::size_t kMostPoints = 1 << 16;

struct Freed {
  void operator()(cache_probe* s) const { cache_probe__destroy(s); }
  void operator()(bpf_link* l) const { bpf_link__destroy(l); }
};
using CachePrograms = std::unique_ptr<cache_probe, Freed>;
using Link = std::unique_ptr<bpf_link, Freed>;

tl::unexpected<Error> refused(const char* what, int errnum) {
  return refused_by_bpf(what, errnum, LibbpfWords::last(), "a run works without --probe-cache");
}

class BpfCacheProbe final : public CacheProbe {
 public:
  ~BpfCacheProbe() override { end_samples(); }

  Result<> load(const CacheProbeSettings& settings, const MountFacts& mount);
  void want(std::size_t file, std::uint64_t offset, std::uint64_t bytes) override;
  void want_nothing() override { words_.clear(); }
  std::uint32_t descriptors() const override { return kCachePrograms.size(); }
  Result<> start() override;
  Result<CacheReport> stop() override;

 private:
  cache_probe_shared& shared() { return programs_->bss->shared; }
  void place_files(const CacheProbeSettings& settings);
  Result<> tell_files(const CacheProbeSettings& settings);
  Result<CachePrograms> opened(const CacheProbeSettings& settings, const MountFacts& mount);
  Result<> load_what_is_taken(const CacheProbeSettings& settings, const MountFacts& mount);
  Result<> attach();
  Result<> tell_process();
  std::uint64_t missed() const;
  CachePoint point();
  void sample();
  void end_samples();

  KernelFunction inodes_, dentries_;  // that make them; of no bytes: not known
  std::size_t most_files_ = 0;
  CachePrograms programs_;
  MappedArray<cache_probe_word> words_;
  std::vector<cache_probe_file> files_;
  std::uint64_t all_words_ = 0;
  std::vector<Link> links_;
  std::vector<std::string_view> attached_;
  std::vector<std::string> missing_;
  std::uint64_t missed_at_start_ = 0;
  std::chrono::milliseconds period_{};
  std::vector<CachePoint> points_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread sampler_;
};

void BpfCacheProbe::place_files(const CacheProbeSettings& settings) {
  std::unordered_map<std::uint64_t, std::size_t> first;  // of several names of one file
  for (const WatchedFile& f : settings.files) {
    if (const auto [at, is_new] = first.try_emplace(f.inode, files_.size()); !is_new) {
      files_.push_back(files_[at->second]);
      continue;
    }
    const std::uint64_t pages = (f.bytes + kPageBytes - 1) / kPageBytes;
    files_.push_back({.first_word = all_words_, .pages = pages});
    all_words_ += (pages + kWordPages - 1) / kWordPages;
  }
}

Result<> BpfCacheProbe::tell_files(const CacheProbeSettings& settings) {
  const int map = bpf_map__fd(programs_->maps.files);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const __u64 inode = settings.files[i].inode;
    if (bpf_map_update_elem(map, &inode, &files_[i], BPF_ANY) != 0) {
      return refused("cache probe: tell the kernel of a file", errno);
    }
  }
  return {};
}

// Set up, and not yet loaded.
Result<CachePrograms> BpfCacheProbe::opened(const CacheProbeSettings& settings,
                                            const MountFacts& mount) {
  LibbpfWords::forget();
  CachePrograms programs(cache_probe__open());
  if (!programs) {
    return refused("open the cache probe", errno);
  }
  BLKSWEEP_TRY(missing_, choose_cache_programs(programs->obj, settings.without, mount.filesystem));
  cache_probe& s = *programs;
  s.rodata->filesystem = major(mount.dev) << 20 | minor(mount.dev);
  s.rodata->inode_maker = inodes_.begin;
  s.rodata->inode_maker_bytes = inodes_.bytes;
  s.rodata->dentry_maker = dentries_.begin;
  s.rodata->dentry_maker_bytes = dentries_.bytes;
  if (inodes_.bytes + dentries_.bytes == 0) {  // it runs at every allocation of the kernel
    bpf_program__set_autoload(s.progs.on_allocation, false);
  }
  bpf_map__set_max_entries(s.maps.files,
                           static_cast<__u32>(std::max<std::size_t>(files_.size(), 1)));
  bpf_map__set_max_entries(s.maps.words,
                           static_cast<__u32>(std::max<std::uint64_t>(all_words_, 1)));
  for (const CacheProgram& use : kCachePrograms) {
    if (std::ranges::find(settings.spoilt, use.tracepoint) != settings.spoilt.end()) {
      spoil(s.obj, use.program);
    }
  }
  return programs;
}

// Each program alone, after the kernel did not take all: those that it refuses are left out, and
// named.
Result<> BpfCacheProbe::load_what_is_taken(const CacheProbeSettings& settings,
                                           const MountFacts& mount) {
  std::vector<std::string> warnings;
  std::vector<const char*> out;
  for (const CacheProgram& use : kCachePrograms) {
    BLKSWEEP_TRY(const CachePrograms one, opened(settings, mount));
    const std::string refusal = is_chosen(one->obj, use.program)
                                    ? refusal_alone(one, cache_probe__load, use.program)
                                    : std::string();
    if (!refusal.empty() && use.without == nullptr) {
      return unsupported(
          fmt::format("cache probe: tracepoint {}: {}: a run works without --probe-cache",
                      use.tracepoint, refusal));
    }
    if (!refusal.empty()) {
      out.push_back(use.program);
      warnings.push_back(
          fmt::format("tracepoint {}: {}: {}", use.tracepoint, refusal, use.without));
    }
  }
  BLKSWEEP_TRY(programs_, opened(settings, mount));
  for (const char* program : out) {
    leave_out(programs_->obj, program);
  }
  std::ranges::move(warnings, std::back_inserter(missing_));
  const int err = cache_probe__load(programs_.get());
  return err == 0 ? Result<>() : Result<>(refused("load the cache probe", -err));
}

Result<> BpfCacheProbe::load(const CacheProbeSettings& settings, const MountFacts& mount) {
  period_ = settings.period;
  most_files_ = settings.most_files;
  inodes_ = inode_maker(mount.filesystem).value_or(KernelFunction());
  dentries_ = dentry_maker().value_or(KernelFunction());
  place_files(settings);
  BLKSWEEP_TRY(programs_, opened(settings, mount));
  if (const int err = cache_probe__load(programs_.get()); err != 0) {
    const auto all = refused("load the cache probe", -err);
    if (::geteuid() != 0) {
      return all;
    }
    BLKSWEEP_CHECK(load_what_is_taken(settings, mount));
  }
  if (programs_->bss == nullptr) {  // libbpf goes on without where its own trial of it failed
    return refused("map the cache probe's memory", ENOMEM);
  }
  BLKSWEEP_TRY(words_,
               MappedArray<cache_probe_word>::map(bpf_map__fd(programs_->maps.words),
                                                  std::max<std::uint64_t>(all_words_, 1), true));
  return tell_files(settings);
}

void BpfCacheProbe::want(std::size_t file, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) {
    return;
  }
  const std::uint64_t end = std::min<std::uint64_t>(
      align_up(offset + bytes, kPageBytes) / kPageBytes, files_[file].pages);
  for (std::uint64_t page = offset / kPageBytes; page < end; ++page) {
    words_.writable()[files_[file].first_word + page / kWordPages].wanted |= std::uint64_t{1}
                                                                             << page % kWordPages;
  }
}

Result<> BpfCacheProbe::attach() {
  links_.clear();
  attached_.clear();
  for (const CacheProgram& use : kCachePrograms) {
    bpf_program* program = bpf_object__find_program_by_name(programs_->obj, use.program);
    if (!bpf_program__autoload(program)) {
      continue;
    }
    Link link(bpf_program__attach(program));
    if (link) {
      links_.push_back(std::move(link));
      attached_.emplace_back(use.program);
    } else if (use.without == nullptr) {
      return refused(use.tracepoint, errno);
    }
  }
  return {};
}

// The kernel skips a program that is running on that CPU already. Of allocations those are an
// interrupt's, which makes no inode.
std::uint64_t BpfCacheProbe::missed() const {
  return missed_runs(programs_->obj, programs_->progs.on_allocation);
}

Result<> BpfCacheProbe::tell_process() {
  bpf_test_run_opts opts{};
  opts.sz = sizeof opts;
  const int fd = bpf_program__fd(programs_->progs.tell_process);
  const int err = bpf_prog_test_run_opts(fd, &opts);
  return err == 0 ? Result<>() : Result<>(refused("cache probe: number of this process", -err));
}

Result<> BpfCacheProbe::start() {
  end_samples();
  shared() = cache_probe_shared{};
  BLKSWEEP_CHECK(tell_process());
  for (cache_probe_word& w : words_.writable()) {
    w.added = w.evicted = w.again = 0;
  }
  points_.clear();
  BLKSWEEP_CHECK(attach());
  missed_at_start_ = missed();
  __atomic_store_n(&shared().enabled, 1U, __ATOMIC_SEQ_CST);
  end_ = false;
  points_.push_back(point());
  sampler_ = std::thread([this] { sample(); });
  return {};
}

CachePoint BpfCacheProbe::point() {
  const cache_probe_counts& c = shared().counts;
  const auto now = [](const __u64& n) { return __atomic_load_n(&n, __ATOMIC_RELAXED); };
  return {now_ns(),       now(c.added),         now(c.added_wanted),   now(c.added_again),
          now(c.evicted), now(c.inodes_loaded), now(c.inodes_evicted), now(c.shrunk)};
}

void BpfCacheProbe::sample() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, period_, [this] { return end_; })) {
    if (points_.size() < kMostPoints) {
      points_.push_back(point());
    }
  }
}

void BpfCacheProbe::end_samples() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  if (sampler_.joinable()) {
    sampler_.join();
  }
}

Result<CacheReport> BpfCacheProbe::stop() {
  __atomic_store_n(&shared().enabled, 0U, __ATOMIC_SEQ_CST);
  end_samples();
  points_.push_back(point());
  CacheReport report = cache_report({.counts = shared().counts,
                                     .words = words_.items(),
                                     .files = files_,
                                     .most_files = most_files_,
                                     .attached = attached_,
                                     .knows_inodes = inodes_.bytes > 0,
                                     .knows_dentries = dentries_.bytes > 0});
  report.series = points_;
  report.lost_events += missed() - missed_at_start_;
  report.warnings = missing_;
  links_.clear();
  if (report.lost_events > 0) {
    report.warnings.push_back(
        fmt::format("the cache probe lost {} events: its counts are too low", report.lost_events));
  }
  return report;
}

}  // namespace

Result<std::unique_ptr<CacheProbe>> open_cache_probe(const CacheProbeSettings& settings) {
  BLKSWEEP_TRY(const MountFacts mount, mount_of(settings.root));
  if (mount.filesystem == "overlay" || mount.filesystem.starts_with("fuse")) {
    return unsupported(fmt::format(
        "cache probe: {} keeps the pages of {} in files of others: read from the filesystem below",
        mount.filesystem, settings.root));
  }
  auto probe = std::make_unique<BpfCacheProbe>();
  const LibbpfWords quiet;
  BLKSWEEP_CHECK(probe->load(settings, mount));
  return probe;
}

}  // namespace blksweep
