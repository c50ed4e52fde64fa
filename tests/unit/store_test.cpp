#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "store/export/json.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "store/schema/cache_columns.h"
#include "store/schema/request_columns.h"
#include "store/schema/run_columns.h"
#include "store/summary/series.h"
#include "support/demo_records.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

class Store : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "blksweep-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = pattern + "/results.db";
  }
  void TearDown() override { fs::remove_all(directory_); }

  void sqlite(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    sqlite3_close(db);
  }

  // Opens, begins the demo experiment and adds the demo cell.
  static Result<std::int64_t> begin(ResultStore& store) {
    BLKSWEEP_TRY(const auto experiment, store.begin_experiment(demo_host(), "key"));
    return store.add_cell(experiment, demo_cell("lba", "device"));
  }

  std::vector<StoredRun> stored_runs() const {
    auto reader = ResultReader::open(path_);
    EXPECT_TRUE(reader) << (reader ? "" : reader.error().message());
    return reader ? reader->runs(1).value() : std::vector<StoredRun>{};
  }

  fs::path directory_;
  std::string path_;
};

// Every scalar of a record as text, so that one comparison shows what differs.
struct Dump {
  std::string text;
  template <class T>
  void operator()(std::string_view name, const T& value) {
    text.append(name).append("=").append(show(value)).append("\n");
  }
  static std::string show(const std::string& value) { return value; }
  template <class T>
  static std::string show(const UnsignedText<T>& value) {
    return std::to_string(value.n);
  }
  template <class T>
  static std::string show(const Maybe<T>& value) {
    return value ? show(*value) : "NULL";
  }
  template <class T>
  static std::string show(const T& value) {
    return std::to_string(value);
  }
};

std::string scalars(const RunRecord& run) {
  Dump dump;
  each_run_column(run, dump);
  return dump.text;
}

TEST_F(Store, GivesBackEveryFieldOfARun) {
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store) << store.error().message();
  const RunRecord run = demo_run(2);
  const auto id = store->add_run(begin(*store).value(), run);
  ASSERT_TRUE(id) << id.error().message();

  const auto runs = stored_runs();
  ASSERT_EQ(runs.size(), 1U);
  const RunRecord& back = runs[0].run;
  EXPECT_EQ(scalars(back), scalars(run));
  ASSERT_TRUE(back.probe && back.fio && back.fio_plain && back.page_cache);
  Dump probe, expected_probe, fio, expected_fio;
  each_probe_column(*back.probe, probe);
  each_probe_column(*run.probe, expected_probe);
  EXPECT_EQ(probe.text, expected_probe.text);
  ASSERT_EQ(back.probe->order.size(), run.probe->order.size());
  for (std::size_t i = 0; i < run.probe->order.size(); ++i) {
    Dump order, expected_order;
    each_order_column(back.probe->order[i], order);
    each_order_column(run.probe->order[i], expected_order);
    EXPECT_EQ(order.text, expected_order.text);
  }
  EXPECT_EQ(attribution_json(back.probe->attribution), attribution_json(run.probe->attribution));
  Dump cache, expected_cache;
  each_page_cache_column(*back.page_cache, cache);
  each_page_cache_column(*run.page_cache, expected_cache);
  EXPECT_EQ(cache.text, expected_cache.text);
  EXPECT_EQ(back.page_cache->files, run.page_cache->files);
  each_fio_column(*back.fio, fio);
  each_fio_column(*run.fio, expected_fio);
  EXPECT_EQ(fio.text, expected_fio.text);
  Dump plain, expected_plain;
  each_fio_column(*back.fio_plain, plain);
  each_fio_column(*run.fio_plain, expected_plain);
  EXPECT_EQ(plain.text, expected_plain.text);
  ASSERT_TRUE(back.prediction);
  Dump prediction, expected_prediction;
  each_prediction_column(*back.prediction, prediction);
  each_prediction_column(*run.prediction, expected_prediction);
  EXPECT_EQ(prediction.text, expected_prediction.text);
  EXPECT_EQ(back.warnings, run.warnings);
  ASSERT_EQ(back.failed.size(), 1U);
  EXPECT_EQ(back.failed[0].path, "a/b");
}

TEST_F(Store, GivesBackHistogramsAndSeries) {
  auto store = ResultStore::open(path_);
  const RunRecord run = demo_run(0);
  const std::int64_t id = store->add_run(begin(*store).value(), run).value();
  auto reader = ResultReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->histogram(id, "read_latency_ns").value(), run.read_latency_ns);
  EXPECT_EQ(reader->histogram(id, "request_bytes").value(), run.probe->request_bytes);
  EXPECT_EQ(reader->histogram(id, "displaced_issue").value(), run.probe->order[1].displaced);
  const auto depth = reader->depth_series(id).value();
  ASSERT_EQ(depth.size(), 2U);
  EXPECT_EQ(depth[1].at_ns, 1001000);
  EXPECT_EQ(depth[0].scheduler, 3U);
  const auto issues = reader->issue_series(id).value();
  ASSERT_EQ(issues.size(), 2U);
  EXPECT_EQ(issues[0].sector, 0xFFFFFFFFFFULL);
}

