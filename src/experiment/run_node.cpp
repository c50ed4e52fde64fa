#include "experiment/run_node.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/log.h"
#include "base/text.h"
#include "disk/disk_watch.h"
#include "node/journal/borrowing.h"
#include "node/limits/binding.h"
#include "node/limits/limits.h"
#include "node/pin/pin.h"
#include "os/hostfacts.h"

namespace blksweep {
namespace {

constexpr std::chrono::milliseconds kSampleEvery{20};

bool limits(const NodeWish& w) { return w.memory_limit || w.limits_io(); }

std::string disk_of(const Source& source) { return source.device ? source.device->disk : ""; }

dev_t whole_disk_of(const Source& source) { return source.device ? source.device->whole_disk : 0; }

Result<> check_scheduler(const std::string& wanted, const std::string& disk) {
  const std::vector<std::string> there = schedulers_of(disk);
  if (wanted.empty() || std::ranges::find(there, wanted) != there.end() ||
      scheduler_is_module(wanted)) {
    return {};
  }
  return fail(fmt::format("--scheduler {}: {} has {}", wanted, disk, joined(there, ", ")));
}

Result<> check_disk(const Source& source, const NodeWish& w) {
  if (!w.changes_queue() && !w.limits_io()) {
    return {};
  }
  if (!source.device) {
    return unsupported(
        "the data set has no block device whose queue or reads could be changed: leave out "
        "--scheduler, --nr-requests, --read-ahead, --bandwidth-limit and --iops-limit");
  }
  return check_scheduler(w.scheduler, source.device->disk);
}

bool kernel_took(const NodeSettingRecord& s) {
  return s.got == s.asked || s.got.find("[" + s.asked + "]") != std::string::npos;
}

std::vector<std::uint64_t> sizes_of(const Catalog& catalog,
                                    const std::vector<std::uint32_t>& files) {
  std::vector<std::uint64_t> sizes(files.size());
  std::ranges::transform(files, sizes.begin(),
                         [&](std::uint32_t f) { return catalog.files[f].size; });
  return sizes;
}

PinFiles all_files(const Catalog& catalog) {
  return {catalog.files.size(),
          [&catalog](std::size_t i) { return catalog.full_path(static_cast<std::uint32_t>(i)); }};
}

}  // namespace

QueueWish queue_wish(const NodeWish& w) {
  QueueWish wish;
  if (!w.scheduler.empty()) {
    wish.emplace_back("scheduler", w.scheduler);
  }
  if (w.nr_requests) {
    wish.emplace_back("nr_requests", std::to_string(*w.nr_requests));
  }
  if (w.nomerges) {
    wish.emplace_back("nomerges", std::to_string(*w.nomerges));
  }
  if (w.read_ahead) {
    wish.emplace_back("read_ahead_kb", std::to_string(w.read_ahead->n / 1024));
  }
  return wish;
}

LimitWish limit_wish(const NodeWish& w, dev_t whole_disk) {
  LimitWish wish;
  wish.memory = w.memory_limit;
  if (w.bandwidth_limit) {
    wish.read_bytes_per_s = w.bandwidth_limit->n;
  }
  wish.read_iops = w.iops_limit;
  wish.disk = whole_disk;
  return wish;
}

struct RunNode::State {
  explicit State(Borrowing b) : borrowing(std::move(b)) {}

  void add(const std::vector<AskedGot>& got) {
    for (const AskedGot& s : got) {
      settings.push_back({s.name, s.asked, s.got, s.before});
    }
  }
  Result<> take_pins(const Source& source, const NodeWish& w, std::uint64_t seed,
                     const std::atomic<bool>& stop);
  Result<> place_thread(const NodeWish& w, const std::string& disk);
  void warn_of(const std::string& kind, const PinCount& count);

  // Destroyed bottom-up: out of the limits first, settings last.
  Borrowing borrowing;
  std::unique_ptr<ThreadPlace> place;
  std::string queue_of;                                    // the disk; empty: there is none
  std::vector<std::pair<std::string, std::string>> queue;  // as the run is to find it to its end
  DiskWatch watch;                                         // and of our cgroup
  Binding binding;
  std::string allowed;  // of the reading thread, once it is in its place
  std::optional<InodePin> inodes;
  std::optional<PagePin> pages;
  std::optional<RunCgroup> cgroup;
  std::jthread sampler;

