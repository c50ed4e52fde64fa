// Our own CSV: one header line, one access a line, every field of a record. Names are quoted as RFC
// 4180 has it where they hold commas, quotes or line ends (which stand as \n there).
#include "trace/import/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

constexpr std::size_t kCsvFields = 10;

// The name of a line that names[] has, else nullopt.
template <class T>
std::optional<T> value_named(std::string_view text, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (text == name_of(static_cast<T>(i))) {
      return static_cast<T>(i);
    }
  }
  return std::nullopt;
}

// Into `name`; what follows it on the line, or nullopt where quotes do not close.
std::optional<std::string_view> unquote(std::string_view line, std::string& name) {
  name.clear();
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '"' && (i + 1 == line.size() || line[i + 1] != '"')) {
      return line.substr(i + 1);
    }
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      name += line[i] == 'n' ? '\n' : line[i] == 'r' ? '\r' : line[i];
      continue;
    }
    i += line[i] == '"' ? 1U : 0U;
    name += line[i];
  }
  return std::nullopt;
}

// What a call that failed returned, -1, is no "not told": that counts as all that was asked for.
std::optional<std::int64_t> or_not_told(std::string_view text) {
  if (text.empty()) {
    return kNotTold;
  }
  const auto n = number<std::int64_t>(text);
  return n && *n >= 0 ? n : std::nullopt;
}

class Csv : public TextParser {
 public:
  void begin_member() override { header_ = false; }
  void state(TraceFacts& facts) const override { facts.kind = kind_; }

  Result<bool> line(std::string_view line, ImportTarget& target) override {
    if (!header_) {
      header_ = line == csv_header(TraceKind::block) || line == csv_header(TraceKind::file);
      kind_ = line.ends_with("path") ? TraceKind::file : TraceKind::block;
      return header_ ? Result<bool>(false) : fail("is not the header of a trace in CSV");
    }
    // The name stands last, so that only it can hold a comma.
    std::size_t at = std::string_view::npos;
    for (std::size_t field = 1; field < kCsvFields; ++field) {
      at = line.find(',', at + 1);  // npos + 1 is 0
      if (at == std::string_view::npos) {
        break;
      }
    }
    if (at == std::string_view::npos) {
      return fail(fmt::format("fewer than {} fields", kCsvFields));
    }
    split_at(line.substr(0, at), ',', f_);
    return record(line.substr(at + 1), target);
  }

 private:
  Result<bool> record(std::string_view name, ImportTarget& target) {
    const auto time = number<std::int64_t>(f_[0]);
    const auto op = value_named<TraceOp>(f_[1], kTraceOps);
    const auto offset = scaled(f_[2], 1), bytes = scaled(f_[3], 1);
    const auto returned = or_not_told(f_[4]), latency = or_not_told(f_[5]);
    const auto thread = f_[6].empty() ? 0 : number<std::uint64_t>(f_[6]);
    const auto form = f_[7].empty() ? CallForm::unknown : value_named<CallForm>(f_[7], kCallForms);
    const auto flags = f_[8].empty() ? 0 : number<std::uint16_t>(f_[8]);
    if (!time || *time < 0) {
      return bad_field("time", f_[0]);
    }
    if (!op || !offset || !bytes || !returned || !latency || !thread || !form || !flags) {
      return fail("a field is not what the header says");
    }
    TraceRecord r{*time, *offset, *bytes, *returned, *latency, *thread, 0, *op, *form, *flags};
    if (!name.empty() && name.front() == '"') {
      const auto rest = unquote(name, name_);
      if (!rest || !rest->empty()) {
        return fail("the quotes of the name do not close at the end of the line");
      }
      name = name_;
    }
    BLKSWEEP_TRY(r.place, target.place(name));
    BLKSWEEP_CHECK(target.add(r));
    return true;
  }

  bool header_ = false;
  TraceKind kind_ = TraceKind::block;
  std::vector<std::string_view> f_;
  std::string name_;
};

bool needs_quotes(std::string_view name) {
  return name.find_first_of(",\"\n\r\\") != std::string_view::npos ||
         (!name.empty() && (name.front() == ' ' || name.back() == ' '));
}

}  // namespace

std::unique_ptr<TextParser> csv_parser(const FormatOptions&) { return std::make_unique<Csv>(); }

namespace {

std::string csv_name(std::string_view name) {
  if (!needs_quotes(name)) {
    return std::string(name);
  }
  std::string out = "\"";
  for (const char c : name) {
    out += c == '\n'   ? "\\n"
           : c == '\r' ? "\\r"
           : c == '\\' ? "\\\\"
           : c == '"'  ? "\"\""
                       : std::string(1, c);
  }
  return out + '"';
}

}  // namespace

std::string csv_header(TraceKind kind) {
  return std::string("time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,") +
         (kind == TraceKind::block ? "volume" : "path");
}

std::string csv_line(const TraceRecord& r, std::string_view name) {
  const auto told = [](std::int64_t v) {
    return v == kNotTold ? std::string() : std::to_string(v);
  };
  return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", r.time_ns, name_of(r.op), r.offset, r.bytes,
                     told(r.returned), told(r.latency_ns), r.thread, name_of(r.form), r.flags,
                     csv_name(name));
}

}  // namespace blksweep
