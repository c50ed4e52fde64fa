#include "stage/decode_stage.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace blksweep {

Result<std::unique_ptr<DecodeStage>> DecodeStage::make(const DecodeSettings& s) {
  const std::size_t slot = align_up(std::max<std::uint64_t>(1, s.slot_bytes.n), kPageBytes);
  BLKSWEEP_TRY(PageBuffer ring, PageBuffer::allocate({slot * s.slots}));
  return std::unique_ptr<DecodeStage>(new DecodeStage(s, std::move(ring)));
}

DecodeStage::DecodeStage(const DecodeSettings& s, PageBuffer ring)
    : spin_(s.spin),
      slot_bytes_(ring.size() / s.slots),
      ring_(std::move(ring)),
      slots_(s.slots),
      bytes_(s.batches),
      decoders_(std::max(1U, s.threads)),
      pool_(s.threads, s.on_start) {}

TimeSpan DecodeStage::decode(std::uint32_t batch, std::span<const BatchPart> parts,
                             std::span<const std::uint64_t> room) {
  if (spins()) {
    return spend(batch, parts);
  }
  const std::int64_t begin = now_ns();
  lay_out(batch, parts, room);
  pool_.run(parts.size(),
            [&](unsigned worker, std::size_t i) { decode_part(worker, parts[i], i); });
  collect(batch);
  return {begin, now_ns()};
}

TimeSpan DecodeStage::spend(std::uint32_t batch, std::span<const BatchPart> parts) {
  const std::int64_t begin = now_ns();
  pool_.run(parts.size(), [&](unsigned, std::size_t) { spin_cpu(spin_.count()); });
  slots_[batch % slots_.size()].assign(parts.begin(), parts.end());
  for (const BatchPart& part : parts) {
    bytes_[batch] += part.bytes;
  }
  return {begin, now_ns()};
}

std::span<const BatchPart> DecodeStage::decoded(std::uint32_t batch) const {
  return slots_[batch % slots_.size()];
}

// Where each part goes is known before the first is decoded: its header says how long it becomes.
void DecodeStage::lay_out(std::uint32_t batch, std::span<const BatchPart> parts,
                          std::span<const std::uint64_t> room) {
  headers_.assign(parts.size(), {});
  targets_.assign(parts.size(), nullptr);
  errors_.assign(parts.size(), {});
  std::byte* to = slot_begin(batch);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::span<const std::byte> stored(parts[i].data, parts[i].bytes);
    const Result<SampleHeader> header = read_header(stored, stored.size(), room[i]);
    if (!header) {
      errors_[i] = header.error().message();
      continue;
    }
    headers_[i] = *header;
    targets_[i] = to;
    to += header->decoded_bytes;
  }
}

void DecodeStage::decode_part(unsigned worker, const BatchPart& part, std::size_t number) {
  if (targets_[number] == nullptr) {
    return;
  }
  const SampleHeader& h = headers_[number];
  const std::span<const std::byte> payload(part.data + kSampleHeaderBytes, h.payload_bytes);
  if (const Result<> done =
          decoders_[worker].decode(h, payload, {targets_[number], h.decoded_bytes});
      !done) {
    errors_[number] = done.error().message();
  }
}

// Parts lie one behind the other, so the bytes of one that failed are closed up.
void DecodeStage::collect(std::uint32_t batch) {
  std::vector<BatchPart>& decoded = slots_[batch % slots_.size()];
  decoded.clear();
  std::byte* to = slot_begin(batch);
  for (std::uint32_t i = 0; i < errors_.size(); ++i) {
    if (!errors_[i].empty()) {
      decoded.push_back({to, 0});
      ++failed_;
      if (failures_.size() < kNamedFailures) {
        failures_.push_back({batch, i, errors_[i]});
      }
      continue;
    }
    const std::size_t bytes = headers_[i].decoded_bytes;
    if (targets_[i] != to) {
      std::memmove(to, targets_[i], bytes);
    }
    decoded.push_back({to, bytes});
    to += bytes;
    bytes_[batch] += bytes;
  }
}

}  // namespace blksweep
