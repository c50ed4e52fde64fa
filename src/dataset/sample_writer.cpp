#include "dataset/sample_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "os/file/file.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {
constexpr std::size_t kPiece = std::size_t{1} << 20;  // a multiple of 8, as Content wants
constexpr std::uint64_t kProgressEvery = 256;         // samples
}  // namespace

SampleWriter::SampleWriter(const WriteJob& job)
    : job_(job),
      directory_(::open(job.settings.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      buffer_(kPiece) {}

Result<> SampleWriter::make_class_folders() {
  const std::uint64_t used = std::min<std::uint64_t>(job_.settings.classes, job_.settings.count);
  for (std::uint64_t c = 0; c < used; ++c) {
    const std::string name = fmt::format("class_{:04}", c);
    if (::mkdirat(directory_.get(), name.c_str(), 0755) != 0) {
      return sys_error(errno, "make directory " + job_.settings.directory + "/" + name);
    }
  }
  return {};
}

Result<Fd> SampleWriter::create(const std::string& path, int flags) {
  Fd fd(::openat(directory_.get(), path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644));
  if (!fd) {
    return sys_error(errno, "create " + job_.settings.directory + "/" + path);
  }
  return fd;
}

Result<> SampleWriter::write_sample(int fd, std::uint64_t number, const std::string& path) {
  Content content(job_.settings.seed, number);
  if (stop_requested()) {
    return fail("interrupted", Exit::interrupted);
  }
  for (std::uint64_t left = job_.sizes[number]; left > 0;) {
    const auto piece = std::span(buffer_).first(std::min<std::uint64_t>(left, kPiece));
    content.next(piece);
    BLKSWEEP_CHECK(write_full(fd, piece, path));
    left -= piece.size();
  }
  bytes_ += job_.sizes[number];
  if (++done_ % kProgressEvery == 0 && job_.progress) {
    job_.progress(done_, bytes_);
  }
  return {};
}

}  // namespace blksweep
