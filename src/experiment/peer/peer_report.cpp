#include "experiment/peer/peer_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "experiment/proof/incomplete.h"
#include "experiment/record/quality.h"
#include "loader/spot_check.h"
#include "loader/verify.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kHashStream = 0x9ee7;
constexpr std::int64_t kSlackNs = 1000;  // a sleep in seconds is rounded
// Between the last batch and the word that it has ended: more is work that no batch tells of.
constexpr std::int64_t kSilentNs = 250'000'000;
constexpr double kSilentShare = 0.1;  // of the epoch

// Deliveries as positions of the plan, which count an epoch's samples once.
struct Deliveries {
  std::vector<std::uint32_t> positions, samples;
  DeliveredHashes hashes() const { return {hashed_positions, hash_values}; }
  std::vector<std::uint32_t> hashed_positions;
  std::vector<std::uint64_t> hash_values;
  std::uint64_t unhashed = 0;  // were to be
  std::string untrue;          // why the report cannot be believed; empty: it can
};

// Where in the plan each sample of an epoch stands.
std::vector<std::uint32_t> places_of(const Plan& plan, std::size_t epoch, std::size_t samples) {
  std::vector<std::uint32_t> place(samples);
  for (std::size_t i = epoch * samples; i < (epoch + 1) * samples; ++i) {
    place[plan.order[i]] = static_cast<std::uint32_t>(i);
  }
  return place;
}

class Matcher {
 public:
  explicit Matcher(const PeerAsked& asked)
      : asked_(asked), catalog_(asked.source.catalog), one_(catalog_.samples()) {}

  Deliveries match(const std::vector<PeerBatch>& batches) {
    for (std::size_t b = 0; b < batches.size() && out_.untrue.empty(); ++b) {
      add(b, batches[b]);
    }
    return std::move(out_);
  }

 private:
  void add(std::size_t number, const PeerBatch& batch) {
    if (batch.samples.size() > asked_.cell.batch) {  // the consumer takes as long for one of more
      out_.untrue = fmt::format("batch {} has {} samples, {} were asked for", number,
                                batch.samples.size(), asked_.cell.batch);
      return;
    }
    std::unordered_map<std::uint32_t, std::uint64_t> hashes(batch.hashes.begin(),
                                                            batch.hashes.end());
    std::uint64_t bytes = 0;
    for (const std::uint32_t s : batch.samples) {
      if (s >= one_) {
        out_.untrue = fmt::format("batch {} has sample {} of {}", number, s, one_);
        return;
      }
      bytes += catalog_.sample(s).length;
      place(s);
      take_hash(s, hashes);
    }
    if (bytes != batch.bytes) {
      out_.untrue =
          fmt::format("batch {} has {} bytes, its samples have {}", number, batch.bytes, bytes);
    } else if (!hashes.empty()) {
      out_.untrue = fmt::format("batch {} has a hash of sample {}, which is not in it", number,
                                hashes.begin()->first);
    }
  }

  // What comes after the last epoch came too often in that one.
  void place(std::uint32_t sample) {
    const std::size_t epochs = std::max(1U, asked_.planned.plan.epochs);
    const std::size_t epoch = std::min(out_.samples.size() / one_, epochs - 1);
    if (places_.empty() || epoch != epoch_) {
      epoch_ = epoch;
      places_ = places_of(asked_.planned.plan, epoch, one_);
    }
    out_.positions.push_back(places_[sample]);
    out_.samples.push_back(sample);
  }

  void take_hash(std::uint32_t sample, std::unordered_map<std::uint32_t, std::uint64_t>& hashes) {
    if (const auto found = hashes.find(sample); found != hashes.end()) {
      out_.hashed_positions.push_back(out_.positions.back());
      out_.hash_values.push_back(found->second);
      hashes.erase(found);
    } else if (std::ranges::binary_search(asked_.hashed, sample)) {
      ++out_.unhashed;
    }
  }

  const PeerAsked& asked_;
  const Catalog& catalog_;
  std::size_t one_, epoch_ = 0;  // samples of an epoch; which epoch `places_` is of
  std::vector<std::uint32_t> places_;
  Deliveries out_;
};