TEST_F(Store, KeepsUnknownApartFromZero) {
  auto store = ResultStore::open(path_);
  RunRecord run;
  run.wrong_samples = 0;
  run.resident_before = 0.0;
  run.own_read_bytes = 0;
  ASSERT_TRUE(store->add_run(begin(*store).value(), run));
  const RunRecord back = stored_runs().at(0).run;
  EXPECT_EQ(back.wrong_samples, 0U);
  EXPECT_EQ(back.resident_before, 0.0);
  EXPECT_EQ(back.own_read_bytes, 0U);
  EXPECT_FALSE(back.others_read_bytes || back.inodes_held || back.first_batch_ns ||
               back.device_bytes || back.resident_after || back.utilisation ||
               back.quality.label_mix || back.probe || back.fio);
}

TEST_F(Store, KeepsHostFactsQueueAndCeilings) {
  auto store = ResultStore::open(path_);
  const std::int64_t id = store->begin_experiment(demo_host(), "k").value();
  CeilingRecord ceiling;
  ceiling.round = 3;
  ceiling.started_unix_ns = 77;
  ceiling.kind = "sequential";
  ceiling.request_bytes = 1 << 20;
  ceiling.depth = 32;
  ceiling.bytes = 1'000'000'000;
  ceiling.reads = 1000;
  ceiling.elapsed_ns = 500'000'000;
  ceiling.bytes_per_s = 2e9;
  ceiling.reads_per_s = 2000;
  ceiling.samples_per_byte = 8.5;
  ASSERT_TRUE(store->add_ceiling(id, ceiling));
  const auto found = ResultReader::open(path_)->experiments().value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].host.queue, demo_host().queue);
  EXPECT_EQ(found[0].host.rotational, false);
  EXPECT_EQ(found[0].host.memory_bytes, demo_host().memory_bytes);
  ASSERT_EQ(found[0].ceilings.size(), 1U);
  const CeilingRecord& back = found[0].ceilings[0];
  EXPECT_EQ(back.samples_per_byte, 8.5);
  EXPECT_EQ(back.round, 3U);
  EXPECT_EQ(back.started_unix_ns, 77);
  EXPECT_EQ(back.bytes, ceiling.bytes);
  EXPECT_EQ(back.reads, ceiling.reads);
  EXPECT_EQ(back.elapsed_ns, ceiling.elapsed_ns);
  EXPECT_EQ(back.bytes_per_s, 2e9);
  ASSERT_EQ(found[0].host.layers.size(), 3U);
  EXPECT_EQ(found[0].host.layers[1].disk, "loop0");
  EXPECT_EQ(found[0].host.layers[1].name, "direct_io");
  EXPECT_EQ(found[0].host.layers[1].value, "1");
}

TEST_F(Store, GoesOnUnderTheSameKeyAndFacts) {
  std::int64_t cell = 0;
  {
    auto store = ResultStore::open(path_);
    cell = begin(*store).value();
    RunRecord broken = demo_run(1);
    broken.incomplete = true;
    ASSERT_TRUE(store->add_run(cell, demo_run(0)));
    ASSERT_TRUE(store->add_run(cell, broken));
    ASSERT_TRUE(store->add_run(cell, demo_run(2)));
  }
  auto again = ResultStore::open(path_);
  EXPECT_EQ(begin(*again).value(), cell);
  EXPECT_EQ(again->finished_repeats(cell).value(), (std::vector<std::uint32_t>{0, 2}));
}

TEST_F(Store, NeverMixesResultsOfDifferentFacts) {
  auto store = ResultStore::open(path_);
  const std::int64_t first = store->begin_experiment(demo_host(), "key").value();
  HostRecord host = demo_host();
  host.queue[1].second = "none [mq-deadline]";
  EXPECT_NE(store->begin_experiment(host, "key").value(), first);
  host = demo_host();
  host.layers[1].value = "0";  // direct I/O of the loop device switched off
  EXPECT_NE(store->begin_experiment(host, "key").value(), first);
  host = demo_host();
  host.layers[2].value = "Another";
  EXPECT_NE(store->begin_experiment(host, "key").value(), first);
  EXPECT_NE(store->begin_experiment(demo_host(), "other key").value(), first);
  EXPECT_EQ(store->begin_experiment(demo_host(), "key").value(), first);
}

TEST_F(Store, EveryStartIsASessionThatItsRunsName) {
  auto store = ResultStore::open(path_);
  const std::int64_t experiment = store->begin_experiment(demo_host(), "key").value();
  const std::int64_t cell = store->add_cell(experiment, demo_cell("lba", "none")).value();
  const SessionRecord first =
      store->begin_session(experiment, {.argv = "blksweep run --repeats 5"}).value();
  const CommandRecord again{"blksweep run --repeats 6", "/d", "/root", "/c", "name", "text"};
  const SessionRecord second = store->begin_session(experiment, again).value();
  EXPECT_NE(first.id, second.id);
  RunRecord run = demo_run(0);
  run.session_id = second.id;
  ASSERT_TRUE(store->add_run(cell, run));
  run.session_id = 99;
  EXPECT_FALSE(store->add_run(cell, run)) << "of no session";
  EXPECT_EQ(stored_runs().at(0).run.session_id, second.id);
  const auto fields = [](const CommandRecord& c) {
    return std::tie(c.argv, c.directory, c.data_root, c.catalog, c.spec_name, c.spec);
  };
  const CommandRecord read = ResultReader::open(path_)->command(second.id).value().value();
  EXPECT_EQ(fields(read), fields(again));
}

