#include "cli/dataset/plan_windows.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/units.h"

namespace blksweep {
namespace {

std::string percent(const WindowStep& s) { return fmt::format("{}%", s.window.percent); }

std::string mean_text(const WindowStep& s) {
  return s.interval
             ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", s.mean, s.interval->low, s.interval->high)
             : fmt::format("{:.3f}", s.mean);
}

// What is just below the answer.
std::string below(const WindowAnswer& a) {
  if (!a.tried.empty() && (!a.smallest || a.tried.size() == 1 ||
                           a.tried.back().window.percent < a.smallest->window.percent)) {
    return fmt::format("{}: {:.3f}", percent(a.tried.back()), a.tried.back().mean);
  }
  return a.holds_no_less ? "too small" : "-";
}

Json step_json(const WindowStep& s) {
  return {{"window", percent(s)},
          {"window_bytes", s.bytes.n},
          {"label_mix", s.mean},
          {"low", s.interval ? Json(s.interval->low) : Json(nullptr)},
          {"high", s.interval ? Json(s.interval->high) : Json(nullptr)},
          {"least", s.least}};
}

}  // namespace

std::string windows_text(const std::vector<FoundWindow>& found, const WindowQuestion& question) {
  Table table;
  table.column("cell", Table::Align::left);
  for (const char* title : {"window", "memory", "label mix [95 %]", "least", "next below"}) {
    table.column(title);
  }
  for (const FoundWindow& f : found) {
    if (const auto& s = f.answer.smallest) {
      table.row({f.label, percent(*s), format_bytes(s->bytes), mean_text(*s),
                 fmt::format("{:.3f}", s->least), below(f.answer)});
    } else {
      table.row({f.label, "none", "-", "-", "-", below(f.answer)});
    }
  }
  return table.text() +
         fmt::format(
             "\nthe smallest window with a mean label mix of {} over seeds {} to {}, as every "
             "larger one\nthat was tried has it, too; windows tried are 10 % apart\n",
             question.label_mix, question.seed, question.seed + question.seeds - 1);
}

Json windows_json(const std::vector<FoundWindow>& found, const WindowQuestion& question) {
  Json out{{"label_mix", question.label_mix},
           {"seed", question.seed},
           {"seeds", question.seeds},
           {"windows", Json::array()}};
  for (const FoundWindow& f : found) {
    Json& one = out["windows"].emplace_back(
        Json{{"cell", cell_json(f.cell)},
             {"smallest", f.answer.smallest ? step_json(*f.answer.smallest) : Json(nullptr)},
             {"holds_no_less", f.answer.holds_no_less},
             {"tried", Json::array()}});
    for (const WindowStep& s : f.answer.tried) {
      one["tried"].push_back(step_json(s));
    }
  }
  return out;
}

}  // namespace blksweep
