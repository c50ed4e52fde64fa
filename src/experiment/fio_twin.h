// FioTwin: the same reads in the same order at the same depth, carried out by the real fio, so that
// a result can be judged against the tool that everybody trusts.
//
// Use:       prepare() once per plan (writes the iologs and syncs them), bring the caches into the
//            same state as for our own run, run(). run() may be repeated.
// Measured:  fio's own clock, from the first open to the last completion: parsing the iolog and
//            creating the job are outside, opening each file is inside, as in ours.
// Caches:    nothing outside the clock touches a file of the data set: fio's set-up meets names
//            that lead nowhere yet. What the caches held when run() was called is what fio finds.
// Units:     nanoseconds and bytes. fio reports whole milliseconds, rounded up: half a millisecond
//            per segment is taken off, and a run below 100 ms says how coarse it is.
// Errors:    Exit::unsupported when fio is not installed (the run can go on without a twin) or when
//            the plan has no reads; Exit::interrupted when `interrupt` was set; else what fio said.
// Ownership: the temporary directory is removed with the twin.
// Source:    docs/fio-twin.md: what fio 3.33 does with an iolog, and the rules that follow.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "io/engine.h"
#include "os/file/private_folder.h"
#include "plan/plan.h"
#include "store/records.h"
#include "trace/fio_iolog.h"

namespace blksweep {

struct FioSettings {
  EngineKind engine = EngineKind::io_uring;
  unsigned depth = 32;
  unsigned refill = 0;  // > 0: submits in the Reader's groups, from huge pages; 0: one by one
  bool direct = true;
  std::string device_node = {};  // for plans that read the block device
  std::string disk = {};         // whose statistics are counted, below /sys/block; empty: none
  std::uint32_t segment_files = IologSettings{}.segment_files;
  std::string temp_dir = {};  // where a directory is made; empty: $TMPDIR, else /tmp
  Nanos timeout = std::chrono::minutes(10);
  const std::atomic<bool>* interrupt = nullptr;
};

struct FioSums;  // what fio reported, summed over segments

struct FioResult {
  FioRecord record;  // what concerns our run (ratio, bytes_per_s) is filled in by experiment/pair.h
  std::uint64_t reads = 0, short_reads = 0;
  double deep_share = 0;  // of reads issued while the queue was in the same power of two as `depth`
  std::vector<std::string> warnings;
};

class FioTwin {
 public:
  static Result<FioTwin> prepare(const Catalog& catalog, const Plan& plan,
                                 const FioSettings& settings);
  Result<FioResult> run();
  // Into a folder that is there and stays, to be run by hand: the job, its iologs, what fio runs
  // before and after, and run.sh. They name each other from there, so that it can be moved.
  static Result<FioTwin> write_to(const std::string& folder, const Catalog& catalog,
                                  const Plan& plan, const FioSettings& settings);

  const IologExport& iologs() const { return iologs_; }
  const std::string& job() const { return job_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  explicit FioTwin(const FioSettings& settings) : settings_(settings) {}
  Result<> write_iologs(const Catalog& catalog, const Plan& plan);
  Result<> write_script() const;
  bool grouped() const { return settings_.refill > 0 && depth_ > 1; }
  Result<> choose_engine(const Catalog& catalog, const Plan& plan);
  Result<> write_job(bool fixed_buffers);
  Result<> write_text(const std::string& name, const std::string& text) const;
  void count_requests(FioRecord& record) const;
  Result<FioResult> run_once();
  FioResult to_result(const FioSums& sums) const;

  std::optional<PrivateFolder> private_;
  std::string directory_;
  FioSettings settings_;
  IologExport iologs_;
  std::string engine_;          // fio's name for it
  std::string engine_options_;  // lines of the job that it needs
  unsigned depth_ = 1;
  bool clip_ = false;
  std::string root_;  // of the data set
  Fd root_fd_;        // and so in the dentry cache, as it is beside our run
  std::string version_, job_;
  std::vector<std::string> warnings_;
};

// prepare() and run() in one, for callers that do not touch the caches in between.
Result<FioResult> run_fio_twin(const Catalog& catalog, const Plan& plan,
                               const FioSettings& settings);

}  // namespace blksweep
