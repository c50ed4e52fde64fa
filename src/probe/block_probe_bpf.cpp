#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "os/block/blockdev.h"
#include "os/file/file.h"
#include "probe/block_probe.h"
#include "probe/bpf_map.h"
#include "probe/disk_queue.h"
#include "probe/handles_bpf.h"
#include "probe/kernel_clock_bpf.h"
#include "probe/libbpf_words.h"
#include "probe/load_probe_bpf.h"
#include "probe/one_moment.h"
#include "probe/probe_math.h"
#include "probe/probe_programs.h"
#include "probe/program_runs_bpf.h"

namespace blksweep {
namespace {

class BpfBlockProbe final : public BlockProbe {
 public:
  BpfBlockProbe(WantedProbe wanted, LoadedProbe loaded, Fd timed)
      : issue_bits_(wanted.issue_bits()),
        passed_(wanted.passed()),
        origins_(loaded.origins),
        disk_(std::move(wanted.disk)),
        queue_(wanted.queue),
        timed_(std::move(timed)),
        skeleton_(std::move(loaded.skeleton)),
        warnings_(std::move(loaded.warnings)) {}
  ~BpfBlockProbe() override { shared().enabled = 0; }

  Result<> map_all();
  Result<> start() override;
  Result<ProbeReport> snapshot() override;
  std::vector<ProbeIssue> issues_since(std::uint64_t from, const ProbeReport& report) override;
  Result<ProbeReport> stop() override;

 private:
  blk_probe_shared& shared() { return skeleton_->bss->shared; }
  Result<> reset();
  Result<> attach();
  Result<> start_ticks();
  bool attached(const char* program) const;
  ProbeSight sight() const;
  Result<ProbeReport> counts(std::int64_t at_ns);
  std::uint64_t missed() const;
  std::optional<std::uint64_t> programs_ns() const;
  void let_it_settle();
  void take_logs(ProbeReport& report);
  std::vector<ProbeIssue> passed_of(const MappedArray<blk_probe_passed>& log, std::uint64_t number,
                                    ProbeReport& report) const;
  void check_against_stat(ProbeReport& report, const KernelCounts& at_stop, std::int64_t at_ns);
  void judge_losses(ProbeReport& report);

  const unsigned issue_bits_;
  const std::size_t passed_;  // entries of the logs of layers; 1: they are not followed
  const bool origins_;
  BlockDevice disk_;
  DiskQueue queue_;
  Fd timed_;  // while it is open, the kernel takes the time of programs
  // Destroyed bottom-up: programs are detached, maps unmapped, then the skeleton goes.
  SkeletonPtr skeleton_;
  MappedArray<blk_probe_slot> slots_;
  MappedArray<blk_probe_sample> samples_;
  MappedArray<blk_probe_issue> issues_;
  MappedArray<blk_probe_passed> queued_, inserted_;
  std::vector<LinkPtr> links_;
  std::vector<const char*> attached_;  // of kProbePrograms, since the last start
  std::vector<std::string> warnings_;
  std::vector<std::string> attach_warnings_;
  KernelCounts at_start_;
  std::string sequence_;  // of the disk, then
  std::uint64_t missed_at_start_ = 0;
  std::int64_t started_ns_ = 0;
};

Result<> BpfBlockProbe::map_all() {
  const auto& maps = skeleton_->maps;
  const std::size_t slots = std::size_t{queue_.hw_queues} << queue_.slot_bits;
  BLKSWEEP_TRY(slots_, MappedArray<blk_probe_slot>::map(bpf_map__fd(maps.slots), slots, true));
  BLKSWEEP_TRY(samples_, MappedArray<blk_probe_sample>::map(bpf_map__fd(maps.samples),
                                                            1u << BLK_PROBE_SAMPLE_BITS, false));
  BLKSWEEP_TRY(issues_, MappedArray<blk_probe_issue>::map(bpf_map__fd(maps.issues),
                                                          1u << issue_bits_, false));
  BLKSWEEP_TRY(queued_,
               MappedArray<blk_probe_passed>::map(bpf_map__fd(maps.queued), passed_, false));
  BLKSWEEP_TRY(inserted_,
               MappedArray<blk_probe_passed>::map(bpf_map__fd(maps.inserted), passed_, false));
  return {};
}

Result<> BpfBlockProbe::reset() {
  shared() = blk_probe_shared{};
  slots_.clear();
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 0) {
    return sys_error(-cpus, "block probe: number of CPUs");
  }
  const std::vector<blk_probe_counts> zeros(static_cast<std::size_t>(cpus));
  const __u32 key = 0;
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.counts), &key, zeros.data(), BPF_ANY) != 0) {
    return sys_error(errno, "block probe of " + disk_.disk + ": reset its counters");
  }
  return {};
}

