#include "record/trace_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/clock.h"
#include "os/file/file.h"
#include "os/file/trust.h"

namespace blksweep {
Result<TraceOutput> TraceOutput::begin(const std::string& path, const TraceFacts& facts) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  BLKSWEEP_CHECK(check_way_to(folder.empty() ? "." : folder));
  TraceOutput out;
  out.path_ = path;
  out.fd_ = std::make_unique<Fd>(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!*out.fd_) {
    return errno == EEXIST
               ? fail(path + " is there already: give another name, or remove it", Exit::usage)
               : sys_error(errno, "create " + path);
  }
  const auto sink = [fd = out.fd_.get(), path](std::span<const std::byte> bytes) {
    return write_full(fd->get(), bytes, path);
  };
  BLKSWEEP_TRY(TraceWriter writer, TraceWriter::begin(sink, facts));
  out.writer_ = std::make_unique<TraceWriter>(std::move(writer));
  return out;
}

Result<std::uint32_t> TraceOutput::place(std::string_view name) {
  BLKSWEEP_TRY(const std::uint32_t at, writer_->place(name));
  if (at == names_.size()) {
    names_.emplace_back(name);
  }
  return at;
}

Result<> TraceOutput::write_until(std::int64_t time_ns) {
  for (; !held_.empty() && held_.top().record.time_ns <= time_ns; held_.pop()) {
    TraceRecord r = held_.top().record;
    if (r.time_ns < written_ns_) {
      late_.push_back(r);
      continue;
    }
    first_ns_ = first_ns_ < 0 ? r.time_ns : first_ns_;
    written_ns_ = r.time_ns;
    r.time_ns -= first_ns_;
    BLKSWEEP_CHECK(writer_->add(r));
  }
  return {};
}

Result<> TraceOutput::advance(std::int64_t now) {
  if (newest_begin_ns_ <= now) {
    hold_ns_ = std::clamp(2 * (now - newest_begin_ns_), hold_ns_, kMostHold);
  }
  newest_begin_ns_ = INT64_MAX;
  BLKSWEEP_CHECK(write_until(now - hold_ns_));
  if (now - flushed_ns_ < kFlushes) {
    return {};
  }
  flushed_ns_ = now;
  return writer_->flush();
}

Result<> TraceOutput::finish(TraceFacts facts) {
  BLKSWEEP_CHECK(write_until(INT64_MAX));
  const auto first = std::ranges::min_element(late_, {}, &TraceRecord::time_ns);
  const std::int64_t begin = late_.empty() ? first_ns_ : std::min(first_ns_, first->time_ns);
  if (begin >= 0) {
    facts.start_unix_ns = unix_ns() - (now_ns() - begin);
  }
  BLKSWEEP_CHECK(writer_->finish(facts));
  return late_.empty() ? Result<>() : merge_late(facts);
}

void TraceOutput::discard() { ::unlink(path_.c_str()); }

// Seldom: reads that took longer than what was held back.
Result<> TraceOutput::merge_late(const TraceFacts& facts) {
  std::ranges::stable_sort(late_, {}, &TraceRecord::time_ns);
  const std::int64_t shift = std::max<std::int64_t>(0, first_ns_ - late_.front().time_ns);
  BLKSWEEP_TRY(TraceReader in, TraceReader::open(path_));
  BLKSWEEP_TRY(ReplacedFile file, ReplacedFile::begin(path_));
  BLKSWEEP_TRY(TraceWriter out,
               TraceWriter::begin([&](auto bytes) { return file.write(bytes); }, facts));
  std::size_t next = 0;
  const auto add_late = [&](std::int64_t before) -> Result<> {
    for (; next < late_.size() && late_[next].time_ns - first_ns_ < before; ++next) {
      TraceRecord r = late_[next];
      r.time_ns += shift - first_ns_;
      BLKSWEEP_CHECK(out.add(r));
    }
    return {};
  };
  std::vector<TraceRecord> block;
  for (const std::string& name : names_) {
    BLKSWEEP_TRY([[maybe_unused]] const std::uint32_t same, out.place(name));
  }
  for (;;) {
    BLKSWEEP_TRY(const bool some, in.next(block));
    if (!some) {
      break;
    }
    for (TraceRecord& r : block) {
      BLKSWEEP_CHECK(add_late(r.time_ns));
      r.time_ns += shift;
      BLKSWEEP_CHECK(out.add(r));
    }
  }
  BLKSWEEP_CHECK(add_late(INT64_MAX));
  BLKSWEEP_CHECK(out.finish(facts));
  return file.commit();
}

}  // namespace blksweep
