// What is imported, as plain bytes: a file as it is, or through gzip, xz, zstd, bzip2, and each
// member of a tar of them.
//
// Memory:    64 KiB and the library's windows.
// Errors:    damaged archives, with the file's name. Members that are not regular files are passed
//            over; nothing is written or linked anywhere.
// Threads:   one owner.
// Source:    libarchive_internals(3), archive_read(3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace blksweep {

class TraceInput {
 public:
  static constexpr std::size_t kLongestLine = 64U << 10;

  static Result<TraceInput> open(const std::string& path);
  // Bytes that are in memory already, and stay there.
  static Result<TraceInput> of_bytes(std::span<const std::byte> bytes, const std::string& name);
  TraceInput(TraceInput&&) noexcept;
  ~TraceInput();

  // To the next member; false at the end. A file that is no archive has one.
  Result<bool> next_member();
  // "trace.csv", or "all.tgz:hour0.csv" of a member: for messages.
  const std::string& name() const;

  // The bytes ahead, up to `most` (a line's at most), without passing over them.
  Result<std::string_view> peek(std::size_t most);
  // The next line without its end; false at the end. Errors: a longer one than that.
  Result<bool> line(std::string_view& line);
  // Exactly `out.size()` bytes; false at the end. Errors: the end within them.
  Result<bool> exactly(std::span<std::byte> out);
  std::uint64_t lines() const;  // that line() gave in this member

 private:
  struct State;
  explicit TraceInput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace blksweep
