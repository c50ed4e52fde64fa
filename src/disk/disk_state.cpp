// state.json of the registry, to and from text.
#include <fmt/format.h>

#include "base/json.h"
#include "disk/registry.h"

namespace blksweep {
namespace {

// Reads members of one object; the first that is missing or of another type is remembered.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  void text(const char* key, std::string& out) {
    if (const Json* j = find(key, object_.contains(key) && object_[key].is_string())) {
      out = j->get<std::string>();
    }
  }
  template <class T>
  void number(const char* key, T& out) {
    if (const Json* j = find(key, object_.contains(key) && object_[key].is_number())) {
      out = j->get<T>();
    }
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const Json* find(const char* key, bool usable) {
    if (!usable && wrong_.empty()) {
      wrong_ = key;
    }
    return usable ? &object_[key] : nullptr;
  }
  const Json& object_;
  std::string wrong_;
};

tl::unexpected<Error> damaged(const std::string& file, const std::string& what) {
  return fail(fmt::format(
      "{} is damaged ({}): 'blksweep disk stop --force NAME' goes by what the kernel knows", file,
      what));
}

}  // namespace

std::string to_json_text(const DiskState& s) {
  Json j{{"name", s.name},
         {"backing", s.backing},
         {"backing_device", s.backing_device},
         {"backing_inode", s.backing_inode},
         {"size_bytes", s.size},
         {"model", s.model},
         {"model_toml", s.model_toml},
         {"speedup", s.speedup},
         {"times_set", s.times_set},
         {"device", s.device},
         {"filesystem", s.filesystem},
         {"mount", s.mount},
         {"image", s.image},
         {"path_ns", s.path_ns},
         {"before", nullptr}};
  if (s.before) {
    j["before"] = {{"rotational", s.before->rotational},
                   {"max_sectors_kb", s.before->max_sectors_kb}};
  }
  return json_text(j) + "\n";
}

Result<DiskState> parse_disk_state(const std::string& text, const std::string& file) {
  const Json j = parse_json(text);
  if (!j.is_object()) {
    return damaged(file, "no JSON object");
  }
  DiskState s;
  Members members(j);
  members.text("name", s.name);
  members.text("backing", s.backing);
  members.number("backing_device", s.backing_device);
  members.number("backing_inode", s.backing_inode);
  members.number("size_bytes", s.size);
  members.text("model", s.model);
  members.text("model_toml", s.model_toml);
  members.number("speedup", s.speedup);
  if (j.contains("times_set")) {  // not in files of older programs
    members.number("times_set", s.times_set);
  }
  members.text("device", s.device);
  members.text("filesystem", s.filesystem);
  members.text("mount", s.mount);
  members.text("image", s.image);
  members.number("path_ns", s.path_ns);
  if (!members.wrong().empty()) {
    return damaged(file, members.wrong());
  }
  if (j.contains("before") && j["before"].is_object()) {
    Members before(j["before"]);
    s.before.emplace();
    before.text("rotational", s.before->rotational);
    before.text("max_sectors_kb", s.before->max_sectors_kb);
    if (!before.wrong().empty()) {
      return damaged(file, before.wrong());
    }
  }
  return s;
}

}  // namespace blksweep