Result<> BpfBlockProbe::attach() {
  attach_warnings_.clear();
  attached_.clear();
  for (const ProbeProgram& use : kProbePrograms) {
    bpf_program* program = bpf_object__find_program_by_name(skeleton_->obj, use.program);
    if (!bpf_program__autoload(program)) {
      continue;
    }
    LinkPtr link(bpf_program__attach(program));
    const int err = errno;
    if (link) {
      links_.push_back(std::move(link));
      attached_.push_back(use.program);
    } else if (use.without == nullptr) {
      return probe_refused(disk_.disk + " at " + use.tracepoint, err);
    } else {
      attach_warnings_.push_back(fmt::format(
          "{}: {}", sys_error(err, fmt::format("attach {}", use.tracepoint)).value().message(),
          use.without));
    }
  }
  return {};
}

Result<> BpfBlockProbe::start_ticks() {
  bpf_test_run_opts opts{};
  opts.sz = sizeof opts;
  const int fd = bpf_program__fd(skeleton_->progs.start_ticks);
  const int err = bpf_prog_test_run_opts(fd, &opts);
  if (err != 0 || opts.retval != 0) {
    attach_warnings_.push_back(fmt::format(
        "no timer in the kernel (error {}, step {}): no depth over time", -err, opts.retval));
  }
  return {};
}

bool BpfBlockProbe::attached(const char* program) const {
  return std::ranges::any_of(attached_, [&](std::string_view one) { return one == program; });
}

ProbeSight BpfBlockProbe::sight() const {
  return {.bio_merges = attached("on_backmerge") && attached("on_frontmerge"),
          .request_merges = attached("on_request_merge"),
          .requeues = attached("on_requeue"),
          .splits = attached("on_split"),
          .punts = attached("on_punt")};
}

std::uint64_t BpfBlockProbe::missed() const {
  // A missed completion is healed or shows in the settlement; the others leave a count too low.
  return missed_runs(skeleton_->obj, skeleton_->progs.on_complete);
}

std::optional<std::uint64_t> BpfBlockProbe::programs_ns() const {
  if (!timed_) {
    return std::nullopt;
  }
  std::uint64_t sum = 0;
  for (const ProbeProgram& use : kProbePrograms) {
    sum += runs_of(bpf_object__find_program_by_name(skeleton_->obj, use.program)).ns;
  }
  return sum;
}

Result<> BpfBlockProbe::start() {
  shared().enabled = 0;
  links_.clear();
  BLKSWEEP_CHECK(attach());
  BLKSWEEP_CHECK(reset());
  missed_at_start_ = missed();
  sequence_ = disk_sequence(disk_.disk);
  started_ns_ = now_ns();
  BLKSWEEP_TRY(at_start_, kernel_counts(disk_.disk));
  shared().started_ns = static_cast<__u64>(now_ns());
  __atomic_store_n(&shared().enabled, 1u, __ATOMIC_SEQ_CST);
  return start_ticks();
}

