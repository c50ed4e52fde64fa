#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"
#include "trace/trace_facts.h"
#include "trace/trace_file.h"
#include "trace/trace_layout.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMaxNamesBytes = std::uint64_t{1} << 30;  // of one file
// With less behind it a file is not worth an index.
constexpr std::uint64_t kLeastBlock = sizeof(BlockHead);

template <class T>
std::span<std::byte> writable(T& record) {
  return std::as_writable_bytes(std::span(&record, 1));
}

}  // namespace

tl::unexpected<Error> TraceReader::damaged(const std::string& what) const {
  return fail(fmt::format("{}: {}", printable(path_), what));
}

Result<TraceReader> TraceReader::open(const std::string& path) {
  TraceReader r;
  BLKSWEEP_TRY(r.fd_, open_regular(path));
  r.path_ = path;
  BLKSWEEP_TRY(r.size_, file_size(r.fd_.get(), path));
  BLKSWEEP_CHECK(r.read_head());
  BLKSWEEP_CHECK(r.read_index());
  r.rewind();
  return r;
}

void TraceReader::rewind() {
  at_ = first_block_;
  block_ = 0;
  last_ns_ = 0;
  names_bytes_ = 0;
  names_.clear();
}

Result<> TraceReader::read_head() {
  TraceHead head;
  BLKSWEEP_TRY(const std::size_t n, pread_full(fd_.get(), writable(head), 0, path_));
  if (n < sizeof head || head.magic != kTraceMagic) {
    return damaged("is no trace of blksweep: bring it in with blksweep trace import");
  }
  if (head.check != XXH3_64bits(&head, offsetof(TraceHead, check))) {
    return damaged("its head is damaged: import or record it again");
  }
  if (head.version != kTraceVersion) {
    return damaged(fmt::format("is of version {}, this program reads version {}", head.version,
                               kTraceVersion));
  }
  first_block_ = sizeof head + head.facts_bytes;
  if (head.facts_bytes > kMaxFactsBytes || first_block_ > size_) {
    return damaged("ends within its head: import or record it again");
  }
  std::string json(head.facts_bytes, '\0');
  BLKSWEEP_TRY(const std::size_t got,
               pread_full(fd_.get(), std::as_writable_bytes(std::span(json)), sizeof head, path_));
  if (got < json.size() || XXH3_64bits(json.data(), json.size()) != head.facts_check) {
    return damaged("its head is damaged: import or record it again");
  }
  Result<TraceFacts> facts = parse_trace_facts(json);
  if (!facts) {
    return damaged(facts.error().text);
  }
  facts_ = *std::move(facts);
  return {};
}

// No tail: the writer was killed, and the blocks say where they end. A tail that lies: an Error.
Result<> TraceReader::read_index() {
  TraceTail tail{};
  end_ = size_;
  if (size_ < first_block_ + sizeof tail) {
    return {};
  }
  BLKSWEEP_TRY(const std::size_t n,
               pread_full(fd_.get(), writable(tail), size_ - sizeof tail, path_));
  if (n < sizeof tail || tail.magic != kTailMagic ||
      tail.check != XXH3_64bits(&tail, offsetof(TraceTail, check))) {
    return {};
  }
  const std::uint64_t room = size_ - sizeof tail - first_block_;
  if (tail.facts_bytes > kMaxFactsBytes || tail.facts_bytes > room ||
      tail.blocks > room / kLeastBlock || tail.index_offset < first_block_ ||
      tail.index_offset + tail.blocks * sizeof(BlockPlace) + tail.facts_bytes + sizeof tail !=
          size_) {
    return damaged("its index is damaged");
  }
  index_.resize(tail.blocks);
  const auto places = std::as_writable_bytes(std::span(index_));
  std::vector<std::byte> bytes(places.size() + tail.facts_bytes);
  BLKSWEEP_TRY(const std::size_t got, pread_full(fd_.get(), bytes, tail.index_offset, path_));
  if (got < bytes.size() || XXH3_64bits(bytes.data(), bytes.size()) != tail.index_check) {
    return damaged("its index is damaged");
  }
  std::ranges::copy(std::span(bytes).first(places.size()), places.begin());
  Result<TraceFacts> facts = parse_trace_facts(
      {reinterpret_cast<const char*>(bytes.data()) + places.size(), tail.facts_bytes});
  if (!facts || facts->kind != facts_.kind) {
    return damaged("its index is damaged");
  }
  facts_ = *std::move(facts);
  end_ = tail.index_offset;
  whole_ = true;
  return {};
}

std::optional<std::uint64_t> TraceReader::records() const {
  if (!whole_) {
    return std::nullopt;
  }
  std::uint64_t sum = 0;
  for (const BlockPlace& b : index_) {
    sum += b.records;
  }
  return sum;
}

Result<bool> TraceReader::next(std::vector<TraceRecord>& block) {
  block.clear();
  if (at_ == end_) {
    return whole_ && block_ < index_.size() ? damaged("has fewer blocks than its index")
                                            : Result<bool>(false);
  }
  return read_block(block);
}

Result<bool> TraceReader::read_block(std::vector<TraceRecord>& block) {
  const auto cut = [this](const std::string& what) {
    return whole_ ? Result<bool>(damaged(what)) : Result<bool>(false);
  };
  BlockHead head{};
  const std::string where = fmt::format("block {} at byte {}", block_, at_);
  BLKSWEEP_TRY(const std::size_t n, pread_full(fd_.get(), writable(head), at_, path_));
  if (n < sizeof head || end_ - at_ < sizeof head) {
    return cut(where + " is cut");
  }
  if (const Result<> checked = check_head(head); !checked) {
    return damaged(where + " " + checked.error().text);
  }
  if (end_ - at_ - sizeof head < head.stored_bytes) {
    return cut(where + " is cut");
  }
  body_.resize(head.stored_bytes);
  BLKSWEEP_TRY(const std::size_t got, pread_full(fd_.get(), body_, at_ + sizeof head, path_));
  names_bytes_ += head.names_bytes;
  if (got < body_.size() || head.first_ns < last_ns_ || names_bytes_ > kMaxNamesBytes) {
    return damaged(where + (got < body_.size()         ? " is cut"
                            : head.first_ns < last_ns_ ? " is earlier than the one before"
                                                       : " brings too many names"));
  }
  if (const Result<> decoded = coder_.decode(head, body_, block, &names_); !decoded) {
    return damaged(where + ": " + decoded.error().text);
  }
  last_ns_ = head.last_ns;
  at_ += sizeof head + head.stored_bytes;
  ++block_;
  return true;
}

}  // namespace blksweep
