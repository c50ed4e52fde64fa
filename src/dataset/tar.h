// Reads the table of a tar file: where each regular member's bytes are.
//
// ustar, GNU long names ('L'), pax path and size ('x', 'g' ignored), base-256 sizes. Members that
// are not regular files are skipped, links among them told. Only headers are read.
//
// Errors:  accepts arbitrary bytes; a wrong checksum, a truncated member or a sparse member is an
//          Error that names the offset. An archive may end without its two zero blocks.
// Threads: pure apart from the reader that is passed in.
// Source:  POSIX.1-2017 pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

inline constexpr std::uint64_t kTarBlock = 512;
inline constexpr std::uint64_t kTarEnd = 2 * kTarBlock;  // zeros behind the last member

struct TarMember {
  std::string path;
  std::uint64_t offset = 0;  // of its first byte in the archive
  std::uint64_t size = 0;
};

// Fills `out` from `offset` on; how much there was. Short only at the end of the archive.
using ReadAt = std::function<Result<std::size_t>(std::uint64_t offset, std::span<std::byte> out)>;

// What tar would unpack, or read with --ignore-zeros, and is not among the members.
struct TarLeftOut {
  std::vector<std::string> links;  // hard and symbolic ones: their bytes are another member's
  bool goes_on = false;            // another archive was put behind the end of this one
};

Result<std::vector<TarMember>> read_tar(std::uint64_t archive_bytes, const ReadAt& read,
                                        TarLeftOut* left_out = nullptr);

// A ustar header block for a regular member. REQUIRES: path below 100 bytes, size below 8 GiB.
std::string tar_header(const std::string& path, std::uint64_t size);
// The same for a path of any length: a longer one gets a GNU long name before it.
std::string tar_long_header(const std::string& path, std::uint64_t size);

}  // namespace blksweep
