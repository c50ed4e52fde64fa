#include "dataset/pack_index.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>

#include "codec/sample_header.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

constexpr std::size_t kLongestIndex = std::size_t{4} << 30;  // 268 million samples
constexpr std::array<char, 8> kIndexMagic{'B', 'L', 'K', 'S', 'I', 'D', 'X', '1'};

struct Head {
  std::array<char, 8> magic;
  std::uint64_t count;
  std::uint64_t check;  // XXH3-64 of the entries
};

std::uint64_t key_of(std::string_view file, std::uint64_t offset) {
  return XXH3_64bits_withSeed(file.data(), file.size(), offset);
}

tl::unexpected<Error> damaged_index(const std::string& path, std::string_view what) {
  return fail(fmt::format("{}: {} (pack the data set again: blksweep dataset pack)", path, what));
}

}  // namespace

std::string pack_index_path(std::string_view root) {
  return fmt::format("{}/{}/index", root, kPackFolder);
}
std::string pack_manifest_path(std::string_view root) {
  return fmt::format("{}/{}/manifest.json", root, kPackFolder);
}

Result<> refuse_cut_off_pack(const std::string& root) {
  std::error_code ec;
  const std::string folder = fmt::format("{}/{}", root, kPackFolder);
  const bool cut_off =
      std::filesystem::exists(folder, ec) && !std::filesystem::exists(pack_manifest_path(root), ec);
  if (ec && ec != std::errc::permission_denied) {  // of the folder: who opens it says so
    return sys_error(ec.value(), "look at " + folder);
  }
  if (cut_off) {
    return fail(
        fmt::format("{}: a pack that was cut off (no {}): remove what is in the folder, "
                    "and pack again",
                    root, pack_manifest_path(root)));
  }
  return {};
}

void PackIndex::add(std::string_view file, std::uint64_t offset, std::uint64_t decoded_bytes) {
  entries_.push_back({key_of(file, offset), decoded_bytes});
}

Result<> PackIndex::save(const std::string& path) {
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.bytes > b.bytes;
  });
  const std::span<const std::byte> entries = std::as_bytes(std::span(entries_));
  const Head head{kIndexMagic, entries_.size(), XXH3_64bits(entries.data(), entries.size())};
  BLKSWEEP_TRY(ReplacedFile file, ReplacedFile::begin(path));
  BLKSWEEP_CHECK(file.write(std::as_bytes(std::span(&head, 1))));
  BLKSWEEP_CHECK(file.write(entries));
  return file.commit();
}

Result<PackIndex> PackIndex::load(const std::string& path) {
  BLKSWEEP_TRY(const Fd fd, open_regular(path));
  struct stat st {};
  Head head{};
  if (::pread(fd.get(), &head, sizeof head, 0) != sizeof head || ::fstat(fd.get(), &st) != 0) {
    return damaged_index(path, "too short");
  }
  // Before anything is read into memory: a file of holes may have any size.
  if (head.magic != kIndexMagic) {
    return damaged_index(path, "not the index of a packed data set");
  }
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > kLongestIndex || (size - sizeof head) % sizeof(Entry) != 0 ||
      head.count != (size - sizeof head) / sizeof(Entry)) {
    return damaged_index(path, "damaged");
  }
  BLKSWEEP_TRY(const std::string text, read_text(fd.get(), size, path));
  const std::span<const std::byte> entries = std::as_bytes(std::span(text)).subspan(sizeof head);
  if (XXH3_64bits(entries.data(), entries.size()) != head.check) {
    return damaged_index(path, "damaged");
  }
  PackIndex index;
  index.entries_.resize(head.count);
  if (!entries.empty()) {
    std::memcpy(index.entries_.data(), entries.data(), entries.size());
  }
  if (!std::ranges::is_sorted(index.entries_, {}, &Entry::key) ||
      std::ranges::any_of(index.entries_,
                          [](const Entry& e) { return e.bytes > kMaxDecodedBytes; })) {
    return damaged_index(path, "entries that cannot be");
  }
  return index;
}

std::optional<std::uint64_t> PackIndex::bytes_of(std::string_view file,
                                                 std::uint64_t offset) const {
  const std::uint64_t key = key_of(file, offset);
  const auto at = std::ranges::lower_bound(entries_, key, {}, &Entry::key);
  return at != entries_.end() && at->key == key ? std::optional(at->bytes) : std::nullopt;
}

}  // namespace blksweep
