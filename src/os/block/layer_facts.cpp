#include "os/block/layer_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/marked_word.h"
#include "base/text.h"
#include "os/block/device_layers.h"
#include "os/file/fiemap.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

struct Place {
  const char* name;
  const char* file;  // below /sys/block/<disk>
};
// Where a fact has several places (SCSI, NVMe, virtio, MMC), the first that says something counts.
constexpr Place kPlaces[] = {
    {"direct_io", "loop/dio"},
    {"offset", "loop/offset"},
    {"size_limit", "loop/sizelimit"},
    {"mapper_name", "dm/name"},
    {"mapper_uuid", "dm/uuid"},
    {"raid_level", "md/level"},
    {"model", "device/model"},
    {"vendor", "device/vendor"},
    {"serial", "serial"},
    {"serial", "device/serial"},
    {"firmware", "device/firmware_rev"},
    {"firmware", "device/rev"},
    {"firmware", "device/fwrev"},
    {"wwid", "wwid"},
    {"wwid", "device/wwid"},
    {"write_cache", "queue/write_cache"},
    {"rotational", "queue/rotational"},
};

// "[none] mq-deadline": the one that is chosen; the others come and go with modules.
std::string chosen(const std::string& text) {
  const std::string marked = marked_word(text);
  return marked.empty() ? text : marked;
}

class Facts {
 public:
  explicit Facts(std::string disk) : disk_(std::move(disk)) {}
  void add(const std::string& name, const std::string& value) {
    if (!value.empty() && std::ranges::find(all_, name, &LayerFact::name) == all_.end()) {
      all_.push_back({disk_, name, value});
    }
  }
  std::vector<LayerFact> take() { return std::move(all_); }

 private:
  std::string disk_;
  std::vector<LayerFact> all_;
};

void add_backing(Facts& facts, const std::string& file) {
  if (file.empty()) {
    return;
  }
  facts.add("backing_file", file);
  const MountFacts mount = mount_of_backing(file);
  facts.add("filesystem", mount.filesystem);
  facts.add("mount_options", mount.options);
}

std::string members(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& slave : fs::directory_iterator(folder / "slaves", ec)) {
    names.push_back(slave.path().filename().string());
  }
  std::ranges::sort(names);
  return joined(names, " ");
}

// NUMA node and PCIe link stand at the nearest folder above the disk's device that has them.
void add_bus(Facts& facts, const fs::path& folder) {
  std::error_code ec;
  fs::path at = fs::canonical(folder / "device", ec);
  for (; !ec && at.has_relative_path(); at = at.parent_path()) {
    facts.add("numa_node", first_line(at / "numa_node"));
    facts.add("pcie_speed", first_line(at / "current_link_speed"));
    facts.add("pcie_width", first_line(at / "current_link_width"));
    if (fs::exists(at / "current_link_speed", ec)) {
      return;  // above it are bridges, with links of their own
    }
  }
}

const char* kind_of(const DiskFacts& disk) {
  switch (disk.kind) {
    case DiskKind::hardware:
      return "hardware";
    case DiskKind::virtual_disk:
      return "virtual";
    case DiskKind::loop:
      return "loop";
    case DiskKind::mapper:
      return "mapper";
    case DiskKind::raid:
      return "raid";
    case DiskKind::memory:
      break;
  }
  return "memory";
}

// Of a disk below: the queue of the one on top is a fact of its own.
void add_queue(const std::string& disk, std::vector<LayerFact>& all) {
  for (const char* name : {"nr_requests", "max_sectors_kb", "nomerges", "read_ahead_kb"}) {
    if (const std::string value = first_line("/sys/block/" + disk + "/queue/" + name);
        !value.empty()) {
      all.push_back({disk, std::string("queue/") + name, value});
    }
  }
}

// LVM names the cache's data volume so; of dm-cache made by hand the kernel shows nothing in sysfs.
bool is_lvm_cache(const LayerFact& f) {
  return f.name == "mapper_name" && (f.value.ends_with("_cdata") || f.value.ends_with("_cvol"));
}

bool has_encoded_extents(const std::string& file) {
  const Result<Fd> fd = open_regular(file);
  ExtentReader reader;
  return fd && reader.read(fd->get()) == 0 &&
         std::ranges::any_of(reader.extents(), [](const fiemap_extent& e) {
           return (e.fe_flags & FIEMAP_EXTENT_ENCODED) != 0;
         });
}

// Whether reads of a loop device go through the page cache below it: it was not told otherwise, or
// the filesystem of its file reads compressed extents so (btrfs), and does not say it.
bool reads_through_cache(const DiskFacts& layer) {
  if (layer.kind != DiskKind::loop) {
    return false;
  }
  return !layer.backing_direct || has_encoded_extents(layer.backing_file);
}

bool is_volatile(const LayerFact& f) { return f.name.starts_with("pcie_"); }

}  // namespace

