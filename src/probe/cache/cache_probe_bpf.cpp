#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "base/clock.h"
#include "base/units.h"
#include "os/blockdev.h"
#include "probe/alone_bpf.h"
#include "probe/bpf_map.h"
#include "probe/cache/cache_probe.h"
#include "probe/cache/cache_programs.h"
#include "probe/cache/inode_maker.h"
#include "probe/libbpf_words.h"
#include "probe/probe_programs.h"
#include "probe/program_runs_bpf.h"
#include "wire/cache_probe.h"

#include "cache_probe.skel.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kWordPages = CACHE_PROBE_WORD_PAGES;
constexpr std::size_t kMostPoints = 1 << 16;

struct Freed {
  void operator()(cache_probe* s) const { cache_probe__destroy(s); }
  void operator()(bpf_link* l) const { bpf_link__destroy(l); }
  void operator()(btf* b) const { btf__free(b); }
};
using CachePrograms = std::unique_ptr<cache_probe, Freed>;
using Link = std::unique_ptr<bpf_link, Freed>;
using Btf = std::unique_ptr<btf, Freed>;

tl::unexpected<Error> refused(const char* what, int errnum) {
  const std::string cause = sys_error(errnum, what).value().message();
  if ((errnum == EPERM || errnum == EACCES) && ::geteuid() != 0) {
    return unsupported(cause + ": run as root (needs CAP_BPF and CAP_PERFMON)");
  }
  const std::string& words = LibbpfWords::last();
  return unsupported(cause + (words.empty() ? "" : " (" + words + ")") +
                     ": a run works without --probe-cache");
}

bool has_tracepoint(const btf* kernel, const CacheProgram& use) {
  const std::string name = fmt::format("btf_trace_{}", use.tracepoint);
  if (btf__find_by_name_kind(kernel, name.c_str(), BTF_KIND_TYPEDEF) > 0) {
    return true;
  }
  const Btf module(
      use.module == nullptr ? nullptr : btf__load_module_btf(use.module, const_cast<btf*>(kernel)));
  return module && btf__find_by_name_kind(module.get(), name.c_str(), BTF_KIND_TYPEDEF) > 0;
}

// Leaves out what this kernel has not; what is missing then.
Result<std::vector<std::string>> choose(cache_probe& s, const CacheProbeSettings& settings) {
  const Btf kernel(btf__load_vmlinux_btf());
  if (!kernel) {
    return unsupported(kNoBtf);
  }
  std::vector<std::string> missing;
  for (const CacheProgram& use : kCachePrograms) {
    const bool left_out =
        std::ranges::find(settings.without, use.tracepoint) != settings.without.end();
    if (!left_out && has_tracepoint(kernel.get(), use)) {
      continue;
    }
    if (use.without == nullptr) {
      return unsupported(
          fmt::format("cache probe: this kernel has no tracepoint {}", use.tracepoint));
    }
    leave_out(s.obj, use.program);
    missing.push_back(fmt::format("no tracepoint {}: {}", use.tracepoint, use.without));
  }
  return missing;
}

class BpfCacheProbe final : public CacheProbe {
 public:
  ~BpfCacheProbe() override { end_samples(); }

  Result<> load(const CacheProbeSettings& settings, const MountFacts& mount);
  void want(std::size_t file, std::uint64_t offset, std::uint64_t bytes) override;
  void want_nothing() override { words_.clear(); }
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
  bool attached(std::string_view program) const {
    return std::ranges::find(attached_, program) != attached_.end();
  }
  std::uint64_t missed() const;
  CachePoint point();
  void sample();
  void end_samples();
  void count(CacheReport& report);

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
  BLKSWEEP_TRY(missing_, choose(*programs, settings));
  cache_probe& s = *programs;
  s.rodata->filesystem = major(mount.dev) << 20 | minor(mount.dev);
  if (const auto maker = inode_maker(mount.filesystem)) {
    s.rodata->inode_maker = maker->begin;
    s.rodata->inode_maker_bytes = maker->bytes;
  } else {  // it runs at every allocation of the kernel
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
    w.added = w.evicted = 0;
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
  return {now_ns(), now(c.added), now(c.added_wanted), now(c.added_again), now(c.evicted)};
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

void BpfCacheProbe::count(CacheReport& r) {
  const cache_probe_counts& c = shared().counts;
  r.added = c.added;
  r.added_wanted = c.added_wanted;
  r.added_again = c.added_again;
  r.evicted = c.evicted;
  for (const cache_probe_word& w : words_.items()) {
    r.wanted += static_cast<std::uint64_t>(std::popcount(w.wanted));
    r.found += static_cast<std::uint64_t>(std::popcount(w.wanted & ~w.added));
  }
  const auto known = [this](std::string_view program, std::uint64_t n) {
    return attached(program) ? std::optional(n) : std::nullopt;
  };
  r.inodes_loaded = known("on_allocation", c.inodes_loaded);
  r.inodes_evicted = known("on_inode_gone", c.inodes_evicted);
  r.kswapd_wakes = known("on_kswapd", c.kswapd_wakes);
  if (attached("on_reclaim") && attached("on_reclaim_end")) {
    r.reclaims = c.reclaims;
    r.reclaimed = c.reclaimed;
    r.reclaim_ns = static_cast<std::int64_t>(c.reclaim_ns);
  }
  r.lost_events = c.untold;
}

Result<CacheReport> BpfCacheProbe::stop() {
  __atomic_store_n(&shared().enabled, 0U, __ATOMIC_SEQ_CST);
  end_samples();
  CacheReport report;
  points_.push_back(point());
  report.series = points_;
  count(report);
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
