// DFTracer's .pfw: a JSON object a line, like Chrome's trace events; ts and dur in microseconds.
// Four dialects, told apart by what their lines have:
//   1  file names in the events, numbers perhaps as strings
//   2  names by integer hashes, which metadata lines resolve, perhaps those of another process
//   3  the same with hexadecimal hashes; plain reads carry no descriptor
//   4  `ph` and `type` are numbers; aggregated lines hold no single calls
// Places of plain reads follow the cursor: 0 at an open, on by what was returned, set by lseek.
// Source: DFTracer's documentation "Trace Format"; docs/trace-imports.md.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/json.h"
#include "base/text.h"
#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

// A number, or a text that is one; nullopt: neither, or not there.
std::optional<std::int64_t> number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return std::nullopt;
  }
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) {
    return std::nullopt;
  }
  if (found->is_number_integer()) {
    return found->get<std::int64_t>();
  }
  if (found->is_number_float()) {
    const double v = found->get<double>();
    return v > -1e15 && v < 1e15 ? std::optional(static_cast<std::int64_t>(v)) : std::nullopt;
  }
  return found->is_string() ? number<std::int64_t>(found->get_ref<const std::string&>())
                            : std::nullopt;
}

// A text, or a number as one; "": not there.
std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return {};
  }
  return found->is_string()           ? found->get<std::string>()
         : found->is_number_integer() ? std::to_string(found->get<std::int64_t>())
                                      : std::string();
}

struct Cursor {
  std::uint64_t offset = 0;
  bool certain = false;  // an open or a seek was seen
};

class DfTracer : public TextParser {
 public:
  void begin_member() override { lines_ = 0; }

  void state(TraceFacts& facts) const override {
    facts.incomplete = facts.incomplete || missing_;
    facts.notes.push_back(fmt::format("dialect {} of DFTracer", dialect_));
    if (failed_ > 0) {
      facts.notes.push_back(fmt::format("{} calls that failed are left out", failed_));
    }
    if (uncertain_ > 0) {
      facts.notes.push_back(
          fmt::format("{} reads have an offset that the trace cannot tell for sure", uncertain_));
    }
  }

  // "#PID:HASH" is a file that a metadata line names.
  Result<std::string> final_name(const std::string& place) const override {
    if (!place.starts_with('#')) {
      return place;
    }
    if (const auto own = names_.find(place); own != names_.end()) {
      return own->second;
    }
    const std::string hash = place.substr(place.find(':') + 1);
    const auto all = names_of_hash_.find(hash);
    if (all == names_of_hash_.end()) {
      return "hash:" + hash;
    }
    if (all->second.size() > 1) {
      return fail(fmt::format("hash {} names {} and {}, and neither in the process that used it",
                              hash, printable(*all->second.begin()),
                              printable(*all->second.rbegin())));
    }
    return *all->second.begin();
  }

  Result<bool> line(std::string_view line, ImportTarget& target) override {
    while (!line.empty() && (line.back() == ',' || line.back() == ' ')) {
      line.remove_suffix(1);
    }
    if (line == "[" || line == "]") {
      return false;
    }
    const Json event = line.starts_with('{') ? parse_json(line) : Json();
    if (!event.is_object() || !event.contains("name") || !event.contains("ph")) {
      return fail("is no event of DFTracer");
    }
    ++lines_;
    const auto found = event.find("args");
    const Json none = Json::object();
    return take(event, found != event.end() && found->is_object() ? *found : none, target);
  }

 private:
  static constexpr std::int64_t kAggregated = 3, kMetadata = 4, kLibc = 3;

  Result<bool> take(const Json& event, const Json& args, ImportTarget& target) {
    const bool numbered = event["ph"].is_number_integer();
    const std::string name = text_in(event, "name");
    dialect_ = std::max(dialect_, numbered ? 4 : 1);
    if (numbered && number_in(event, "ph") == kAggregated) {
      return fail("is aggregated: it holds no single calls, and cannot be replayed");
    }
    if (numbered ? number_in(event, "ph") == kMetadata : text_in(event, "ph") == "M") {
      return metadata(event, name, args);
    }
    if (name == "end") {
      missing_ = missing_ || number_in(args, "num_events").value_or(0) > lines_;
      return false;
    }
    const std::string category = text_in(event, "cat");
    const bool call = category == "POSIX" || category == "STDIO" ||
                      (numbered && number_in(event, "type") == kLibc);
    return call ? take_call(event, name, args, target) : Result<bool>(false);
  }

  // {"name":"FH","ph":"M","pid":7,"args":{"name":"/path","value":54321}}
  Result<bool> metadata(const Json& event, const std::string& name, const Json& args) {
    if (name != "FH") {
      return false;
    }
    const std::string path = text_in(args, "name"), hash = text_in(args, "value");
    if (hash.empty()) {
      return fail("names a file without its hash");
    }
    dialect_ = std::max(dialect_, args["value"].is_string() ? 3 : 2);
    const auto [at, added] =
        names_.try_emplace(place_of(number_in(event, "pid").value_or(0), hash), path);
    if (!added && at->second != path) {
      return fail(fmt::format("hash {} of one process names {} and {}", hash, printable(at->second),
                              printable(path)));
    }
    names_of_hash_[hash].insert(path);
    return false;
  }

  static std::string place_of(std::int64_t pid, const std::string& hash) {
    return fmt::format("#{}:{}", pid, hash);
  }

