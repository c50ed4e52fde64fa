// Small wrappers over files: open, read and write whole, map, replace in one step.
//
// Errors:    one line with operation, path and errno.
// Ownership: MappedFile owns its mapping; spans into it end with it.
// Threads:   functions are independent of each other; a MappedFile is read only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep {

Result<Fd> open_readonly(const std::string& path);
Result<std::uint64_t> file_size(int fd, const std::string& name);
// Reads until `out` is full or the file ends; the count that was read.
Result<std::size_t> pread_full(int fd, std::span<std::byte> out, std::uint64_t offset,
                               const std::string& name);
Result<> write_full(int fd, std::span<const std::byte> data, const std::string& name);

// Small texts of /proc, /sys and our own: "" when there is nothing to be read.
std::string whole_text(const std::string& path);
std::string first_line(const std::string& path);

// Writes a file so that after a crash the old content or all of the new one is there: into a
// temporary file in the same folder, fsync, rename, fsync of the folder.
class ReplacedFile {
 public:
  static Result<ReplacedFile> begin(const std::string& path);
  ReplacedFile(ReplacedFile&&) = default;
  ReplacedFile& operator=(ReplacedFile&&) = delete;
  ~ReplacedFile();  // removes the temporary file unless commit() succeeded
  Result<> write(std::span<const std::byte> data) { return write_full(fd_.get(), data, path_); }
  Result<> commit();

 private:
  ReplacedFile(std::string path, std::string temporary, Fd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}
  std::string path_, temporary_;
  Fd fd_;
};

class MappedFile {
 public:
  MappedFile() = default;
  // The whole file, read only and private. An empty file is an empty span.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& o) noexcept;
  MappedFile& operator=(MappedFile&& o) noexcept;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace blksweep