std::vector<LayerFact> facts_of_disk(const std::string& disk, const std::string& sys) {
  const fs::path folder = fs::path(sys) / "block" / disk;
  Facts facts(disk);
  add_backing(facts, first_line(folder / "loop/backing_file"));
  for (const Place& p : kPlaces) {
    facts.add(p.name, trimmed(first_line(folder / p.file)));
  }
  facts.add("scheduler", chosen(first_line(folder / "queue/scheduler")));
  facts.add("members", members(folder));
  add_bus(facts, folder);
  return facts.take();
}

std::vector<LayerFact> layer_facts(const std::string& disk) {
  std::vector<LayerFact> all;
  for (const DiskFacts& layer : device_layers(disk)) {
    all.push_back({layer.disk, "kind", kind_of(layer)});
    std::ranges::move(facts_of_disk(layer.disk), std::back_inserter(all));
    if (layer.disk != disk) {
      add_queue(layer.disk, all);
    }
  }
  return all;
}

std::vector<LayerFact> lasting(std::vector<LayerFact> facts) {
  std::erase_if(facts, is_volatile);
  return facts;
}

std::string difference(const std::vector<LayerFact>& before, const std::vector<LayerFact>& now) {
  constexpr const char* kNothing = "nothing";
  const auto value_in = [](const std::vector<LayerFact>& facts, const LayerFact& f) {
    const auto same = [&](const LayerFact& g) { return g.disk == f.disk && g.name == f.name; };
    const auto found = std::ranges::find_if(facts, same);
    return found == facts.end() ? std::string(kNothing) : found->value;
  };
  std::string text;
  const auto say = [&](const LayerFact& f, const std::string& was, const std::string& is) {
    if (was != is && !is_volatile(f)) {
      text += fmt::format("{}{} {}: {}, now {}", text.empty() ? "" : "; ", f.disk, f.name, was, is);
    }
  };
  for (const LayerFact& f : before) {
    say(f, f.value, value_in(now, f));
  }
  for (const LayerFact& f : now) {
    if (value_in(before, f) == kNothing) {
      say(f, kNothing, f.value);
    }
  }
  return text;
}

bool is_memory(std::string_view filesystem) {
  return filesystem == "tmpfs" || filesystem == "ramfs" || filesystem == "devtmpfs" ||
         filesystem == "hugetlbfs";
}

std::vector<std::string> keeping_caches(const std::string& disk) {
  std::vector<std::string> out;
  for (const DiskFacts& layer : device_layers(disk)) {
    const auto facts = facts_of_disk(layer.disk);
    if (reads_through_cache(layer) && !is_memory(mount_of_backing(layer.backing_file).filesystem)) {
      out.push_back(fmt::format("the page cache below {} ({})", layer.disk, layer.backing_file));
    } else if (layer.disk.starts_with("bcache") || std::ranges::any_of(facts, is_lvm_cache)) {
      out.push_back(fmt::format("the cache {}", layer.disk));
    }
  }
  return out;
}

std::vector<std::string> caches_beneath(const std::string& disk) {
  std::vector<std::string> out;
  for (const DiskFacts& layer : device_layers(disk)) {
    const std::string beneath =
        layer.kind == DiskKind::loop ? mount_of_backing(layer.backing_file).filesystem : "";
    if (is_memory(beneath)) {
      out.push_back(fmt::format("cold: {} is memory ({} is on {}): no read of it needs a medium",
                                layer.disk, layer.backing_file, beneath));
    } else if (reads_through_cache(layer)) {
      out.push_back(fmt::format(
          "cold: {} reads {} without direct I/O, through a page cache below it: what that cache "
          "held, read ahead or answered in place of a medium cannot be known, and device_bytes "
          "counts it too ({})",
          layer.disk, layer.backing_file,
          layer.backing_direct ? "the file is compressed, and its filesystem reads that through "
                                 "pages: use one without compression"
                               : "losetup --direct-io=on /dev/" + layer.disk));
    } else if (layer.kind == DiskKind::memory) {
      out.push_back(fmt::format("cold: {} is memory: no read of it needs a medium", layer.disk));
    } else if (layer.disk.starts_with("bcache")) {
      out.push_back(
          fmt::format("cold: {} is a cache in front of another disk: which of the two "
                      "answered cannot be known",
                      layer.disk));
    }
    const auto facts = facts_of_disk(layer.disk);
    if (std::ranges::any_of(facts, is_lvm_cache)) {
      out.push_back(
          fmt::format("cold: {} is the cache of a volume: whether it or the volume's disk "
                      "answered cannot be known",
                      layer.disk));
    }
  }
  return out;
}

std::vector<std::string> cached_backing_files(const std::string& disk) {
  std::vector<std::string> out;
  for (const DiskFacts& layer : device_layers(disk)) {
    if (reads_through_cache(layer)) {
      out.push_back(layer.backing_file);
    }
  }
  return out;
}

}  // namespace blksweep
