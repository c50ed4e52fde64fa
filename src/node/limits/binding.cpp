#include "node/limits/binding.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "base/log.h"
#include "base/text.h"
#include "os/block/numa.h"
#include "stage/cuda/cuda_stage.h"

namespace blksweep {
namespace {

struct TopologyEnd {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyEnd>;
struct BitmapEnd {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapEnd>;

constexpr std::array<std::string_view, 4> kRoles = {"reader", "openers", "copy", "consumer"};
constexpr unsigned kMostCpus = 65536;  // far beyond what a kernel can have: keeps bitmaps small

Result<Topology> load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return sys_error(errno, "hwloc_topology_init");
  }
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) {
    return sys_error(errno, "read the topology of this node (hwloc)");
  }
  return topology;
}

std::string list_of(hwloc_const_bitmap_t bitmap) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, bitmap) < 0) {
    return {};
  }
  std::string list = text;
  ::free(text);
  return list;
}

std::optional<unsigned> number(std::string_view text) {
  unsigned n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && n < kMostCpus ? std::optional(n) : std::nullopt;
}

// "0-3+6"; empty for anything else.
Bitmap parse_cpus(std::string_view text) {
  Bitmap cpus(hwloc_bitmap_alloc());
  while (true) {
    const std::size_t end = text.find('+');
    const std::string_view range = text.substr(0, end);
    const std::size_t dash = range.find('-');
    const auto first = number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
    if (!first || !last || *first > *last) {
      return nullptr;
    }
    hwloc_bitmap_set_range(cpus.get(), *first, static_cast<int>(*last));
    if (end == std::string_view::npos) {
      return cpus;
    }
    text.remove_prefix(end + 1);
  }
}

class Places {
 public:
  Places(hwloc_topology_t topology, const std::string& disk, std::uint32_t gpu)
      : topology_(topology), disk_(disk), gpu_(gpu) {}

  Result<Bitmap> parse(std::string_view text) const {
    if (text == "all") {
      return Bitmap(hwloc_bitmap_dup(allowed()));
    }
    if (text == "near") {
      return near(numa_node_of(disk_), disk_.empty() ? "the disk" : disk_);
    }
    if (text == "near-gpu") {
      return near_gpu();
    }
    if (text.starts_with("node:")) {
      return of_node(text.substr(5));
    }
    if (text.starts_with("cpu:")) {
      return of_cpus(text.substr(4));
    }
    return usage_error(fmt::format(
        "binding '{}': give near, near-gpu, all, node:0 or cpu:0-3+6, or ROLE=PLACE/ROLE=PLACE",
        text));
  }

 private:
  hwloc_const_cpuset_t allowed() const { return hwloc_topology_get_topology_cpuset(topology_); }

  Result<Bitmap> near_gpu() const {
    BLKSWEEP_CHECK(check_cuda(gpu_));
    const std::string address = cuda_pci_address(gpu_);
    return near(numa_node_of_pci(address), fmt::format("GPU {} ({})", gpu_, address));
  }

  Result<Bitmap> near(std::optional<unsigned> node, const std::string& what) const {
    hwloc_obj_t object = node ? hwloc_get_numanode_obj_by_os_index(topology_, *node) : nullptr;
    if (object == nullptr || hwloc_bitmap_iszero(object->cpuset)) {
      note(fmt::format(
          "binding near {}: it belongs to no NUMA node of this process; all CPUs are used", what));
      return Bitmap(hwloc_bitmap_dup(allowed()));
    }
    return Bitmap(hwloc_bitmap_dup(object->cpuset));
  }

  Result<Bitmap> of_node(std::string_view text) const {
    const std::optional<unsigned> index = number(text);
    hwloc_obj_t object = index ? hwloc_get_numanode_obj_by_os_index(topology_, *index) : nullptr;
    if (object == nullptr || hwloc_bitmap_iszero(object->cpuset)) {
      return usage_error(
          fmt::format("binding 'node:{}': the nodes with CPUs are {}", text, nodes()));
    }
    return Bitmap(hwloc_bitmap_dup(object->cpuset));
  }

  std::string nodes() const {
    std::string list;
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
      if (!hwloc_bitmap_iszero(node->cpuset)) {
        list += (list.empty() ? "" : ", ") + std::to_string(node->os_index);
      }
    }
    return list;
  }

  Result<Bitmap> of_cpus(std::string_view text) const {
    Bitmap cpus = parse_cpus(text);
    if (cpus == nullptr) {
      return usage_error(fmt::format("binding 'cpu:{}': give CPUs as 0-3+6", text));
    }
    if (hwloc_bitmap_isincluded(cpus.get(), allowed()) == 0) {
      const bool there =
          hwloc_bitmap_isincluded(cpus.get(), hwloc_topology_get_complete_cpuset(topology_)) != 0;
      return usage_error(
          fmt::format("binding 'cpu:{}': {}; this process may run on {}", text,
                      there ? "outside of the cpuset of this process" : "there are no such CPUs",
                      list_of(allowed())));
    }
    return cpus;
  }

  hwloc_topology_t topology_;
  const std::string& disk_;
  std::uint32_t gpu_;
};

