#include "cli/replay/replay_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/units.h"
#include "cli/replay/replay_text.h"
#include "cli/report/replays.h"

namespace blksweep {
namespace {

bool is_complete(const StoredReplay& r) { return !r.row.interrupted && r.row.failed == 0; }

std::string words_of(const ReplayRow& row) {
  std::string text = row.verdict;
  if (row.verdict != "unfaithful") {
    text += fmt::format(", {} requests in {}", format_count(row.requests),
                        format_duration(Nanos(row.length_ns)));
  }
  text += fmt::format(", late p99 {}", format_duration(Nanos(row.late_p99_ns)));
  return row.reason.empty() ? text : text + ": " + row.reason;
}

}  // namespace

Result<> ReplayAnswer::take_stored(const std::string& db, const std::string& key) {
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open(db));
  BLKSWEEP_TRY(std::vector<StoredReplay> stored, reader.replays());
  for (StoredReplay& r : stored) {
    if (r.row.key == key && is_complete(r)) {
      replays_.push_back(std::move(r));
    }
  }
  if (complete() >= repeats_) {
    note(fmt::format(
        "{} holds all {} repeats of this replay: nothing was measured; --repeats {} or another "
        "--db measures more",
        db, complete(), complete() + 1));
  }
  return {};
}

void ReplayAnswer::add(const ReplayReport& report, StoredReplay replay) {
  for (const std::string& text : report.warnings) {
    if (std::ranges::find(warned_, text) == warned_.end()) {
      warned_.push_back(text);
      warn(trace_ + ": " + text);
    }
  }
  replay.row.curves = {};
  if (replay.id == 0) {  // not stored
    replay.id = static_cast<std::int64_t>(replays_.size()) + 1;
  }
  replays_.push_back(std::move(replay));
  if (repeats_ > 1) {
    note(fmt::format("[{}/{}] {}", replays_.size(), repeats_, words_of(replays_.back().row)));
  }
  last_ = replay_text(report);
}

unsigned ReplayAnswer::complete() const {
  return static_cast<unsigned>(std::ranges::count_if(replays_, is_complete));
}

std::string ReplayAnswer::text() const {
  return replays_.size() == 1 && last_ ? *last_ : replays_text(replays_);
}

std::string ReplayAnswer::json() const {
  Json runs = Json::array();
  for (const StoredReplay& r : replays_) {
    runs.push_back(parse_json(r.row.document));
  }
  return json_text({{"runs", std::move(runs)}}) + "\n";
}

Exit ReplayAnswer::exit() const {
  if (complete() < repeats_ && (replays_.empty() || replays_.back().row.interrupted)) {
    return Exit::interrupted;
  }
  const auto poor = [](const StoredReplay& r) {
    return r.row.verdict == "unfaithful" || r.row.failed > 0;
  };
  return std::ranges::any_of(replays_, poor) ? Exit::incomplete : Exit::done;
}

}  // namespace blksweep
