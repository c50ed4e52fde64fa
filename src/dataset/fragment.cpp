// Files whose extents really lie apart: pieces of several files of one folder are allocated in
// turn with fallocate(2), which allocates exactly what it is asked for (no delayed allocation, no
// preallocation on ext4 or xfs). The allocator continues each file behind its last piece, finds the
// neighbour's piece there, and has to start a new extent.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <numeric>

#include "dataset/make_writers.h"
#include "dataset/sample_writer.h"
#include "os/file/fiemap.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kPieceStream = 3;
constexpr std::size_t kTogether = 8;
constexpr const char* kSpacer = ".blksweep-spacer";

struct Growing {
  std::uint64_t number = 0;
  std::string path;
  Fd fd;
  std::uint64_t pieces = 1, blocks = 0, next_piece = 0;
  // Piece i covers blocks [i * blocks / pieces, (i + 1) * blocks / pieces).
  std::uint64_t begin(std::uint64_t piece) const { return piece * blocks / pieces; }
};

class Fragmenter {
 public:
  explicit Fragmenter(const WriteJob& job)
      : job_(job), writer_(job), rng_(job.settings.seed, kPieceStream) {}

  Result<> run(MakeReport& report) {
    BLKSWEEP_CHECK(writer_.make_class_folders());
    std::vector<std::vector<std::uint64_t>> waiting(job_.settings.classes);
    for (const std::uint64_t number : job_.order) {
      auto& group = waiting[number % job_.settings.classes];
      group.push_back(number);
      if (group.size() == kTogether) {
        BLKSWEEP_CHECK(write_group(group));
        group.clear();
      }
    }
    for (const auto& group : waiting) {
      BLKSWEEP_CHECK(write_group(group));
    }
    report.on_disk_files = job_.order.size();
    report.extents_per_file =
        static_cast<double>(extents_) / static_cast<double>(job_.order.size());
    return {};
  }

 private:
  Result<> write_group(const std::vector<std::uint64_t>& numbers) {
    if (numbers.empty()) {
      return {};
    }
    std::vector<Growing> group;
    for (const std::uint64_t number : numbers) {
      BLKSWEEP_TRY(Growing g, start(number));
      group.push_back(std::move(g));
    }
    const std::string spacer =
        fmt::format("class_{:04}/{}", numbers[0] % job_.settings.classes, kSpacer);
    BLKSWEEP_CHECK(allocate(group, spacer));
    for (Growing& g : group) {
      BLKSWEEP_CHECK(writer_.write_sample(g.fd.get(), g.number, g.path));
      const int unread = reader_.read(g.fd.get());
      if (unread != 0 && unread != EOPNOTSUPP && unread != ENOTTY) {
        return sys_error(unread, "look for the extents of " + g.path);
      }
      extents_ += unread == 0 ? reader_.extents().size() : 1;
      BLKSWEEP_CHECK(g.fd.close(g.path));
    }
    if (::unlinkat(writer_.directory(), spacer.c_str(), 0) != 0) {
      return sys_error(errno, "remove " + spacer);
    }
    return {};
  }

  Result<Growing> start(std::uint64_t number) {
    Growing g;
    g.number = number;
    g.path = sample_path(number, job_.settings.classes);
    BLKSWEEP_TRY(g.fd, writer_.create(g.path, O_CREAT | O_EXCL));
    g.blocks = align_up(job_.sizes[number], kPageBytes) / kPageBytes;
    const double whole = std::floor(job_.settings.fragment);
    const bool one_more = rng_.unit() < job_.settings.fragment - whole;
    const std::uint64_t wanted = static_cast<std::uint64_t>(whole) + (one_more ? 1 : 0);
    g.pieces = std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(1, g.blocks));
    return g;
  }

  // Round robin; when a single file is left over, the spacer takes the turns of the others.
  Result<> allocate(std::vector<Growing>& group, const std::string& spacer) {
    BLKSWEEP_TRY(Fd space, writer_.create(spacer, O_CREAT | O_EXCL));
    std::uint64_t space_blocks = 0;
    for (bool any = true; any;) {
      std::size_t grown = 0;
      for (Growing& g : group) {
        if (g.next_piece < g.pieces && g.blocks > 0) {
          BLKSWEEP_CHECK(grow(g));
          ++grown;
        }
      }
      if (grown == 1) {
        BLKSWEEP_CHECK(reserve(space.get(), space_blocks++ * kPageBytes, kPageBytes, spacer));
      }
      any = grown > 0;
    }
    return space.close(spacer);
  }

  Result<> grow(Growing& g) {
    const std::uint64_t from = g.begin(g.next_piece) * kPageBytes;
    const std::uint64_t to = std::min(g.begin(++g.next_piece) * kPageBytes, job_.sizes[g.number]);
    return reserve(g.fd.get(), from, to - from, g.path);
  }

  Result<> reserve(int fd, std::uint64_t from, std::uint64_t length, const std::string& path) {
    if (::fallocate(fd, 0, static_cast<off_t>(from), static_cast<off_t>(length)) != 0) {
      return sys_error(errno, "fallocate " + job_.settings.directory + "/" + path +
                                  " (--fragment needs ext4, xfs or btrfs)");
    }
    return {};
  }

  const WriteJob& job_;
  SampleWriter writer_;
  Rng rng_;
  ExtentReader reader_;
  std::uint64_t extents_ = 0;
};

}  // namespace

Result<> write_fragmented(const WriteJob& job, MakeReport& report) {
  return Fragmenter(job).run(report);
}

}  // namespace blksweep
