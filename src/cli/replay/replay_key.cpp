#include "cli/replay/replay_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "base/units.h"
#include "cli/version.h"
#include "experiment/describe_host.h"
#include "os/block/blockdev.h"
#include "os/file/file.h"
#include "os/hostfacts.h"

namespace blksweep {
namespace {

class Hash {
 public:
  Hash() { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  void add(const std::string& text) {
    const std::string framed = fmt::format("{}:{}", text.size(), text);
    add(std::as_bytes(std::span(framed)));
  }
  std::string text() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_.get())); }

 private:
  struct Free {
    void operator()(XXH3_state_t* s) const { XXH3_freeState(s); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

Result<> add_content(Hash& hash, const std::string& path) {
  BLKSWEEP_TRY(const Fd fd, open_readonly(path));
  std::vector<std::byte> part(1U << 20);
  for (std::uint64_t at = 0;;) {
    BLKSWEEP_TRY(const std::size_t got, pread_full(fd.get(), part, at, path));
    hash.add(std::span(part).first(got));
    if (got < part.size()) {
      return {};
    }
    at += got;
  }
}

void add_settings(Hash& hash, const ReplaySettings& s, bool drops) {
  hash.add(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", to_string(s.timing), to_string(s.addresses),
                       s.speed, s.depth, s.buffered, s.awake, s.spin_ns, s.fio, !s.writes.empty(),
                       drops));
}

// A folder whose files were made anew under their old names is another.
void add_files(Hash& hash, const std::vector<std::string>& names, const ReplaySettings& s) {
  const Fd folder(::open(s.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const std::string& name : names) {
    struct stat st {};
    if (::fstatat(folder.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
      hash.add(fmt::format("{}|{}|{}.{}|{}", st.st_size, st.st_ino, st.st_ctim.tv_sec,
                           st.st_ctim.tv_nsec, name));
    }
  }
}

void add_disk(Hash& hash, const std::string& disk) {
  for (const LayerFact& f : lasting(layers_now(disk))) {
    hash.add(f.disk);
    hash.add(f.name);
    hash.add(f.value);
  }
  for (const auto& [name, value] : queue_settings(disk)) {
    hash.add(name);
    hash.add(value);
  }
}

std::optional<BlockDevice> to_optional(const Result<BlockDevice>& device) {
  return device ? std::optional(*device) : std::nullopt;
}

void add_target(Hash& hash, const ReplaySettings& s) {
  std::error_code ignored;
  const std::string& path = s.device.empty() ? s.folder : s.device;
  hash.add(std::filesystem::weakly_canonical(path, ignored).string());
  if (const auto device = device_of(s)) {
    add_disk(hash, device->disk);
  }
}

void add_node(Hash& hash) {
  const HostFacts host = read_host_facts();
  for (const std::string& fact :
       {host.kernel, host.cpu, host.hostname, host.cgroup, std::to_string(host.cpus),
        std::string(version()), std::string(git_revision())}) {
    hash.add(fact);
  }
}

}  // namespace

std::optional<BlockDevice> device_of(const ReplaySettings& s) {
  if (s.device.empty()) {
    return to_optional(block_device_of(s.folder));
  }
  struct stat st {};
  return ::stat(s.device.c_str(), &st) != 0 ? std::nullopt
                                            : to_optional(block_device_of_dev(st.st_rdev));
}

std::string files_key(const std::vector<std::string>& names, const ReplaySettings& s) {
  Hash hash;
  if (!s.folder.empty()) {
    add_files(hash, names, s);
  }
  return hash.text();
}

Result<std::string> replay_key(const std::string& path, const std::vector<std::string>& names,
                               const ReplaySettings& settings, bool drops) {
  Hash hash;
  BLKSWEEP_CHECK(add_content(hash, path));
  add_settings(hash, settings, drops);
  add_target(hash, settings);
  if (!settings.folder.empty()) {
    add_files(hash, names, settings);
  }
  add_node(hash);
  return hash.text();
}

}  // namespace blksweep
