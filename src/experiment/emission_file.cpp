#include "experiment/emission_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string_view>

#include "base/text.h"
#include "os/file/file.h"
#include "os/file/output_place.h"

namespace blksweep {
namespace {

constexpr std::string_view kNpy = ".npy";
constexpr std::string_view kNpyHead("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// One place. The columns of both forms, in their order.
struct Row {
  std::int64_t epoch, place, batch, sample, label, offset, bytes;
  std::string_view label_name, path;

  template <class F>
  void each(F&& f) const {
    f("epoch", epoch);
    f("place", place);
    f("batch", batch);
    f("sample", sample);
    f("label", label);
    f("offset", offset);
    f("bytes", bytes);
    f("label_name", label_name);
    f("path", path);
  }
};

Row row_of(const Catalog& catalog, std::uint32_t number) {
  const Sample s = catalog.sample(number);
  return {.epoch = 0,
          .place = 0,
          .batch = 0,
          .sample = number,
          .label = s.label == kNoLabel ? -1 : std::int64_t{s.label},
          .offset = static_cast<std::int64_t>(s.offset),
          .bytes = static_cast<std::int64_t>(s.length),
          .label_name = catalog.label(s.label),
          .path = catalog.path(s.file)};
}

std::uint64_t epoch_of(const EmittedOrder& order, std::size_t place, std::size_t batch) {
  return order.samples_per_epoch > 0 ? place / order.samples_per_epoch
                                     : batch / order.batches_per_epoch;
}

// Calls `to` for each place.
Result<> each_row(const EmittedOrder& order, const std::function<Result<>(const Row&)>& to) {
  std::size_t place = 0;
  for (std::size_t b = 0; b < order.batch_samples.size(); ++b) {
    for (std::uint32_t i = 0; i < order.batch_samples[b]; ++i, ++place) {
      Row row = row_of(order.catalog, order.samples[place]);
      row.epoch = static_cast<std::int64_t>(epoch_of(order, place, b));
      row.place = static_cast<std::int64_t>(place);
      row.batch = static_cast<std::int64_t>(b);
      BLKSWEEP_CHECK(to(row));
    }
  }
  return {};
}

// Text and bytes on their way into a file, a large piece at a time.
class Output {
 public:
  explicit Output(ReplacedFile& file) : file_(file) { text_.reserve(2 * kBufferBytes); }
  std::string& text() { return text_; }
  Result<> drain(std::size_t keep = kBufferBytes) {
    if (text_.size() > keep) {
      BLKSWEEP_CHECK(file_.write(std::as_bytes(std::span(text_))));
      text_.clear();
    }
    return {};
  }

 private:
  ReplacedFile& file_;
  std::string text_;
};

struct CsvField {
  std::string& line;
  void operator()(std::string_view, std::int64_t n) { add(std::to_string(n)); }
  void operator()(std::string_view, std::string_view text) { add(csv_field(text)); }
  void add(std::string_view text) { line.append(text).append(","); }
};

void end_line(std::string& text) { text.back() = '\n'; }

std::string csv_head() {
  std::string line;
  Row{}.each([&](std::string_view name, const auto&) { CsvField{line}.add(name); });
  end_line(line);
  return line;
}

Result<> write_csv(Output& out, const EmittedOrder& order) {
  out.text() += csv_head();
  return each_row(order, [&](const Row& row) {
    row.each(CsvField{out.text()});
    end_line(out.text());
    return out.drain();
  });
}

// How wide texts are in a .npy, which pads with NUL.
struct Widths {
  std::size_t label_name = 1, path = 1;
  std::size_t of(std::string_view column) const { return column == "path" ? path : label_name; }
};

Widths widths_of(const EmittedOrder& order) {
  Widths w;
  for (const std::uint32_t number : order.samples) {
    const Row row = row_of(order.catalog, number);
    w.label_name = std::max(w.label_name, row.label_name.size());
    w.path = std::max(w.path, row.path.size());
  }
  return w;
}

struct NpyType {
  const Widths& widths;
  std::string& text;
  void operator()(std::string_view name, std::int64_t) {
    text += fmt::format("('{}', '<i8'), ", name);
  }
  void operator()(std::string_view name, std::string_view) {
    text += fmt::format("('{}', 'S{}'), ", name, widths.of(name));
  }
};

struct NpyField {
  const Widths& widths;
  std::string& text;
  void operator()(std::string_view, std::int64_t n) {
    std::array<char, sizeof n> bytes;
    std::memcpy(bytes.data(), &n, sizeof n);  // little endian, as all of our files
    text.append(bytes.data(), bytes.size());
  }
  void operator()(std::string_view name, std::string_view value) {
    text.append(value).append(widths.of(name) - value.size(), '\0');
  }
};

// Format version 1.0: numpy.lib.format.
std::string npy_head(const EmittedOrder& order, const Widths& widths) {
  std::string dict = "{'descr': [";
  Row{}.each(NpyType{widths, dict});
  dict += fmt::format("], 'fortran_order': False, 'shape': ({},), }}", order.samples.size());
  constexpr std::size_t kFixed = 10, kUnit = 64;  // magic, version and length; what numpy aligns to
  const std::size_t whole = (kFixed + dict.size() + 1 + kUnit - 1) / kUnit * kUnit;
  dict.append(whole - kFixed - dict.size() - 1, ' ').append("\n");
  std::string head(kNpyHead);
  head += static_cast<char>(dict.size() & 0xFF);
  head += static_cast<char>(dict.size() >> 8);
  return head + dict;
}

Result<> write_npy(Output& out, const EmittedOrder& order) {
  const Widths widths = widths_of(order);
  out.text() += npy_head(order, widths);
  return each_row(order, [&](const Row& row) {
    row.each(NpyField{widths, out.text()});
    return out.drain();
  });
}

// Replaces the fields of a name; the text of an error where it has another one.
Result<std::string> filled(const std::string& pattern, const std::string& cell,
                           const std::string& repeat) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : ' ';
    if (pattern[i] != '%') {
      name += pattern[i];
    } else if (next == 'c' || next == 'r' || next == '%') {
      name += next == 'c' ? cell : next == 'r' ? repeat : "%";
      ++i;
    } else {
      return usage_error(
          fmt::format("--emission: '{}': a name has %c for the cell's number, %r "
                      "for the repeat, and %% for a percent sign",
                      pattern));
    }
  }
  return name;
}

}  // namespace

