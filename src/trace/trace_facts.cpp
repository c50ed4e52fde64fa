#include "trace/trace_facts.h"

#include <fmt/format.h>

#include <array>

namespace blksweep {
namespace {

constexpr std::array kOpNames{"read", "write", "discard", "flush", "other"};
constexpr std::array kFormNames{"unknown", "read", "pread", "readv", "preadv", "io_uring", "fault"};
static_assert(kOpNames.size() == kTraceOps && kFormNames.size() == kCallForms);

// Absent or of another type: `value` stays.
template <class T>
void take(const Json& document, const char* key, T& value) {
  if (const auto found = document.find(key); found != document.end()) {
    if constexpr (std::is_same_v<T, bool>) {
      value = found->is_boolean() ? found->get<bool>() : value;
    } else if constexpr (std::is_integral_v<T>) {
      value = found->is_number_integer() ? found->get<T>() : value;
    } else {
      value = found->is_string() ? found->template get<T>() : value;
    }
  }
}

void count(std::vector<std::string>& out, std::uint64_t n, const char* what) {
  if (n > 0) {
    out.push_back(fmt::format("{} {}", n, what));
  }
}

}  // namespace

const char* name_of(TraceKind kind) { return kind == TraceKind::block ? "block" : "file"; }
const char* name_of(TraceOp op) { return kOpNames[static_cast<std::size_t>(op)]; }
const char* name_of(CallForm form) { return kFormNames[static_cast<std::size_t>(form)]; }

Json json_of(const TraceFacts& f) {
  return Json{{"kind", name_of(f.kind)},
              {"format", f.format},
              {"origin", or_null(f.origin)},
              {"recorded_on", or_null(f.recorded_on)},
              {"quantum_ns", f.quantum_ns},
              {"start_unix_ns", or_null(f.start_unix_ns)},
              {"lost", f.lost},
              {"faults_unseen", f.faults_unseen},
              {"calls_unseen", f.calls_unseen},
              {"reordered", f.reordered},
              {"skipped", f.skipped},
              {"incomplete", f.incomplete},
              {"synthetic_times", f.synthetic_times},
              {"notes", f.notes}};
}

Result<TraceFacts> parse_trace_facts(std::string_view text) {
  const Json document = parse_json(text);
  TraceFacts f;
  std::string kind;
  if (document.is_object()) {
    take(document, "kind", kind);
    take(document, "format", f.format);
  }
  if ((kind != "block" && kind != "file") || f.format.empty()) {
    return fail("says neither its kind nor its format");
  }
  f.kind = kind == "block" ? TraceKind::block : TraceKind::file;
  take(document, "origin", f.origin);
  take(document, "recorded_on", f.recorded_on);
  take(document, "quantum_ns", f.quantum_ns);
  if (document.contains("start_unix_ns") && document["start_unix_ns"].is_number_integer()) {
    f.start_unix_ns = document["start_unix_ns"].get<std::int64_t>();
  }
  take(document, "lost", f.lost);
  take(document, "faults_unseen", f.faults_unseen);
  take(document, "calls_unseen", f.calls_unseen);
  take(document, "reordered", f.reordered);
  take(document, "skipped", f.skipped);
  take(document, "incomplete", f.incomplete);
  take(document, "synthetic_times", f.synthetic_times);
  if (document.contains("notes") && document["notes"].is_array()) {
    for (const Json& note : document["notes"]) {
      f.notes.push_back(note.is_string() ? note.get<std::string>() : "");
    }
  }
  return f;
}

std::vector<std::string> defects_of(const TraceFacts& f) {
  std::vector<std::string> out;
  count(out, f.lost, "accesses were lost by the recorder");
  count(out, f.faults_unseen,
        "page faults could not be looked at, some of them perhaps reads of mapped files");
  count(out, f.calls_unseen,
        "calls of sendfile, splice, copy_file_range, libaio, io_uring without a completion, "
        "that fill a mapping (MAP_POPULATE, mlock, madvise), or write one with O_DIRECT "
        "are not in the trace, nor what they read");
  count(out, f.skipped, "bad lines were passed over");
  if (f.incomplete) {
    out.emplace_back("the source says that it is incomplete");
  }
  if (f.synthetic_times) {
    out.emplace_back("times are made up within the steps of the source's clock (synthetic)");
  }
  return out;
}

}  // namespace blksweep
