#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "plan/order_elevator.h"
#include "plan/order_sort.h"
#include "plan/plan.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kOrderStream = std::uint64_t{0x6F72} << 32;  // + epoch
constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

using Samples = std::vector<std::uint32_t>;

Samples identity(std::size_t n) {
  Samples samples(n);
  std::iota(samples.begin(), samples.end(), 0U);
  return samples;
}

std::uint64_t primary_key(const Catalog& catalog, Order order, std::uint32_t sample) {
  const std::uint32_t file = catalog.sample(sample).file;
  switch (order) {
    case Order::directory:
      return catalog.files[file].directory_rank;
    case Order::inode:
      return catalog.files[file].inode;
    case Order::lba:
    case Order::reverse:
    case Order::chunked:
    case Order::elevator:
      return catalog.first_address(sample);
    case Order::recorded:
      return sample;
    case Order::path:
    case Order::random:
      break;
  }
  return file;
}

// How samples with equal keys are told apart, level by level; the last word is the sample number.
enum class Tie { inode, offset, none };

std::uint64_t tie_key(const Catalog& catalog, Tie tie, std::uint32_t sample) {
  const Sample s = catalog.sample(sample);
  return tie == Tie::inode ? catalog.files[s.file].inode : s.offset;
}

struct Sorter {
  const Catalog& catalog;
  std::vector<SortKey> scratch;

  void sort(std::span<SortKey> keys, Tie tie) {
    sort_keys(keys, scratch);
    if (tie == Tie::none) {
      return;
    }
    for (std::size_t begin = 0; begin < keys.size();) {
      std::size_t end = begin + 1;
      while (end < keys.size() && keys[end].key == keys[begin].key) {
        ++end;
      }
      if (end - begin > 1) {
        sort_run(keys.subspan(begin, end - begin), tie);
      }
      begin = end;
    }
  }

  void sort_run(std::span<SortKey> run, Tie tie) {
    for (SortKey& k : run) {
      k.key = tie_key(catalog, tie, k.index);
    }
    sort(run, tie == Tie::inode ? Tie::offset : Tie::none);
  }
};

// An unknown address sorts behind all others; a key just behind the last known one instead of ~0
// keeps the number of differing bits, and so the number of radix passes, small.
void close_up_unknown(std::span<SortKey> keys) {
  std::uint64_t last = 0;
  for (const SortKey& k : keys) {
    if (k.key != kNoAddress) {
      last = std::max(last, k.key);
    }
  }
  const std::uint64_t behind = align_up(last + 1, kPageBytes);
  for (SortKey& k : keys) {
    if (k.key == kNoAddress) {
      k.key = behind;
    }
  }
}

Samples sorted_samples(const Catalog& catalog, Order order) {
  std::vector<SortKey> keys(catalog.samples());
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    keys[i] = {primary_key(catalog, order, i), i, 0};
  }
  if (order == Order::lba || order == Order::reverse || order == Order::chunked ||
      order == Order::elevator) {
    close_up_unknown(keys);
  }
  Sorter{catalog, {}}.sort(keys, Tie::inode);
  Samples samples(keys.size());
  std::ranges::transform(keys, samples.begin(), &SortKey::index);
  if (order == Order::reverse) {
    std::ranges::reverse(samples);
  }
  return samples;
}

// Lengths by sample, read once in catalog order: later look-ups follow the read order.
std::vector<std::uint32_t> sample_lengths(const Catalog& catalog) {
  std::vector<std::uint32_t> lengths(catalog.samples());
  for (std::uint32_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = static_cast<std::uint32_t>(catalog.sample(i).length);
  }
  return lengths;
}

// Cuts `samples` into runs of at least `run_bytes`; returns the beginnings and the end.
std::vector<std::uint32_t> cut_runs(std::span<const std::uint32_t> samples,
                                    std::span<const std::uint32_t> lengths, Bytes run_bytes) {
  std::vector<std::uint32_t> begins{0};
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < samples.size(); ++i) {
    if (bytes >= run_bytes.n && i > begins.back()) {
      begins.push_back(i);
      bytes = 0;
    }
    bytes += lengths[samples[i]];
  }
  begins.push_back(static_cast<std::uint32_t>(samples.size()));
  return begins;
}

