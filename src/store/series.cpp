#include "store/series.h"

#include <bit>
#include <cstring>
#include <limits>

namespace blksweep {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written as they lie");

constexpr std::size_t kDepthBytes = 16;
constexpr std::size_t kIssueBytes = 20;
constexpr std::size_t kGpuBytes = 28;
constexpr std::size_t kMapReadBytes = 40;

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <class T>
void take(std::string_view& in, T& value) {
  std::memcpy(&value, in.data(), sizeof(T));
  in.remove_prefix(sizeof(T));
}

template <class T>
void put_maybe(std::string& out, const Maybe<T>& value) {
  put(out, value.value_or(std::numeric_limits<T>::max()));
}

template <class T>
void take_maybe(std::string_view& in, Maybe<T>& value) {
  T raw{};
  take(in, raw);
  value = raw == std::numeric_limits<T>::max() ? Maybe<T>{} : Maybe<T>{raw};
}

}  // namespace

std::string encode_series(const std::vector<GpuPoint>& points) {
  std::string out;
  out.reserve(points.size() * kGpuBytes);
  for (const GpuPoint& p : points) {
    put(out, p.at_ns);
    put_maybe(out, p.utilisation);
    put_maybe(out, p.memory_utilisation);
    put_maybe(out, p.memory_used_bytes);
    put_maybe(out, p.clock_mhz);
  }
  return out;
}

std::vector<GpuPoint> decode_gpu_series(std::string_view bytes) {
  std::vector<GpuPoint> points(bytes.size() / kGpuBytes);
  for (GpuPoint& p : points) {
    take(bytes, p.at_ns);
    take_maybe(bytes, p.utilisation);
    take_maybe(bytes, p.memory_utilisation);
    take_maybe(bytes, p.memory_used_bytes);
    take_maybe(bytes, p.clock_mhz);
  }
  return points;
}

std::string encode_series(const std::vector<DepthPoint>& points) {
  std::string out;
  out.reserve(points.size() * kDepthBytes);
  for (const DepthPoint& p : points) {
    put(out, p.at_ns);
    put(out, p.driver);
    put(out, p.scheduler);
  }
  return out;
}

std::string encode_series(const std::vector<IssuePoint>& points) {
  std::string out;
  out.reserve(points.size() * kIssueBytes);
  for (const IssuePoint& p : points) {
    put(out, p.at_ns);
    put(out, p.sector);
    put(out, p.bytes);
  }
  return out;
}

std::vector<DepthPoint> decode_depth_series(std::string_view bytes) {
  std::vector<DepthPoint> points(bytes.size() / kDepthBytes);
  for (DepthPoint& p : points) {
    take(bytes, p.at_ns);
    take(bytes, p.driver);
    take(bytes, p.scheduler);
  }
  return points;
}

std::vector<IssuePoint> decode_issue_series(std::string_view bytes) {
  std::vector<IssuePoint> points(bytes.size() / kIssueBytes);
  for (IssuePoint& p : points) {
    take(bytes, p.at_ns);
    take(bytes, p.sector);
    take(bytes, p.bytes);
  }
  return points;
}

std::string encode_reads(const std::vector<MapRead>& reads, MapPart part) {
  std::string out;
  for (const MapRead& r : reads) {
    if (r.part != part) {
      continue;
    }
    put(out, r.begin_ns);
    put(out, r.latency_ns);
    put(out, r.offset);
    put(out, r.distance);
    put(out, r.bytes);
    put(out, r.depth);
  }
  return out;
}

std::vector<MapRead> decode_reads(std::string_view bytes, MapPart part) {
  std::vector<MapRead> reads(bytes.size() / kMapReadBytes);
  for (MapRead& r : reads) {
    take(bytes, r.begin_ns);
    take(bytes, r.latency_ns);
    take(bytes, r.offset);
    take(bytes, r.distance);
    take(bytes, r.bytes);
    take(bytes, r.depth);
    r.part = part;
  }
  return reads;
}

}  // namespace blksweep
