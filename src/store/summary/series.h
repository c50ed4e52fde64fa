// Depth and issue series as packed little-endian records, so that 200,000 points stay a few MB.
//
// Format:   depth: i64 at_ns, u32 driver, u32 scheduler (16 bytes).
//           issue, queue, insert: i64 at_ns, u64 sector, u32 bytes, i64 latency_ns, u32 read,
//           u32 batch (36 bytes); unknown is the greatest value of its type.
//           gpu: i64 at_ns, u32 utilisation, u32 memory_utilisation, u64 memory_used_bytes,
//           u32 clock_mhz, u64 throttle_reasons (36 bytes); unknown is the greatest value of its
//           type.
//           transfer: i64 begin_ns, i64 end_ns, u64 bytes, u32 batch, u32 lane (32 bytes).
//           kernel: i64 begin_ns, i64 end_ns, i64 asked_ns, u32 batch (28 bytes).
//           page_cache: i64 at_ns, u64 added_bytes, u64 wanted_bytes, u64 again_bytes,
//           u64 evicted_bytes, u64 inodes_loaded, u64 inodes_evicted, u64 shrinker_freed
//           (64 bytes).
//           map_read: i64 begin_ns, i64 latency_ns, u64 offset, i64 distance, u32 bytes, u32 depth
//           (40 bytes). No header; the row says how many.
// Property: decode(encode(x)) == x; bytes after the last whole record are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/records.h"

namespace blksweep {

std::string encode_series(const std::vector<DepthPoint>& points);
std::string encode_series(const std::vector<IssuePoint>& points);
std::string encode_series(const std::vector<GpuPoint>& points);
std::string encode_series(const std::vector<TransferSlice>& slices);
std::string encode_series(const std::vector<KernelSpan>& kernels);
std::string encode_series(const std::vector<CacheSeriesPoint>& points);
std::vector<CacheSeriesPoint> decode_cache_series(std::string_view bytes);
std::vector<TransferSlice> decode_transfer_series(std::string_view bytes);
std::vector<KernelSpan> decode_kernel_series(std::string_view bytes);
std::vector<GpuPoint> decode_gpu_series(std::string_view bytes);
std::vector<DepthPoint> decode_depth_series(std::string_view bytes);
std::vector<IssuePoint> decode_issue_series(std::string_view bytes);
// The reads of one part of a map.
std::string encode_reads(const std::vector<MapRead>& reads, MapPart part);
std::vector<MapRead> decode_reads(std::string_view bytes, MapPart part);

}  // namespace blksweep
