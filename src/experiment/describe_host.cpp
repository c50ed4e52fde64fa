#include "experiment/describe_host.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/text.h"
#include "disk/registry.h"
#include "os/block/btrfs_chunks.h"
#include "os/block/device_layers.h"
#include "os/block/io_priority.h"
#include "os/block/request_limits.h"
#include "os/hostfacts.h"
#include "simulate/predict_run.h"
#include "stage/cuda/nvml.h"

namespace blksweep {
namespace {

std::vector<LayerFact> layers_of(const HostRecord& host) {
  std::vector<LayerFact> layers;
  for (const LayerFactRecord& l : host.layers) {
    layers.push_back({l.disk, l.name, l.value});
  }
  return layers;
}

}  // namespace

std::vector<LayerFact> layers_now(const std::string& disk) {
  std::vector<LayerFact> layers = layer_facts(disk);
  for (const DiskFacts& layer : device_layers(disk)) {
    if (const auto emulated = emulated_disk(layer.disk)) {
      const std::string hash = model_hash(emulated->spec);
      layers.push_back(
          {layer.disk, "emulation", fmt::format("{} {}", emulated->hardware_name(), hash)});
      layers.push_back({layer.disk, "emulation_backing", emulated->backing});
    }
  }
  return layers;
}

std::string changed_conditions(const HostRecord& host, const Source& source) {
  std::vector<std::string> changed;
  const auto add = [&](const std::string& what, const std::string& how) {
    if (!how.empty()) {
      changed.push_back(what + how);
    }
  };
  if (source.device && !host.layers.empty()) {
    const std::string& disk = source.device->disk;
    add("what the disk stands on changed: ", difference(layers_of(host), layers_now(disk)));
    add(fmt::format("settings for reads of {} changed: ", disk),
        changed_queue(host.queue, queue_facts(source)));
  }
  if (!host.mount_options.empty()) {
    const auto now = mount_of(std::string(source.catalog.root));
    if (now && now->options != host.mount_options) {
      add("mount options changed: ", fmt::format("{}, now {}", host.mount_options, now->options));
    }
  }
  if (const std::string now = cgroup_limits(); !host.cgroup.empty() && now != host.cgroup) {
    add("the cgroup of this process or a limit of it changed: ",
        fmt::format("{}, now {}", host.cgroup, now));
  }
  if (const std::uint32_t now = usable_cpus(); host.cpus != 0 && now != host.cpus) {
    add("the CPUs that this process may run on changed: ",
        fmt::format("{}, now {}", host.cpus, now));
  }
  return joined(changed, "; ");
}

std::vector<std::pair<std::string, std::string>> queue_facts(const Source& source) {
  auto facts = source.device ? queue_settings(source.device->disk)
                             : std::vector<std::pair<std::string, std::string>>();
  if (source.mount && source.mount->filesystem == "btrfs") {
    const std::string own = btrfs_read_ahead_kb(std::string(source.catalog.root));
    if (!own.empty()) {
      facts.emplace_back("btrfs/read_ahead_kb", own);
    }
  }
  if (source.device) {
    facts.emplace_back("memory/transparent_hugepage", huge_pages_mode());
    if (const Result<IoPriority> inherited = io_priority()) {
      facts.emplace_back("process/io_priority", to_string(*inherited));
    }
    facts.emplace_back("process/nice", std::to_string(::getpriority(PRIO_PROCESS, 0)));
  }
  return facts;
}

HostRecord host_conditions(const Source& source) {
  HostRecord h;
  h.cgroup = cgroup_limits();
  if (source.mount) {
    h.mount_options = source.mount->options;
  }
  if (source.device) {
    for (const LayerFact& f : layers_now(source.device->disk)) {
      h.layers.push_back({f.disk, f.name, f.value});
    }
    h.queue = queue_facts(source);
  }
  return h;
}

HostRecord describe_host(const Source& source) {
  const HostFacts facts = read_host_facts();
  HostRecord h = host_conditions(source);
  h.kernel = facts.kernel;
  h.cpu = facts.cpu;
  h.hostname = facts.hostname;
  h.cpus = facts.cpus;
  h.memory_bytes = facts.memory_bytes;
  h.gpu = gpu_of_node();
  if (source.mount) {
    h.filesystem = source.mount->filesystem;
  }
  if (source.device) {
    h.device = source.device->node;
    if (const auto emulated = emulated_beneath(source.device->disk)) {
      const bool itself = emulated_disk(source.device->disk).has_value();
      h.device_model = emulated->hardware_name() + (itself ? "" : " below");
    }
    for (const auto& [name, value] : h.queue) {
      if (name == "scheduler") {
        h.scheduler = value;
      } else if (name == "rotational") {
        h.rotational = value == "1";
      }
    }
  }
  return h;
}

}  // namespace blksweep
