#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "model/model_keys.h"
#include "model/model_spec.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

constexpr double kLongest = 100e9;  // ns; no device answers that slowly
constexpr std::size_t kLongestModel = std::size_t{1} << 20;
constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

// --- reading ---------------------------------------------------------------------------------

// Either the three numbers of a data sheet or measured points, for both directions or for each.
Result<> read_seeks(ModelKeys& keys, RotatingSpec& spec) {
  if (keys.has("seek_forward") || keys.has("seek_backward")) {
    BLKSWEEP_TRY(spec.seek_forward, keys.curve("seek_forward"));
    BLKSWEEP_TRY(spec.seek_backward, keys.curve("seek_backward"));
    return {};
  }
  if (keys.has("seek")) {
    BLKSWEEP_TRY(spec.seek_forward, keys.curve("seek"));
    spec.seek_backward = spec.seek_forward;
    return {};
  }
  const auto nanos = [](double ns) { return Nanos{static_cast<Nanos::rep>(ns)}; };
  BLKSWEEP_TRY(const double single, keys.duration("single_track", {0, kLongest}));
  BLKSWEEP_TRY(const double average, keys.duration("average_seek", {0, kLongest}));
  BLKSWEEP_TRY(const double full, keys.duration("full_stroke", {0, kLongest}));
  auto curve = seek_curve(nanos(single), nanos(average), nanos(full));
  if (!curve) {
    return keys.wrong("average_seek", curve.error().text);
  }
  spec.seek_forward = spec.seek_backward = *std::move(curve);
  return {};
}

Result<> read_stroke(ModelKeys& keys, RotatingSpec& spec) {
  BLKSWEEP_TRY(const std::string text, keys.text("stroke", "device"));
  if (text != "device") {
    BLKSWEEP_TRY(spec.stroke.n, keys.bytes("stroke", {kMib, std::uint64_t{1} << 60}));
  }
  return {};
}

Result<RotatingSpec> read_rotating(ModelKeys& keys) {
  RotatingSpec spec;
  BLKSWEEP_TRY(spec.rotation_ns, keys.duration("rotation", {1e5, 1e10}));
  BLKSWEEP_CHECK(read_seeks(keys, spec));
  BLKSWEEP_TRY(spec.zone_rates, keys.rates("zone_rates"));
  BLKSWEEP_CHECK(read_stroke(keys, spec));
  BLKSWEEP_TRY(spec.overhead_ns, keys.duration("overhead", {0, kLongest, 0}));
  BLKSWEEP_TRY(spec.interface_rate, keys.rate("interface_rate"));
  BLKSWEEP_TRY(const auto queue, keys.count("queue", {1, 65536, spec.queue}));
  BLKSWEEP_TRY(spec.ageing, keys.number("ageing", {0, 1000, 0}));
  BLKSWEEP_TRY(const auto segments, keys.count("cache_segments", {1, 1024, spec.cache_segments}));
  BLKSWEEP_TRY(spec.cache_segment.n,
               keys.bytes("cache_segment", {0, 1024 * kMib, spec.cache_segment.n}));
  spec.queue = static_cast<std::uint32_t>(queue);
  spec.cache_segments = static_cast<std::uint32_t>(segments);
  return spec;
}

Result<FlashSpec> read_flash(ModelKeys& keys) {
  FlashSpec spec;
  BLKSWEEP_TRY(spec.read_ns, keys.duration("read", {1, kLongest}));
  BLKSWEEP_TRY(spec.write_ns, keys.duration("write", {1, kLongest}));
  BLKSWEEP_TRY(spec.page.n, keys.bytes("page", {512, 1024 * kMib, spec.page.n}));
  BLKSWEEP_TRY(const auto channels, keys.count("channels", {1, 65536}));
  BLKSWEEP_TRY(spec.overhead_ns, keys.duration("overhead", {0, kLongest, 0}));
  BLKSWEEP_TRY(spec.link_rate, keys.rate("link_rate"));
  BLKSWEEP_TRY(const auto queue, keys.count("queue", {1, 65536, spec.queue}));
  spec.channels = static_cast<std::uint32_t>(channels);
  spec.queue = static_cast<std::uint32_t>(queue);
  return spec;
}

Result<RemoteSpec> read_remote(ModelKeys& keys) {
  RemoteSpec spec;
  BLKSWEEP_TRY(spec.round_trip_ns, keys.duration("round_trip", {0, kLongest}));
  BLKSWEEP_TRY(spec.jitter, keys.number("jitter", {0, 3, 0}));
  BLKSWEEP_TRY(spec.request_ns, keys.duration("request", {0, kLongest, 0}));
  BLKSWEEP_TRY(spec.link_rate, keys.rate("link_rate"));
  BLKSWEEP_TRY(const auto queue, keys.count("queue", {1, 65536, spec.queue}));
  spec.queue = static_cast<std::uint32_t>(queue);
  return spec;
}