  Result<bool> take_call(const Json& event, const std::string& name, const Json& args,
                         ImportTarget& target) {
    const auto ts = number_in(event, "ts"), dur = number_in(event, "dur");
    const auto pid = number_in(event, "pid"), tid = number_in(event, "tid");
    constexpr std::int64_t kMost = INT64_MAX / kMicro;
    if (!ts || *ts < 0 || *ts > kMost || !pid || !tid) {
      return fail("an event without its time, process or thread");
    }
    const std::string hash = text_in(args, "fhash");
    const std::string file = hash.empty() ? text_in(args, "fname") : place_of(*pid, hash);
    const auto ret = number_in(args, "ret");
    if (name.starts_with("open") || name.starts_with("fopen")) {
      return opened(*pid, file, ret);
    }
    if (name.starts_with("close") || name.starts_with("fclose")) {
      --opens_[{*pid, file}];
      return false;
    }
    Cursor& cursor = cursors_[cursor_of(*pid, file, args)];
    if (name.starts_with("lseek") || name.starts_with("fseek")) {
      return seek(cursor, args, ret);
    }
    const std::optional<bool> reads = is_read_call(name);
    if (!reads) {
      return false;
    }
    if (file.empty() || !ret || *ret < 0) {
      failed_ += ret && *ret < 0 ? 1U : 0U;
      return ret && *ret < 0 ? Result<bool>(false) : fail("a call without its file or result");
    }
    TraceRecord r{.time_ns = *ts * kMicro};
    r.op = *reads ? TraceOp::read : TraceOp::write;
    r.latency_ns = dur && *dur >= 0 && *dur < kMost ? *dur * kMicro : kNotTold;
    r.thread = static_cast<std::uint64_t>(*pid) << 32 | (static_cast<std::uint64_t>(*tid) & ~0U);
    BLKSWEEP_CHECK(place_bytes(name, args, *ret, *pid, file, cursor, r));
    BLKSWEEP_TRY(r.place, target.place(file));
    BLKSWEEP_CHECK(target.add(r));
    return true;
  }

  // A descriptor where the event has one, else the file.
  static std::pair<std::int64_t, std::string> cursor_of(std::int64_t pid, const std::string& file,
                                                        const Json& args) {
    const auto fd = number_in(args, "fd");
    return {pid, fd ? fmt::format("fd {}", *fd) : file};
  }

  Result<bool> opened(std::int64_t pid, const std::string& file, std::optional<std::int64_t> ret) {
    if (ret && *ret >= 0) {
      cursors_[{pid, fmt::format("fd {}", *ret)}] = {0, true};
      cursors_[{pid, file}] = {0, true};
      ++opens_[{pid, file}];
    }
    return false;
  }

  static Result<bool> seek(Cursor& cursor, const Json& args, std::optional<std::int64_t> ret) {
    const auto offset = number_in(args, "offset");
    const std::string whence = text_in(args, "whence");
    if (ret && *ret > 0) {  // where it led to; fseek returns 0
      cursor = {static_cast<std::uint64_t>(*ret), true};
    } else if (offset && *offset >= 0 && (whence == "0" || whence == "SEEK_SET")) {
      cursor = {static_cast<std::uint64_t>(*offset), true};
    } else {
      cursor.certain = false;
    }
    return false;
  }

  Result<> place_bytes(const std::string& name, const Json& args, std::int64_t ret,
                       std::int64_t pid, const std::string& file, Cursor& cursor, TraceRecord& r) {
    const bool stdio = name.starts_with("fread") || name.starts_with("fwrite");
    const std::int64_t size = stdio ? number_in(args, "size").value_or(1) : 1;
    const std::int64_t count = number_in(args, "count").value_or(ret);
    std::int64_t asked = 0, returned = 0;
    if (size < 0 || count < 0 || __builtin_mul_overflow(size, count, &asked) ||
        __builtin_mul_overflow(size, ret, &returned) || returned == INT64_MAX) {
      return fail("a length is out of range");
    }
    r.bytes = static_cast<std::uint64_t>(asked);
    r.returned = returned;
    const bool placed = name.starts_with('p');
    const bool vector = name.ends_with('v') || name.find("v2") != std::string::npos;
    if (placed) {
      const auto offset = number_in(args, "offset");
      if (!offset || *offset < 0) {
        return fail("a pread or pwrite without its offset");
      }
      r.offset = static_cast<std::uint64_t>(*offset);
    } else {
      const bool shared = !args.contains("fd") && opens_[{pid, file}] > 1;
      r.offset = cursor.offset;
      r.flags = cursor.certain && !shared ? 0 : kTraceInexact;
      uncertain_ += r.flags != 0 ? 1U : 0U;
      const auto room = static_cast<std::uint64_t>(INT64_MAX) - cursor.offset;
      cursor.offset += std::min(static_cast<std::uint64_t>(returned), room);
    }
    if (r.op == TraceOp::read && !stdio) {
      r.form = placed ? (vector ? CallForm::preadv : CallForm::pread)
                      : (vector ? CallForm::readv : CallForm::read);
    }
    return {};
  }

  std::map<std::pair<std::int64_t, std::string>, Cursor> cursors_;      // process; "fd 3", or file
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> opens_;  // descriptors of a file
  std::unordered_map<std::string, std::string> names_;                  // "#PID:HASH" to path
  std::unordered_map<std::string, std::set<std::string>> names_of_hash_;
  std::int64_t lines_ = 0;
  std::uint64_t failed_ = 0, uncertain_ = 0;
  int dialect_ = 1;
  bool missing_ = false;
};

}  // namespace

std::unique_ptr<TextParser> dftracer_parser(const FormatOptions&) {
  return std::make_unique<DfTracer>();
}

}  // namespace blksweep
