// Arbitrary bytes as a block of a trace file, with a check that fits: no crash, and whatever is
// accepted is in order, in range, and comes back from what it is encoded to.
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "trace/trace_block.h"

namespace blksweep {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

struct Decoded {
  std::vector<TraceRecord> records;
  std::vector<std::string> names;
};

std::optional<Decoded> decoded(std::span<const std::byte> bytes) {
  BlockHead head;
  if (bytes.size() < sizeof head) {
    return std::nullopt;
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  const auto body = bytes.subspan(sizeof head);
  head.magic = kBlockMagic;
  head.stored_bytes = static_cast<std::uint32_t>(body.size());
  head.check = 0;
  head.check = XXH3_64bits_withSeed(body.data(), body.size(), XXH3_64bits(&head, sizeof head));
  Decoded out;
  BlockCoder coder;
  if (!coder.decode(head, body, out.records, &out.names)) {
    return std::nullopt;
  }
  return out;
}

void check(std::span<const std::byte> bytes) {
  const auto first = decoded(bytes);
  if (!first) {
    return;
  }
  require(!first->records.empty());
  require(std::ranges::is_sorted(first->records, {}, &TraceRecord::time_ns));
  for (const TraceRecord& r : first->records) {
    require(r.place < first->names.size() && r.time_ns >= 0);
    require(static_cast<std::uint32_t>(r.op) < kTraceOps);
    require(static_cast<std::uint32_t>(r.form) < kCallForms);
  }
  std::string again;
  BlockCoder().encode(first->records, first->names, again);
  const auto second = decoded(std::as_bytes(std::span(again)));
  require(second && second->records == first->records && second->names == first->names);
}

}  // namespace
}  // namespace blksweep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  blksweep::check(std::as_bytes(std::span(data, size)));
  return 0;
}
