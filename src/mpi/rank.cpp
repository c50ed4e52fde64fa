#include "mpi/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "cli/answer.h"
#include "experiment/data_facts.h"
#include "experiment/record/quality.h"
#include "loader/loader_data.h"
#include "loader/loader_options.h"
#include "loader/planned_epoch.h"
#include "mpi/compare.h"
#include "mpi/rank_reader.h"
#include "mpi/shared_data.h"
#include "os/hostfacts.h"
#include "ranks/result.h"

namespace blksweep {
namespace {

constexpr std::int64_t kStartAheadNs = 5'000'000;  // time for the word to come round

class Rank {
 public:
  Rank(const MpiOptions& options, const Comm& comm, Board& board)
      : options_(options), comm_(comm), board_(board) {
    row_.arrivals = 1;  // as the others: MPI runs
  }
  Result<Exit> run(const HubPlace& hub);
  void failed();

 private:
  void join(const HubPlace& hub);
  void arrive();
  Result<> agree_on_settings();
  Result<> prepare();
  Result<> open_loader();
  Result<> agree_on_order();
  RankClock start_together();
  void look_at_clock();
  void compare_bytes(const RankReader& reader);
  std::optional<EmissionProof> prove(const RankReader& reader);
  std::optional<RanksQuality> quality(const std::vector<std::vector<std::uint64_t>>& all) const;
  void add_copies(RanksResult& result, std::vector<std::string>& faults) const;
  Exit tell(const RankReader& reader);
  void say(const RanksResult& result);
  static void warn_of(RanksResult& result, const std::vector<std::string>& texts);

