// Packs a folder of files: other bytes for the same samples, so that the steps of tuning a training
// loop (packed shards, half precision, compression) can be measured one by one.
//
// Samples keep their order (by path) and their folders, and so their labels. The result depends on
// the source, the settings and the versions of the libraries only, not on `threads`. Format:
// docs/pack-format.md.
//
// Memory:  64 MiB, and threads + 1 of the largest sample.
// Errors:  a sample above 1 GiB, an output folder that is not empty, whatever the system says of
//          files. After an Error or a stop nothing of the result is left under a final name.
// Threads: the caller's writes, `threads` others read and encode.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "codec/codec.h"

namespace blksweep {

enum class PackLayout { files, tar };

struct PackSettings {
  std::string source;     // folder of files
  std::string directory;  // empty or new
  PackLayout layout = PackLayout::tar;
  EncodeSettings encode;
  Bytes shard{std::uint64_t{256} << 20};  // tar: a shard is closed when it has reached this size
  unsigned threads = 1;
  bool follow_links = false;  // out of the source too
  std::string tool;           // version and revision, for the manifest
};

struct PackReport {
  std::uint64_t samples = 0, on_disk_files = 0;
  std::uint64_t on_disk_bytes = 0;  // of these files: with the heads and the padding of a tar
  std::uint64_t source_bytes = 0, decoded_bytes = 0, stored_bytes = 0;  // stored: with headers
  std::uint64_t largest_decoded_bytes = 0;
  std::uint64_t kept_raw = 0;           // fp16: sizes that are no multiple of 4
  std::uint64_t kept_uncompressed = 0;  // compression did not make them smaller
  std::string content_hash;             // XXH3-128 of all headers in order, hex
  std::int64_t time_ns = 0;
  std::vector<std::string> warnings;
};

// Called now and then with samples written so far, of how many, and source bytes.
struct PackProgress {
  std::uint64_t done, total, bytes;
};
using PackListener = std::function<void(const PackProgress&)>;

Result<PackReport> pack_dataset(const PackSettings& settings, const PackListener& listener,
                                const std::atomic<bool>& stop);

}  // namespace blksweep
