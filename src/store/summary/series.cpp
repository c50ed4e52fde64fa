#include "store/summary/series.h"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

namespace blksweep {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written as they lie");

// The fields of a record in their order, named once for writing and for reading.
template <class Point, class F>
requires std::is_same_v<std::remove_const_t<Point>, DepthPoint>
void each_field(Point& p, F&& f) {
  f(p.at_ns);
  f(p.driver);
  f(p.scheduler);
}

template <class Point, class F>
requires std::is_same_v<std::remove_const_t<Point>, IssuePoint>
void each_field(Point& p, F&& f) {
  f(p.at_ns);
  f(p.sector);
  f(p.bytes);
  f(p.latency_ns);
  f(p.read);
  f(p.batch);
}

template <class Point, class F>
requires std::is_same_v<std::remove_const_t<Point>, GpuPoint>
void each_field(Point& p, F&& f) {
  f(p.at_ns);
  f(p.utilisation);
  f(p.memory_utilisation);
  f(p.memory_used_bytes);
  f(p.clock_mhz);
  f(p.throttle_reasons);
}

template <class Slice, class F>
requires std::is_same_v<std::remove_const_t<Slice>, TransferSlice>
void each_field(Slice& s, F&& f) {
  f(s.begin);
  f(s.end);
  f(s.bytes);
  f(s.batch);
  f(s.lane);
}

template <class Point, class F>
requires std::is_same_v<std::remove_const_t<Point>, CacheSeriesPoint>
void each_field(Point& p, F&& f) {
  f(p.at_ns);
  f(p.added_bytes);
  f(p.wanted_bytes);
  f(p.again_bytes);
  f(p.evicted_bytes);
  f(p.inodes_loaded);
  f(p.inodes_evicted);
  f(p.shrinker_freed);
}

template <class Span, class F>
requires std::is_same_v<std::remove_const_t<Span>, KernelSpan>
void each_field(Span& s, F&& f) {
  f(s.begin);
  f(s.end);
  f(s.asked_ns);
  f(s.batch);
}

template <class Point, class F>
requires std::is_same_v<std::remove_const_t<Point>, MapRead>
void each_field(Point& r, F&& f) {
  f(r.begin_ns);
  f(r.latency_ns);
  f(r.offset);
  f(r.distance);
  f(r.bytes);
  f(r.depth);
}

struct Put {
  std::string& out;
  template <class T>
  void operator()(const T& value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
  }
  template <class T>
  void operator()(const Maybe<T>& value) {
    (*this)(value.value_or(std::numeric_limits<T>::max()));
  }
};

struct Take {
  std::string_view& in;
  template <class T>
  void operator()(T& value) {
    std::memcpy(&value, in.data(), sizeof(T));
    in.remove_prefix(sizeof(T));
  }
  template <class T>
  void operator()(Maybe<T>& value) {
    T raw{};
    (*this)(raw);
    value = raw == std::numeric_limits<T>::max() ? Maybe<T>{} : Maybe<T>{raw};
  }
};

template <class Point>
std::string encode(const std::vector<Point>& points) {
  std::string out;
  for (const Point& p : points) {
    each_field(p, Put{out});
  }
  return out;
}

template <class Point>
std::size_t record_bytes() {
  static const std::size_t bytes = encode(std::vector<Point>(1)).size();
  return bytes;
}

template <class Point>
std::vector<Point> decode(std::string_view bytes) {
  std::vector<Point> points(bytes.size() / record_bytes<Point>());
  for (Point& p : points) {
    each_field(p, Take{bytes});
  }
  return points;
}

}  // namespace

std::string encode_series(const std::vector<GpuPoint>& points) { return encode(points); }
std::string encode_series(const std::vector<DepthPoint>& points) { return encode(points); }
std::string encode_series(const std::vector<IssuePoint>& points) { return encode(points); }

std::string encode_series(const std::vector<TransferSlice>& slices) { return encode(slices); }
std::string encode_series(const std::vector<KernelSpan>& kernels) { return encode(kernels); }

std::string encode_series(const std::vector<CacheSeriesPoint>& points) { return encode(points); }
std::vector<CacheSeriesPoint> decode_cache_series(std::string_view bytes) {
  return decode<CacheSeriesPoint>(bytes);
}

std::vector<TransferSlice> decode_transfer_series(std::string_view bytes) {
  return decode<TransferSlice>(bytes);
}
std::vector<KernelSpan> decode_kernel_series(std::string_view bytes) {
  return decode<KernelSpan>(bytes);
}
std::vector<GpuPoint> decode_gpu_series(std::string_view bytes) { return decode<GpuPoint>(bytes); }
std::vector<DepthPoint> decode_depth_series(std::string_view bytes) {
  return decode<DepthPoint>(bytes);
}
std::vector<IssuePoint> decode_issue_series(std::string_view bytes) {
  return decode<IssuePoint>(bytes);
}

std::string encode_reads(const std::vector<MapRead>& reads, MapPart part) {
  std::string out;
  for (const MapRead& r : reads) {
    if (r.part == part) {
      each_field(r, Put{out});
    }
  }
  return out;
}

std::vector<MapRead> decode_reads(std::string_view bytes, MapPart part) {
  std::vector<MapRead> reads = decode<MapRead>(bytes);
  for (MapRead& r : reads) {
    r.part = part;
  }
  return reads;
}

}  // namespace blksweep
