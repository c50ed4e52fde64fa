#include "experiment/peer/peer_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace blksweep {
namespace {

constexpr std::size_t kMostQuoted = 80;

Json samples_json(const Catalog& catalog) {
  Json list = Json::array();
  for (std::uint32_t i = 0; i < catalog.samples(); ++i) {
    const Sample s = catalog.sample(i);
    list.push_back(Json::array({catalog.path(s.file), s.offset, s.length}));
  }
  return list;
}

Json epochs_json(const Plan& plan) {
  Json list = Json::array();
  const std::size_t one = plan.order.size() / std::max(1U, plan.epochs);
  for (std::size_t begin = 0; one > 0 && begin < plan.order.size(); begin += one) {
    list.push_back(
        std::vector<std::uint32_t>(plan.order.begin() + static_cast<std::ptrdiff_t>(begin),
                                   plan.order.begin() + static_cast<std::ptrdiff_t>(begin + one)));
  }
  return list;
}

Json compute_json(const PeerQuestion& q) {
  Json list = Json::array();
  if (q.cell.consumer == ConsumerKind::none) {
    return list;
  }
  const auto& begin = q.planned.schedule.batch_begin;
  for (std::uint32_t b = 0; b < q.planned.schedule.batches(); ++b) {
    list.push_back(q.cell.compute.of_batch(b, begin[b + 1] - begin[b], q.seed).count());
  }
  return list;
}

// "torch:fast" -> "fast"; a path's folders may have colons, too.
std::string variant_of(const std::string& peer) {
  const std::size_t name = peer.rfind('/') == std::string::npos ? 0 : peer.rfind('/');
  const std::size_t colon = peer.find(':', name);
  return colon == std::string::npos ? "" : peer.substr(colon + 1);
}

tl::unexpected<Error> no_answer(std::string_view line, std::string_view why) {
  const bool cut = line.size() > kMostQuoted;
  return fail(
      fmt::format("{}: '{}{}'", why, printable(line.substr(0, kMostQuoted)), cut ? "..." : ""));
}

template <class T>
bool take_number(const Json& object, const char* key, T& target) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) {
    return false;
  }
  const bool fits = found->is_number_unsigned()
                        ? std::in_range<T>(found->template get<std::uint64_t>())
                        : std::in_range<T>(found->template get<std::int64_t>());
  target = fits ? found->template get<T>() : T{};
  return fits;
}

bool take_samples(const Json& object, std::vector<std::uint32_t>& samples) {
  const auto found = object.find("samples");
  if (found == object.end() || !found->is_array()) {
    return false;
  }
  return std::ranges::all_of(*found, [&](const Json& s) {
    const bool fits =
        s.is_number_unsigned() && std::in_range<std::uint32_t>(s.get<std::uint64_t>());
    samples.push_back(fits ? s.get<std::uint32_t>() : 0);
    return fits;
  });
}

template <class T>
bool parse_whole(std::string_view text, T& target, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target, base);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// {"17": "0123456789abcdef"}; none at all where none is wanted.
bool take_hashes(const Json& object, PeerBatch& batch) {
  const auto found = object.find("hashes");
  if (found == object.end()) {
    return true;
  }
  if (!found->is_object()) {
    return false;
  }
  for (const auto& [key, value] : found->items()) {
    auto& [sample, hash] = batch.hashes.emplace_back();
    if (!value.is_string() || !parse_whole(key, sample, 10) ||
        !parse_whole(value.get_ref<const std::string&>(), hash, 16)) {
      return false;
    }
  }
  return true;
}

bool take_batch(const Json& object, PeerBatch& batch) {
  if (!take_number(object, "ready_ns", batch.ready_ns)) {
    return false;
  }
  batch.used_ns = batch.ready_ns;
  return (!object.contains("used_ns") || take_number(object, "used_ns", batch.used_ns)) &&
         take_number(object, "bytes", batch.bytes) && take_samples(object, batch.samples) &&
         take_hashes(object, batch);
}

bool take_decode(const Json& object, PeerDecode& decode) {
  const auto hash = object.find("hash");
  return take_number(object, "decoders", decode.decoders) &&
         take_number(object, "wait_ns", decode.wait_ns) && hash != object.end() &&
         hash->is_string() && parse_whole(hash->get_ref<const std::string&>(), decode.hash, 16);
}

bool take_ready(const Json& object, PeerLine& line) {
  const auto loader = object.find("loader");
  const auto form = object.find("form");
  line.loader = loader != object.end() && loader->is_string()
                    ? printable(loader->get<std::string>()).substr(0, kMostQuoted)
                    : "";
  line.own_form = form != object.end() && form->is_boolean() && form->get<bool>();
  return form == object.end() || form->is_boolean();
}

}  // namespace

std::string question_text(const PeerQuestion& q) {
  Json out;
  out["protocol"] = 1;
  out["root"] = std::string(q.catalog.root);
  out["variant"] = variant_of(q.cell.peer);
  out["batch"] = q.cell.batch;
  out["workers"] = q.cell.peer_workers;
  out["prefetch"] = q.cell.peer_prefetch;
  out["seed"] = q.seed;
  out["form"] = or_null(q.form);
  out["compute_ns"] = compute_json(q);
  out["hash"] = q.hashed;
  out["samples"] = samples_json(q.catalog);
  out["epochs"] = epochs_json(q.planned.plan);
  return json_line(out);
}

Result<PeerLine> parse_peer_line(std::string_view text) {
  const Json object = parse_json(text);
  if (!object.is_object() || !object.contains("event") || !object["event"].is_string()) {
    return no_answer(text, "printed what is no event");
  }
  const auto& event = object["event"].get_ref<const std::string&>();
  PeerLine line;
  bool whole = true;
  if (event == "ready") {
    whole = take_ready(object, line);
  } else if (event == "batch") {
    line.kind = PeerLine::Kind::batch;
    whole = take_batch(object, line.batch);
  } else if (event == "end") {
    line.kind = PeerLine::Kind::end;
  } else if (event == "decode") {
    line.kind = PeerLine::Kind::decode;
    whole = take_decode(object, line.decode);
  } else {
    return no_answer(text, "printed an event that is none of ready, batch, end, decode");
  }
  return whole ? Result<PeerLine>(std::move(line))
               : Result<PeerLine>(no_answer(
                     text, fmt::format("printed a {} that docs/peers.md does not know", event)));
}

}  // namespace blksweep