std::string untrue_times(const PeerReport& report) {
  std::int64_t ready = report.begin_ns, used = report.begin_ns;
  for (std::size_t b = 0; b < report.batches.size(); ++b) {
    const PeerBatch& batch = report.batches[b];
    const bool late = report.end_ns > 0 && batch.used_ns > report.end_ns;
    if (batch.ready_ns < ready || batch.used_ns < std::max(batch.ready_ns, used) || late) {
      return fmt::format(
          "batch {} was ready at {} ns and used at {} ns, outside of its epoch or "
          "before the batch ahead of it (CLOCK_MONOTONIC)",
          b, batch.ready_ns, batch.used_ns);
    }
    ready = batch.ready_ns;
    used = batch.used_ns;
  }
  const std::int64_t silent = report.end_ns - used;
  return silent > kSilentNs &&
                 static_cast<double>(silent) >
                     kSilentShare * static_cast<double>(report.end_ns - report.begin_ns)
             ? fmt::format(
                   "said that it had ended {} after its last batch was used: no batch tells "
                   "of that time",
                   format_duration(Nanos{silent}))
             : "";
}

// By the consumer that it was to emulate; of batches beyond the plan's, the last one's.
std::int64_t asked_compute(const PeerAsked& a, std::size_t batch) {
  if (a.cell.consumer == ConsumerKind::none) {
    return 0;
  }
  const auto b = static_cast<std::uint32_t>(std::min(batch, a.planned.schedule.batches() - 1));
  const auto& begin = a.planned.schedule.batch_begin;
  return a.cell.compute.of_batch(b, begin[b + 1] - begin[b], a.seed).count();
}

// There is one consumer: it begins with a batch when it is done with the one ahead.
std::string untrue_compute(const PeerReport& report, const PeerAsked& asked) {
  std::int64_t free = report.begin_ns;
  for (std::size_t b = 0; b < report.batches.size(); ++b) {
    const PeerBatch& batch = report.batches[b];
    const std::int64_t took = batch.used_ns - std::max(batch.ready_ns, free);
    if (took + kSlackNs < asked_compute(asked, b)) {
      return fmt::format("batch {} was computed with for {}, where {} were asked for", b,
                         format_duration(Nanos{took}),
                         format_duration(Nanos{asked_compute(asked, b)}));
    }
    free = batch.used_ns;
  }
  return "";
}

// When a batch was there is all that is known of its reading.
BatchRecord batch_record(const PeerBatch& batch, bool computes) {
  BatchRecord r;
  r.samples = static_cast<std::uint32_t>(batch.samples.size());
  r.bytes = batch.bytes;
  r.times[Stage::read] = without_wait({batch.ready_ns, batch.ready_ns});
  if (computes) {
    r.times[Stage::compute] = without_wait({batch.ready_ns, batch.used_ns});
  }
  r.times.consumed = batch.used_ns;
  return r;
}

void record_times(RunRecord& r, const PeerReport& report, const CellSettings& cell) {
  std::int64_t computed = 0;
  std::int64_t end = report.begin_ns;
  const bool computes = cell.consumer != ConsumerKind::none;
  for (const PeerBatch& batch : report.batches) {
    r.batches.push_back(batch_record(batch, computes));
    r.samples += batch.samples.size();
    r.bytes += batch.bytes;
    computed += batch.used_ns - std::max(batch.ready_ns, end);
    end = batch.used_ns;
  }
  r.begin_ns = report.begin_ns;
  r.epoch_ns = end - report.begin_ns;
  if (!report.batches.empty()) {
    r.first_batch_ns = report.batches.front().ready_ns - report.begin_ns;
  }
  if (computes && r.epoch_ns > 0) {
    r.utilisation = static_cast<double>(computed) / static_cast<double>(r.epoch_ns);
  }
}

void name_wrong(RunRecord& r, const Verification& found, const std::string& prefix) {
  for (const WrongSample& w : found.named) {
    r.failed.push_back({w.path, prefix + w.why});
  }
}

void check_all(RunRecord& r, const Deliveries& d, std::uint64_t duplicated, const PeerAsked& a) {
  const Verification v = check_hashes(a.source.catalog, a.planned.plan, d.hashes());
  r.wrong_samples = v.wrong + duplicated;
  name_wrong(r, v, kVerify);
}

