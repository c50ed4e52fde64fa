// Trace files: written as a stream, read as a stream, in bounded memory.
//
// Layout:    docs/trace-format.md. A file whose writer was killed has no index; what was written
//            of whole blocks can be read, and whole() is false.
// Order:     records are sorted by time; a writer refuses what goes back (trace_sort.h sorts).
// Memory:    a block of records (7 MiB at most) and the names.
// Errors:    open() and next() accept arbitrary bytes; an Error names the file and the place.
// Ownership: a reader owns its descriptor and its names.
// Threads:   one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "trace/trace_block.h"
#include "trace/trace_record.h"

namespace blksweep {

inline constexpr std::uint32_t kTraceVersion = 1;

// A trace takes the place of nothing but a trace.
Result<> check_trace_place(const std::string& path);

// Where a writer's bytes go, in order.
using TraceSink = std::function<Result<>(std::span<const std::byte>)>;

// Of one block, in the index at the end.
struct BlockPlace {
  std::uint64_t offset = 0;
  std::int64_t first_ns = 0, last_ns = 0;
  std::uint64_t records = 0;
};

class TraceWriter {
 public:
  // `facts` as known now; finish() writes what is known then. `block_records`: how many are held
  // back at most, 1 .. kBlockRecords.
  static Result<TraceWriter> begin(TraceSink sink, const TraceFacts& facts,
                                   std::uint32_t block_records = kBlockRecords);

  // The same name gives the same place. Errors: longer than kMaxNameBytes.
  Result<std::uint32_t> place(std::string_view name);
  // Errors: earlier than the record before; a place that place() did not give.
  Result<> add(const TraceRecord& record);
  // Writes what is held back: after this a killed writer loses nothing.
  Result<> flush();
  // Flushes and writes the index. Nothing may be added afterwards.
  Result<> finish(const TraceFacts& facts);

  std::uint64_t records() const { return records_; }

 private:
  TraceWriter() = default;
  Result<> put(const std::string& bytes);

  TraceSink sink_;
  BlockCoder coder_;
  std::uint32_t block_records_ = kBlockRecords;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::vector<std::string> new_names_;
  std::size_t new_names_bytes_ = 0;
  std::vector<TraceRecord> held_;
  std::vector<BlockPlace> index_;
  std::string bytes_;
  std::uint64_t at_ = 0, records_ = 0;
  std::int64_t last_ns_ = 0;
};

class TraceReader {
 public:
  static Result<TraceReader> open(const std::string& path);

  // Of the end of the file where it is whole, else of its beginning.
  const TraceFacts& facts() const { return facts_; }
  bool whole() const { return whole_; }
  // Of a whole file; without an index nullopt.
  std::optional<std::uint64_t> records() const;
  // Replaces `block` by the records of the next one; false at the end. An unfinished file ends
  // before its first block that is cut.
  Result<bool> next(std::vector<TraceRecord>& block);
  // Those of the blocks that were read so far.
  const std::vector<std::string>& names() const { return names_; }
  // Back to the first record.
  void rewind();

 private:
  TraceReader() = default;
  Result<> read_head();
  Result<> read_index();
  Result<bool> read_block(std::vector<TraceRecord>& block);
  tl::unexpected<Error> damaged(const std::string& what) const;

  Fd fd_;
  std::string path_;
  std::uint64_t size_ = 0, first_block_ = 0, end_ = 0, at_ = 0;
  TraceFacts facts_;
  bool whole_ = false;
  std::vector<BlockPlace> index_;
  std::size_t block_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint64_t names_bytes_ = 0;
  std::vector<std::string> names_;
  std::vector<std::byte> body_;
  BlockCoder coder_;
};

}  // namespace blksweep
