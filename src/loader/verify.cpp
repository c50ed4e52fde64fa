#include "loader/verify.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/fd.h"
#include "codec/sample_header.h"
#include "dataset/data_files.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr std::size_t kMostNamed = 10;
constexpr std::size_t kBlock = std::size_t{1} << 20;

struct XxhDeleter {
  void operator()(XXH3_state_t* s) const { XXH3_freeState(s); }
};

// The ordinary path, one file open at a time (samples come sorted by file).
class PlainReader {
 public:
  explicit PlainReader(const DataFiles& data) : data_(data), block_(kBlock) {}

  // XXH3-64 of the sample as it must come; an error says what is wrong with the file.
  Result<std::uint64_t> hash(const Sample& s, Delivered how) {
    if (!fd_ || file_ != s.file) {
      file_ = s.file;
      const int fd = data_.open(s.file, 0, scratch_);
      fd_.reset(std::max(fd, -1));
      if (fd < 0) {
        return sys_error(-fd, "open");
      }
    }
    return how == Delivered::decoded ? promised(s) : stored(s);
  }

 private:
  Result<std::uint64_t> promised(const Sample& s) {
    const auto head =
        std::span(block_).first(std::min<std::uint64_t>(kSampleHeaderBytes, s.length));
    BLKSWEEP_TRY(const std::size_t n, pread_full(fd_.get(), head, s.offset, "it"));
    BLKSWEEP_TRY(const SampleHeader header, read_header(head.first(n), s.length));
    return header.decoded_hash;
  }

  Result<std::uint64_t> stored(const Sample& s) {
    XXH3_64bits_reset(state_.get());
    for (std::uint64_t done = 0; done < s.length;) {
      const std::size_t want = std::min<std::uint64_t>(kBlock, s.length - done);
      const ssize_t n =
          ::pread(fd_.get(), block_.data(), want, static_cast<off_t>(s.offset + done));
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n <= 0) {
        return n < 0 ? sys_error(errno, "read") : fail("the file ends early");
      }
      XXH3_64bits_update(state_.get(), block_.data(), static_cast<std::size_t>(n));
      done += static_cast<std::uint64_t>(n);
    }
    return XXH3_64bits_digest(state_.get());
  }

  const DataFiles& data_;
  std::vector<std::byte> block_;
  std::string scratch_;
  std::uint32_t file_ = 0;
  Fd fd_;
  std::unique_ptr<XXH3_state_t, XxhDeleter> state_{XXH3_createState()};
};

}  // namespace

DeliveryCount count_delivered(const Plan& plan, std::span<const std::uint32_t> delivered) {
  std::vector<bool> seen(plan.order.size());
  DeliveryCount count{plan.order.size(), 0};
  for (const std::uint32_t position : delivered) {
    if (seen[position]) {
      ++count.duplicated;
    } else {
      seen[position] = true;
      --count.missing;
    }
  }
  return count;
}

Verification check_hashes(const Catalog& catalog, const Plan& plan, const DeliveredHashes& what) {
  const auto& [delivered, hashes, how] = what;
  std::vector<std::uint32_t> by_sample(delivered.size());
  std::iota(by_sample.begin(), by_sample.end(), 0U);
  std::ranges::sort(by_sample, {},
                    [&, at = what.positions](std::uint32_t i) { return plan.order[at[i]]; });
  const Result<DataFiles> data = DataFiles::open_root(catalog);
  if (!data) {
    return {delivered.size(), {{std::string(catalog.root), data.error().message()}}};
  }
  PlainReader reader(*data);
  Verification v;
  for (const std::uint32_t i : by_sample) {
    const Sample sample = catalog.sample(plan.order[delivered[i]]);
    const Result<std::uint64_t> plain = reader.hash(sample, how);
    if (plain && *plain == hashes[i]) {
      continue;
    }
    if (++v.wrong <= kMostNamed) {
      v.named.push_back(
          {catalog.full_path(sample.file),
           plain ? fmt::format("delivered {:016x}, the file has {:016x}", hashes[i], *plain)
                 : plain.error().message()});
    }
  }
  return v;
}

std::string emission_hash(std::span<const std::uint32_t> samples) {
  const XXH128_hash_t h = XXH3_128bits(samples.data(), samples.size_bytes());
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

}  // namespace blksweep
