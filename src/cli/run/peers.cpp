#include "cli/run/peers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "cli/scripts.h"
#include "experiment/peer/peer_run.h"
#include "os/file/trust.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOurs = "none";
constexpr std::size_t kLongestPeer = 200;

bool is_path(std::string_view peer) { return peer.find('/') != std::string_view::npos; }

// "zarr:sample" -> "zarr"; of a path, what is before a colon in its last part.
std::string program_of(const std::string& peer) {
  const std::size_t name = is_path(peer) ? peer.rfind('/') : 0;
  return peer.substr(0, peer.find(':', name));
}

Result<> set_peer(CellSettings& c, std::string_view text) {
  const bool plain = std::ranges::all_of(text, [](unsigned char ch) {
    return std::isalnum(ch) != 0 || ch == '_' || ch == '-' || ch == ':';
  });
  if (text.empty() || text.size() > kLongestPeer || (!plain && !is_path(text))) {
    return usage_error(fmt::format(
        "'{}' is not the name of a peer such as torch or zarr:sample, or the path of its program",
        text));
  }
  c.peer = text == kOurs ? "" : text;
  return {};
}

Result<> set_small(std::uint32_t& target, std::string_view text, std::uint64_t most) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n > most) {
    return usage_error(fmt::format("'{}' is not between 0 and {}", text, most));
  }
  target = static_cast<std::uint32_t>(n);
  return {};
}

const std::array kPeerOptions{
    CellOption{"peer", "beside ours: torch tar memmap zarr PATH; --peer-workers", set_peer,
               [](const CellSettings& c) { return c.peer.empty() ? "-" : c.peer; }},
    CellOption{
        "peer-workers", "",
        [](CellSettings& c, std::string_view t) { return set_small(c.peer_workers, t, 1024); },
        [](const CellSettings& c) { return std::to_string(c.peer_workers); }},
    CellOption{
        "peer-prefetch", "",
        [](CellSettings& c, std::string_view t) { return set_small(c.peer_prefetch, t, 1024); },
        [](const CellSettings& c) { return std::to_string(c.peer_prefetch); }},
};

constexpr std::array<std::string_view, 9> kHeeded{"peer",  "peer-workers", "peer-prefetch",
                                                  "batch", "consumer",     "compute",
                                                  "cache", "arm",          "epochs"};

std::vector<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code ec;
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    if (it->path().extension().empty() && it->is_regular_file(ec)) {
      names.insert(it->path().filename().string());
    }
  }
  return {names.begin(), names.end()};
}

Result<std::string> script_of(const std::string& name) {
  std::vector<std::string> there;
  for (const fs::path& scripts : script_folders()) {
    std::error_code ec;
    const fs::path folder = fs::absolute(scripts, ec) / "peers";
    if (fs::is_regular_file(folder / name, ec)) {
      BLKSWEEP_CHECK(check_scripts(folder));
      return (folder / name).string();
    }
    there = there.empty() ? names_in(folder) : there;
  }
  return usage_error(
      fmt::format("--peer: there is no '{}'; there are: {}; or the path of a program", name,
                  joined(there, ", ")));
}

Result<std::string> path_of(const std::string& path) {
  std::error_code ec;
  const fs::path program = fs::canonical(path, ec);
  if (ec) {
    return usage_error(fmt::format("--peer {}: {}", path, ec.message()));
  }
  if (is_real_root()) {
    BLKSWEEP_CHECK(check_way_to(program.parent_path().string(), Sticky::refused));
    BLKSWEEP_CHECK(check_trusted_file(program.string()));
  }
  return program.string();
}

Result<> check_peer(const CellSettings& c) {
  if (c.consumer != ConsumerKind::none && c.consumer != ConsumerKind::emulated) {
    return usage_error(fmt::format(
        "--peer {}: a peer emulates its consumer: --consumer none or emulated", c.peer));
  }
  return {};
}

}  // namespace

std::span<const CellOption> peer_options() { return kPeerOptions; }

bool is_peer_option(std::string_view name) { return name.starts_with("peer"); }

bool peer_heeds(std::string_view option) {
  return std::ranges::find(kHeeded, option) != kHeeded.end() || is_node_option(option);
}

void as_peer(CellSettings& c) {
  const LoaderSettings defaults;
  c.order = Order::random;
  c.merge = Merge::none;
  c.shuffle = Shuffle::none;
  c.engine = EngineKind::psync;
  c.order_named = c.engine_named = c.window_named = true;  // nothing else takes their place
  c.direct = false;
  c.depth = 1;
  c.openers = 0;
  c.open_by = OpenBy::path;
  c.decode_threads = 0;
  c.copy = CopyKind::none;
  c.copy_tuning = defaults.copy_tuning;
}

Result<std::vector<CellSettings>> expand_with_peers(CellText text) {
  const auto given = text.find("peer");
  const std::vector<std::string> peers =
      given == text.end() ? std::vector<std::string>{std::string(kOurs)} : given->second;
  std::vector<CellSettings> cells;
  if (std::ranges::find(peers, kOurs) != peers.end()) {
    CellText ours = text;
    std::erase_if(ours, [](const auto& item) { return is_peer_option(item.first); });
    BLKSWEEP_TRY(cells, expand_cells(ours));
  }
  CellText theirs = std::move(text);
  std::erase_if(theirs, [](const auto& item) { return !peer_heeds(item.first); });
  std::erase(theirs["peer"], kOurs);
  if (theirs["peer"].empty()) {
    return cells;
  }
  BLKSWEEP_TRY(std::vector<CellSettings> more, expand_cells(theirs));
  for (CellSettings& cell : more) {
    BLKSWEEP_CHECK(check_peer(cell));
    as_peer(cell);
    cells.push_back(std::move(cell));
  }
  return cells;
}

namespace {

Result<> find_peer(CellSettings& cell) {
  if (cell.peer.empty()) {
    return {};
  }
  const std::string name = program_of(cell.peer);
  if (is_path(name)) {
    BLKSWEEP_TRY(const std::string program, path_of(name));
    cell.peer_program = {program};
    return {};
  }
  BLKSWEEP_TRY(const std::string script, script_of(name));
  const std::string python = environment("BLKSWEEP_PYTHON");
  cell.peer_program =
      python.empty() ? std::vector{script} : std::vector<std::string>{python, "-BEs", script};
  return {};
}

}  // namespace

std::string peer_program_key(const CellSettings& cell) {
  return cell.peer_program.empty() ? "" : fmt::format("|{:x}", peer_program_hash(cell));
}

Result<> find_peers(std::vector<CellSettings>& cells) {
  for (CellSettings& cell : cells) {
    BLKSWEEP_CHECK(find_peer(cell));
  }
  return {};
}

}  // namespace blksweep
