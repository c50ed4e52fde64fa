// What the given path is: its files, filesystem and device.
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/fd.h"
#include "disk/registry.h"
#include "doctor/checks.h"
#include "os/block/device_layers.h"
#include "os/file/direct_io.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

constexpr const char* kDeviceRights =
    "read permission on the device node (root, group disk; in a container: --device), ext4 or xfs";
constexpr const char* kRealPath = "keep the data on ext4, xfs or btrfs of a disk";

// The queue setting, "" when there is none.
std::string queue_value(const std::string& disk, const std::string& name) {
  std::string text = first_line("/sys/block/" + disk + "/queue/" + name);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string on_device(const Subject& s) {
  return s.source.device ? " on " + s.source.device->node : ", without a block device";
}

Check device_direct(const Subject& s) {
  const BlockDevice& d = *s.source.device;
  const Fd fd(::open(d.node.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  const int err = fd ? try_direct_read(fd.get(), d.logical_block) : errno;
  if (err == 0) {
    return ok("direct I/O",
              fmt::format("aligned to {} (tried on {})", format_bytes({d.logical_block}), d.node));
  }
  return {"direct I/O", Health::missing, fmt::format("{}: {}", d.node, std::strerror(err)),
          "the device cannot be read past the page cache", kDeviceRights};
}

std::string kind_words(const DiskFacts& f) {
  switch (f.kind) {
    case DiskKind::loop:
      return fmt::format("{} (loop of {}{})", f.disk, f.backing_file,
                         f.backing_direct ? ", direct" : ", through the page cache");
    case DiskKind::memory:
      return f.disk + " (memory)";
    case DiskKind::virtual_disk:
      return fmt::format("{} (virtual disk, {})", f.disk, f.model);
    default:
      return f.model.empty() ? f.disk : fmt::format("{} ({})", f.disk, f.model);
  }
}

std::string part_words(const BlockDevice& d) {
  if (d.dev != d.whole_disk) {
    return fmt::format("partition of {} at {}", d.disk, format_bytes({d.partition_start}));
  }
  std::error_code ec;
  std::size_t parts = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block/" + d.disk, ec)) {
    parts += std::filesystem::exists(entry.path() / "partition", ec) ? 1 : 0;
  }
  return parts == 0 ? "whole disk" : fmt::format("whole disk with {} partitions", parts);
}

struct Effect {
  const char* consequence;
  std::string fix;
};

// The worst of what one layer does to results; {} for hardware.
Effect effect_of(const DiskFacts& f) {
  // What an emulated disk stands on costs no time: the model's replies are given earlier by it.
  if (emulated_disk(f.disk)) {
    return {"times come from the model, not from what it stands on",
            "none needed: every result carries the model's name"};
  }
  switch (f.kind) {
    case DiskKind::loop:
      return f.backing_direct ? Effect{"times include the backing file's filesystem and disk",
                                       "for hardware figures: the data on the disk itself"}
                              : Effect{"the backing file is cached a second time: cold is not cold",
                                       "losetup --direct-io=on /dev/" + f.disk};
    case DiskKind::virtual_disk:
      return {"the host may answer from its cache: cold here may be warm there",
              "for hardware figures: a disk passed through, or bare metal"};
    case DiskKind::mapper:
    case DiskKind::raid:
      return {"LBA order is that of the mapping, not of the disks; no probe on this device",
              "for hardware figures: the data on one disk itself"};
    case DiskKind::memory:
      return {"memory, not a disk: there are no seeks and no device queue",
              "for hardware figures: the data on a disk"};
    default:
      return {nullptr, ""};
  }
}

}  // namespace

Check check_files(const Subject& s) {
  if (s.is_device) {
    const std::string& node = s.source.device->node;
    const Fd fd(::open(node.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd) {
      return ok("files", "a block device: for map and probe; a run needs a folder");
    }
    return {"files", Health::missing, sys_error(errno, "open " + node).value().message(),
            "the device cannot be read at all", kDeviceRights};
  }
  if (!s.file.empty()) {
    return ok("files",
              s.is_file ? "a file; a run needs its folder" : "readable, tried with " + s.file);
  }
  if (!s.searched_all) {
    return {"files", Health::limited, "none among the first 100,000 entries of " + s.path,
            "nothing could be tried on a file", "name the folder that holds the files"};
  }
  return {"files", Health::missing, s.no_file, "a run ends with exit 1: there are no samples",
          "name the folder of the data set, or make one: blksweep dataset make DIR"};
}

Check check_filesystem(const Subject& s) {
  if (s.is_device) {
    return ok("filesystem", "not asked: a block device was given");
  }
  const std::string options = s.source.mount ? s.source.mount->options : "";
  const std::string name = s.filesystem.empty() ? "of unknown type" : s.filesystem;
  const std::string found =
      name + on_device(s) + " (" +
      (s.source.mount ? options.substr(0, 60) + (options.size() > 60 ? "..." : "")
                      : "not in /proc/self/mountinfo") +
      ")";
  if (s.source.device) {
    return ok("filesystem", found);
  }
  return {"filesystem", Health::limited, found,
          "a run has no block statistics, no probe and no ceiling (NULL), and warns of it",
          kRealPath};
}

Check check_addresses(const Subject& s) {
  if (s.is_device) {
    return ok("FIEMAP", "not asked: a block device was given");
  }
  if (s.file.empty()) {
    return {"FIEMAP", Health::limited, "not tried: no file", "unknown until there are files",
            "name the folder that holds the files"};
  }
  const std::string tried = s.has_extents ? "works" : "gives nothing for " + s.file;
  if (s.has_address) {
    return ok("FIEMAP", s.filesystem == "btrfs" ? "works, addresses are translated (btrfs)"
                                                : "works, addresses are bytes of the device");
  }
  return {"FIEMAP", Health::limited, tried + ", no device address",
          s.scan_warnings.empty() ? "LBA order falls back to inode order" : s.scan_warnings.front(),
          kRealPath};
}

Check check_direct(const Subject& s) {
  if (s.is_device) {
    return device_direct(s);
  }
  if (s.file.empty() || s.source.catalog.files.empty() || s.source.catalog.files[0].size == 0) {
    return {"direct I/O", Health::limited, "not tried: no file with data",
            "unknown until there are files", "name the folder that holds the files"};
  }
  const std::uint32_t align = s.source.direct_align;
  const Fd fd(open_quietly_at(AT_FDCWD, s.file.c_str(), O_DIRECT, Links::anywhere));
  int err = fd ? 0 : errno;
  if (fd) {
    err = s.source.direct_possible ? try_direct_read(fd.get(), align) : EINVAL;
  }
  if (err == 0) {
    const auto said = direct_io_of(s.file);
    return ok("direct I/O",
              fmt::format("aligned to {} ({})", format_bytes({align}),
                          said && said->align > 0 ? "STATX_DIOALIGN, read" : "by trying"));
  }
  return {"direct I/O", Health::limited, std::string("refused: ") + std::strerror(err),
          "reads go through the page cache, the fio twin's too, and a run warns of it", kRealPath};
}

Check check_device_reads(const Subject& s) {
  const std::string name = "device reads";
  if (s.is_device) {
    return ok(name, "not asked: no files to compare with");
  }
  const bool has_data = !s.source.catalog.files.empty() && s.source.catalog.files[0].size > 0;
  if (s.source.catalog.device_readable && has_data && !s.has_address) {
    return {name, Health::limited, "no device addresses: see FIEMAP",
            "--merge device counts what it reads through files as device_fallbacks", kRealPath};
  }
  if (s.source.catalog.device_readable) {
    return ok(name, "--merge device can read " + s.source.device->node);
  }
  const std::string why = s.source.warnings.empty()
                              ? s.filesystem + ": the device's bytes are not simply the files'"
                              : s.source.warnings.front();
  return {name, Health::limited, s.source.device ? why : "no block device",
          "--merge device counts what it reads through files as device_fallbacks",
          s.source.device ? kDeviceRights : kRealPath};
}

Check check_device(const Subject& s) {
  if (!s.source.device) {
    return {"device", Health::missing, "none behind " + s.path, "results say nothing of a disk",
            kRealPath};
  }
  const BlockDevice& d = *s.source.device;
  const auto emulated = emulated_disk(d.disk);
  const DiskFacts facts = disk_facts(d.disk);
  const std::string model = emulated ? emulated->hardware_name() : facts.model;
  const std::string found = fmt::format(
      "{}{}: {}, {}, {}", d.node, model.empty() ? "" : " " + model, format_bytes({d.size}),
      queue_value(d.disk, "rotational") == "1" ? "rotational" : "not rotational", part_words(d));
  if (emulated) {
    return {"device", Health::limited, found, "times come from the model, not from hardware",
            "none needed: every result carries the model's name"};
  }
  return ok("device", found);
}

Check check_layers(const Subject& s) {
  if (!s.source.device) {
    return {"stacked on", Health::missing, "no block device", "see device", kRealPath};
  }
  std::string found;
  Effect effect{nullptr, ""};
  for (const DiskFacts& f : device_layers(s.source.device->disk)) {
    found += (found.empty() ? "" : " -> ") + kind_words(f);
    const Effect layer = effect_of(f);
    effect = effect.consequence == nullptr ? layer : effect;
  }
  if (effect.consequence == nullptr) {
    return ok("stacked on", found + ", hardware");
  }
  return {"stacked on", Health::limited, found, effect.consequence, effect.fix};
}

Check check_scheduler(const Subject& s) {
  if (!s.source.device) {
    return {"scheduler", Health::missing, "no block device",
            "schedulers and queue settings cannot be compared", kRealPath};
  }
  const std::string text = queue_value(s.source.device->disk, "scheduler");
  if (text.empty() || text == "none") {
    return {"scheduler", Health::limited,
            text.empty() ? "no scheduler file" : "none, without choice",
            "schedulers cannot be compared on this device",
            "the disk beneath it; modprobe -a mq-deadline bfq kyber-iosched"};
  }
  return ok("scheduler", text);
}

}  // namespace blksweep