Result<std::size_t> role_of(std::string_view name) {
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (kRoles[i] == name) {
      return i;
    }
  }
  return usage_error(fmt::format("binding of '{}': the roles are {}", name, joined(kRoles, ", ")));
}

}  // namespace

struct Binding::State {
  Topology topology;
  std::array<Bitmap, kRoles.size()> cpus;  // by Role; null: not bound
  bool roles = false;

  Result<> parse(std::string_view text, const std::string& disk, std::uint32_t gpu) {
    const Places places(topology.get(), disk, gpu);
    roles = text.find('=') != std::string_view::npos;
    if (!roles) {
      BLKSWEEP_TRY(const Bitmap all, places.parse(text));
      for (Bitmap& place : cpus) {
        place.reset(hwloc_bitmap_dup(all.get()));
      }
      return {};
    }
    return parse_roles(text, places);
  }

  Result<> parse_roles(std::string_view text, const Places& places) {
    while (true) {
      const std::size_t end = text.find('/');
      const std::string_view rule = text.substr(0, end);
      const std::size_t equals = rule.find('=');
      BLKSWEEP_TRY(const std::size_t role, role_of(rule.substr(0, equals)));
      const bool named = equals != std::string_view::npos;
      BLKSWEEP_TRY(Bitmap place, places.parse(named ? rule.substr(equals + 1) : ""));
      if (cpus[role] != nullptr) {
        return usage_error(fmt::format("binding: {} is bound twice", kRoles[role]));
      }
      cpus[role] = std::move(place);
      if (end == std::string_view::npos) {
        return place_the_rest();
      }
      text.remove_prefix(end + 1);
    }
  }

  // Threads inherit from the one that starts them: without this the consumer would sit on the
  // reader's CPUs although only the reader was bound.
  Result<> place_the_rest() {
    const Bitmap here(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology.get(), here.get(), HWLOC_CPUBIND_THREAD) != 0) {
      return sys_error(errno, "read the CPUs of this process");
    }
    for (Bitmap& place : cpus) {
      if (place == nullptr) {
        place.reset(hwloc_bitmap_dup(here.get()));
      }
    }
    return {};
  }

  // Memory near its CPUs. One node has no choice; a kernel without NUMA refuses, which is the same.
  void bind_memory(hwloc_const_cpuset_t place) const {
    if (hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE) > 1) {
      hwloc_set_membind(topology.get(), place, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_THREAD);
    }
  }

  Result<std::string> bind(hwloc_const_cpuset_t place, const std::string& who) const {
    if (place == nullptr) {
      return std::string();
    }
    if (hwloc_set_cpubind(topology.get(), place, HWLOC_CPUBIND_THREAD) != 0) {
      return sys_error(errno, "bind the " + who + " to CPUs " + list_of(place));
    }
    bind_memory(place);
    const Bitmap got(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology.get(), got.get(), HWLOC_CPUBIND_THREAD) != 0) {
      return sys_error(errno, "read the CPUs of a thread back");
    }
    return list_of(got.get());
  }
};

Binding::Binding() = default;
Binding::Binding(Binding&&) noexcept = default;
Binding& Binding::operator=(Binding&&) noexcept = default;
Binding::~Binding() = default;

bool Binding::empty() const { return state_ == nullptr; }
bool Binding::has_roles() const { return state_ != nullptr && state_->roles; }

Result<Binding> Binding::parse(std::string_view text, const std::string& disk, std::uint32_t gpu) {
  Binding binding;
  if (text.empty()) {
    return binding;
  }
  binding.state_ = std::make_unique<State>();
  BLKSWEEP_TRY(binding.state_->topology, load_topology());
  BLKSWEEP_CHECK(binding.state_->parse(text, disk, gpu));
  return binding;
}

Result<std::string> Binding::bind(Role role) const {
  return state_ == nullptr ? std::string()
                           : state_->bind(state_->cpus[static_cast<std::size_t>(role)].get(),
                                          std::string(kRoles[static_cast<std::size_t>(role)]));
}

Result<std::string> Binding::bind_all() const {
  if (state_ == nullptr) {
    return std::string();
  }
  const Bitmap all(hwloc_bitmap_alloc());
  for (const Bitmap& place : state_->cpus) {
    hwloc_bitmap_or(all.get(), all.get(), place.get());
  }
  return state_->bind(all.get(), "whole run");
}

}  // namespace blksweep
