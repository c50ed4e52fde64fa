#include "disk/filesystem.h"

#include <fmt/format.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "os/process/process.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

struct Maker {
  const char* type;
  std::vector<std::string> command;
  const char* package;
};

const std::vector<Maker>& makers() {
  // Tables are written at once: the kernel would do it later, in the middle of a measurement.
  static const std::vector<Maker> all{
      {"ext4",
       {"mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"},
       "e2fsprogs"},
      {"xfs", {"mkfs.xfs", "-q", "-f", "-K"}, "xfsprogs"},
      {"btrfs", {"mkfs.btrfs", "-q", "-f", "-K"}, "btrfs-progs"}};
  return all;
}

const Maker* maker_of(const std::string& type) {
  const auto at = std::ranges::find_if(makers(), [&](const Maker& m) { return m.type == type; });
  return at == makers().end() ? nullptr : &*at;
}

Result<ProcessResult> run_tool(std::vector<std::string> argv, const std::string& package) {
  auto ran = run_process({.argv = argv, .interrupt = &stop_requested()});
  if (!ran) {
    return unsupported(fmt::format("{}: install {}", ran.error().message(), package));
  }
  if (ran->interrupted) {
    return fail(argv[0] + " was interrupted", Exit::interrupted);
  }
  return ran;
}

}  // namespace

Result<std::string> content_of(const std::string& device) {
  BLKSWEEP_TRY(const ProcessResult said,
               run_tool({"blkid", "-p", "-o", "export", device}, "util-linux"));
  constexpr int kNothing = 2;
  if (said.exit_status == kNothing) {
    return std::string();
  }
  for (const std::string key : {"\nTYPE=", "\nPTTYPE="}) {
    const std::string text = "\n" + said.out;
    if (const std::size_t at = text.find(key); at != std::string::npos) {
      const std::size_t from = at + key.size();
      return text.substr(from, text.find('\n', from) - from);
    }
  }
  return std::string("content that blkid cannot name");
}

bool is_known_filesystem(const std::string& type) { return maker_of(type) != nullptr; }

Result<> make_filesystem(const std::string& device, const std::string& type, bool fresh) {
  if (!fresh) {
    BLKSWEEP_TRY(const std::string content, content_of(device));
    if (content == type) {
      return {};
    }
    return fail(fmt::format(
        "the backing file holds {}, not {}: it is not overwritten; start without --fs to look at "
        "it, or give another --backing",
        content.empty() ? "data without a known filesystem" : content, type));
  }
  const Maker& maker = *maker_of(type);
  std::vector<std::string> command = maker.command;
  command.push_back(device);
  BLKSWEEP_TRY(const ProcessResult made, run_tool(command, maker.package));
  if (!made.ok()) {
    const std::string said = one_line(made.err.empty() ? made.out : made.err);
    // mkfs.btrfs looks at the backing file of each loop device that is mounted.
    const bool dead = said.find("Transport endpoint is not connected") != said.npos;
    return fail(fmt::format("{} {}: {}{}", maker.command[0], device, said,
                            dead ? " (the daemon of another disk ended: `blksweep disk list` names "
                                   "it, `blksweep disk stop` takes it away)"
                                 : ""));
  }
  return {};
}

Result<> mount_filesystem(const std::string& device, const std::string& type,
                          const std::string& folder) {
  // A stranger's image may ask the kernel to panic at its first error.
  const char* options = type == "ext4" ? "errors=remount-ro" : nullptr;
  if (::mount(device.c_str(), folder.c_str(), type.c_str(), MS_NOSUID | MS_NODEV, options) != 0) {
    const int e = errno;
    return fail(
        sys_error(e, fmt::format("mount {} on {} as {}", device, folder, type)).value().message(),
        e == ENODEV ? Exit::unsupported : Exit::failed);
  }
  return {};
}

}  // namespace blksweep