TEST_F(Store, AKilledWriterLosesAtMostTheRunInProgress) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto store = ResultStore::open(path_);
    const std::int64_t cell = begin(*store).value();
    for (std::uint32_t repeat = 0;; ++repeat) {
      const bool ok = store->add_run(cell, demo_run(repeat)).has_value();
      if (!ok || write(pipe_fds[1], "x", 1) != 1) {
        _exit(1);
      }
    }
  }
  char byte;
  for (int finished = 0; finished < 5; ++finished) {
    ASSERT_EQ(read(pipe_fds[0], &byte, 1), 1);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_fds[1]);
  std::size_t finished = 5;
  while (read(pipe_fds[0], &byte, 1) == 1) {
    ++finished;
  }
  close(pipe_fds[0]);
  const auto runs = stored_runs();
  // One more may have been committed before its byte was written.
  EXPECT_GE(runs.size(), finished);
  EXPECT_LE(runs.size(), finished + 1);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].run.repeat, i);
    EXPECT_EQ(runs[i].run.warnings.size(), 2U);
  }
  EXPECT_TRUE(ResultStore::open(path_)) << "and writing goes on";
}

TEST_F(Store, RefusesAFileThatIsNoDatabase) {
  const std::string text(5000, 'x');
  std::ofstream(path_) << text;
  const auto store = ResultStore::open(path_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().message(), path_ + " is not a blksweep database: name a new file");
  std::string after;
  std::getline(std::ifstream(path_), after);
  EXPECT_EQ(after, text) << "the file is left as it was";
}

TEST_F(Store, RefusesADatabaseOfSomethingElse) {
  sqlite("CREATE TABLE other (x)");
  const auto store = ResultStore::open(path_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().message(), path_ + " is not a blksweep database: name a new file");
  EXPECT_FALSE(ResultReader::open(path_));
}

TEST_F(Store, RefusesAnotherSchemaVersion) {
  ASSERT_TRUE(ResultStore::open(path_));
  for (const std::string version : {"99", "5", "0"}) {
    sqlite(("PRAGMA user_version = " + version).c_str());
    const auto store = ResultStore::open(path_);
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message().find("schema version " + version), std::string::npos);
    EXPECT_NE(store.error().message().find("name a new file"), std::string::npos);
  }
}

// Their tables were others under the same numbers.
TEST_F(Store, RefusesAFileOfBeforeTheFirstRelease) {
  ASSERT_TRUE(ResultStore::open(path_));
  sqlite("PRAGMA application_id = 1651272563; PRAGMA user_version = 1");
  const auto store = ResultStore::open(path_);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message().find("before the first release"), std::string::npos);
  EXPECT_NE(store.error().message().find("name a new file"), std::string::npos);
}

TEST_F(Store, SaysWhenAnotherProcessHoldsTheDatabase) {
  ASSERT_TRUE(ResultStore::open(path_));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto store = ResultStore::open(path_, std::chrono::milliseconds(20));
  sqlite3_close(other);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().message(),
            path_ + " is locked by another process: wait or use another --db");
}

TEST_F(Store, NamesAMissingDirectory) {
  const std::string path = (directory_ / "none" / "results.db").string();
  const auto store = ResultStore::open(path);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message().find(path), std::string::npos);
  EXPECT_NE(store.error().message().find("No such file or directory"), std::string::npos);
}

TEST_F(Store, ReadingNeverCreatesAFile) {
  const auto reader = ResultReader::open(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message(), "open " + path_ +
                                          ": No such file or directory: name the "
                                          "database that 'blksweep run --db' wrote");
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Store, AFullDiskKeepsFinishedRuns) {
  const std::string small = (directory_ / "small").string();
  fs::create_directory(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=1m,mode=0755") != 0) {
    GTEST_SKIP() << "needs root to mount a small tmpfs";
  }
  path_ = small + "/results.db";
  std::size_t kept = 0;
  std::string message;
  {
    auto store = ResultStore::open(path_);
    ASSERT_TRUE(store);
    const std::int64_t cell = begin(*store).value();
    RunRecord run = demo_run(0);
    run.probe->issues.resize(5000);
    while (message.empty() && kept < 100) {
      run.repeat = static_cast<std::uint32_t>(kept);
      const auto id = store->add_run(cell, run);
      if (id) {
        ++kept;
      } else {
        message = id.error().message();
      }
    }
  }
  const std::size_t found = stored_runs().size();
  umount(small.c_str());
  EXPECT_NE(message.find(path_ + ": disk full; finished runs are kept"), std::string::npos)
      << message;
  EXPECT_GE(kept, 1U);
  EXPECT_EQ(found, kept);
}

}  // namespace
}  // namespace blksweep
