// Loader: a data set as batches in memory, for programs outside this project. The one public header
// of libblksweep-loader; it needs the standard library only.
//
// Use:
//   std::string error;
//   const auto loader = blksweep::Loader::open({.data = "/data/train", .shuffle = "reservoir"},
//   error); while (const auto batch = loader->next()) {   // loader is null where error says why
//     for (const blksweep::LoadedSample& s : batch->samples) use(s.data, s.bytes, s.label);
//     loader->release();
//   }
//   if (!loader->error().empty()) ...             // what was delivered is not all, or not proven
//
// Order:     the same data, options and seed give the same batches (docs/loader.md).
// Shape:     a batch holds up to `batch` samples of one epoch; every sample comes once an epoch
//            with exactly its file's bytes, as they are stored or decoded (`decode_threads`).
// Units:     bytes; samples and labels are numbers of the data set's catalog.
// Ownership: a batch's spans are the loader's. They are valid until release() of the batch, oldest
//            first; at most most_held() batches may be out at once, next() fails beyond that.
// Errors:    open() returns null and says why. next() returns nothing at the end and at an error;
//            error() is empty only when every sample came, and where bytes were read by their
//            address on the device (order or merge) no file had moved between the first read and
//            the last.
// Ranks:     each plans the whole epoch, and so agrees with the others without a word; it reads its
//            own samples only.
// Stop:      interrupt() wakes next(), which then returns nothing.
// Threads:   next(), wait(), release() and stats() on one thread at a time, interrupt() and ready()
//            on any. Reading goes on in threads of the loader's own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blksweep {

struct LoaderOptions {
  std::string data = {};       // a folder, scanned now; or
  std::string catalog = {};    // a file that `blksweep catalog` wrote
  std::string order = "lba";   // random path directory inode lba chunked recorded reverse elevator
  std::string merge = "none";  // none file kernel device
  std::string shuffle = "none";  // none buffer reservoir full
  // or io_uring-sqpoll io_uring-iopoll libaio psync; through the page cache, whatever `direct`
  // says: nowait mmap hint
  std::string engine = "io_uring";
  std::uint64_t chunk_bytes = std::uint64_t{4} << 20;
  std::uint64_t lookahead_bytes = 0;  // elevator: 0: half of the window, without one eight chunks
  double lookahead_percent = 0;       // > 0: of an epoch's bytes in memory instead
  std::uint64_t merge_gap_bytes = std::uint64_t{64} << 10;
  std::uint64_t merge_most_bytes = std::uint64_t{1} << 20;
  std::uint64_t window_bytes = std::uint64_t{64} << 20;  // in memory between reading and delivery
  double window_percent = 0;  // > 0: of an epoch's bytes in memory instead
  std::uint32_t hold = 0;     // buffer: a sample leaves within so many windows (<= 1000); 0: any
  bool direct = true;         // past the page cache, where the filesystem can
  // Reads in flight; without: half of what prefetch lets ahead, 32 at most.
  std::optional<std::uint32_t> depth = {};
  std::uint32_t openers = 1;  // threads that open files ahead
  std::uint32_t batch = 256;  // samples
  std::uint32_t workers = 0;  // > 0: threads that read a whole batch each, with plain reads
  // Batches that are made ready before they are asked for; without: as many as hold eight long
  // reads, 4 at least.
  std::optional<std::uint32_t> prefetch = {};
  std::uint32_t decode_threads = 0;  // 0: samples come as they are stored
  std::uint32_t epochs = 1;
  std::uint64_t seed = 1;
  // Which randomness the first epoch has: epoch e is the same whatever was the first.
  std::uint32_t first_epoch = 0;
  // Of one epoch, what is left after so many samples were delivered (by all ranks together).
  std::uint32_t first_sample = 0;
  // When all files are compared with the catalog, and where they lie: "every" loader before its
  // first read and after its last; "watched": while the kernel tells (fanotify, CAP_SYS_ADMIN) that
  // nobody closed one of them after writing since they were compared last, not again.
  std::string check = "every";
  // Of what an epoch delivers every ranks-th sample, from the rank-th on: disjoint, together all.
  std::uint32_t rank = 0, ranks = 1;
  bool rank_by_file = false;  // instead, the samples of whole files, about as many bytes for each
  // "global": one window over the order of all ranks, of which each holds its part; "rank": each
  // shuffles its part of the order of reading in a window of its own.
  std::string window_scope = "global";
  bool held = false;  // all is made ready, but nothing is read before begin()
};

