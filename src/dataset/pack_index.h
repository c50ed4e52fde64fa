// PackIndex: how large each sample of a packed folder is when decoded, without opening its files.
//
// A run sizes its buffers with it before the epoch. Sizes are upper bounds: where two keys are the
// same, the larger one holds. The header of each sample decides what is really decoded.
//
// Units:   bytes. Memory: 16 bytes per sample.
// Errors:  load() accepts arbitrary bytes; a damaged or missing index says how to make a new one.
// Threads: add() and save() by one owner; bytes_of() from any thread after that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

// In the packed folder; the scan does not look into it.
inline constexpr std::string_view kPackFolder = ".blksweep-pack";
std::string pack_index_path(std::string_view root);
std::string pack_manifest_path(std::string_view root);
// An Error when `root` holds a pack that was cut off: a working folder, but no manifest in it. What
// lies there is a part of the data set at most.
Result<> refuse_cut_off_pack(const std::string& root);

class PackIndex {
 public:
  static Result<PackIndex> load(const std::string& path);

  // `file` is relative to the packed folder, `offset` that of the stored sample in it.
  void add(std::string_view file, std::uint64_t offset, std::uint64_t decoded_bytes);
  Result<> save(const std::string& path);  // sorts

  // REQUIRES: loaded or saved.
  std::optional<std::uint64_t> bytes_of(std::string_view file, std::uint64_t offset) const;
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t key;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries_;
};

}  // namespace blksweep
