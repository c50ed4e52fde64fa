// Writes a Plan as fio iologs (version 3), so that the real fio repeats the same reads in the same
// order. kZeros reads are left out: nothing is read for them.
//
// Format:    docs/fio-twin.md; fio's HOWTO "Trace file format v3". One iolog holds at most
//            `segment_files` distinct files, because fio finds a file by linear search for every
//            line: a plan over more files becomes several iologs, to be run one after another.
// Names:     fio's reader takes names of up to 255 bytes without white space. Other files get a
//            symbolic link in `directory`, which is named instead; it leads through `root_link`,
//            too.
// Units:     bytes. Timestamps are 0: replay with replay_no_stall=1.
// Ownership: everything is written into `directory`, which the caller makes and removes.
// Errors:    the file that cannot be written; a `directory` that an iolog cannot name is a usage
//            error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace blksweep {

struct IologSettings {
  std::string directory = {};  // exists; absolute
  // Stands for the catalog's root: a link in `directory`, where the replaying fio runs, made while
  // it reads and not while it parses. Empty: files are named by their full paths.
  std::string root_link = {};
  std::string device_node =
      {};  // names reads with source kFromDevice; may be empty if there are none
  std::uint32_t segment_files = 10'000;
  std::uint32_t open_files = 1024;  // closed first-in first-out beyond this many
  bool clip_to_file = false;        // end reads at the end of the file instead of their block
  bool relative = false;  // links are named from `directory`, where the replaying fio runs
};

struct IologSegment {
  std::string path;
  std::uint64_t reads = 0;
  std::uint32_t files = 0;
};

struct IologExport {
  std::vector<IologSegment> segments;
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;  // that the files and the device hold in the ranges read
  std::uint64_t device_reads = 0;
  std::uint64_t past_end = 0;  // reads that run past the end of their file
  std::uint32_t largest_read = 0;
  std::uint32_t links = 0;  // files named through a symbolic link
};

Result<IologExport> export_fio_iolog(const Catalog& catalog, const Plan& plan,
                                     const IologSettings& settings);

// The name can stand in an iolog as it is.
bool iolog_can_name(std::string_view path);

// Reads of files that run past the end of the file (an aligned read of an odd tail).
std::uint64_t reads_past_end(const Catalog& catalog, const Plan& plan);

}  // namespace blksweep
