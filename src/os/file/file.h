// Small wrappers over files: open, read and write whole, replace in one step.
//
// Errors:    one line with operation, path and errno.
// Ownership: WholeFile owns its memory; spans into it end with it.
// Threads:   functions are independent of each other; a WholeFile is read only.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep {

// Folders too; never waits for a FIFO's writer.
Result<Fd> open_readonly(const std::string& path);
Result<std::uint64_t> file_size(int fd, const std::string& name);
// Reads until `out` is full or the file ends; the count that was read.
Result<std::size_t> pread_full(int fd, std::span<std::byte> out, std::uint64_t offset,
                               const std::string& name);
Result<> write_full(int fd, std::span<const std::byte> data, const std::string& name);
// The first `size` bytes. Errors: the file ends before.
Result<std::string> read_text(int fd, std::size_t size, const std::string& name);

// A small text of /proc or /sys, whose size is not known before; Errors: also where it goes while
// it is read.
Result<std::string> kernel_text(const std::string& path);
// Small texts of /proc, /sys and our own: "" when there is nothing to be read.
std::string whole_text(const std::string& path);
std::string first_line(const std::string& path);
std::uint64_t first_number(const std::string& path);  // 0 where it does not begin with one

std::int64_t to_ns(const statx_timestamp& time);

// Writes a file so that after a crash the old content or all of the new one is there: into a
// temporary file in the same folder, fsync, rename, fsync of the folder. A link under that name is
// replaced, never followed; root writes only where nobody else can (os/file/trust.h check_way_to).
// The mode honours the umask.
class ReplacedFile {
 public:
  static Result<ReplacedFile> begin(const std::string& path);
  // `name` in an open folder; `path` is for messages.
  static Result<ReplacedFile> begin_in(int folder, const std::string& name,
                                       const std::string& path);
  ReplacedFile(ReplacedFile&&) = default;
  ReplacedFile& operator=(ReplacedFile&&) = delete;
  ~ReplacedFile();  // removes the temporary file unless commit() succeeded
  Result<> write(std::span<const std::byte> data) { return write_full(fd_.get(), data, path_); }
  Result<> commit();

 private:
  ReplacedFile() = default;
  std::string path_, name_, temporary_;
  Fd folder_, fd_;
};

// Such a file of one text.
Result<> write_file(const std::string& path, std::string_view text);

// All bytes of a regular file in memory of our own (page aligned): what its owner does to it
// afterwards is not seen. An empty file is an empty span.
class WholeFile {
 public:
  WholeFile() = default;
  // Errors: more than half of the memory that is free; shorter than it said.
  static Result<WholeFile> read(int fd, const std::string& path);
  WholeFile(WholeFile&& o) noexcept;
  WholeFile& operator=(WholeFile&& o) noexcept;
  ~WholeFile();
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace blksweep
