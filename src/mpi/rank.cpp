#include "mpi/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>

#include "base/clock.h"
#include "cli/answer.h"
#include "loader/loader_data.h"
#include "loader/verify.h"
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
      : options_(options), comm_(comm), board_(board) {}
  Result<Exit> run(const HubPlace& hub);
  void failed();

 private:
  void join(const HubPlace& hub);
  void arrive();
  Result<> prepare();
  Result<> open_loader();
  Result<> agree_on_order();
  RankClock start_together();
  void compare_bytes(const RankReader& reader);
  std::optional<EmissionProof> prove(const RankReader& reader);
  Exit tell(const RankReader& reader);
  void say(const RanksResult& result);

  const MpiOptions& options_;
  const Comm& comm_;
  Board& board_;
  RankRow row_;
  Source source_;
  std::unique_ptr<Loader> loader_;
  std::string facts_;
  std::optional<std::string> wrong_;  // of this rank's samples
};

void Rank::join(const HubPlace& hub) {
  RankPlace place{comm_.rank(), comm_.ranks(), hub};
  comm_.broadcast(place.hub);
  comm_.describe(row_);
  row_.cpus = usable_cpus();
  facts_ = json_line(settings_json(options_));
  board_.facts(facts_);
  board_.publish(row_);
  board_.place(place);
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

Result<> Rank::prepare() {
  const SourceSettings where{options_.loader.data, options_.loader.catalog};
  BLKSWEEP_TRY(source_, open_shared(comm_, where, [this] { arrive(); }));
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

void Rank::compare_bytes(const RankReader& reader) {
  if (!options_.verify) {
    return;
  }
  Plan plan;
  for (const std::uint64_t one : reader.delivered()) {
    plan.order.push_back(static_cast<std::uint32_t>(one));
  }
  std::vector<std::uint32_t> positions(plan.order.size());
  std::iota(positions.begin(), positions.end(), 0U);
  const Verification found =
      check_hashes(source_.catalog, plan, {positions, reader.hashes(), Delivered::as_stored});
  row_.wrong = found.wrong;
  if (found.wrong > 0) {
    const WrongSample& first = found.named.front();
    wrong_ = fmt::format("{} samples are not as in their files, such as {}: {}", found.wrong,
                         first.path, first.why);
  }
}

// At rank 0: of all ranks together, or, where each read all, of each.
std::optional<EmissionProof> Rank::prove(const RankReader& reader) {
  const std::uint64_t places = std::uint64_t{loader_->samples()} * options_.loader.epochs;
  std::vector<std::vector<std::uint64_t>> all = comm_.gather(reader.delivered());
  if (!comm_.first()) {
    return std::nullopt;
  }
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
    proof.misplaced += its.hash != proof.hash ? 1 : 0;
    proof.missing += its.missing;
    proof.duplicated += its.duplicated;
  }
  proof.compared = options_.verify;
  return proof;
}

void Rank::say(const RanksResult& result) {
  say_text(options_.json ? json_line(result_json(result)) + "\n" : result_text(result));
  if (result.fault) {
    const std::string host = result.rows[result.fault->rank].host_name();
    fmt::print(stderr, "blksweep-mpi: {}\n", printable(name_of(*result.fault, host)));
  }
}

// The same for all ranks.
Exit Rank::tell(const RankReader& reader) {
  arrive();
  const std::optional<EmissionProof> proof = prove(reader);
  const std::string fault = wrong_ ? *wrong_ : reader.error();
  const std::vector<std::string> faults = comm_.gather_texts(fault);
  row_.state = fault.empty() ? RankState::done : RankState::failed;
  RanksResult result{facts_, comm_.gather_rows(row_), std::nullopt, proof};
  Exit exit = Exit::done;
  if (comm_.first()) {
    const auto found = std::ranges::find_if_not(faults, &std::string::empty);
    if (found != faults.end()) {
      result.fault = RankFault{static_cast<std::uint32_t>(found - faults.begin()), *found};
    }
    const Result<> kept = keep_ranks(result, options_.database);
    say(result);
    exit = is_complete(result)                ? Exit::done
           : join_rows(result.rows).wrong > 0 ? Exit::failed
                                              : Exit::incomplete;
    if (!kept) {
      fmt::print(stderr, "blksweep-mpi: {}\n", printable(kept.error().message()));
    }
    if (!finish_answer() || !kept) {
      exit = Exit::failed;
    }
  }
  comm_.broadcast(exit);
  row_.state = exit == Exit::done ? RankState::done : RankState::failed;
  board_.publish(row_);
  return exit;
}

Result<Exit> Rank::run(const HubPlace& hub) {
  join(hub);
  BLKSWEEP_CHECK(prepare());
  const RankClock clock = start_together();
  RankReader reader(comm_, options_, *loader_, board_, row_);
  reader.run(clock);
  compare_bytes(reader);
  return tell(reader);
}

void Rank::failed() {
  row_.state = RankState::failed;
  board_.publish(row_);
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
