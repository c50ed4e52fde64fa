#include "mpi/options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/fd.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/version.h"
#include "dataset/catalog_file.h"
#include "loader/loader_options.h"
#include "os/file/kept_files.h"
#include "ranks/told_rank.h"

namespace blksweep {
namespace {

constexpr const char* kFooter =
    R"(Each rank reads its part of one order that all have planned alike.
Examples:
  mpirun -n 4 blksweep-mpi --data DIR --shuffle full --window 100%
  mpirun -n 4 blksweep-mpi --data DIR --split batch --batch 64 --barrier batch
  srun --mpi=pmix -n 16 blksweep-mpi --catalog data.cat --split shard --json
exit: 0 done, 1 failed, 2 usage, 3 done but incomplete, 130 interrupted)";

template <class Word, std::size_t N>
Result<> set_word(std::string_view text, const std::array<Word, N>& all, Word& target) {
  if (const auto found = find_word(text, all)) {
    target = *found;
    return {};
  }
  return usage_error(fmt::format("'{}' is not one of {}", text, list_words(all)));
}

// Bytes, or a share of what an epoch takes in memory.
Command::OnText into_share(std::uint64_t& bytes, double& percent) {
  return [&bytes, &percent](const std::string& text) -> Result<> {
    BLKSWEEP_TRY(const RelativeSize size, parse_relative(text));
    percent = size.percent;
    bytes = size.percent > 0 ? bytes : size.bytes.n;  // its default stays, and is not used
    return {};
  };
}

Command::OnText into_bytes(std::uint64_t& target) {
  return [&target](const std::string& text) -> Result<> {
    BLKSWEEP_TRY(const Bytes bytes, parse_bytes(text));
    target = bytes.n;
    return {};
  };
}

void add_order(Command app, MpiOptions& o) {
  LoaderOptions& l = o.loader;
  app.add_option("--order", l.order, "random path directory inode chunked elevator reverse [lba]");
  app.add_option("--merge", l.merge, "none file kernel device [none]");
  app.add_option("--shuffle", l.shuffle, "none buffer reservoir full [none]");
  app.add_text("--window", into_share(l.window_bytes, l.window_percent),
               "memory between reading and delivery: 64MiB or 10% [64MiB]");
  app.add_option("--window-scope", l.window_scope, "whose: global, rank (each its own) [global]");
  app.add_text("--chunk", into_bytes(l.chunk_bytes), "of --order chunked, elevator [4MiB]");
  app.add_text("--lookahead", into_share(l.lookahead_bytes, l.lookahead_percent),
               "of elevator: 32MiB or 5% [half of the window]");
  app.add_option("--hold", l.hold, "buffer: a sample leaves within so many windows [0: any]");
  app.add_text("--merge-max", into_bytes(l.merge_most_bytes), "longest read [1MiB]");
  app.add_option("--batch", l.batch, "samples: of a rank; of all with --split batch [256]");
  app.add_option("--seed", l.seed, "decides the order, whatever the number of ranks [1]");
  app.add_option("--epochs", l.epochs, "passes over the data [1]");
}

void add_reading(Command app, MpiOptions& o) {
  LoaderOptions& l = o.loader;
  app.add_option("--engine", l.engine, "as blksweep run [io_uring]");
  app.add_option("--depth", *l.depth, "reads in flight, of each rank [32]");
  app.add_option("--prefetch", *l.prefetch, "batches ready before they are asked for [4]");
  app.add_flag(
      "--buffered", [&l] { l.direct = false; }, "through the page cache");
  add_parsed(app, "--compute", o.compute, parse_duration, "a batch is used so long: 5ms [0]");
  app.add_flag("--verify", o.verify, "compare all bytes with the files afterwards");
}

void add_ranks(Command app, MpiOptions& o) {
  app.add_text(
      "--split",
      [&o](const std::string& text) {
        return set_word(text, std::array{Split::sample, Split::batch, Split::shard, Split::copy},
                        o.split);
      },
      "what a rank reads: sample batch shard copy [sample]");
  app.add_text(
      "--barrier",
      [&o](const std::string& text) {
        return set_word(text, std::array{RankBarrier::batch, RankBarrier::epoch, RankBarrier::none},
                        o.barrier);
      },
      "where ranks wait for each other: batch epoch none [none]");
  add_parsed(app, "--patience", o.patience, parse_duration,
             "others wait so long for a rank that is stuck [60s]");
  app.add_flag("--json", o.json, "print one JSON document");
  app.add_option("--db", o.database.path, "keep the result; blksweep report shows it")
      .metavar("FILE");
}

// Nothing is said while it lives.
class Muted {
 public:
  Muted() {
    const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      saved_[i].reset(::fcntl(kStreams[i], F_DUPFD_CLOEXEC, 3));
      ::dup2(nowhere.get(), kStreams[i]);
    }
  }
  Muted(const Muted&) = delete;
  Muted& operator=(const Muted&) = delete;
  ~Muted() {
    std::fflush(stdout);
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      ::dup2(saved_[i].get(), kStreams[i]);
    }
  }

 private:
  static constexpr std::array kStreams{STDOUT_FILENO, STDERR_FILENO};
  std::array<Fd, 2> saved_;
};

