// Arbitrary bytes as a catalog file. Checksums would stop the fuzzer at the door, so each input is
// also tried with its checksums made right; what is accepted must be safe to use.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dataset/catalog_file.h"
#include "dataset/catalog_summary.h"

extern std::uint64_t fuzz_sink;
std::uint64_t fuzz_sink = 0;  // so that nothing read is optimised away

namespace {

constexpr std::size_t kHeader = 296;
constexpr std::size_t kSections = 48;  // {offset, bytes, checksum} x 10, then the header's checksum
constexpr std::size_t kSectionCount = 10;

std::uint64_t load(const std::vector<std::uint64_t>& words, std::size_t at) {
  return words[at / 8];
}

void repair(std::vector<std::uint64_t>& words, std::size_t size) {
  const auto* bytes = reinterpret_cast<const char*>(words.data());
  const std::uint64_t identity[2] = {0x5441435753'4B4C42ULL, 0x0000012800000001ULL};
  std::memcpy(words.data(), identity, sizeof identity);
  words[2] = size;
  for (std::size_t i = 0; i < kSectionCount; ++i) {
    const std::size_t at = kSections + i * 24;
    const std::uint64_t offset = load(words, at);
    const std::uint64_t length = load(words, at + 8);
    if (offset <= size && length <= size - offset) {
      words[at / 8 + 2] = XXH3_64bits(bytes + offset, length);
    }
  }
  words[kHeader / 8 - 1] = XXH3_64bits(bytes, kHeader - 8);
}

void try_decode(const std::vector<std::uint64_t>& words, std::size_t size) {
  const auto decoded =
      blksweep::decode_catalog(std::as_bytes(std::span(words)).first(size), "fuzz.cat");
  if (!decoded) {
    return;
  }
  const blksweep::Catalog& c = decoded->catalog;
  std::uint64_t sum = blksweep::summarize(c).extents;
  for (std::uint32_t s = 0; s < c.samples(); ++s) {
    sum += c.first_address(s) + c.full_path(c.sample(s).file).size() +
           c.label(c.sample(s).label).size();
  }
  fuzz_sink = sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint64_t> words(size / 8 + 1);
  if (size > 0) {
    std::memcpy(words.data(), data, size);
  }
  try_decode(words, size);
  if (size >= kHeader) {
    repair(words, size);
    try_decode(words, size);
  }
  return 0;
}

// Starts from a whole small catalog: random bytes would hardly ever reach the sections.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned /*seed*/) {
  if (size < kHeader) {
    blksweep::CatalogParts p;
    p.root = "/data";
    const std::uint32_t label = p.add_label("a");
    p.add_file({11, 5000, 1, 2, 0, 7}, "a/1");
    p.extents.push_back({0, 8192, 4096, 0, 0});
    p.extents.push_back({4096, 65536, 4096, 8, 0});
    p.add_file({12, 100, 3, 4, 0, 8}, "a/2");
    p.extents.push_back({0, 0, 100, 16, 1});
    p.whole = {{0, label}};
    p.parts = {{10, 20, 1, label}};
    const auto bytes = blksweep::encode_catalog(p);
    if (bytes && bytes->size() <= max_size) {
      std::copy(bytes->begin(), bytes->end(), data);
      return bytes->size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
