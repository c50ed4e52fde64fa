#include "dataset/make_named.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <set>
#include <string_view>

#include "base/clock.h"
#include "dataset/make_writers.h"
#include "dataset/sample_writer.h"
#include "dataset/target_folder.h"
#include "os/file/trust.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;

bool ordinary(std::string_view name) {
  const std::string closed = fmt::format("/{}/", name);
  return !name.empty() && closed.find("//") == std::string::npos &&
         closed.find("/./") == std::string::npos && closed.find("/../") == std::string::npos &&
         name.find('\0') == std::string_view::npos;
}

Result<> check_names(const std::vector<NamedSize>& files) {
  std::uint64_t sum = 0;
  for (const NamedSize& f : files) {
    if (!ordinary(f.name)) {
      return fail(fmt::format("'{}' is no name below a folder: such files are not made", f.name));
    }
    if (f.bytes > kMostBytes || (sum += f.bytes) > kMostBytes) {
      return fail(f.name + ": with it the files would have more than 1 PiB");
    }
  }
  return files.empty() ? Result<>(fail("the trace reads no file")) : Result<>();
}

std::uint64_t folders_of(const std::vector<NamedSize>& files) {
  std::set<std::string_view> folders;
  for (const NamedSize& f : files) {
    folders.insert(std::string_view(f.name).substr(0, f.name.rfind('/') + 1));
  }
  return folders.size();
}

// Nothing but what we made is below it: no link leads away.
Result<> make_folders_of(int directory, const std::string& name) {
  for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
    const std::string folder = name.substr(0, at);
    if (::mkdirat(directory, folder.c_str(), 0755) != 0 && errno != EEXIST) {
      return sys_error(errno, "make directory " + folder);
    }
  }
  return {};
}

Result<> write_named(const WriteJob& job, const std::vector<NamedSize>& files) {
  SampleWriter writer(job);
  for (const std::uint64_t number : job.order) {
    const std::string& name = files[number].name;
    BLKSWEEP_CHECK(make_folders_of(writer.directory(), name));
    BLKSWEEP_TRY(Fd fd, writer.create(name, O_CREAT | O_EXCL | O_NOFOLLOW));
    BLKSWEEP_CHECK(writer.write_sample(fd.get(), number, name));
    BLKSWEEP_CHECK(fd.close(name));
  }
  return sync_filesystem(job.settings.directory);
}

}  // namespace

Result<MakeReport> make_named(MakeSettings settings, const std::vector<NamedSize>& files,
                              const MakeProgress& progress) {
  const std::int64_t begin = now_ns();
  BLKSWEEP_CHECK(check_names(files));
  settings.count = files.size();
  settings.classes = static_cast<std::uint32_t>(folders_of(files));
  settings.format = PackFormat::files;
  std::vector<std::uint64_t> sizes, order(files.size());
  std::ranges::transform(files, std::back_inserter(sizes), &NamedSize::bytes);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::sort(order, {},
                    [&](std::uint64_t n) -> const std::string& { return files[n].name; });
  BLKSWEEP_CHECK(make_folder_of_own(settings.directory));
  BLKSWEEP_CHECK(refuse_content(settings.directory, "make data set"));
  BLKSWEEP_CHECK(check_space(settings, sizes));
  if (const Result<> written = write_named({settings, sizes, order, progress}, files); !written) {
    return fail(fmt::format("{}; {} is incomplete: remove it and start again",
                            written.error().message(), settings.directory),
                written.error().exit_code);
  }
  MakeReport report;
  report.files = report.on_disk_files = files.size();
  report.bytes = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  report.time_ns = now_ns() - begin;
  return report;
}

}  // namespace blksweep
