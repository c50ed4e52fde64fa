#include "cli/run/spec_rig.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/dataset/words.h"
#include "cli/model/models.h"
#include "cli/run/spec_text.h"
#include "disk/speedup.h"

namespace blksweep {
namespace {

// One table, read key by key.
class Keys {
 public:
  Keys(const toml::table& table, const std::string& file, std::string what)
      : table_(table), file_(file), what_(std::move(what)) {}

  bool has(std::string_view key) const { return table_.contains(key); }
  Result<> allow(const std::vector<std::string>& known) const {
    return refuse_unknown_keys(table_, file_, what_, known);
  }
  tl::unexpected<Error> wrong(const std::string& text) const {
    return usage_error(fmt::format("{}: {}: {}", spec_place(file_, table_.source()), what_, text));
  }
  // Nothing changes where the key is not there.
  template <class T, class Parse>
  Result<> take(std::string_view key, T& target, Parse parse) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      return {};
    }
    const std::string at = fmt::format("{}: {}", spec_place(file_, node->source()), key);
    BLKSWEEP_TRY(const std::string text, scalar_text(*node, at));
    auto value = parse(text);
    if (!value) {
      return usage_error(fmt::format("{}: {}", at, value.error().message()));
    }
    target = *std::move(value);
    return {};
  }
  Result<> take(std::string_view key, std::string& target) const {
    return take(key, target, [](const std::string& t) { return Result<std::string>(t); });
  }
  Result<> list(std::string_view key, std::vector<std::string>& target) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      return {};
    }
    BLKSWEEP_TRY(target,
                 values_of(*node, fmt::format("{}: {}", spec_place(file_, node->source()), key)));
    return {};
  }
  Result<Keys> table(const std::string& key) const {
    const auto* inner = table_.get(key)->as_table();
    if (inner == nullptr) {
      return wrong(fmt::format("{}: expected a table, such as {{ count = 2000 }}", key));
    }
    return Keys(*inner, file_, key);
  }
  Result<> need(std::string_view key) const {
    return has(key) ? Result<>() : wrong(fmt::format("{} is missing", key));
  }
  // Exactly one of them is there.
  Result<> one_of(const std::vector<std::string>& keys) const {
    std::size_t there = 0;
    for (const std::string& key : keys) {
      there += has(key) ? 1 : 0;
    }
    return there == 1 ? Result<>() : wrong(fmt::format("give one of {}", joined(keys, ", ")));
  }

 private:
  const toml::table& table_;
  const std::string& file_;
  std::string what_;
};

template <class T>
auto number_up_to(std::uint64_t most) {
  return [most](const std::string& text) -> Result<T> {
    BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
    if (n > most) {
      return usage_error(fmt::format("'{}' is not between 0 and {}", text, most));
    }
    return static_cast<T>(n);
  };
}

Result<std::optional<Aging>> parse_aging(const std::string& text) {
  BLKSWEEP_TRY(const double used, parse_percent(text));
  if (used >= 0.95) {
    return usage_error(fmt::format("'{}': 95 % and more leaves no holes for data", text));
  }
  return std::optional(Aging{.used = used * 100});
}

Result<DiskSetup> parse_disk(const Keys& keys) {
  BLKSWEEP_CHECK(keys.allow({"name", "size", "fs", "model", "speedup", "device", "aged"}));
  BLKSWEEP_CHECK(keys.need("name"));
  BLKSWEEP_CHECK(keys.one_of({"size", "device"}));
  DiskSetup disk;
  BLKSWEEP_CHECK(keys.take("name", disk.name));
  if (keys.has("device")) {
    BLKSWEEP_CHECK(keys.allow({"name", "device"}));
    DeviceDisk device;
    BLKSWEEP_CHECK(keys.take("device", device.device));
    disk.what = std::move(device);
    return disk;
  }
  ImageDisk image;
  BLKSWEEP_CHECK(keys.take("size", image.size, parse_bytes));
  BLKSWEEP_CHECK(keys.take("fs", image.filesystem));
  BLKSWEEP_CHECK(keys.take("model", image.model, [](const std::string& text) {
    return model_by_name(text).map([](ModelSpec m) { return std::optional(std::move(m)); });
  }));
  BLKSWEEP_CHECK(keys.take("speedup", image.speedup, parse_speedup));
  BLKSWEEP_CHECK(keys.take("aged", image.aged, parse_aging));
  if (keys.has("speedup") && !image.model) {
    return keys.wrong("speedup: only with model, whose clock it is");
  }
  disk.what = std::move(image);
  return disk;
}

