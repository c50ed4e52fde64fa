#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "trace/import/import.h"

namespace blksweep {
namespace {

constexpr std::size_t kLines = 200;

class Counter : public ImportTarget {
 public:
  Result<std::uint32_t> place(std::string_view) override { return 0; }
  Result<> add(const TraceRecord&) override { return {}; }
};

// Whole lines only: the last one may be cut by the end of what is seen.
std::vector<std::string_view> lines_of(std::string_view seen) {
  std::vector<std::string_view> out;
  while (!seen.empty() && out.size() < kLines) {
    const std::size_t end = seen.find('\n');
    if (end == std::string_view::npos && !out.empty()) {
      break;
    }
    std::string_view line = seen.substr(0, end);
    seen.remove_prefix(std::min(line.size() + 1, seen.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (!line.empty()) {
      out.push_back(line);
    }
  }
  return out;
}

// All lines but `skip_bad` are of the format, and at least half of them.
bool takes(const TraceFormat& format, const std::vector<std::string_view>& lines,
           const ImportSettings& settings) {
  FormatOptions options = settings.options;
  options.time_unit_ns = options.time_unit_ns.value_or(1);  // not looked at yet
  const auto parser = format.text(options);
  parser->begin_member();
  Counter counter;
  std::uint64_t bad = 0;
  for (const std::string_view line : lines) {
    bad += parser->line(line, counter) ? 0U : 1U;
  }
  return bad <= settings.skip_bad && bad * 2 <= lines.size();
}

std::string names_of(const std::vector<const TraceFormat*>& formats) {
  std::string out;
  for (const TraceFormat* f : formats) {
    out += (out.empty() ? "" : ", ") + std::string(f->name);
  }
  return out;
}

tl::unexpected<Error> not_known(const TraceInput& input) {
  std::vector<const TraceFormat*> all;
  for (const TraceFormat& f : trace_formats()) {
    all.push_back(&f);
  }
  return usage_error(
      fmt::format("{}: its first lines are of no format that is known ({}): name it "
                  "with --format to see what is wrong",
                  printable(input.name()), names_of(all)));
}

}  // namespace

Result<const TraceFormat*> recognise_format(TraceInput& input, const ImportSettings& settings) {
  BLKSWEEP_TRY(const std::string_view seen, input.peek(TraceInput::kLongestLine));
  if (seen.empty()) {
    return usage_error(printable(input.name()) + ": is empty");
  }
  std::vector<const TraceFormat*> found;
  for (const TraceFormat& f : trace_formats()) {
    if (f.recognise != nullptr && f.recognise(seen)) {
      found.push_back(&f);
    }
  }
  if (found.empty()) {
    const std::vector<std::string_view> lines = lines_of(seen);
    for (const TraceFormat& f : trace_formats()) {
      if (f.text != nullptr && !lines.empty() && takes(f, lines, settings)) {
        found.push_back(&f);
      }
    }
  }
  if (found.size() > 1) {
    return usage_error(fmt::format("{}: could be {}: say which with --format",
                                   printable(input.name()), names_of(found)));
  }
  return found.empty() ? Result<const TraceFormat*>(not_known(input)) : found.front();
}

}  // namespace blksweep