Result<> write_emission(const std::string& path, const EmittedOrder& order) {
  BLKSWEEP_TRY(ReplacedFile file, ReplacedFile::begin(path));
  Output out(file);
  BLKSWEEP_CHECK(path.ends_with(kNpy) ? write_npy(out, order) : write_csv(out, order));
  BLKSWEEP_CHECK(out.drain(0));
  return file.commit();
}

PlannedEmission planned_emission(const PlannedEpoch& planned) {
  const Schedule& s = planned.schedule;
  PlannedEmission out;
  out.samples.reserve(s.emission.size());
  for (const std::uint32_t position : s.emission) {
    out.samples.push_back(planned.plan.order[position]);
  }
  for (std::size_t b = 0; b < s.batches(); ++b) {
    out.batch_samples.push_back(s.batch_begin[b + 1] - s.batch_begin[b]);
  }
  out.batches_per_epoch = std::max<std::uint64_t>(1, s.batches() / planned.plan.epochs);
  return out;
}

Result<> check_emission_name(const std::string& pattern, const EmissionCount& count) {
  BLKSWEEP_TRY(const std::string one, filled(pattern, "1", "0"));
  BLKSWEEP_TRY(const std::string other_cell, filled(pattern, "2", "0"));
  BLKSWEEP_TRY(const std::string other_repeat, filled(pattern, "1", "1"));
  if (count.cells > 1 && other_cell == one) {
    return usage_error(fmt::format(
        "--emission: {} cells and one name: put %c into it, for the cell's number", count.cells));
  }
  if (count.repeats > 1 && other_repeat == one) {
    return usage_error(fmt::format(
        "--emission: {} repeats and one name: put %r into it, for the repeat", count.repeats));
  }
  return {};
}

std::string emission_name(const std::string& pattern, std::uint64_t cell, std::uint64_t repeat) {
  return filled(pattern, std::to_string(cell), std::to_string(repeat)).value_or(pattern);
}

Result<> check_emission_place(const std::string& path) {
  return check_output_place(
      path, {"emission", {path.ends_with(kNpy) ? std::string(kNpyHead) : csv_head()}});
}

}  // namespace blksweep
