#include "rig/stamp.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "codec/codec.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

// Its number changes when the same settings make other bytes or another layout.
constexpr const char* kTitle = "blksweep made this 2\n";
constexpr const char* kUnfinished = "unfinished\n";

std::string text_of(std::span<const std::string> parts) {
  std::string text = kTitle;
  for (const std::string& part : parts) {
    text += part;
  }
  return text;
}

std::string make_text(const MakeSettings& m) {
  return fmt::format(
      "make\n count {}\n size {}\n classes {}\n fragment {}\n seed {}\n format {}\n arrange {}\n"
      " shard {}\n",
      m.count, to_string(m.size), m.classes, m.fragment, m.seed, static_cast<int>(m.format),
      static_cast<int>(m.arrange), m.shard.n);
}

std::string pack_text(const PackSettings& p) {
  return fmt::format("pack\n layout {}\n dtype {}\n compress {}\n level {}\n shard {}\n",
                     static_cast<int>(p.layout), static_cast<int>(p.encode.dtype),
                     static_cast<int>(p.encode.codec), p.encode.level, p.shard.n);
}

}  // namespace

std::string settings_text(const ImageDisk& disk) {
  const std::string aged = disk.aged ? fmt::format(" aged {}%\n", disk.aged->used) : "";
  return fmt::format("disk\n size {}\n fs {}\n{}", disk.size.n, disk.filesystem, aged);
}

std::string settings_text(const DataSetup& data, const RigSettings& rig) {
  const std::string name = fmt::format("data {}: ", data.name);
  if (const auto* make = std::get_if<MakeSettings>(&data.what)) {
    return name + make_text(*make);
  }
  if (const auto* folder = std::get_if<FolderData>(&data.what)) {
    return fmt::format("{}folder {}\n", name, folder->path);
  }
  const auto& pack = std::get<PackOf>(data.what);
  return name + pack_text(pack.settings) + "of " + settings_text(*rig.data_set(pack.source), rig);
}

std::vector<std::string> parts_of(const RigSettings& rig, const DiskSetup& disk) {
  std::vector<std::string> parts{settings_text(std::get<ImageDisk>(disk.what))};
  for (const Site& site : sites(rig)) {
    if (site.disk == &disk) {
      parts.push_back(settings_text(*site.data, rig));
    }
  }
  return parts;
}

StampFound Stamp::look(const std::vector<std::string>& wanted) const {
  std::error_code ignored;
  if (!std::filesystem::exists(file_, ignored)) {
    return {StampState::absent, 0};
  }
  const std::string text = whole_text(file_);
  for (std::size_t n = wanted.size(); n > 0; --n) {
    if (text == text_of(std::span(wanted).first(n))) {
      return {n == wanted.size() ? StampState::whole : StampState::beginning, n};
    }
  }
  return {StampState::other, 0};
}

Result<> Stamp::begin() const { return write_file(file_, std::string(kTitle) + kUnfinished); }

Result<> Stamp::keep(const std::vector<std::string>& made) const {
  return write_file(file_, text_of(made));
}

}  // namespace blksweep
