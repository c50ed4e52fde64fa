#include <fmt/format.h>

#include <cstdio>

#include "base/json.h"
#include "base/log.h"
#include "cli/answer.h"
#include "cli/dataset/words.h"
#include "cli/status_line.h"
#include "cli/verb.h"
#include "cli/version.h"
#include "dataset/pack.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr const char* kDatasetPackFooter =
    R"(Every stored sample begins with 48 bytes that say how it is stored
(docs/pack-format.md). fp16 takes files as arrays of little-endian float32 and
halves them; files whose size is no multiple of 4 stay as they are. A sample
that compression cannot make smaller is stored uncompressed. Class folders are
kept. `run --decode-threads N` decodes; without it samples come as stored.

Examples:
  blksweep dataset pack /data/set -o /data/tar
  blksweep dataset pack /data/set -o /data/half --dtype fp16 --layout files
  blksweep dataset pack /data/set -o /data/zstd --compress zstd --level 3)";

struct PackArguments {
  PackSettings pack;
  bool json = false;
};

Result<unsigned> parse_threads(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n < 1 || n > 256) {
    return usage_error(fmt::format("'{}' is not between 1 and 256", text));
  }
  return static_cast<unsigned>(n);
}

double ratio_of(const PackReport& r) {
  return r.source_bytes == 0
             ? 1
             : static_cast<double>(r.stored_bytes) / static_cast<double>(r.source_bytes);
}

void print_answer(const PackArguments& o, const PackReport& r) {
  if (!o.json) {
    say("{}: {} samples stored in {}, {:.3f} of the source's {}; {} {} of {} ({:.1f} s)\n",
        o.pack.directory, format_count(r.samples), format_bytes({r.stored_bytes}), ratio_of(r),
        format_bytes({r.source_bytes}), format_count(r.on_disk_files),
        r.on_disk_files == 1 ? "file" : "files", format_bytes({r.on_disk_bytes}),
        static_cast<double>(r.time_ns) * 1e-9);
    return;
  }
  const Json j{{"directory", o.pack.directory},
               {"samples", r.samples},
               {"on_disk_files", r.on_disk_files},
               {"on_disk_bytes", r.on_disk_bytes},
               {"source_bytes", r.source_bytes},
               {"decoded_bytes", r.decoded_bytes},
               {"stored_bytes", r.stored_bytes},
               {"largest_decoded_bytes", r.largest_decoded_bytes},
               {"kept_raw", r.kept_raw},
               {"kept_uncompressed", r.kept_uncompressed},
               {"content_hash", r.content_hash},
               {"time_ns", r.time_ns},
               {"warnings", r.warnings}};
  say_text(json_line(j) + "\n");
}

Result<Exit> pack(const PackArguments& o) {
  install_stop_signals();
  StatusLine line(std::chrono::milliseconds(100), std::chrono::seconds(5));
  const auto show = [&line](const PackProgress& p) {
    if (line.due()) {
      line.show(fmt::format("{} of {} samples, {}", format_count(p.done), format_count(p.total),
                            format_bytes({p.bytes})));
    }
  };
  const auto packed = pack_dataset(o.pack, show, stop_requested());
  line.clear();
  BLKSWEEP_TRY(const PackReport report, packed);
  for (const std::string& w : report.warnings) {
    warn(w);
  }
  print_answer(o, report);
  return Exit::done;
}

}  // namespace

void add_dataset_pack(Verbs& verbs, Command dataset) {
  Command app = dataset.add_subcommand("pack", "the same samples stored in another way");
  auto o = std::make_shared<PackArguments>();
  o->pack.tool = std::string(version()) + " " + git_revision();
  app.add_option("SRC", o->pack.source, "folder of files").required();
  app.add_option("-o,--output", o->pack.directory, "empty or new directory").required();
  add_parsed(app, "--layout", o->pack.layout, parse_layout, "files or tar shards [tar]");
  add_parsed(app, "--shard", o->pack.shard, parse_bytes, "bytes per tar shard [256MiB]");
  add_parsed(app, "--dtype", o->pack.encode.dtype, parse_element, "raw or fp16 [raw]");
  add_parsed(app, "--compress", o->pack.encode.codec, parse_codec,
             "none, zstd, lz4 or blosc (byte shuffle and lz4) [none]");
  add_parsed(app, "--level", o->pack.encode.level, parse_level,
             "zstd 1-22 [3], lz4 1-12 [1], blosc 1-9 [5]");
  add_parsed(app, "--threads", o->pack.threads, parse_threads,
             "that read and encode; the result is the same [1]");
  app.add_flag("--follow-links", o->pack.follow_links, "take what links out of SRC lead to, too");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(kDatasetPackFooter);
  app.callback([&verbs, o] { verbs.action = [o] { return pack(*o); }; });
}

}  // namespace blksweep
