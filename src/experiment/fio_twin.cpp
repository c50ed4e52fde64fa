#include "experiment/fio_twin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "experiment/fio_engine.h"
#include "os/file/file.h"
#include "os/file/stuck_open.h"
#include "os/process/process.h"
#include "trace/fio_program.h"

namespace blksweep {

// What all segments came to, as fio reports it.
struct FioSums {
  double runtime_ms = 0, bytes = 0, reads = 0, short_reads = 0, cpu_ms = 0, deep = 0;
  int error = 0;
};

namespace {

constexpr std::int64_t kCoarseNs = 100'000'000;

// fio has no setting for huge pages that need no reservation, but glibc has: its allocator then
// asks for them with madvise, as we do. One heap that only grows, with room behind its end, so that
// the first and the last buffer lie in huge pages, too (docs/fio-twin.md).
constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr const char* kHugePages =
    "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1:glibc.malloc.mmap_max=0:"
    "glibc.malloc.top_pad=4194304";

const std::vector<std::string> kArguments = {
    "fio", "--readonly", "--eta=never", "--output-format=json", "--output=out.json", "twin.fio"};

constexpr std::size_t kMostOfFio = 400;  // of its own words in an error

std::string said(std::string_view text) {
  return one_line(std::string(text.substr(0, kMostOfFio)));
}

double number(const Json& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

// fio's bucket of a queue depth: 1, 2, 4 ... ">=64".
std::string depth_bucket(unsigned depth) {
  return depth >= 64 ? ">=64" : std::to_string(std::bit_floor(depth));
}

void add_job(FioSums& sums, const Json& job, const std::string& bucket) {
  if (!job.is_object()) {
    return;
  }
  const Json read = job.value("read", Json::object());
  const double reads = number(read, "total_ios");
  // Rounded up to whole milliseconds by fio: half of one on average.
  sums.runtime_ms += std::max(0.5, number(read, "runtime") - 0.5);
  sums.bytes += number(read, "io_bytes");
  sums.reads += reads;
  sums.short_reads += number(read, "short_ios");
  sums.cpu_ms +=
      (number(job, "usr_cpu") + number(job, "sys_cpu")) / 100 * number(job, "job_runtime");
  sums.deep += reads * number(job.value("iodepth_level", Json::object()), bucket.c_str());
  sums.error = std::max(sums.error, static_cast<int>(number(job, "error")));
}

// fio's output file: messages, then one JSON document.
Result<FioSums> parse_output(const std::string& text, unsigned depth) {
  const std::size_t begin = text.find('{');
  const Json doc =
      begin == std::string::npos ? Json{} : parse_json(std::string_view(text).substr(begin));
  if (!doc.is_object() || !doc.contains("jobs") || !doc["jobs"].is_array()) {
    return fail("fio gave no result: " + said(text));
  }
  FioSums sums;
  for (const Json& job : doc["jobs"]) {
    add_job(sums, job, depth_bucket(depth));
  }
  if (sums.error != 0) {
    return fail("fio stopped with an error: " + said(std::string_view(text).substr(0, begin)) +
                " (errno " + std::to_string(sums.error) + ")");
  }
  return sums;
}

// fio runs one when a job is set up and before its clock starts, the other after it has stopped.
// Nothing but the shell itself is executed between counting and reading, so that it reads nothing.
constexpr const char* kScriptHead = "# By blksweep, for fio's exec_prerun and exec_postrun.\n";

std::string count_line(const std::string& disk, const char* when) {
  return fmt::format("read -r line </sys/block/{}/stat && echo \"$line\" >>{}.stat\n", disk, when);
}

// Setting a job up, fio calls stat on every file of it, which fetches inodes outside the clock. It
// finds none: their names lead through a link that is there from before.sh to after.sh. Dropping
// the caches instead, as each of several segments begins, would also take what the segments before
// it have read.
constexpr const char* kRootLink = "data";

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

// What was asked for before, whoever did, is over before anything is counted: the ninth number is
// requests in flight.
std::string wait_for_disk(const std::string& disk) {
  return fmt::format(
      "tries=0\n"
      "while read -r line </sys/block/{}/stat && set -- $line && [ \"$9\" -gt 0 ] && "
      "[ $tries -lt 10000 ]; do\n  tries=$((tries + 1))\ndone\n",
      disk);
}

std::string before_script(const FioSettings& settings, std::string_view root) {
  std::string text = kScriptHead + fmt::format("ln -s -- {} {}\n", quoted(root), kRootLink);
  if (!settings.disk.empty()) {
    text += wait_for_disk(settings.disk) + count_line(settings.disk, "before");
  }
  return text + "exit 0\n";
}

std::string after_script(const FioSettings& settings) {
  return kScriptHead + (settings.disk.empty() ? "" : count_line(settings.disk, "after")) +
         fmt::format("rm -f -- {}\nexit 0\n", kRootLink);
}

struct DiskSums {
  std::uint64_t reads = 0, sectors = 0;
  std::size_t lines = 0;
};

// One line of /sys/block/*/stat per segment: reads, merges, sectors ...
DiskSums sum_stats(const std::string& path) {
  std::istringstream in(whole_text(path));
  DiskSums sums;
  for (std::string line; std::getline(in, line); ++sums.lines) {
    std::istringstream fields(line);
    std::uint64_t reads = 0, merges = 0, sectors = 0;
    fields >> reads >> merges >> sectors;
    sums.reads += reads;
    sums.sectors += sectors;
  }
  return sums;
}

}  // namespace

// Rules of docs/fio-twin.md: fio's synchronous engines take a read that ends before its length for
// an error, so they need exact lengths, which O_DIRECT does not allow for an odd tail.
Result<> FioTwin::choose_engine(const Catalog& catalog, const Plan& plan) {
  const FioEngine& fio = fio_engine(settings_.engine);
  if (fio.ioengine.empty()) {
    return unsupported(std::string(fio.without));
  }
  const bool synchronous = !traits_of(settings_.engine).queues;
  depth_ = synchronous ? 1 : std::max(1U, settings_.depth);
  engine_ = fio.ioengine;
  engine_options_ = fio.options;
  if (synchronous && settings_.direct && reads_past_end(catalog, plan) > 0) {
    engine_ = "io_uring";
    depth_ = 1;
    warnings_.push_back(
        fmt::format("fio twin: fio's {} engine cannot read odd file tails with O_DIRECT; the twin "
                    "uses io_uring at "
                    "depth 1, which issues the same reads one at a time",
                    to_string(settings_.engine)));
  } else {
    clip_ = synchronous;
  }
  return {};
}

Result<> FioTwin::write_text(const std::string& name, const std::string& text) const {
  const std::string path = directory_ + "/" + name;
  std::ofstream out(path);
  out << text;
  out.close();
  return out ? Result<>{} : fail("write " + path + ": failed; is the disk full?");
}

Result<> FioTwin::write_job(bool fixed_buffers) {
  job_ = fmt::format(
      "[global]\nioengine={}\niodepth={}\ndirect={}\nbs={}\nthread=1\nreplay_no_stall=1\n"
      "allow_file_create=0\ninvalidate=0\nfadvise_hint=0\ndisk_util=0\n"
      "exec_prerun=/bin/sh before.sh\nexec_postrun=/bin/sh after.sh\n",
      engine_, depth_, settings_.direct ? 1 : 0, iologs_.largest_read);
  job_ += engine_options_;
  if (fixed_buffers) {
    job_ += "fixedbufs=1\n";
  }
  if (grouped()) {
    job_ += fmt::format(
        "iodepth_batch_submit={0}\niodepth_batch_complete_min={1}\niodepth_batch_complete_max={1}"
        "\n",
        depth_, std::min(settings_.refill, depth_));
  }
  if (settings_.refill > 0) {
    job_ += fmt::format("iomem_align={}\n", kHugePage);
  }
  for (std::size_t i = 0; i < iologs_.segments.size(); ++i) {
    const IologSegment& s = iologs_.segments[i];
    // number_ios ends the job by count; by size it would forget the reads still in flight.
    job_ += fmt::format("\n[segment{:04}]\nstonewall\nnumber_ios={}\nread_iolog={}\n", i, s.reads,
                        private_ ? s.path : std::filesystem::path(s.path).filename().string());
  }
  for (const auto& [name, text] : {std::pair{"before.sh", before_script(settings_, root_)},
                                   {"after.sh", after_script(settings_)},
                                   {"twin.fio", job_}}) {
    BLKSWEEP_CHECK(write_text(name, text));
  }
  return {};
}

Result<FioTwin> FioTwin::prepare(const Catalog& catalog, const Plan& plan,
                                 const FioSettings& settings) {
  BLKSWEEP_TRY(std::string version, fio_version());
  FioTwin twin(settings);
  BLKSWEEP_TRY(twin.private_, PrivateFolder::make("fio", settings.temp_dir));
  twin.directory_ = twin.private_->path();
  twin.version_ = std::move(version);
  BLKSWEEP_CHECK(twin.write_iologs(catalog, plan));
  twin.root_fd_ = Fd(::open(twin.root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return twin;
}

Result<> FioTwin::write_iologs(const Catalog& catalog, const Plan& plan) {
  BLKSWEEP_CHECK(choose_engine(catalog, plan));
  IologSettings to;
  to.directory = directory_;
  to.device_node = settings_.device_node;
  to.root_link = kRootLink;
  to.clip_to_file = clip_;
  to.segment_files = settings_.segment_files;
  to.relative = !private_;
  root_ = catalog.root;
  BLKSWEEP_TRY(iologs_, export_fio_iolog(catalog, plan, to));
  if (iologs_.reads == 0) {
    return unsupported("fio twin: the plan reads nothing");
  }
  if (iologs_.links > 0) {
    warnings_.push_back(fmt::format(
        "fio twin: {} files have names that an iolog cannot hold; fio opens them through symbolic "
        "links, which costs it a little more per open",
        iologs_.links));
  }
  return {};
}

Result<FioTwin> FioTwin::write_to(const std::string& folder, const Catalog& catalog,
                                  const Plan& plan, const FioSettings& settings) {
  FioTwin twin(settings);
  twin.directory_ = folder;
  BLKSWEEP_CHECK(twin.write_iologs(catalog, plan));
  BLKSWEEP_CHECK(twin.write_job(/*fixed_buffers=*/twin.engine_ == "io_uring"));
  BLKSWEEP_CHECK(twin.write_script());
  return twin;
}

// What an earlier start that was cut off left would be in the way.
Result<> FioTwin::write_script() const {
  return write_text(
      "run.sh",
      fmt::format("#!/bin/sh\n# By blksweep: fio with the reads of a run; its options "
                  "may follow.\n"
                  "cd \"$(dirname \"$0\")\" || exit 1\nrm -f -- {} before.stat after.stat\n"
                  "{}{}exec fio --readonly \"$@\" twin.fio\n",
                  kRootLink, settings_.refill > 0 ? kHugePages : "",
                  settings_.refill > 0 ? " " : ""));
}

Result<FioResult> FioTwin::run() {
  const bool fixed = engine_ == "io_uring";
  BLKSWEEP_CHECK(write_job(fixed));
  Result<FioResult> r = run_once();
  if (r || !fixed || r.error().exit_code == Exit::interrupted) {
    return r;
  }
  // RLIMIT_MEMLOCK can forbid registered buffers; then fio ends before its first read.
  BLKSWEEP_CHECK(write_job(false));
  Result<FioResult> plain = run_once();
  if (!plain) {
    return r;  // the first error is the one to report
  }
  plain->warnings.push_back("fio twin: ran without registered buffers (" + r.error().text + ")");
  return plain;
}

void FioTwin::count_requests(FioRecord& record) const {
  const DiskSums before = sum_stats(directory_ + "/before.stat");
  const DiskSums after = sum_stats(directory_ + "/after.stat");
  if (before.lines == iologs_.segments.size() && after.lines == before.lines) {
    record.requests = after.reads - before.reads;
    record.device_bytes = (after.sectors - before.sectors) * kSectorBytes;
  }
}

FioResult FioTwin::to_result(const FioSums& sums) const {
  FioResult r;
  const double seconds = sums.runtime_ms / 1e3;
  r.record.read_bytes = static_cast<std::uint64_t>(sums.bytes);
  r.record.planned_bytes = iologs_.bytes;
  r.reads = static_cast<std::uint64_t>(sums.reads);
  r.short_reads = static_cast<std::uint64_t>(sums.short_reads);
  r.deep_share = sums.reads > 0 ? sums.deep / 100 / sums.reads : 0;
  r.record.version = version_;
  r.record.command = joined(kArguments, " ");
  r.record.job = job_;
  r.record.reads_per_s = sums.reads / seconds;
  r.record.runtime_ns = std::llround(sums.runtime_ms * 1e6);
  r.record.cpu_ns = std::llround(sums.cpu_ms * 1e6);
  r.warnings = warnings_;
  count_requests(r.record);
  if (r.record.runtime_ns < kCoarseNs) {
    // Of two texts, so that many runs are one line.
    r.warnings.push_back(fmt::format(
        "fio twin: fio's clock has steps of 1 ms, more than {} % of its run: the ratio is that "
        "coarse (a larger data set takes longer)",
        r.record.runtime_ns < kCoarseNs / 10 ? 10 : 1));
  }
  return r;
}

Result<FioResult> FioTwin::run_once() {
  const std::string output = directory_ + "/out.json";
  std::error_code ignored;
  for (const char* name : {"out.json", "before.stat", "after.stat", kRootLink}) {
    std::filesystem::remove(directory_ + "/" + name, ignored);
  }
  ProcessSpec spec;
  spec.argv = kArguments;
  spec.directory = directory_;
  if (settings_.refill > 0) {
    spec.environment = {kHugePages};
  }
  spec.timeout = settings_.timeout;
  spec.interrupt = settings_.interrupt;
  spec.hopeless = StuckOpen();  // fio opens by name whatever is there
  const std::int64_t begin = now_ns();
  BLKSWEEP_TRY(const ProcessResult child, run_process(spec));
  const std::int64_t there = now_ns() - begin;
  if (child.interrupted) {
    return fail("fio twin: interrupted", Exit::interrupted);
  }
  if (child.hopeless) {
    return fail("fio twin: fio waits for something that is no file: is there a FIFO in the data?");
  }
  if (child.timed_out) {
    return fail("fio twin: stopped after " + format_duration(settings_.timeout) +
                "; use fewer reads or do without the twin");
  }
  const Result<FioSums> parsed = parse_output(whole_text(output), depth_);
  if (!parsed || !child.ok()) {
    return fail(fmt::format(
        "fio twin: {} {}",
        parsed ? fmt::format("fio ended with status {}", child.exit_status) : parsed.error().text,
        said(child.err)));
  }
  FioResult result = to_result(*parsed);
  if (result.record.runtime_ns > there) {
    return fail(fmt::format("fio twin: fio says that it read for {}, and was there for {}",
                            format_duration(Nanos(result.record.runtime_ns)),
                            format_duration(Nanos(there))));
  }
  return result;
}

Result<FioResult> run_fio_twin(const Catalog& catalog, const Plan& plan,
                               const FioSettings& settings) {
  BLKSWEEP_TRY(FioTwin twin, FioTwin::prepare(catalog, plan, settings));
  return twin.run();
}

}  // namespace blksweep