void append_chunks(std::span<const std::uint32_t> sorted, std::span<const std::uint32_t> begins,
                   Rng& rng, Samples& out) {
  Samples chunks = identity(begins.size() - 1);
  shuffle(std::span(chunks), rng);
  for (const std::uint32_t c : chunks) {
    out.insert(out.end(), sorted.begin() + begins[c], sorted.begin() + begins[c + 1]);
  }
}

void append_random(std::size_t n, Rng& rng, Samples& out) {
  const std::size_t begin = out.size();
  out.resize(begin + n);
  const auto mine = std::span(out).subspan(begin);
  std::iota(mine.begin(), mine.end(), 0U);
  shuffle(mine, rng);
}

// Sorts each run of `window` bytes of one epoch by address.
struct WindowSort {
  const Catalog& catalog;
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint32_t> lengths;
  Sorter sorter;
  std::vector<SortKey> keys;

  explicit WindowSort(const Catalog& c)
      : catalog(c), addresses(c.samples()), lengths(sample_lengths(c)), sorter{c, {}} {
    for (std::uint32_t i = 0; i < addresses.size(); ++i) {
      addresses[i] = c.first_address(i);
    }
  }

  void apply(std::span<std::uint32_t> epoch, Bytes window) {
    const std::vector<std::uint32_t> begins = cut_runs(epoch, lengths, window);
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
      sort_run(epoch.subspan(begins[r], begins[r + 1] - begins[r]));
    }
  }

  void sort_run(std::span<std::uint32_t> run) {
    keys.resize(run.size());
    std::ranges::transform(run, keys.begin(), [this](std::uint32_t s) {
      return SortKey{addresses[s], s, 0};
    });
    sorter.sort(keys, Tie::inode);
    std::ranges::transform(keys, run.begin(), &SortKey::index);
  }
};

void append_epoch(const OrderSettings& settings, std::span<const std::uint32_t> sorted,
                  std::span<const std::uint32_t> chunk_begins, ElevatorRide ride, Samples& out,
                  std::uint32_t epoch) {
  Rng rng(settings.seed, kOrderStream + settings.first_epoch + epoch);
  if (settings.order == Order::chunked) {
    append_chunks(sorted, chunk_begins, rng, out);
  } else if (settings.order == Order::elevator) {
    append_elevator(sorted, ride, rng, out);
  } else {
    out.insert(out.end(), sorted.begin(), sorted.end());
  }
}

Samples base_order(const Catalog& catalog, const OrderSettings& settings) {
  const std::size_t n = catalog.samples();
  Samples out;
  if (settings.order == Order::random) {
    out.reserve(n * settings.epochs);
    for (std::uint32_t e = 0; e < settings.epochs; ++e) {
      Rng rng(settings.seed, kOrderStream + settings.first_epoch + e);
      append_random(n, rng, out);
    }
    return out;
  }
  const Samples sorted = sorted_samples(catalog, settings.order);
  std::vector<std::uint32_t> begins;
  if (settings.order == Order::chunked) {
    begins = cut_runs(sorted, sample_lengths(catalog), settings.chunk);
  }
  ElevatorRide ride;
  if (settings.order == Order::elevator) {
    ride = elevator_ride(sorted.size(), catalog.bytes(), settings);
  }
  out.reserve(n * settings.epochs);
  for (std::uint32_t e = 0; e < settings.epochs; ++e) {
    append_epoch(settings, sorted, begins, ride, out, e);
  }
  return out;
}

}  // namespace

std::vector<std::uint32_t> make_order(const Catalog& catalog, const OrderSettings& settings) {
  Samples out = base_order(catalog, settings);
  const std::size_t n = catalog.samples();
  if (settings.sort_window.n > 0 && n > 0) {
    WindowSort window_sort(catalog);
    for (std::uint32_t e = 0; e < settings.epochs; ++e) {
      window_sort.apply(std::span(out).subspan(e * n, n), settings.sort_window);
    }
  }
  return out;
}

}  // namespace blksweep