// A data set that is opened once for many loaders. Threads: any; it never changes.
class LoaderData {
 public:
  // One of a folder, scanned now, and a file that `blksweep catalog` wrote. Null: error says why.
  static std::shared_ptr<const LoaderData> open(const std::string& folder,
                                                const std::string& catalog, std::string& error);
  ~LoaderData();
  std::uint32_t samples() const;
  std::uint64_t bytes() const;
  std::string_view root() const;
  std::string path(std::uint32_t sample) const;  // of the file that the sample is in; "": no such
  std::uint64_t sample_bytes(std::uint32_t sample) const;
  std::uint32_t label_of(std::uint32_t sample) const;  // or kNoLabelOfSample
  std::uint32_t labels() const;
  std::string_view label(std::uint32_t label) const;
  // What a scan left out of the folder, and what the filesystem cannot say; each a sentence.
  const std::vector<std::string>& warnings() const;
  // Of names, sizes and labels: equal where the same samples have the same numbers.
  std::uint64_t identity() const;
  // What reads with these options are multiples of, which decides how many samples a window holds:
  // another order where it differs. 0: open() would refuse the options.
  std::uint32_t granule(const LoaderOptions& options) const;
  // Of where files lie, as far as the order of reading follows it: another order where it differs.
  // 0: it does not follow it.
  std::uint64_t places(const LoaderOptions& options) const;

 private:
  friend class Loader;
  friend struct LoaderDataOf;
  struct State;
  explicit LoaderData(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What was done so far; of the epochs of this loader together.
struct LoaderStats {
  std::uint32_t batches = 0, samples = 0;   // delivered
  std::uint64_t bytes = 0;                  // of them
  std::uint64_t reads = 0, read_bytes = 0;  // planned, of all epochs
  std::uint64_t window_bytes = 0;           // most sample bytes in the window, as planned
  std::uint64_t memory_bytes = 0;           // for samples in memory
  std::uint32_t depth = 0, prefetch = 0;    // as they were asked for, or chosen
  std::int64_t check_ns = 0;                // comparing files with the catalog; 0: nobody wrote any
  std::int64_t plan_ns = 0;                 // order, merge and shuffle, before the first read
  std::int64_t first_batch_ns = 0;          // since reading began; 0: not there yet
  std::int64_t epoch_ns = 0;                // from there to the newest batch
  std::int64_t waited_ns = 0;               // in wait() and next(), by the caller
};

struct LoadedSample {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint32_t index = 0;  // in the catalog
  std::uint32_t label = 0;  // kNoLabelOfSample: none
  std::uint32_t place = 0;  // in the order of all ranks together, counted over all epochs
};
inline constexpr std::uint32_t kNoLabelOfSample = 0xFFFFFFFF;

struct LoadedBatch {
  std::uint32_t number = 0;  // from 0, over all epochs
  std::span<const LoadedSample> samples;
};

class Loader {
 public:
  static std::unique_ptr<Loader> open(const LoaderOptions& options, std::string& error);
  // Of `data`; options.data and options.catalog are not looked at.
  static std::unique_ptr<Loader> open(std::shared_ptr<const LoaderData> data,
                                      const LoaderOptions& options, std::string& error);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  void begin();  // reading, where it was held; once
  std::optional<LoadedBatch> next();
  bool ready() const;  // next() would return at once
  // Waits until it would, no longer than `most`; whether it would. On the thread of next().
  bool wait(std::chrono::nanoseconds most);
  void release();  // of the oldest batch that is out; none: nothing
  void interrupt();
  const std::string& error() const;

  std::uint32_t most_held() const;
  std::uint32_t batches() const;   // of all epochs
  std::uint32_t samples() const;   // of the data set
  std::uint32_t delivers() const;  // samples of one epoch, by this rank
  LoaderStats stats() const;
  // XXH3-128 of the samples' numbers in the order of all ranks together, as it was planned: equal
  // where the ranks agree.
  std::string order_hash() const;
  std::string path(std::uint32_t sample) const;  // of the file that the sample is in
  std::string_view label(std::uint32_t label) const;

 private:
  struct State;
  explicit Loader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace blksweep