  std::uint64_t pinned = 0;
  std::vector<NodeSettingRecord> settings;
  std::optional<LimitUseRecord> use;
  std::optional<std::uint64_t> hits_before;  // of the limit, when the epoch began
  bool limits_memory = false;
  bool killed = false;
  std::string lost;
  std::vector<std::string> warnings;
};

void RunNode::State::warn_of(const std::string& kind, const PinCount& count) {
  if (count.failed > 0) {
    warnings.push_back(fmt::format("{}: {} of {} files are not pinned ({})", kind, count.failed,
                                   count.files + count.failed, count.first_error));
  }
}

Result<> RunNode::State::take_pins(const Source& source, const NodeWish& w, std::uint64_t seed,
                                   const std::atomic<bool>& stop) {
  const auto stopped = [&stop] { return stop.load(); };
  const Catalog& catalog = source.catalog;
  const std::string filesystem = source.mount ? source.mount->filesystem : "";
  if (w.pin_inodes) {
    BLKSWEEP_CHECK(check_inode_pin(inode_pin_cost(catalog.files.size(), filesystem)));
    BLKSWEEP_TRY(inodes, InodePin::take(all_files(catalog), stopped));
    const PinCount& count = inodes->count();
    settings.push_back({"pin-inodes", fmt::format("{} files", catalog.files.size()),
                        fmt::format("{} files", count.files), ""});
    warn_of("pin-inodes", count);
  }
  if (w.pin_pages > 0) {
    const std::vector<std::uint32_t> chosen = files_for_share(catalog, w.pin_pages, seed);
    BLKSWEEP_CHECK(check_page_pin(page_pin_cost(sizes_of(catalog, chosen), filesystem)));
    BLKSWEEP_TRY(pages, PagePin::take({chosen.size(),
                                       [&](std::size_t i) { return catalog.full_path(chosen[i]); }},
                                      stopped));
    const PinCount& count = pages->count();
    pinned = count.bytes.n;
    settings.push_back(
        {"pin-pages", fmt::format("{}%", w.pin_pages),
         fmt::format("{} bytes of {} in {} files", pinned, catalog.bytes().n, count.files), ""});
    warn_of("pin-pages", count);
  }
  return {};
}

// Every role is tried on this thread, so that what it gets is known before the run; this thread
// stays the reader's.
Result<> RunNode::State::place_thread(const NodeWish& w, const std::string& disk) {
  if (w.bind.empty() && !w.io_priority) {
    return {};
  }
  place = std::make_unique<ThreadPlace>();
  if (!w.bind.empty()) {
    std::string got;
    for (const auto& [role, name] : {std::pair{Role::openers, "openers"},
                                     {Role::copy, "copy"},
                                     {Role::consumer, "consumer"},
                                     {Role::reader, "reader"}}) {
      BLKSWEEP_TRY(const std::string cpus, binding.bind(role));
      got = fmt::format("{}={}{}{}", name, cpus, got.empty() ? "" : "/", got);
    }
    settings.push_back({"bind", w.bind, got, ""});
  }
  if (w.io_priority) {
    BLKSWEEP_TRY(const IoPriority got, set_io_priority(*w.io_priority));
    settings.push_back({"ioprio", to_string(*w.io_priority), to_string(got), ""});
    if (const std::string scheduler = scheduler_of(disk); !heeds_io_priority(scheduler)) {
      warnings.push_back(fmt::format("ioprio: the scheduler of {} ({}) takes no notice of it",
                                     disk.empty() ? "this filesystem" : disk,
                                     scheduler.empty() ? "none known" : scheduler));
    }
  }
  return {};
}

namespace {

// All but the binding, which is what it is checked by.
Result<> check_rights(const Source& source, const NodeWish& wish) {
  if ((wish.changes_queue() || limits(wish)) && ::geteuid() != 0) {
    return unsupported(
        "queue settings and limits of a run need root: run as root, or leave out --scheduler, "
        "--nr-requests, --read-ahead and the limits");
  }
  BLKSWEEP_CHECK(check_disk(source, wish));
  if (wish.read_ahead && source.mount && source.mount->filesystem == "btrfs") {
    return unsupported(
        fmt::format("--read-ahead: btrfs at {} does not look at the queue's read-ahead; it has one "
                    "of its own (/sys/fs/btrfs/UUID/bdi/read_ahead_kb), which is a stored fact",
                    source.catalog.root));
  }
  if (limits(wish)) {
    BLKSWEEP_TRY([[maybe_unused]] const LimitPlan plan,
                 plan_limits(limit_wish(wish, whole_disk_of(source)), "blksweep"));
  }
  return {};
}

}  // namespace

Result<> RunNode::check(const Source& source, const NodeWish& wish) {
  BLKSWEEP_CHECK(check_rights(source, wish));
  BLKSWEEP_TRY([[maybe_unused]] const Binding b,
               Binding::parse(wish.bind, disk_of(source), wish.gpu));
  return {};
}

Result<> RunNode::put_back_left_behind(const Source& source, bool changes_queue) {
  if (!source.device || ::geteuid() != 0) {
    return {};
  }
  Result<> done = put_back_queue(source.device->disk);
  if (!done && !changes_queue) {
    warn(done.error().message());
    return {};
  }
  return done;
}

Result<RunNode> RunNode::borrow(const Source& source, const NodeWish& wish, std::uint64_t seed,
                                const std::atomic<bool>& stop) {
  BLKSWEEP_CHECK(check_rights(source, wish));  // again: the node may have changed since
  BLKSWEEP_TRY(Binding binding, Binding::parse(wish.bind, disk_of(source), wish.gpu));
  BLKSWEEP_TRY(Borrowing borrowing, Borrowing::begin());
  auto state = std::make_unique<State>(std::move(borrowing));
  state->binding = std::move(binding);
  std::vector<AskedGot> set;
  if (wish.changes_queue()) {
    BLKSWEEP_TRY(set, set_queue(disk_of(source), queue_wish(wish), state->borrowing));
    state->add(set);
  }
  if (source.device) {
    state->queue_of = source.device->disk;
    state->queue = settings_with(set, state->queue_of);
  }
  state->watch = DiskWatch::begin(state->queue_of);
  if (limits(wish)) {
    BLKSWEEP_TRY(RunCgroup group,
                 RunCgroup::create(limit_wish(wish, whole_disk_of(source)), state->borrowing));
    state->cgroup.emplace(std::move(group));
    state->limits_memory = wish.memory_limit.has_value();
    state->add(state->cgroup->limits());
  }
  BLKSWEEP_CHECK(state->take_pins(source, wish, seed, stop));
  BLKSWEEP_CHECK(state->place_thread(wish, disk_of(source)));
  state->allowed = allowed_cpus();
  return RunNode(std::move(state));
}

RunNode::RunNode(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunNode::RunNode(RunNode&&) noexcept = default;

RunNode::~RunNode() {
  if (state_) {
    if (const Result<> restored = restore(); !restored) {
      warn(restored.error().message());
    }
  }
}

Result<> RunNode::enter() {
  if (!state_->cgroup) {
    return {};
  }
  BLKSWEEP_CHECK(state_->cgroup->enter());
  state_->hits_before = state_->cgroup->use().limit_hits;
  state_->sampler = std::jthread([&group = *state_->cgroup](const std::stop_token& done) {
    while (!done.stop_requested()) {
      group.sample();
      std::this_thread::sleep_for(kSampleEvery);
    }
  });
  return {};
}

// The use of the limits is the epoch's: a fio twin that comes later does not count.
Result<> RunNode::leave() {
  if (!state_->sampler.joinable()) {
    return {};
  }
  state_->sampler = {};
  state_->cgroup->sample();
  const CgroupUse use = state_->cgroup->use();
  if (!state_->use) {
    Maybe<std::uint64_t> hits = use.limit_hits;
    if (hits && state_->hits_before) {
      *hits -= *state_->hits_before;
    }
    state_->use = {use.cache_peak_bytes, use.memory_peak_bytes, hits};
  }
  state_->killed = state_->killed || use.killed;
  if (const Result<> set = state_->cgroup->still_set(); !set) {
    state_->lost = set.error().message();
  }
  return state_->cgroup->leave();
}

bool RunNode::limits_memory() const { return state_->limits_memory; }

Result<> RunNode::inside(const std::function<void()>& prepare) {
  if (!state_->cgroup) {
    prepare();
    return {};
  }
  BLKSWEEP_CHECK(state_->cgroup->enter());
  prepare();
  return state_->cgroup->leave();
}

Result<> RunNode::restore() {
  const Result<> left = leave();
  state_->cgroup.reset();
  state_->pages.reset();
  state_->inodes.reset();
  state_->place.reset();
  BLKSWEEP_CHECK(state_->borrowing.restore());
  return left;
}

// borrow() has tried every role: this finds no new failure.
PlaceThread RunNode::place_threads() const {
  if (state_->binding.empty()) {
    return {};
  }
  return [&binding = state_->binding](Role role) {
    [[maybe_unused]] const Result<std::string> cpus = binding.bind(role);
  };
}

Result<> RunNode::place_peer() {
  BLKSWEEP_TRY(const std::string cpus, state_->binding.bind_all());
  for (NodeSettingRecord& s : state_->settings) {
    s.got = s.name == "bind" ? "peer=" + cpus : s.got;
  }
  state_->allowed = allowed_cpus();
  return {};
}

std::string RunNode::lost() const {
  if (state_->pages && !state_->pages->is_whole()) {
    return "the pin of pages did not hold to the end";
  }
  if (const std::string now = allowed_cpus(); now != state_->allowed) {
    return fmt::format("the CPUs that it may run on changed during the run: {}, now {}",
                       state_->allowed, now);
  }
  // Before the queue is looked at: what is written between the two looks shows there.
  const std::string seen = state_->watch.changed();
  if (const std::string changed = changed_queue(state_->queue, queue_settings(state_->queue_of));
      !changed.empty()) {
    return fmt::format("queue of {} changed during the run: {}", state_->queue_of, changed);
  }
  return seen.empty() ? state_->lost : seen;
}
std::uint64_t RunNode::pinned_bytes() const { return state_->pinned; }

void RunNode::record(RunRecord& run) const {
  run.node = state_->settings;
  run.limit_use = state_->use;
  run.warnings.insert(run.warnings.end(), state_->warnings.begin(), state_->warnings.end());
  for (const NodeSettingRecord& s : run.node) {
    const bool own_words = s.name == "bind" || s.name.starts_with("pin-");
    if (!own_words && !kernel_took(s)) {
      run.warnings.push_back(
          fmt::format("node: {}: asked {}, the kernel has {}", s.name, s.asked, s.got));
    }
  }
  if (state_->killed) {
    run.warnings.emplace_back(
        "node: the memory limit made the kernel end a process in the run's cgroup");
  }
}

}  // namespace blksweep