  const MpiOptions& options_;
  const Comm& comm_;
  Board& board_;
  RankRow row_;
  Source source_;
  std::unique_ptr<Loader> loader_;
  std::string facts_;
  std::optional<RanksQuality> quality_;  // at rank 0
  bool copied_ = false;                  // its files are a copy of rank 0's
  std::string wrong_;                    // of this rank's samples
  std::vector<Compared> copies_;         // at rank 0, with --verify: by rank
};

void Rank::join(const HubPlace& hub) {
  RankPlace place{comm_.rank(), comm_.ranks(), hub};
  comm_.broadcast(place.hub);
  comm_.describe(row_);
  row_.cpus = usable_cpus();
  facts_ = json_line(settings_json(options_));
  board_.facts(facts_);
  board_.publish(row_);
  if (!board_.placed()) {
    board_.place(place);
  }
}

// Where others wait for this rank, and it for them.
void Rank::arrive() {
  ++row_.arrivals;
  board_.publish(row_);
}

Result<> Rank::open_loader() {
  BLKSWEEP_TRY(const LoaderOptions mine, options_of_rank(options_, comm_.rank(), comm_.ranks()));
  std::string error;
  loader_ = Loader::open(LoaderDataOf::source(source_), mine, error);
  return loader_ ? Result<>() : Result<>(fail(error));
}

// Files that lie elsewhere on this node's disk, or an older program there, give another order.
Result<> Rank::agree_on_order() {
  const std::string mine = loader_->order_hash();
  std::string first = mine;
  comm_.broadcast(first);
  if (comm_.first()) {
    Json facts = settings_json(options_);
    facts["ranks"] = comm_.ranks();
    facts["samples"] = loader_->samples();
    const auto settings = settings_of(options_.loader);
    facts.update(data_facts(source_, settings ? read_align(source_, *settings) : 1));
    facts["planned_emission_hash"] = mine;
    facts_ = json_line(facts);
    board_.facts(facts_);
  }
  return mine == first
             ? Result<>()
             : Result<>(fail(fmt::format(
                   "it plans another order than rank 0: its copy of the data lies elsewhere on its "
                   "disk; use --order random or path, or data that all share")));
}

// One command may start programs with other options (mpirun's colon): its result would tell rank
// 0's.
Result<> Rank::agree_on_settings() {
  Json mine = settings_json(options_);
  mine.erase("data");  // that of rank 0 is used
  std::string text = json_line(mine);
  comm_.broadcast(text);
  const Json first = parse_json(text);
  for (const auto& [name, value] : first.items()) {
    if (mine[name] != value) {
      return usage_error(fmt::format("its options are not those of rank 0: {} is {}, not {}", name,
                                     mine[name].dump(), value.dump()));
    }
  }
  return {};
}

Result<> Rank::prepare() {
  BLKSWEEP_CHECK(comm_.agree(agree_on_settings()));
  const SourceSettings where{options_.loader.data, options_.loader.catalog};
  BLKSWEEP_TRY(SharedData shared, open_shared(comm_, where, [this] { arrive(); }));
  source_ = std::move(shared.source);
  copied_ = shared.copied;
  const Result<> opened = open_loader();
  arrive();
  BLKSWEEP_CHECK(comm_.agree(opened));
  return comm_.agree(agree_on_order());
}

RankClock Rank::start_together() {
  const ClockOffset measured = comm_.measure_clock();
  RankRow first = row_;
  comm_.broadcast(first);
  row_.clock_offset_ns = measured.ns;
  // One node, one clock; unless it is in a time namespace of its own.
  const bool same = first.node == row_.node && std::abs(measured.ns) <= measured.error;
  row_.clock_error_ns = same ? 0 : measured.error;
  row_.state = RankState::ready;
  board_.publish(row_);
  comm_.wait_for_all();
  RankClock clock{same ? 0 : measured.ns, now_ns() + kStartAheadNs};
  comm_.broadcast(clock.start);
  return clock;
}

// Clocks of two nodes drift: over a long epoch by more than the way of a message.
void Rank::look_at_clock() {
  const ClockOffset now = comm_.measure_clock();
  row_.clock_error_ns = std::max(row_.clock_error_ns, error_since(row_, now.ns, now.error));
}

// Others may have been done for long: it says that it gets on.
void Rank::compare_bytes(const RankReader& reader) {
  if (!options_.verify) {
    return;
  }
  const auto got_on = [this] {
    ++row_.compared;
    board_.publish(row_);
  };
  const DeliveredBytes mine{reader.delivered(), reader.hashes()};
  const Compared own = compare_with_files(source_.catalog, mine, "their files", got_on);
  row_.wrong = own.wrong;
  wrong_ = own.text;
  arrive();
  std::uint64_t content = row_.content;
  comm_.broadcast(content);
  const bool alike = options_.split == Split::copy && content == row_.content;
  copies_ = compare_with_first(comm_, source_.catalog, copied_ && !alike ? mine : DeliveredBytes{},
                               got_on);
}

std::optional<RanksQuality> Rank::quality(
    const std::vector<std::vector<std::uint64_t>>& all) const {
  const auto settings = settings_of(options_.loader);
  const auto mine = options_of_rank(options_, comm_.rank(), comm_.ranks());
  if (!settings || !mine) {
    return std::nullopt;
  }
  const Catalog& catalog = source_.catalog;
  const std::vector<std::uint32_t> reference = reference_rank(catalog, settings->order);
  std::vector<std::uint32_t> labels;
  for (std::uint32_t s = 0; s < catalog.samples() && !catalog.label_end.empty(); ++s) {
    labels.push_back(catalog.sample(s).label);
  }
  // Where each has read all, they are alike.
  const std::span<const std::vector<std::uint64_t>> ranks(all);
  return quality_of_ranks({.of_rank = ranks.first(options_.split == Split::copy ? 1 : all.size()),
                           .samples = loader_->samples(),
                           .batch = mine->batch,
                           .reference = reference,
                           .label = labels});
}

// At rank 0: of all ranks together, or, where each read all, of each.
std::optional<EmissionProof> Rank::prove(const RankReader& reader) {
  const std::uint64_t places = std::uint64_t{loader_->samples()} * options_.loader.epochs;
  std::vector<std::vector<std::uint64_t>> all = comm_.gather(reader.delivered());
  if (!comm_.first()) {
    return std::nullopt;
  }
  quality_ = quality(all);
  if (options_.split != Split::copy) {
    std::vector<std::uint64_t> joined;
    for (const auto& one : all) {
      joined.insert(joined.end(), one.begin(), one.end());
    }
    all = {std::move(joined)};
  }
  EmissionProof proof;
  for (const auto& one : all) {
    const EmissionProof its = prove_emission(one, places);
    proof.hash = proof.hash.empty() ? its.hash : proof.hash;
    // Of what came in full, that each place has the sample which was planned for it.
    const bool in_full = its.missing == 0 && its.duplicated == 0;
    proof.misplaced += its.hash != (in_full ? loader_->order_hash() : proof.hash) ? 1 : 0;
    proof.missing += its.missing;
    proof.duplicated += its.duplicated;
  }
  proof.compared = options_.verify;
  return proof;
}

void Rank::say(const RanksResult& result) {
  say_text(options_.json ? json_line(result_json(result)) + "\n" : result_text(result));
  for (const std::string& text : result.warnings) {
    fmt::print(stderr, "blksweep-mpi: warning: {}\n", printable(text));
  }
  if (result.fault) {
    const std::string host = result.rows[result.fault->rank].host_name();
    fmt::print(stderr, "blksweep-mpi: {}\n", printable(name_of(*result.fault, host)));
  }
}

// A text of each rank; empty: none.
void Rank::warn_of(RanksResult& result, const std::vector<std::string>& texts) {
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (!texts[rank].empty()) {
      result.warnings.push_back(
          fmt::format("rank {} on {}: {}", rank, result.rows[rank].host_name(), texts[rank]));
    }
  }
}

// What only rank 0 has seen of others.
void Rank::add_copies(RanksResult& result, std::vector<std::string>& faults) const {
  for (std::size_t rank = 0; rank < copies_.size(); ++rank) {
    if (copies_[rank].wrong > result.rows[rank].wrong) {
      result.rows[rank].wrong = copies_[rank].wrong;
      result.rows[rank].state = RankState::failed;
      faults[rank] = copies_[rank].text;
    }
  }
}

// The same for all ranks.
Exit Rank::tell(const RankReader& reader) {
  arrive();
  look_at_clock();
  const std::optional<EmissionProof> proof = prove(reader);
  const std::string fault = wrong_.empty() ? reader.error() : wrong_;
  std::vector<std::string> faults = comm_.gather_texts(fault);
  const std::vector<std::string> quotas = comm_.gather_texts(reader.quota());
  const std::vector<std::string> uses = comm_.gather_texts(reader.disk_use());
  row_.state = fault.empty() ? RankState::done : RankState::failed;
  RanksResult result{facts_, comm_.gather_rows(row_), std::nullopt, proof, quality_};
  Exit exit = Exit::done;
  if (comm_.first()) {
    result.warnings = source_.warnings;  // what the data set lacks, and what its disk cannot say
    add_copies(result, faults);
    warn_of(result, quotas);
    warn_of(result, shared_disks(uses, result.rows));
    const auto found = std::ranges::find_if_not(faults, &std::string::empty);
    if (found != faults.end()) {
      result.fault = RankFault{static_cast<std::uint32_t>(found - faults.begin()), *found};
    }
    const Result<> kept = keep_ranks(result, options_.database);
    row_.state = is_complete(result) ? RankState::done : RankState::failed;
    board_.publish(row_);  // from here on its keeper has nothing to tell, nor to keep a second time
    say(result);
    exit = is_complete(result)                ? Exit::done
           : join_rows(result.rows).wrong > 0 ? Exit::failed
                                              : Exit::incomplete;
    if (!kept) {
      fmt::print(stderr, "blksweep-mpi: {}\n", printable(not_kept(kept.error(), row_.host_name())));
    }
    if (!finish_answer() || !kept) {
      exit = Exit::failed;
    }
    board_.leave();
  }
  comm_.broadcast(exit);
  row_.state = exit == Exit::done ? RankState::done : RankState::failed;
  board_.publish(row_);
  board_.leave();
  return exit;
}

Result<Exit> Rank::run(const HubPlace& hub) {
  join(hub);
  BLKSWEEP_CHECK(prepare());
  RankReader reader(comm_, options_, source_, *loader_, board_, row_);
  reader.run(start_together());
  compare_bytes(reader);
  return tell(reader);
}

void Rank::failed() {
  row_.state = RankState::failed;
  board_.publish(row_);
  board_.leave();
}

}  // namespace

Exit run_rank(const MpiOptions& options, const Comm& comm, Board& board, const HubPlace& hub) {
  Rank rank(options, comm, board);
  const Result<Exit> result = rank.run(hub);
  if (result) {
    return *result;
  }
  if (comm.first()) {
    fmt::print(stderr, "blksweep-mpi: {}\n", printable(result.error().message()));
  }
  rank.failed();
  return result.error().exit_code;
}

}  // namespace blksweep
