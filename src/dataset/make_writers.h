// How make_dataset() puts samples on disk: one function per --format, and one for fragments.
//
// Errors:  what the system says of the file being written.
// Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "dataset/make.h"

namespace blksweep {

struct WriteJob {
  const MakeSettings& settings;
  const std::vector<std::uint64_t>& sizes;  // by file number
  const std::vector<std::uint64_t>& order;  // file numbers in order of creation
  const MakeProgress& progress;
};

std::vector<std::uint64_t> draw_sizes(const MakeSettings& settings);      // by file number
std::vector<std::uint64_t> creation_order(const MakeSettings& settings);  // of file numbers

// Room for data in whole blocks, for inodes, and 1 % for the filesystem's own structures.
Result<> check_space(const MakeSettings& settings, const std::vector<std::uint64_t>& sizes);

Result<> write_files(const WriteJob& job, MakeReport& report);
// Files of one class are allocated piece by piece in turn, so that the pieces lie apart.
Result<> write_fragmented(const WriteJob& job, MakeReport& report);
Result<> write_tar(const WriteJob& job, MakeReport& report);
Result<> write_records(const WriteJob& job, MakeReport& report);

}  // namespace blksweep
