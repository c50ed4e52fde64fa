// The options of a cell that change the node for its run: text to NodeWish and back.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "cli/run/cell_options.h"

namespace blksweep {
namespace {

constexpr std::string_view kKeep = "keep";
constexpr std::string_view kNone = "none";

struct Unit {
  std::uint64_t bytes;
  std::string_view name;
};
constexpr std::array<Unit, 6> kUnits{{{std::uint64_t{1} << 30, "GiB"},
                                      {1'000'000'000, "GB"},
                                      {std::uint64_t{1} << 20, "MiB"},
                                      {1'000'000, "MB"},
                                      {1024, "KiB"},
                                      {1, "B"}}};

// The largest unit that says it exactly.
std::string exact(Bytes b) {
  for (const Unit& unit : kUnits) {
    if (b.n >= unit.bytes && b.n % unit.bytes == 0) {
      return fmt::format("{}{}", b.n / unit.bytes, unit.name);
    }
  }
  return "0B";
}

template <class T, class Parse>
Result<> set_or(std::string_view none, std::optional<T>& target, std::string_view text,
                Parse parse) {
  if (text == none) {
    target.reset();
    return {};
  }
  BLKSWEEP_TRY(target, parse(text));
  return {};
}

Result<std::uint64_t> parse_positive(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n == 0) {
    return usage_error("'0' would stop all reads: leave the option out for no limit");
  }
  return n;
}

Result<Bytes> parse_some_bytes(std::string_view text) {
  BLKSWEEP_TRY(const Bytes b, parse_bytes(text));
  if (b.n == 0) {
    return usage_error(fmt::format("'{}' leaves no memory: say none for no limit", text));
  }
  return b;
}

Result<Bytes> parse_some_rate(std::string_view text) {
  BLKSWEEP_TRY(const Bytes b, parse_rate(text));
  if (b.n == 0) {
    return usage_error(fmt::format("'{}' would stop all reads: say none for no limit", text));
  }
  return b;
}

Result<std::uint32_t> parse_requests(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n == 0 || n > std::numeric_limits<std::uint32_t>::max()) {
    return usage_error(fmt::format("'{}' is no number of requests", text));
  }
  return static_cast<std::uint32_t>(n);
}

Result<std::uint32_t> parse_nomerges(std::string_view text) {
  if (text != "0" && text != "1" && text != "2") {
    return usage_error(fmt::format("'{}' is not one of 0, 1, 2, keep", text));
  }
  return static_cast<std::uint32_t>(text.front() - '0');
}

Result<> set_switch(bool& target, std::string_view text) {
  if (text != "true" && text != "false") {
    return usage_error(fmt::format("'{}' is not true or false", text));
  }
  target = text == "true";
  return {};
}

Result<> set_share(double& target, std::string_view text) {
  double percent = 0;
  const char* end = text.data() + text.size() - (text.ends_with('%') ? 1 : 0);
  const auto [rest, ec] = std::from_chars(text.data(), end, percent);
  if (!text.ends_with('%') || ec != std::errc{} || rest != end ||
      !(percent >= 0 && percent <= 100)) {
    return usage_error(fmt::format("'{}' is not a share such as 25%", text));
  }
  target = percent;
  return {};
}

Result<> set_name(std::string& target, std::string_view none, std::string_view text) {
  if (text.empty()) {
    return usage_error(fmt::format("'' names nothing: say {} to leave it as it is", none));
  }
  target = text == none ? "" : text;
  return {};
}

std::string or_word(const std::string& text, std::string_view none) {
  return text.empty() ? std::string(none) : text;
}

const std::array kOptions{
    CellOption{
        "scheduler", "of the disk: bfq, ... [keep]; --nr-requests, --nomerges too",
        [](CellSettings& c, std::string_view t) { return set_name(c.node.scheduler, kKeep, t); },
        [](const CellSettings& c) { return or_word(c.node.scheduler, kKeep); }},
    CellOption{"nr-requests", "",
               [](CellSettings& c, std::string_view t) {
                 return set_or(kKeep, c.node.nr_requests, t, parse_requests);
               },
               [](const CellSettings& c) {
                 return c.node.nr_requests ? std::to_string(*c.node.nr_requests)
                                           : std::string(kKeep);
               }},
    CellOption{"nomerges", "",
               [](CellSettings& c, std::string_view t) {
                 return set_or(kKeep, c.node.nomerges, t, parse_nomerges);
               },
               [](const CellSettings& c) {
                 return c.node.nomerges ? std::to_string(*c.node.nomerges) : std::string(kKeep);
               }},
    CellOption{"read-ahead", "of the disk, for buffered reads: 128KiB; keep (default)",
               [](CellSettings& c, std::string_view t) {
                 return set_or(kKeep, c.node.read_ahead, t, parse_whole_kib);
               },
               [](const CellSettings& c) {
                 return c.node.read_ahead ? exact(*c.node.read_ahead) : std::string(kKeep);
               }},
    CellOption{"memory-limit", "memory and page cache: 64MiB (cgroup); none (default)",
               [](CellSettings& c, std::string_view t) {
                 return set_or(kNone, c.node.memory_limit, t, parse_some_bytes);
               },
               [](const CellSettings& c) {
                 return c.node.memory_limit ? exact(*c.node.memory_limit) : std::string(kNone);
               }},
    CellOption{"bandwidth-limit", "of reads: 1000MB/s; --iops-limit; cgroup; none (default)",
               [](CellSettings& c, std::string_view t) {
                 return set_or(kNone, c.node.bandwidth_limit, t, parse_some_rate);
               },
               [](const CellSettings& c) {
                 return c.node.bandwidth_limit ? exact(*c.node.bandwidth_limit) + "/s"
                                               : std::string(kNone);
               }},
    CellOption{"iops-limit", "",
               [](CellSettings& c, std::string_view t) {
                 return set_or(kNone, c.node.iops_limit, t, parse_positive);
               },
               [](const CellSettings& c) {
                 return c.node.iops_limit ? std::to_string(*c.node.iops_limit) : std::string(kNone);
               }},
    CellOption{
        "pin-inodes", "keep every inode and dentry in memory",
        [](CellSettings& c, std::string_view t) { return set_switch(c.node.pin_inodes, t); },
        [](const CellSettings& c) { return std::string(c.node.pin_inodes ? "true" : "false"); }},
    CellOption{"pin-pages", "mlock this share of the data: 25%; --pin-inodes: all inodes",
               [](CellSettings& c, std::string_view t) { return set_share(c.node.pin_pages, t); },
               [](const CellSettings& c) { return fmt::format("{}%", c.node.pin_pages); }},
    CellOption{"bind", "threads: near, near-gpu, cpu:0-3, reader=near/copy=cpu:1",
               [](CellSettings& c, std::string_view t) { return set_name(c.node.bind, kNone, t); },
               [](const CellSettings& c) { return or_word(c.node.bind, kNone); }},
    CellOption{"ioprio", "I/O priority: rt:0, be:4, idle; keep (default)",
               [](CellSettings& c, std::string_view t) {
                 return set_or(kKeep, c.node.io_priority, t, parse_io_priority);
               },
               [](const CellSettings& c) {
                 return c.node.io_priority ? to_string(*c.node.io_priority) : std::string(kKeep);
               }},
};

}  // namespace

std::span<const CellOption> node_options() { return kOptions; }

Result<Bytes> parse_whole_kib(std::string_view text) {
  BLKSWEEP_TRY(const Bytes size, parse_bytes(text));
  if (size.n % 1024 != 0) {
    return usage_error(fmt::format("'{}' is no multiple of 1KiB, the kernel's unit here", text));
  }
  return size;
}

bool is_node_option(std::string_view name) {
  return std::ranges::any_of(kOptions, [&](const CellOption& o) { return o.name == name; });
}

}  // namespace blksweep