Result<MakeSettings> parse_make(const Keys& keys) {
  BLKSWEEP_CHECK(
      keys.allow({"count", "size", "classes", "fragment", "seed", "format", "arrange", "shard"}));
  BLKSWEEP_CHECK(keys.need("count"));
  MakeSettings m;
  BLKSWEEP_CHECK(keys.take("count", m.count, parse_count));
  BLKSWEEP_CHECK(keys.take("size", m.size, parse_size_spec));
  BLKSWEEP_CHECK(keys.take("classes", m.classes, number_up_to<std::uint32_t>(100'000)));
  BLKSWEEP_CHECK(keys.take("fragment", m.fragment, number_up_to<double>(1000)));
  BLKSWEEP_CHECK(keys.take("seed", m.seed, parse_count));
  BLKSWEEP_CHECK(keys.take("format", m.format, parse_format));
  BLKSWEEP_CHECK(keys.take("arrange", m.arrange, parse_arrangement));
  BLKSWEEP_CHECK(keys.take("shard", m.shard, parse_bytes));
  if (const Result<> made = check_make_settings(m); !made) {
    return keys.wrong(made.error().message());
  }
  return m;
}

Result<PackOf> parse_pack(const Keys& keys) {
  BLKSWEEP_CHECK(keys.allow({"of", "layout", "dtype", "compress", "level", "shard", "threads"}));
  BLKSWEEP_CHECK(keys.need("of"));
  PackOf p;
  PackSettings& s = p.settings;
  BLKSWEEP_CHECK(keys.take("of", p.source));
  BLKSWEEP_CHECK(keys.take("layout", s.layout, parse_layout));
  BLKSWEEP_CHECK(keys.take("dtype", s.encode.dtype, parse_element));
  BLKSWEEP_CHECK(keys.take("compress", s.encode.codec, parse_codec));
  BLKSWEEP_CHECK(keys.take("level", s.encode.level, parse_level));
  BLKSWEEP_CHECK(keys.take("shard", s.shard, parse_bytes));
  BLKSWEEP_CHECK(keys.take("threads", s.threads, number_up_to<unsigned>(256)));
  return p;
}

Result<DataSetup> parse_data(const Keys& keys) {
  BLKSWEEP_CHECK(keys.allow({"name", "on", "make", "pack", "folder"}));
  BLKSWEEP_CHECK(keys.need("name"));
  BLKSWEEP_CHECK(keys.one_of({"make", "pack", "folder"}));
  DataSetup data;
  BLKSWEEP_CHECK(keys.take("name", data.name));
  BLKSWEEP_CHECK(keys.list("on", data.on));
  if (keys.has("make")) {
    BLKSWEEP_TRY(const Keys inner, keys.table("make"));
    BLKSWEEP_TRY(data.what, parse_make(inner));
  } else if (keys.has("pack")) {
    BLKSWEEP_TRY(const Keys inner, keys.table("pack"));
    BLKSWEEP_TRY(data.what, parse_pack(inner));
  } else {
    FolderData folder;
    BLKSWEEP_CHECK(keys.take("folder", folder.path));
    data.what = std::move(folder);
  }
  return data;
}

template <class T, class Parse>
Result<> each(const toml::table& root, const std::string& file, const std::string& name,
              std::vector<T>& out, Parse parse) {
  const auto* list = root.contains(name) ? root.get(name)->as_array() : nullptr;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (const auto* table = list->get(i)->as_table()) {
      BLKSWEEP_TRY(out.emplace_back(), parse(Keys(*table, file, "[[" + name + "]]")));
    }
  }
  return {};
}

// Where the table of that name stands.
std::string place_of(const toml::table& root, const std::string& file, const std::string& text) {
  const std::string kind = text.substr(0, text.find(' '));
  const auto* list = root.contains(kind) ? root.get(kind)->as_array() : nullptr;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto* table = list->get(i)->as_table();
    const std::string name =
        table != nullptr ? (*table)["name"].value_or(std::string()) : std::string();
    const bool named = text.starts_with(fmt::format("{} {}:", kind, name)) ||
                       text.starts_with(fmt::format("{} '{}':", kind, name));
    if (named) {
      return spec_place(file, table->source()) + ": ";
    }
  }
  return file + ": ";
}

}  // namespace

Result<std::optional<RigSettings>> parse_rig(const toml::table& root, const std::string& file) {
  RigSettings rig;
  BLKSWEEP_CHECK(each(root, file, "disk", rig.disks, parse_disk));
  BLKSWEEP_CHECK(each(root, file, "data", rig.data, parse_data));
  if (rig.disks.empty() && rig.data.empty()) {
    return std::optional<RigSettings>();
  }
  if (const Result<> checked = check_rig(rig); !checked) {
    const std::string& text = checked.error().message();
    return usage_error(place_of(root, file, text) + text);
  }
  return std::optional(std::move(rig));
}

}  // namespace blksweep