// A catalog that cannot be opened is told by all ranks, later.
Result<> check_database(const MpiOptions& o) {
  if (o.database.path.empty()) {
    return {};
  }
  std::string data = o.loader.data;
  if (const Result<CatalogFile> file = CatalogFile::open(o.loader.catalog); data.empty() && file) {
    data = file->view().root;
  }
  BLKSWEEP_CHECK(
      check_kept("--db", o.database.path, {.files = {o.loader.catalog}, .data_set = data}));
  return try_database(o.database);
}

Result<> check(const MpiOptions& o) {
  if (o.loader.data.empty() == o.loader.catalog.empty()) {
    return usage_error("say what to read with one of --data DIR and --catalog FILE");
  }
  if (o.patience <= Nanos(0)) {
    return usage_error("--patience 0: others wait for some time, such as 60s");
  }
  BLKSWEEP_TRY([[maybe_unused]] const LoaderSettings settings, settings_of(o.loader));
  return told_rank().value_or(0) == 0 ? check_database(o) : Result<>();
}

std::optional<Exit> parse(int argc, char** argv, MpiOptions& o) {
  CommandLine line("blksweep-mpi: an epoch read by many processes, under mpirun or srun",
                   "blksweep-mpi", fmt::format("{} ({})", version(), git_revision()));
  Command app = line.root();
  app.add_option("--data", o.loader.data, "the data set's folder, on every node").metavar("DIR");
  app.add_option("--catalog", o.loader.catalog, "of blksweep catalog; on rank 0's node")
      .metavar("FILE");
  add_ranks(app, o);
  add_order(app, o);
  add_reading(app, o);
  app.footer(kFooter);
  return line.parse(argc, argv);
}

}  // namespace

std::string_view to_string(Split split) {
  constexpr std::array<std::string_view, 4> kWords{"sample", "batch", "shard", "copy"};
  return kWords[static_cast<std::size_t>(split)];
}

std::string_view to_string(RankBarrier barrier) {
  constexpr std::array<std::string_view, 3> kWords{"batch", "epoch", "none"};
  return kWords[static_cast<std::size_t>(barrier)];
}

std::optional<Exit> read_options(int argc, char** argv, MpiOptions& options) {
  const std::optional<Muted> muted =
      told_rank().value_or(0) == 0 ? std::nullopt : std::optional<Muted>(std::in_place);
  if (const std::optional<Exit> done = parse(argc, argv, options)) {
    return done;
  }
  options.database.tool_version = version();
  options.database.git_revision = git_revision();
  for (int i = 0; i < argc; ++i) {
    options.database.argv += (i > 0 ? " " : "") + shell_word(argv[i]);
  }
  if (const Result<> checked = check(options); !checked) {
    fmt::print(stderr, "blksweep-mpi: {}\n", checked.error().message());
    return checked.error().exit_code;
  }
  return std::nullopt;
}

Result<LoaderOptions> options_of_rank(const MpiOptions& options, std::uint32_t rank,
                                      std::uint32_t ranks) {
  LoaderOptions o = options.loader;
  o.held = true;
  if (options.split == Split::copy) {
    return o;
  }
  o.rank = rank;
  o.ranks = ranks;
  o.rank_by_file = options.split == Split::shard;
  if (options.split == Split::batch) {
    if (o.batch % ranks != 0) {
      return usage_error(fmt::format("--batch {} with --split batch: is not divisible by {} ranks",
                                     o.batch, ranks));
    }
    o.batch /= ranks;
  }
  return o;
}

Json settings_json(const MpiOptions& options) {
  const LoaderOptions& o = options.loader;
  return {{"program", "blksweep-mpi"},
          {"version", version()},
          {"data", o.data.empty() ? o.catalog : o.data},
          {"split", to_string(options.split)},
          {"barrier", to_string(options.barrier)},
          {"order", o.order},
          {"merge", o.merge},
          {"chunk_bytes", o.chunk_bytes},
          {"lookahead_bytes", o.lookahead_bytes},
          {"lookahead_percent", o.lookahead_percent},
          {"hold", o.hold},
          {"merge_max_bytes", o.merge_most_bytes},
          {"prefetch", *o.prefetch},
          {"verify", options.verify},
          {"shuffle", o.shuffle},
          {"window_bytes", o.window_percent > 0 ? Json(nullptr) : Json(o.window_bytes)},
          {"window_percent", o.window_percent > 0 ? Json(o.window_percent) : Json(nullptr)},
          {"window_scope", o.window_scope},
          {"engine", o.engine},
          {"direct", o.direct},
          {"depth", *o.depth},
          {"batch", o.batch},
          {"compute_ns", options.compute.count()},
          {"epochs", o.epochs},
          {"seed", o.seed}};
}

}  // namespace blksweep
