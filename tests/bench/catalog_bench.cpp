// What a scan costs beside the least that it must do: a bare open + FIEMAP + close loop over the
// same files (full paths known beforehand, path order, no FIEMAP_FLAG_SYNC, one thread).
//
//   catalog_bench DIR [ROUNDS]     prints medians of interleaved rounds, and their ratio
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "dataset/scan.h"
#include "os/file/fiemap.h"

namespace blksweep {
namespace {

std::vector<std::string> all_paths(const Catalog& catalog) {
  std::vector<std::string> paths;
  for (std::uint32_t f = 0; f < catalog.files.size(); ++f) {
    paths.push_back(catalog.full_path(f));
  }
  return paths;
}

std::int64_t bare_loop_ns(const std::vector<std::string>& paths) {
  ExtentReader reader;
  const std::int64_t begin = now_ns();
  std::size_t extents = 0;
  for (const std::string& path : paths) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    extents += fd && reader.read(fd.get()) == 0 ? reader.extents().size() : 0;
  }
  const std::int64_t time = now_ns() - begin;
  fmt::print(stderr, "bare loop: {} extents, {:.1f} ms\n", extents,
             static_cast<double>(time) * 1e-6);
  return time;
}

// Seconds are counted around the whole call, so sorting and assembling are in it.
std::int64_t scan_ns(const std::string& directory) {
  ScanReport report;
  const std::int64_t begin = now_ns();
  const auto parts = scan(directory, {}, report);
  const std::int64_t time = now_ns() - begin;
  fmt::print(stderr, "scan: {} extents, {:.1f} ms (walk {:.1f})\n",
             parts ? parts->extents.size() : 0, static_cast<double>(time) * 1e-6,
             static_cast<double>(report.walk_ns) * 1e-6);
  return time;
}

std::int64_t median(std::vector<std::int64_t> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

int run(const std::string& directory, unsigned rounds) {
  ScanReport report;
  const auto warm = scan(directory, {}, report);
  if (!warm) {
    fmt::print(stderr, "catalog_bench: {}\n", warm.error().message());
    return 1;
  }
  const std::vector<std::string> paths = all_paths(warm->view());
  std::vector<std::int64_t> bare;
  std::vector<std::int64_t> ours;
  for (unsigned i = 0; i < rounds; ++i) {
    bare.push_back(bare_loop_ns(paths));
    ours.push_back(scan_ns(directory));
  }
  const auto per_file = [&](std::int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(paths.size()) * 1e-3;
  };
  fmt::print("files           {}\n", paths.size());
  fmt::print("bare loop       {:.2f} us per file\n", per_file(median(bare)));
  fmt::print("scan            {:.2f} us per file\n", per_file(median(ours)));
  fmt::print("scan/bare ratio {:.3f}\n", per_file(median(ours)) / per_file(median(bare)));
  return 0;
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print("needs a data set: catalog_bench DIR [ROUNDS]; epoch_bench.sh calls it with one\n");
    return 77;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  return blksweep::run(argv[1], static_cast<unsigned>(std::max(1, rounds)));
}