// A request that ends between the steps may be in both, with all of its time: on a slow disk a
// tenth of a short interval's.
Result<ProbeReport> BpfBlockProbe::snapshot() {
  constexpr std::int64_t kLittle = 1'000'000;  // of 100 ms that one request is there
  const auto read = [this](std::int64_t& off) -> Result<ProbeReport> {
    const std::int64_t at_ns = now_ns();
    const std::uint64_t there_ns = time_there(slots_.items(), at_ns);
    BLKSWEEP_TRY(ProbeReport report, counts(at_ns));
    off = static_cast<std::int64_t>(there_ns - time_there(slots_.items(), at_ns));
    add_time_there(report, there_ns);
    return report;
  };
  return of_one_moment(read, kLittle);
}

// Without the time of requests that have not ended.
Result<ProbeReport> BpfBlockProbe::counts(std::int64_t at_ns) {
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 0) {
    return sys_error(-cpus, "block probe: number of CPUs");
  }
  // Counters last: who compares them with others reads those next.
  const std::uint64_t missed_since = missed() - missed_at_start_;
  const std::optional<std::uint64_t> spent_ns = programs_ns();
  std::vector<blk_probe_counts> per_cpu(static_cast<std::size_t>(cpus));
  const __u32 key = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.counts), &key, per_cpu.data()) != 0) {
    return sys_error(errno, "block probe of " + disk_.disk + ": read its counters");
  }
  ProbeReport report = count_report(per_cpu, shared(), at_ns, sight());
  report.lost_events += std::max<std::uint64_t>(missed_since, shared().unseen_issues);
  report.programs_ns = spent_ns;
  report.logged = shared().issue_number;
  report.origins = origins_;
  report.makers = attached("on_start");
  report.self = shared().process;
  report.warnings = warnings_;
  std::ranges::copy(attach_warnings_, std::back_inserter(report.warnings));
  return report;
}

