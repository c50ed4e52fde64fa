// What opening cold files costs, in inode order: by path and by handle (open_by_handle_at(2), which
// looks no name up), on one thread and on two.
//
//   open_bench CATALOG [ROUNDS]     caches are dropped before each; ways in turn; medians
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "dataset/catalog_file.h"
#include "node/cache/drop.h"
#include "stats/quantile.h"

namespace blksweep {
namespace {

constexpr int kFlags = O_RDONLY | O_DIRECT | O_NOATIME | O_CLOEXEC;
constexpr std::size_t kTurn = 64;  // files that a thread opens before it goes on behind the others'

struct Handle {
  alignas(file_handle) std::array<char, sizeof(file_handle) + MAX_HANDLE_SZ> room;
  file_handle* get() { return reinterpret_cast<file_handle*>(room.data()); }
};

struct Files {
  Fd root;
  std::vector<std::string> paths;  // by inode
  std::vector<Handle> handles;
};

struct Way {
  const char* name;
  bool by_handle;
  std::size_t threads;
};
constexpr Way kWays[] = {{"path, 1 thread", false, 1},
                         {"path, 2 threads", false, 2},
                         {"handle, 1 thread", true, 1},
                         {"handle, 2 threads", true, 2}};

Files files_of(const Catalog& catalog) {
  Files out;
  out.root = Fd(::open(std::string(catalog.root).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::uint32_t> order(catalog.files.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t f) { return catalog.files[f].inode; });
  for (const std::uint32_t f : order) {
    out.paths.emplace_back(catalog.path(f));
    Handle h{};
    h.get()->handle_bytes = MAX_HANDLE_SZ;
    int mount = 0;
    if (::name_to_handle_at(out.root.get(), out.paths.back().c_str(), h.get(), &mount, 0) != 0) {
      fmt::print(stderr, "{}: {}\n", out.paths.back(), std::strerror(errno));
      std::exit(1);
    }
    out.handles.push_back(h);
  }
  return out;
}

int open_one(Files& files, std::size_t i, bool by_handle) {
  return by_handle ? ::open_by_handle_at(files.root.get(), files.handles[i].get(), kFlags)
                   : ::openat(files.root.get(), files.paths[i].c_str(), kFlags);
}

void open_share(Files& files, const Way& way, std::size_t thread) {
  for (std::size_t begin = thread * kTurn; begin < files.paths.size();
       begin += way.threads * kTurn) {
    for (std::size_t i = begin; i < std::min(begin + kTurn, files.paths.size()); ++i) {
      const Fd fd(open_one(files, i, way.by_handle));
      if (!fd) {
        fmt::print(stderr, "{}: {}\n", files.paths[i], std::strerror(errno));
        std::exit(1);
      }
    }
  }
}

double cpu_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

struct Cost {
  std::vector<double> us, cpu_us;  // a file, by round
};

Result<> measure(Files& files, const Way& way, Cost& cost) {
  BLKSWEEP_CHECK(drop_node(DropKind::all));
  const auto n = static_cast<double>(files.paths.size());
  const double cpu = cpu_us();
  const std::int64_t begin = now_ns();
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < way.threads; ++t) {
      threads.emplace_back([&files, &way, t] { open_share(files, way, t); });
    }
  }
  cost.us.push_back(static_cast<double>(now_ns() - begin) / 1e3 / n);
  cost.cpu_us.push_back((cpu_us() - cpu) / n);
  return {};
}

int compare(const std::string& path, int rounds) {
  const auto catalog = CatalogFile::open(path);
  if (!catalog) {
    fmt::print(stderr, "{}\n", catalog.error().message());
    return 1;
  }
  Files files = files_of(catalog->view());
  std::array<Cost, std::size(kWays)> costs;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t w = 0; w < costs.size(); ++w) {
      if (const Result<> measured = measure(files, kWays[w], costs[w]); !measured) {
        fmt::print(stderr, "{}\n", measured.error().message());
        return 1;
      }
    }
  }
  for (std::size_t w = 0; w < costs.size(); ++w) {
    fmt::print("   {:18} {:5.2f} us a cold file, {:5.2f} us of CPU ({} files, {} rounds)\n",
               kWays[w].name, median(costs[w].us), median(costs[w].cpu_us), files.paths.size(),
               rounds);
  }
  return 0;
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print("needs a catalog: open_bench CATALOG [ROUNDS]; epoch_bench.sh calls it with one\n");
    return 77;
  }
  return blksweep::compare(argv[1], argc > 2 ? std::atoi(argv[2]) : 7);
}
