// Columns of numbers, compressed: what is left over the least of them (or, where that is smaller,
// over the one before), without the zero bits that all share, as planes of bytes.
//
// Errors:  read() and plain() accept arbitrary bytes; an Error without context ("is missing").
// Threads: one owner; it has the library's contexts.
// Source:  docs/trace-format.md "Block"; Lemire and Boytsov, "Decoding billions of integers per
//          second through vectorization", SPE 45(1), 2015 (frames of reference); zstd 1.5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

class ColumnCoder {
 public:
  ColumnCoder();
  ColumnCoder(ColumnCoder&&) noexcept;
  ~ColumnCoder();

  // Head and planes of a column behind `out`. REQUIRES: one value or more.
  void append(const std::vector<std::uint64_t>& values, std::string& out);
  // The next column of `body`, which is shortened by it, as many values as `values` has places.
  Result<> read(std::span<const std::byte>& body, std::vector<std::uint64_t>& values);

  // Bytes as they are.
  void compress(std::string_view plain, std::string& out);
  // Exactly `bytes` of them; the view is good until the next call.
  Result<std::string_view> plain(std::span<const std::byte> stored, std::size_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace blksweep
