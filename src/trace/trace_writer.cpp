#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "os/file/output_place.h"
#include "trace/trace_facts.h"
#include "trace/trace_file.h"
#include "trace/trace_layout.h"

namespace blksweep {
namespace {

template <class T>
std::string_view bytes_of(const T& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

}  // namespace

Result<> check_trace_place(const std::string& path) {
  return check_output_place(path, {"trace", {std::string(kTraceMagic.data(), kTraceMagic.size())}});
}

Result<TraceWriter> TraceWriter::begin(TraceSink sink, const TraceFacts& facts,
                                       std::uint32_t block_records) {
  TraceWriter w;
  w.sink_ = std::move(sink);
  w.block_records_ = std::clamp(block_records, 1U, kBlockRecords);
  const std::string json = json_line(json_of(facts));
  TraceHead head{kTraceMagic, kTraceVersion, static_cast<std::uint32_t>(json.size()),
                 XXH3_64bits(json.data(), json.size()), 0};
  head.check = XXH3_64bits(&head, offsetof(TraceHead, check));
  BLKSWEEP_CHECK(w.put(std::string(bytes_of(head)) + json));
  return w;
}

Result<> TraceWriter::put(const std::string& bytes) {
  at_ += bytes.size();
  return sink_(std::as_bytes(std::span(bytes)));
}

Result<std::uint32_t> TraceWriter::place(std::string_view name) {
  if (const auto known = places_.find(std::string(name)); known != places_.end()) {
    return known->second;
  }
  if (name.size() > kMaxNameBytes) {
    return fail(fmt::format("a name of {} bytes: a trace holds names of up to {}", name.size(),
                            kMaxNameBytes));
  }
  if (new_names_bytes_ + name.size() + 2 > kMaxNewNamesBytes) {
    BLKSWEEP_CHECK(flush());
  }
  const auto place = static_cast<std::uint32_t>(places_.size());
  places_.emplace(name, place);
  new_names_.emplace_back(name);
  new_names_bytes_ += name.size() + 2;
  return place;
}

Result<> TraceWriter::add(const TraceRecord& r) {
  constexpr auto kMost = static_cast<std::uint64_t>(INT64_MAX);
  if (r.offset > kMost || r.bytes > kMost || r.returned == INT64_MAX || r.latency_ns == INT64_MAX ||
      r.returned < kNotTold || r.latency_ns < kNotTold) {
    return fail(fmt::format("record {} holds a number that is out of range", records_));
  }
  if (r.time_ns < last_ns_ || r.place >= places_.size()) {
    return fail(r.time_ns < last_ns_
                    ? fmt::format("record {} is earlier than the one before", records_)
                    : fmt::format("record {} has no name", records_));
  }
  last_ns_ = r.time_ns;
  held_.push_back(r);
  ++records_;
  return held_.size() == block_records_ ? flush() : Result<>();
}

// Names without a record wait for the next one: a block has at least one.
Result<> TraceWriter::flush() {
  if (held_.empty()) {
    return {};
  }
  bytes_.clear();
  index_.push_back({at_, held_.front().time_ns, held_.back().time_ns, held_.size()});
  coder_.encode(held_, new_names_, bytes_);
  held_.clear();
  new_names_.clear();
  new_names_bytes_ = 0;
  return put(bytes_);
}

Result<> TraceWriter::finish(const TraceFacts& facts) {
  BLKSWEEP_CHECK(flush());
  const std::string json = json_line(json_of(facts));
  std::string index(reinterpret_cast<const char*>(index_.data()),
                    index_.size() * sizeof(BlockPlace));
  index += json;
  TraceTail tail{at_,
                 index_.size(),
                 static_cast<std::uint32_t>(json.size()),
                 0,
                 XXH3_64bits(index.data(), index.size()),
                 0,
                 kTailMagic};
  tail.check = XXH3_64bits(&tail, offsetof(TraceTail, check));
  return put(index.append(bytes_of(tail)));
}

}  // namespace blksweep
