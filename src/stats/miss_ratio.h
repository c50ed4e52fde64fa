// The LRU miss-ratio curve of a stream of references, from a sample of them: SHARDS, fixed size.
//
// A key is sampled by its hash, and all its references with it; when more than `most` keys are in
// the sample, those with the greatest hashes leave and the rate sinks. While all keys fit the curve
// is exact. error() is what the mean difference of the curve's points from the true ones was in the
// source's experiments, for samples of this size. Caches that hold fewer than 8 sampled keys have
// no point.
//
// Memory:  about 150 bytes a sampled key.
// Threads: one owner.
// Source:  Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS",
//          FAST 2015 (3.2 fixed size, 3.3 adjustment); Mattson et al., 1970 (stack distances).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace blksweep {

class MissRatio {
 public:
  explicit MissRatio(std::size_t most = 16384) : most_(most) {}

  void reference(std::uint64_t key);

  struct Point {
    std::uint64_t cached = 0;  // keys that the cache holds
    double misses = 0;         // of all references, 0 .. 1
  };
  // Ascending sizes, each twice the one before, up to all keys; empty without references. From 1
  // where it is exact.
  std::vector<Point> curve() const;
  std::uint64_t references() const { return references_; }
  double keys() const;  // that were referenced, estimated
  bool exact() const { return limit_ == kAll; }
  double error() const;  // of misses; 0 where it is exact

 private:
  static constexpr std::uint64_t kAll = std::uint64_t{1} << 24;  // hashes are below it
  struct Seen {
    std::uint64_t time, hash;
  };
  std::uint64_t least_size() const;
  double rate() const { return static_cast<double>(limit_) / static_cast<double>(kAll); }
  std::uint64_t distance(std::uint64_t last) const;
  void mark(std::uint64_t time, int by);
  void count(std::uint64_t distance);
  void shrink();
  void compact();

  std::size_t most_;
  std::uint64_t limit_ = kAll, references_ = 0, now_ = 0;
  std::unordered_map<std::uint64_t, Seen> seen_;
  std::priority_queue<std::pair<std::uint64_t, std::uint64_t>> by_hash_;  // hash, key
  std::vector<std::uint32_t> marks_;  // Fenwick tree over times: 1 at the last reference of a key
  std::map<std::uint64_t, double>
      hits_;  // by distance in keys of the whole stream, rounded up to a bucket
  double cold_ = 0, counted_ = 0;
};

}  // namespace blksweep
