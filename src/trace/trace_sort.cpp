#include "trace/trace_sort.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <queue>

#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr std::size_t kMergeRecords = 4096;  // a block; one a run is in memory while merging

bool earlier(const TraceRecord& a, const TraceRecord& b) { return a.time_ns < b.time_ns; }

Result<Fd> unnamed_file(const std::string& folder) {
  Fd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) {
    return fd;
  }
  std::string name = folder + "/.blksweep-sort-XXXXXX";  // filesystems without O_TMPFILE
  fd = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    return sys_error(error, "create a temporary file for sorting in " + folder);
  }
  ::unlink(name.c_str());
  return fd;
}

}  // namespace

Result<> TraceSort::add(const TraceRecord& r) {
  first_ns_ = std::min(first_ns_, r.time_ns);
  run_.push_back(r);
  return run_.size() == run_records_ ? spill() : Result<>();
}

Result<> TraceSort::spill() {
  if (!file_) {
    BLKSWEEP_TRY(file_, unnamed_file(folder_));
  }
  std::ranges::stable_sort(run_, earlier);
  Run& run = runs_.emplace_back();
  std::string bytes;
  for (std::size_t i = 0; i < run_.size(); i += kMergeRecords) {
    const auto part = std::span(run_).subspan(i, std::min(kMergeRecords, run_.size() - i));
    bytes.clear();
    coder_.encode(part, {}, bytes);
    run.blocks.push_back({end_, part.front().time_ns, part.back().time_ns, bytes.size()});
    BLKSWEEP_CHECK(write_full(file_.get(), std::as_bytes(std::span(bytes)), "temporary file"));
    end_ += bytes.size();
  }
  run_.clear();
  return {};
}

// The next block of the run; false at its end.
Result<bool> TraceSort::load(Run& run) {
  if (run.next_block == run.blocks.size()) {
    return false;
  }
  const BlockPlace& place = run.blocks[run.next_block++];
  body_.resize(place.records);  // of a run's blocks: bytes
  BLKSWEEP_TRY(const std::size_t n, pread_full(file_.get(), body_, place.offset, "temporary file"));
  BlockHead head{};
  if (n < body_.size()) {
    return fail("the temporary file for sorting is shorter than what was written");
  }
  std::memcpy(&head, body_.data(), sizeof head);
  BLKSWEEP_CHECK(coder_.decode(head, std::span(body_).subspan(sizeof head), run.records, nullptr));
  run.next = 0;
  return true;
}

Result<> TraceSort::merge(const std::function<Result<>(const TraceRecord&)>& take) {
  using Entry = std::pair<std::int64_t, std::size_t>;  // time and run: earlier runs first
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    BLKSWEEP_TRY(const bool some, load(runs_[i]));
    if (some) {
      next.emplace(runs_[i].records.front().time_ns, i);
    }
  }
  while (!next.empty()) {
    const std::size_t i = next.top().second;
    next.pop();
    Run& run = runs_[i];
    BLKSWEEP_CHECK(take(run.records[run.next++]));
    if (run.next == run.records.size()) {
      BLKSWEEP_TRY(const bool some, load(run));
      if (!some) {
        continue;
      }
    }
    next.emplace(run.records[run.next].time_ns, i);
  }
  return {};
}

Result<> TraceSort::drain(const std::function<Result<>(const TraceRecord&)>& take) {
  if (!runs_.empty()) {
    if (!run_.empty()) {
      BLKSWEEP_CHECK(spill());
    }
    run_ = {};
    return merge(take);
  }
  std::ranges::stable_sort(run_, earlier);
  for (const TraceRecord& r : run_) {
    BLKSWEEP_CHECK(take(r));
  }
  return {};
}

}  // namespace blksweep
