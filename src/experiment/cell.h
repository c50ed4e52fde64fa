// CellSettings: one combination of everything that an experiment can vary: how samples are loaded,
// in which state of the caches, on a node set how.
//
// Values only; text is parsed in cli/ and words for records come from there too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loader/settings.h"
#include "node/wish.h"

namespace blksweep {

// drop_pages, drop_inodes: warm, then 1 or 2 into drop_caches, as after an epoch that read all.
enum class CacheState { cold, warm, keep, drop_pages, drop_inodes };

// What a cell is there to show about the rig (docs/controls.md); none: it is of the experiment.
enum class Control { none, same, ram, reverse, no_op };
// "a/a", "ram", "reverse", "no-op"; "" of none.
std::string_view to_string(Control control);

struct CellSettings : LoaderSettings {
  // Else another may take its place (fallback.h).
  bool order_named = false, engine_named = false, window_named = false;
  // What was asked for by name where `order` is what took its place.
  std::optional<Order> order_asked;
  std::optional<Merge> merge_asked;  // likewise
  bool addresses_refused = false;    // what sorts by address sorts by inode
  CacheState cache = CacheState::keep;
  // Another loader in our place (docs/peers.md): its name, or the path of its program; empty: ours.
  std::string peer;
  std::vector<std::string> peer_program;  // with its arguments
  std::uint32_t peer_workers = 4;         // that read side by side
  std::uint32_t peer_prefetch = 2;        // batches ahead of each worker
  Control control = Control::none;
  std::string arm;  // tells equal cells apart, which are compared to see what noise alone does
  NodeWish node;
};

}  // namespace blksweep
