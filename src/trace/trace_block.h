// One block of a trace file: up to 128 Ki records as columns (trace_column.h), names, a check.
//
// Errors:  decode accepts arbitrary bytes; what is not a whole block of this layout is an Error
//          without context ("column 3: ...").
// Threads: pure functions; BlockCoder has the library's contexts, one owner.
// Source:  docs/trace-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace_record.h"

namespace blksweep {

inline constexpr std::uint32_t kBlockRecords = 1U << 17;  // a plane of it is one block of zstd
inline constexpr std::uint32_t kMaxNameBytes = 4096;
inline constexpr std::uint32_t kMaxNewNamesBytes = 16U << 20;  // of one block
inline constexpr std::size_t kMaxBlockBytes = 32U << 20;       // stored

// As stored, little endian; `check` is XXH3-64 of what follows, seeded with that of the head with
// this field 0.
struct BlockHead {
  std::uint32_t magic;    // "TBLK"
  std::uint32_t records;  // 1 .. kBlockRecords
  std::int64_t first_ns, last_ns;
  std::uint32_t names;         // first used in this block
  std::uint32_t names_bytes;   // of them, before compression, each with a 16-bit length
  std::uint32_t stored_bytes;  // behind this head
  std::uint32_t reserved;      // 0
  std::uint64_t check;
};
static_assert(sizeof(BlockHead) == 48);
inline constexpr std::uint32_t kBlockMagic = 0x4B4C4254;

class BlockCoder {
 public:
  BlockCoder();
  BlockCoder(BlockCoder&&) noexcept;
  ~BlockCoder();

  // Head and body into `out`. REQUIRES: 1 .. kBlockRecords records, times non-decreasing; names
  // within the limits above.
  void encode(std::span<const TraceRecord> records, std::span<const std::string> new_names,
              std::string& out);
  // `body` is what follows `head` in the file. Appends to `names`; every place of the records is
  // then an index into them. nullptr: names are kept elsewhere, and places are not looked at.
  Result<> decode(const BlockHead& head, std::span<const std::byte> body,
                  std::vector<TraceRecord>& records, std::vector<std::string>* names);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A head that a block may have; the check covers the body, too, and is compared by decode().
Result<> check_head(const BlockHead& head);

}  // namespace blksweep
