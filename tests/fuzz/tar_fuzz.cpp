// Arbitrary bytes as a tar file, as they are and with the header checksums made right. Members must
// lie inside the archive.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "dataset/tar.h"

namespace {

void repair(std::string& archive) {
  for (std::size_t at = 0; at + blksweep::kTarBlock <= archive.size(); at += blksweep::kTarBlock) {
    archive.replace(at + 148, 8, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < blksweep::kTarBlock; ++i) {
      sum += static_cast<unsigned char>(archive[at + i]);
    }
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    archive.replace(at + 148, 6, text, 6);
  }
}

void try_read(const std::string& archive) {
  const auto members =
      blksweep::read_tar(archive.size(), [&](std::uint64_t offset, std::span<std::byte> out) {
        const std::size_t n = offset >= archive.size()
                                  ? 0
                                  : std::min<std::size_t>(out.size(), archive.size() - offset);
        if (n > 0) {
          std::memcpy(out.data(), archive.data() + offset, n);
        }
        return blksweep::Result<std::size_t>(n);
      });
  if (!members) {
    return;
  }
  for (const blksweep::TarMember& m : *members) {
    if (m.offset > archive.size() || m.size > archive.size() - m.offset) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string archive(reinterpret_cast<const char*>(data), size);
  try_read(archive);
  repair(archive);
  try_read(archive);
  return 0;
}
