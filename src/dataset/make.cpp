#include "dataset/make.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>

#include "base/clock.h"
#include "dataset/make_writers.h"
#include "dataset/target_folder.h"
#include "os/file/file.h"
#include "os/file/trust.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

enum Stream : std::uint64_t { kSizes = 1, kOrder = 2 };
constexpr std::uint64_t kMaxCount = 100'000'000;

Result<> write_format(const WriteJob& job, MakeReport& report) {
  switch (job.settings.format) {
    case PackFormat::files:
      return job.settings.fragment > 1 ? write_fragmented(job, report) : write_files(job, report);
    case PackFormat::tar:
      return write_tar(job, report);
    case PackFormat::records:
      break;
  }
  return write_records(job, report);
}

std::uint64_t space_of(const MakeSettings& s, const std::vector<std::uint64_t>& sizes,
                       std::uint64_t block) {
  const std::uint64_t header = s.format == PackFormat::tar ? 2 * kSectorBytes : 0;
  const std::uint64_t data =
      std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}, [&](auto sum, auto size) {
        return sum + header +
               (s.format == PackFormat::files ? (size + block - 1) / block * block : size);
      });
  return data + data / 100 + (std::uint64_t{1} << 20);
}

}  // namespace

std::vector<std::uint64_t> draw_sizes(const MakeSettings& s) {
  Rng rng(s.seed, kSizes);
  std::vector<std::uint64_t> sizes(s.count);
  std::ranges::generate(sizes, [&] { return s.size.draw(rng); });
  return sizes;
}

std::vector<std::uint64_t> creation_order(const MakeSettings& s) {
  std::vector<std::uint64_t> order(s.count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  Rng rng(s.seed, kOrder);
  shuffle(std::span(order), rng);
  if (s.arrange == Arrangement::by_class) {
    // File numbers go round the classes (sample_path).
    std::ranges::stable_sort(order, {}, [&](std::uint64_t n) { return n % s.classes; });
  }
  return order;
}

Result<> check_make_settings(const MakeSettings& s) {
  if (s.count == 0 || s.count > kMaxCount) {
    return usage_error(fmt::format("--count {}: give 1 to {} files", s.count, kMaxCount));
  }
  if (s.classes == 0 || s.classes > 100'000) {
    return usage_error(fmt::format("--classes {}: give 1 to 100000", s.classes));
  }
  if (!(s.fragment >= 1 && s.fragment <= 1000)) {
    return usage_error(fmt::format("--fragment {}: give 1 to 1000 extents per file", s.fragment));
  }
  if (s.fragment > 1 && s.format != PackFormat::files) {
    return usage_error("--fragment works with --format files only");
  }
  if (s.format == PackFormat::records &&
      (s.size.kind != SizeSpec::Kind::fixed || s.size.low.n == 0)) {
    return usage_error("--format records needs a fixed --size, such as --size 4KiB");
  }
  return {};
}

Result<> check_space(const MakeSettings& s, const std::vector<std::uint64_t>& sizes) {
  struct statvfs v {};
  if (::statvfs(s.directory.c_str(), &v) != 0) {
    return sys_error(errno, "statvfs " + s.directory);
  }
  const std::uint64_t block = std::max<std::uint64_t>(v.f_frsize, kSectorBytes);
  const std::uint64_t needed = space_of(s, sizes, block);
  const std::uint64_t free = v.f_bavail * v.f_frsize;
  if (needed > free) {
    return fail(fmt::format("make data set in {}: needs {}, {} are free: lower --count or --size",
                            s.directory, format_bytes({needed}), format_bytes({free})));
  }
  const std::uint64_t inodes = s.format == PackFormat::files ? s.count + s.classes : 1;
  if (v.f_files > 0 && v.f_favail < inodes) {  // btrfs has no limit and says 0
    return fail(fmt::format("make data set in {}: needs {} inodes, {} are free: lower --count",
                            s.directory, inodes, v.f_favail));
  }
  return {};
}

Bytes space_needed(const MakeSettings& s) { return {space_of(s, draw_sizes(s), kPageBytes)}; }

Result<MakeReport> make_dataset(const MakeSettings& settings, const MakeProgress& progress) {
  const std::int64_t begin = now_ns();
  BLKSWEEP_CHECK(check_make_settings(settings));
  const std::vector<std::uint64_t> sizes = draw_sizes(settings);
  BLKSWEEP_CHECK(make_folder_of_own(settings.directory));
  BLKSWEEP_CHECK(refuse_content(settings.directory, "make data set"));
  BLKSWEEP_CHECK(check_space(settings, sizes));
  const std::vector<std::uint64_t> order = creation_order(settings);
  MakeReport report;
  const WriteJob job{settings, sizes, order, progress};
  Result<> written = write_format(job, report);
  if (written) {
    written = sync_filesystem(settings.directory);
  }
  if (!written) {
    return tl::unexpected(Error{written.error().text + "; " + settings.directory +
                                    " is incomplete: remove it and start again",
                                written.error().sys_errno, written.error().exit_code});
  }
  report.files = settings.count;
  report.bytes = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  report.time_ns = now_ns() - begin;
  return report;
}

}  // namespace blksweep
