// A pin's entry, to and from text.
#include <fmt/format.h>

#include "base/json.h"
#include "node/pin/registry.h"

namespace blksweep {
namespace {

// Takes members of one object; the first that is missing or of another type is remembered.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  std::string text(const char* key) {
    const bool usable = object_.contains(key) && object_[key].is_string();
    note(key, usable);
    return usable ? object_[key].get<std::string>() : std::string();
  }
  template <class T>
  T number(const char* key) {
    const bool usable = object_.contains(key) && object_[key].is_number_integer();
    note(key, usable);
    return usable ? object_[key].get<T>() : T{};
  }
  const std::string& wrong() const { return wrong_; }

 private:
  void note(const char* key, bool usable) {
    if (!usable && wrong_.empty()) {
      wrong_ = key;
    }
  }
  const Json& object_;
  std::string wrong_;
};

tl::unexpected<Error> damaged(const std::string& file, const std::string& what) {
  return fail(fmt::format("{} is damaged ({}): 'blksweep cache unpin' of that name removes it",
                          file, what));
}

}  // namespace

const char* to_string(PinKind kind) { return kind == PinKind::inodes ? "inodes" : "pages"; }

std::string to_json_text(const PinEntry& e) {
  const Json j{{"name", e.name},
               {"kind", to_string(e.kind)},
               {"state", e.held ? "held" : "pinning"},
               {"files", e.count.files - e.count.folders},
               {"folders", e.count.folders},
               {"failed", e.count.failed},
               {"first_error", e.count.first_error},
               {"bytes", e.count.bytes.n},
               {"helpers", e.count.helpers},
               {"kernel_memory_bytes", e.kernel_memory.n},
               {"kernel_memory_source", e.memory_source},
               {"slab_growth_bytes", e.slab_growth},
               {"took_ns", e.took_ns},
               {"since_unix_ns", e.since_unix_ns},
               {"pid", e.daemon.pid},
               {"start_time", e.daemon.start_time},
               {"roots", e.roots}};
  return json_text(j) + "\n";
}

Result<PinEntry> parse_pin_entry(const std::string& text, const std::string& file) {
  const Json j = parse_json(text);
  if (!j.is_object()) {
    return damaged(file, "no JSON object");
  }
  Members m(j);
  PinEntry e;
  e.name = m.text("name");
  const std::string kind = m.text("kind");
  e.kind = kind == "pages" ? PinKind::pages : PinKind::inodes;
  e.held = m.text("state") == "held";
  e.count.folders = m.number<std::uint64_t>("folders");
  e.count.files = m.number<std::uint64_t>("files") + e.count.folders;
  e.count.failed = m.number<std::uint64_t>("failed");
  e.count.first_error = m.text("first_error");
  e.count.bytes.n = m.number<std::uint64_t>("bytes");
  e.count.helpers = m.number<std::uint64_t>("helpers");
  e.kernel_memory.n = m.number<std::uint64_t>("kernel_memory_bytes");
  e.memory_source = m.text("kernel_memory_source");
  e.slab_growth = m.number<std::int64_t>("slab_growth_bytes");
  e.took_ns = m.number<std::int64_t>("took_ns");
  e.since_unix_ns = m.number<std::int64_t>("since_unix_ns");
  e.daemon.pid = m.number<pid_t>("pid");
  e.daemon.start_time = m.number<std::uint64_t>("start_time");
  if (!m.wrong().empty()) {
    return damaged(file, m.wrong());
  }
  if (kind != to_string(e.kind) || e.daemon.pid <= 1) {
    return damaged(file, "kind or pid");
  }
  for (const Json& root : j.contains("roots") ? j["roots"] : Json::array()) {
    if (root.is_string()) {
      e.roots.push_back(root.get<std::string>());
    }
  }
  return e;
}

}  // namespace blksweep