void check_some(RunRecord& r, const Deliveries& d, const PeerAsked& a) {
  std::vector<HashedPiece> pieces;
  for (std::size_t i = 0; i < d.hash_values.size(); ++i) {
    const Sample s = a.source.catalog.sample(a.planned.plan.order[d.hashed_positions[i]]);
    pieces.push_back({s.file, s.offset, s.length, d.hash_values[i]});
  }
  const SpotResult checked = compare_pieces(a.source, std::move(pieces));
  r.checked_pieces = checked.pieces;
  r.checked_bytes = checked.bytes;
  r.checked_wrong = checked.found.wrong;
  name_wrong(r, checked.found, kCheck);
  if (checked.found.wrong > 0) {
    mark_incomplete(r, fmt::format("{} of {} samples that were checked are not what their files "
                                   "hold",
                                   checked.found.wrong, checked.pieces));
  }
}

// Smaller batches than asked for are more of them, and each is computed with.
void warn_of_more_batches(RunRecord& r, const PeerReport& report, const PeerAsked& a) {
  const std::size_t planned = a.planned.schedule.batches(), had = report.batches.size();
  if (a.cell.consumer != ConsumerKind::none && had > planned) {
    r.warnings.push_back(fmt::format(
        "peer {}: {} batches, where ours are {}: its consumer computed that much longer",
        a.cell.peer, format_count(had), format_count(planned)));
  }
}

void record_deliveries(RunRecord& r, const Deliveries& d, const PeerAsked& a) {
  const DeliveryCount count = count_delivered(a.planned.plan, d.positions);
  r.missing_samples = count.missing;
  r.emission_hash = emission_hash(d.samples);
  r.quality = quality_of(a.source.catalog, Order::random, a.planned, d.samples);
  r.quality.rank_decorrelation_vs_read.reset();  // in which order it read is not known
  if (count.duplicated > 0) {
    mark_incomplete(r, fmt::format("{} samples came more than once in an epoch",
                                   format_count(count.duplicated)));
  }
  if (d.unhashed > 0) {
    mark_incomplete(r, fmt::format("{} samples have no hash although it was asked for",
                                   format_count(d.unhashed)));
  }
  if (a.verify) {
    check_all(r, d, count.duplicated, a);
  } else if (!a.hashed.empty()) {
    check_some(r, d, a);
  }
}

// Time of the epoch in which the consumer had no batch.
std::int64_t waited(const PeerReport& report) {
  std::int64_t sum = 0, free = report.begin_ns;
  for (const PeerBatch& batch : report.batches) {
    sum += std::max<std::int64_t>(batch.ready_ns - free, 0);
    free = batch.used_ns;
  }
  return sum;
}

std::string untrue_decode(const PeerReport& report) {
  if (!report.decode) {
    return "";
  }
  const std::int64_t most = report.decode->decoders == 0 ? 0 : waited(report);
  return report.decode->wait_ns < 0 || report.decode->wait_ns > most
             ? fmt::format(
                   "said that its consumer waited {} ns for decoders, where its batches have {}",
                   report.decode->wait_ns, most)
             : "";
}

void record_decode(RunRecord& r, const PeerReport& report) {
  if (!report.decode || r.epoch_ns <= 0) {
    return;
  }
  r.decode.decoders = report.decode->decoders;
  r.decode.wait = static_cast<double>(report.decode->wait_ns) / static_cast<double>(r.epoch_ns);
  r.decode.hash = fmt::format("{:016x}", report.decode->hash);
}

}  // namespace

std::vector<std::uint32_t> samples_to_hash(const Catalog& catalog, bool verify, bool check,
                                           std::uint64_t seed) {
  if (verify) {
    std::vector<std::uint32_t> all(catalog.samples());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
  Rng rng(seed, kHashStream);
  return check ? draw_for_check(catalog.samples(), rng) : std::vector<std::uint32_t>{};
}

std::vector<std::uint32_t> record_report(RunRecord& r, const PeerReport& report,
                                         const PeerAsked& asked) {
  std::string untrue = untrue_times(report);
  Deliveries found = Matcher(asked).match(report.batches);
  untrue = untrue.empty() ? found.untrue : untrue;
  untrue = untrue.empty() ? untrue_compute(report, asked) : untrue;
  untrue = untrue.empty() ? untrue_decode(report) : untrue;
  if (!untrue.empty()) {  // nothing of it counts
    r.missing_samples = asked.planned.plan.order.size();
    mark_incomplete(r, untrue);
    return {};
  }
  record_times(r, report, asked.cell);
  record_decode(r, report);
  warn_of_more_batches(r, report, asked);
  record_deliveries(r, found, asked);
  return std::move(found.samples);
}

}  // namespace blksweep
