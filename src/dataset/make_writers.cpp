#include "dataset/make_writers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "dataset/sample_writer.h"
#include "dataset/tar.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

Result<Fd> create_file(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) {
    return sys_error(errno, "create " + path);
  }
  return fd;
}

Result<> finish_shard(Fd& fd, const std::string& path) {
  const std::vector<std::byte> end(kTarEnd);
  BLKSWEEP_CHECK(write_full(fd.get(), end, path));
  return fd.close(path);
}

}  // namespace

Result<> write_files(const WriteJob& job, MakeReport& report) {
  SampleWriter writer(job);
  BLKSWEEP_CHECK(writer.make_class_folders());
  for (const std::uint64_t number : job.order) {
    const std::string path = sample_path(number, job.settings.classes);
    BLKSWEEP_TRY(Fd fd, writer.create(path, O_CREAT | O_EXCL));
    BLKSWEEP_CHECK(writer.write_sample(fd.get(), number, path));
    BLKSWEEP_CHECK(fd.close(path));
  }
  report.on_disk_files = job.order.size();
  return {};
}

Result<> write_tar(const WriteJob& job, MakeReport& report) {
  SampleWriter writer(job);
  Fd fd;
  std::string path;
  std::uint64_t used = 0;
  const std::vector<std::byte> zeros(kTarBlock);
  for (const std::uint64_t number : job.order) {
    if (fd && used >= job.settings.shard.n) {
      BLKSWEEP_CHECK(finish_shard(fd, path));
    }
    if (!fd) {
      path = fmt::format("{}/shard_{:06}.tar", job.settings.directory, report.on_disk_files++);
      BLKSWEEP_TRY(fd, create_file(path));
      used = 0;
    }
    const std::uint64_t size = job.sizes[number];
    const std::string header = tar_header(sample_path(number, job.settings.classes), size);
    BLKSWEEP_CHECK(write_full(fd.get(), std::as_bytes(std::span(header)), path));
    BLKSWEEP_CHECK(writer.write_sample(fd.get(), number, path));
    const std::uint64_t padding = align_up(size, kTarBlock) - size;
    BLKSWEEP_CHECK(write_full(fd.get(), std::span(zeros).first(padding), path));
    used += kTarBlock + size + padding;
  }
  return finish_shard(fd, path);
}

// In file number order: record n is at n * size.
Result<> write_records(const WriteJob& job, MakeReport& report) {
  SampleWriter writer(job);
  const std::string path = job.settings.directory + "/records.bin";
  BLKSWEEP_TRY(Fd fd, create_file(path));
  for (std::uint64_t number = 0; number < job.settings.count; ++number) {
    BLKSWEEP_CHECK(writer.write_sample(fd.get(), number, path));
  }
  report.on_disk_files = 1;
  return fd.close(path);
}

}  // namespace blksweep
