#include "os/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace blksweep {

std::string whole_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

Result<Fd> open_readonly(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "open " + path);
  }
  return fd;
}

Result<std::uint64_t> file_size(int fd, const std::string& name) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) {
    return sys_error(errno, "fstat " + name);
  }
  return static_cast<std::uint64_t>(st.st_size);
}

Result<std::size_t> pread_full(int fd, std::span<std::byte> out, std::uint64_t offset,
                               const std::string& name) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno != EINTR) {
      return sys_error(errno, "read " + name);
    }
    if (n == 0) {
      break;
    }
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  return done;
}

Result<> write_full(int fd, std::span<const std::byte> data, const std::string& name) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno != EINTR) {
      return sys_error(errno, "write " + name);
    }
    data = data.subspan(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  return {};
}

Result<ReplacedFile> ReplacedFile::begin(const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "create " + path);
  }
  if (::fchmod(fd.get(), 0644) != 0) {  // mkostemp gives 0600
    return sys_error(errno, "set the mode of " + temporary);
  }
  return ReplacedFile(path, std::move(temporary), std::move(fd));
}

ReplacedFile::~ReplacedFile() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

Result<> ReplacedFile::commit() {
  if (::fsync(fd_.get()) != 0) {
    return sys_error(errno, "fsync " + path_);
  }
  BLKSWEEP_CHECK(fd_.close(path_));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return sys_error(errno, "rename " + temporary_ + " to " + path_);
  }
  temporary_.clear();
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  BLKSWEEP_TRY(const Fd dir, open_readonly(folder.empty() ? "." : folder.string()));
  if (::fsync(dir.get()) != 0 && errno != EINVAL) {  // EINVAL: not on this filesystem
    return sys_error(errno, "fsync the folder of " + path_);
  }
  return {};
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  BLKSWEEP_TRY(const Fd fd, open_readonly(path));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) {
    return sys_error(errno, "fstat " + path);
  }
  if (!S_ISREG(st.st_mode)) {
    return fail("open " + path + ": not a regular file");
  }
  MappedFile m;
  if (st.st_size == 0) {
    return m;
  }
  const auto size = static_cast<std::size_t>(st.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (at == MAP_FAILED) {
    return sys_error(errno, "map " + path);
  }
  m.data_ = static_cast<const std::byte*>(at);
  m.size_ = size;
  return m;
}

MappedFile::MappedFile(MappedFile&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

}  // namespace blksweep
