#include <fmt/format.h>

#include <cstdio>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/answer.h"
#include "cli/dataset/words.h"
#include "cli/status_line.h"
#include "cli/verb.h"
#include "dataset/make.h"
#include "dataset/make_named.h"
#include "os/process/signals.h"
#include "replay/files_read.h"

namespace blksweep {
namespace {

constexpr const char* kDatasetFooter =
    R"(Sizes: 4KiB (fixed), uniform:1KiB-64KiB, lognormal:24KiB, lognormal:24KiB:0.5
(mean, sigma). Files are created class after class, in a seeded random order
inside each, as an archive per class leaves them; --arrange mixed creates all
classes mixed, as a shuffled archive or a parallel download does. Content
depends on the seed and the file's number only.

Examples:
  blksweep dataset make /tmp/set --count 1000 --size 4KiB --classes 10
  blksweep dataset make /tmp/frag --count 500 --size 110KiB --fragment 3
  blksweep dataset make /tmp/tars --count 1000 --size 24KiB --format tar
  blksweep dataset make /tmp/like --like loader.trace)";

struct DatasetOptions {
  MakeSettings make;
  std::string like;
  bool json = false;
};

class MakeProgress {
 public:
  explicit MakeProgress(std::uint64_t total) : total_(total) {}

  void operator()(std::uint64_t done, std::uint64_t bytes) {
    if (!line_.due()) {
      return;
    }
    const double seconds = static_cast<double>(now_ns() - begin_ns_) * 1e-9;
    const double rate = static_cast<double>(done) / seconds;
    line_.show(fmt::format("{} of {} files, {}, {:.0f} files/s, {:.0f} s left", format_count(done),
                           format_count(total_), format_bytes({bytes}), rate,
                           static_cast<double>(total_ - done) / rate));
  }
  void finish() { line_.clear(); }

 private:
  std::uint64_t total_;
  std::int64_t begin_ns_ = now_ns();
  StatusLine line_{std::chrono::milliseconds(100), std::chrono::seconds(5)};
};

void warn_of_missed_fragments(const DatasetOptions& o, const MakeReport& r) {
  const double asked = o.make.fragment;
  if (asked > 1 && r.extents_per_file < 0.8 * asked) {
    warn(
        fmt::format("{:.2f} extents per file instead of {:g}: files have too few blocks for more, "
                    "or the filesystem joined them",
                    r.extents_per_file, asked));
  }
}

void print_answer(const DatasetOptions& o, const MakeReport& r) {
  const double seconds = static_cast<double>(r.time_ns) * 1e-9;
  if (!o.json) {
    say("{}: {} samples, {}, in {} {} ({:.1f} s, seed {})\n", o.make.directory,
        format_count(r.files), format_bytes({r.bytes}), format_count(r.on_disk_files),
        r.on_disk_files == 1 ? "file" : "files", seconds, o.make.seed);
    if (o.make.fragment > 1) {
      say("extents per file: {:.2f}\n", r.extents_per_file);
    }
    return;
  }
  Json j{{"directory", o.make.directory},
         {"files", r.files},
         {"bytes", r.bytes},
         {"seed", o.make.seed},
         {"classes", o.make.classes},
         {"like", o.like.empty() ? Json() : Json(o.like)},
         {"arrange", o.make.arrange == Arrangement::mixed ? "mixed" : "by-class"},
         {"size", to_string(o.make.size)},
         {"on_disk_files", r.on_disk_files},
         {"extents_per_file", nullptr},
         {"time_ns", r.time_ns}};
  if (o.make.fragment > 1) {
    j["extents_per_file"] = r.extents_per_file;
  }
  say_text(json_line(j) + "\n");
}

Result<MakeReport> make_files_like(DatasetOptions& o) {
  BLKSWEEP_TRY(TraceReader trace, TraceReader::open(o.like));
  BLKSWEEP_TRY(const std::vector<NamedSize> files, files_read(trace, stop_requested()));
  o.make.count = files.size();
  MakeProgress progress(files.size());
  auto made = make_named(o.make, files, std::ref(progress));
  progress.finish();
  return made;
}

Result<MakeReport> make_samples(const DatasetOptions& o) {
  MakeProgress progress(o.make.count);
  auto made = make_dataset(o.make, std::ref(progress));
  progress.finish();
  return made;
}

Result<Exit> make(DatasetOptions o) {
  if (o.like.empty() == (o.make.count == 0)) {
    return usage_error("dataset make: say what to make: --count N, or --like TRACE");
  }
  install_stop_signals();
  const auto made = o.like.empty() ? make_samples(o) : make_files_like(o);
  BLKSWEEP_TRY(const MakeReport report, made);
  warn_of_missed_fragments(o, report);
  print_answer(o, report);
  return Exit::done;
}

}  // namespace

void add_dataset(Verbs& verbs) {
  Command group = verbs.root.add_subcommand("dataset", "make data sets to measure with");
  group.require_subcommand();
  Command app = group.add_subcommand("make", "real files with known sizes and fragmentation");
  auto o = std::make_shared<DatasetOptions>();
  app.add_option("DIR", o->make.directory, "empty or new directory").required();
  add_parsed(app, "--count", o->make.count, parse_count, "files (samples) to make");
  app.add_option("--like", o->like, "the files of a file trace, as long as it reads them");
  add_parsed(app, "--size", o->make.size, parse_size_spec, "size of a file [lognormal:110KiB]");
  app.add_option("--classes", o->make.classes, "class folders [10]");
  app.add_option("--fragment", o->make.fragment, "extents per file on average [1]");
  app.add_option("--seed", o->make.seed, "of sizes, order and content [1]");
  add_parsed(app, "--arrange", o->make.arrange, parse_arrangement,
             "by-class or mixed: how files lie on the device [by-class]");
  add_parsed(app, "--format", o->make.format, parse_format, "files, tar or records [files]");
  add_parsed(app, "--shard", o->make.shard, parse_bytes, "bytes per tar shard [256MiB]");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(kDatasetFooter);
  app.callback([&verbs, o] { verbs.action = [o] { return make(*o); }; });
  add_dataset_pack(verbs, group);
}

}  // namespace blksweep