Result<> read_timing(ModelKeys& keys, ModelSpec& spec) {
  BLKSWEEP_TRY(const std::string kind, keys.text("kind"));
  if (kind == "rotating") {
    BLKSWEEP_TRY(spec.timing, read_rotating(keys));
  } else if (kind == "flash") {
    BLKSWEEP_TRY(spec.timing, read_flash(keys));
  } else if (kind == "remote") {
    BLKSWEEP_TRY(spec.timing, read_remote(keys));
  } else if (kind == "instant") {
    spec.timing = InstantSpec{};
  } else {
    return keys.wrong("kind", "'" + kind + "' is not rotating, flash, remote or instant");
  }
  return {};
}

// --- writing ---------------------------------------------------------------------------------

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    out += c == '"' || c == '\\' ? "\\" : "";
    out += c;
  }
  return out + "\"";
}

std::string time_text(double ns) { return fmt::format("\"{:.0f}ns\"", ns); }
std::string rate_text(double rate) { return fmt::format("\"{:.0f}B/s\"", rate); }

std::string curve_text(const SeekCurve& curve) {
  std::string out = "[\n";
  for (const SeekPoint& p : curve) {
    out += fmt::format("  [{}, {}],\n", p.fraction, time_text(p.ns));
  }
  return out + "]\n";
}

bool same(const SeekCurve& a, const SeekCurve& b) {
  return std::ranges::equal(a, b, [](const SeekPoint& p, const SeekPoint& q) {
    return p.fraction == q.fraction && p.ns == q.ns;
  });
}

std::string seeks_text(const RotatingSpec& s) {
  if (same(s.seek_forward, s.seek_backward)) {
    return "seek = " + curve_text(s.seek_forward);
  }
  return "seek_forward = " + curve_text(s.seek_forward) +
         "seek_backward = " + curve_text(s.seek_backward);
}

std::string timing_text(const InstantSpec& /*spec*/) { return "kind = \"instant\"\n"; }

std::string timing_text(const RotatingSpec& s) {
  std::vector<std::string> rates;
  std::ranges::transform(s.zone_rates, std::back_inserter(rates), rate_text);
  return fmt::format(
      "kind = \"rotating\"\nrotation = {}\n{}zone_rates = [{}]\nstroke = \"{}\"\noverhead = {}\n"
      "interface_rate = {}\nqueue = {}\nageing = {}\ncache_segments = {}\ncache_segment = "
      "\"{}B\"\n",
      time_text(s.rotation_ns), seeks_text(s), joined(rates, ", "),
      s.stroke.n == 0 ? "device" : fmt::format("{}B", s.stroke.n), time_text(s.overhead_ns),
      rate_text(s.interface_rate), s.queue, s.ageing, s.cache_segments, s.cache_segment.n);
}

std::string timing_text(const FlashSpec& s) {
  return fmt::format(
      "kind = \"flash\"\nread = {}\nwrite = {}\npage = \"{}B\"\nchannels = {}\noverhead = {}\n"
      "link_rate = {}\nqueue = {}\n",
      time_text(s.read_ns), time_text(s.write_ns), s.page.n, s.channels, time_text(s.overhead_ns),
      rate_text(s.link_rate), s.queue);
}

std::string timing_text(const RemoteSpec& s) {
  return fmt::format(
      "kind = \"remote\"\nround_trip = {}\njitter = {}\nrequest = {}\nlink_rate = {}\nqueue = {}\n",
      time_text(s.round_trip_ns), s.jitter, time_text(s.request_ns), rate_text(s.link_rate),
      s.queue);
}

// --- finding ---------------------------------------------------------------------------------

Result<ModelSpec> load_file(const std::string& path) {
  BLKSWEEP_TRY(const std::string text, read_regular(path, kLongestModel));
  return parse_model(text, path);
}

std::vector<std::string> models_in(const std::vector<std::string>& folders) {
  std::vector<std::string> names{"none"};
  for (const std::string& folder : folders) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
      if (entry.path().extension() == ".toml") {
        names.push_back(entry.path().stem().string());
      }
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());  // clang 14: no subranges
  return names;
}

}  // namespace

Result<ModelSpec> parse_model(const std::string& text, const std::string& name) {
  BLKSWEEP_TRY(const toml::table table, parse_toml(text, name));
  ModelKeys keys(table, name);
  ModelSpec spec;
  BLKSWEEP_TRY(spec.name, keys.text("name", name));
  BLKSWEEP_TRY(spec.description, keys.text("description", ""));
  BLKSWEEP_CHECK(read_timing(keys, spec));
  BLKSWEEP_CHECK(keys.nothing_else());
  return spec;
}

std::string to_toml(const ModelSpec& spec) {
  const std::string timing =
      std::visit([](const auto& timing_spec) { return timing_text(timing_spec); }, spec.timing);
  return fmt::format("name = {}\ndescription = {}\n{}", quoted(spec.name), quoted(spec.description),
                     timing);
}

Result<ModelSpec> load_model(const std::string& name_or_path,
                             const std::vector<std::string>& folders) {
  if (name_or_path == "none") {
    return ModelSpec{"none", "no delay: only the software above", InstantSpec{}};
  }
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml")) {
    return load_file(name_or_path);
  }
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name_or_path + ".toml";
    if (std::error_code none; std::filesystem::exists(path, none)) {
      return load_file(path);
    }
  }
  return usage_error(fmt::format("no model '{}'; there are {}, or give the path of a .toml file",
                                 name_or_path, joined(models_in(folders), ", ")));
}

}  // namespace blksweep
