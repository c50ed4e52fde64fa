// What this process itself made block devices read and write.
//
// Counts:  /proc/self/io read_bytes: all threads, living and ended, and children that were waited
//          for. The kernel adds to it where a request is handed to the block layer, once on its way
//          down a stack of disks, whichever disk it is for: page faults of the program and swap are
//          in it.
// Unknown: without task accounting in the kernel, and where another process reads for us.
// Source:  proc(5), Documentation/filesystems/proc.rst "/proc/<pid>/io".
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace blksweep {

std::optional<std::uint64_t> own_read_bytes(const std::string& io = "/proc/self/io");
// What read(2) and its kin gave, from the page cache, too; neither maps nor io_uring are in it.
std::optional<std::uint64_t> called_read_bytes(const std::string& io = "/proc/self/io");
std::optional<std::uint64_t> own_written_bytes(const std::string& io = "/proc/self/io");

// Whether reads of files there are handed to the disk by somebody else than the reader: the daemon
// of a FUSE filesystem (ntfs-3g), or the filesystem's own threads.
bool others_read_for_us(std::string_view filesystem);

}  // namespace blksweep