// A reader is woken before its request is accounted in /sys/block/*/stat: give the last ones the
// time, and do not wait for a device that other readers keep busy.
void BpfBlockProbe::let_it_settle() {
  for (int i = 0; i < 20; ++i) {
    const Result<InFlight> now = in_flight(disk_.disk);
    if (!now || now->all == 0) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

std::vector<ProbeIssue> BpfBlockProbe::passed_of(const MappedArray<blk_probe_passed>& log,
                                                 std::uint64_t number, ProbeReport& report) const {
  std::vector<ProbeIssue> out;
  for (const std::uint32_t i : log_entries(number, BLK_PROBE_LAYER_BITS)) {
    const blk_probe_passed& p = log.items()[i];
    out.push_back({static_cast<std::int64_t>(p.at_ns), p.sector, p.bytes});
  }
  report.passed_left_out += number - out.size();
  return out;
}

// An entry that nobody has written yet has the time of a read before the start.
std::vector<ProbeIssue> BpfBlockProbe::issues_since(std::uint64_t from, const ProbeReport& report) {
  std::vector<ProbeIssue> out;
  for (const std::uint32_t i : log_entries(report.logged, issue_bits_, from)) {
    const ProbeIssue issue = to_issue(issues_.items()[i]);
    if (issue.at_ns >= started_ns_) {
      out.push_back(issue);
    }
  }
  return out;
}

void BpfBlockProbe::take_logs(ProbeReport& report) {
  for (const std::uint32_t i : log_entries(shared().sample_number, BLK_PROBE_SAMPLE_BITS)) {
    const blk_probe_sample& s = samples_.items()[i];
    report.series.push_back(
        {static_cast<std::int64_t>(s.at_ns), s.driver_depth, s.scheduler_depth});
  }
  report.issues = issues_since(0, report);
  if (passed_ > 1) {
    report.queued = passed_of(queued_, shared().queue_number, report);
    report.inserted = passed_of(inserted_, shared().insert_number, report);
  }
  report.samples_left_out = shared().sample_number - report.series.size();
  report.issues_left_out = shared().issue_number - report.issues.size();
}

void BpfBlockProbe::check_against_stat(ProbeReport& report, const KernelCounts& at_stop,
                                       std::int64_t at_ns) {
  const Settlement settled = settle(slots_.items(), at_stop.in_flight, at_ns);
  add_time_there(report, settled.there_ns);
  report.healed += settled.healed;
  report.healed_ns += settled.healed_ns;
  if (!queue_.iostats) {
    report.warnings.push_back("/sys/block/" + disk_.disk +
                              "/queue/iostats is 0: the probe's counts are not checked");
    return;
  }
  report.stat_difference =
      stat_difference({.requests = report.requests,
                       .orphans = shared().orphans,
                       .reads_in_flight = settled.reads_in_flight,
                       .stat_reads = at_stop.stat.reads - at_start_.stat.reads});
}

void BpfBlockProbe::judge_losses(ProbeReport& report) {
  report.depth_mean = certain_depth(report);
  if (report.healed > 0 && report.busy_ns > 0 && !report.depth_mean) {
    report.warnings.push_back(fmt::format(
        "the kernel did not tell the probe of {} when {} requests ended: the mean depth is unknown",
        disk_.disk, report.healed));
  }
  if (report.lost_events > 0) {
    report.warnings.push_back(fmt::format("the probe of {} lost {} events: its counts are too low",
                                          disk_.disk, report.lost_events));
  }
  if (disk_sequence(disk_.disk) != sequence_) {
    report.warnings.push_back(
        fmt::format("{} was detached meanwhile: what was counted later is of another disk, if any",
                    disk_.disk));
  }
  if (shared().scheduled != 0 && shared().unscheduled != 0) {
    report.warnings.push_back(
        fmt::format("a scheduler of {} was put in or taken out meanwhile: its reads went both ways",
                    disk_.disk));
  }
  if (shared().failed > 0) {
    report.warnings.push_back(
        fmt::format("{} of {} reads of {} failed (dmesg says more): requests, bytes and latency "
                    "are of those, too",
                    shared().failed, report.requests, disk_.disk));
  }
  if (report.stat_difference && *report.stat_difference > 0.01) {
    report.warnings.push_back(
        fmt::format("the probe of {} and /sys/block/{}/stat differ by {:.1f} % of the reads",
                    disk_.disk, disk_.disk, *report.stat_difference * 100));
  }
}

Result<ProbeReport> BpfBlockProbe::stop() {
  let_it_settle();
  Result<KernelCounts> at_stop =
      counts_that_agree(slots_.items(), [this] { return kernel_counts(disk_.disk); });
  __atomic_store_n(&shared().enabled, 0u, __ATOMIC_SEQ_CST);
  const std::int64_t at_ns = now_ns();
  // What is issued in between is in our books, and not in the kernel's of before: it is not gone.
  if (const Result<InFlight> now = in_flight(disk_.disk); at_stop && now) {
    at_stop->in_flight.all = std::max(at_stop->in_flight.all, now->all);
  }
  links_.clear();
  if (!at_stop) {
    return tl::unexpected(at_stop.error());
  }
  BLKSWEEP_TRY(ProbeReport report, counts(at_ns));
  take_logs(report);
  check_against_stat(report, *at_stop, at_ns);
  judge_losses(report);
  return report;
}

}  // namespace

Result<std::unique_ptr<BlockProbe>> open_block_probe(dev_t whole_disk,
                                                     const ProbeSettings& settings) {
  BLKSWEEP_CHECK(check_kernel_clock("block probe"));
  WantedProbe wanted;
  wanted.without = settings.without;
  wanted.spoilt = settings.spoilt;
  wanted.layers = settings.layers;
  wanted.origins = settings.origins;
  BLKSWEEP_TRY(wanted.disk, block_device_of_dev(whole_disk));
  BLKSWEEP_TRY(wanted.queue, disk_queue(wanted.disk.disk, settings.requests));
  Result<LoadedProbe> loaded = [&] {
    const LibbpfWords quiet;
    return load_probe(wanted);
  }();
  if (!loaded) {
    return tl::unexpected(std::move(loaded).error());
  }
  auto probe = std::make_unique<BpfBlockProbe>(
      std::move(wanted), std::move(*loaded),
      settings.cost ? Fd(bpf_enable_stats(BPF_STATS_RUN_TIME)) : Fd());
  BLKSWEEP_CHECK(probe->map_all());
  return probe;
}

}  // namespace blksweep
