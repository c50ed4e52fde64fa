// The programs of cache_probe.bpf.c, and what a report lacks without each of them.
#pragma once

#include <array>

namespace blksweep {

struct CacheProgram {
  const char* program;     // in cache_probe.bpf.c
  const char* tracepoint;  // exists where BTF has btf_trace_<tracepoint>
  const char* without;     // what is missing without it; nullptr: nothing works without it
  const char* filesystem = nullptr;  // it is for data on this kind alone, whose module may have it
};

inline constexpr const char* kInodesGone = "inodes that are given up are not counted";
inline constexpr const char* kReadahead = "read-ahead is not counted";

inline constexpr std::array kCachePrograms = {
    CacheProgram{"on_add", "mm_filemap_add_to_page_cache", nullptr},
    CacheProgram{"on_evict", "mm_filemap_delete_from_page_cache", nullptr},
    CacheProgram{"on_allocation", "kmem_cache_alloc",
                 "inodes and dentries that are loaded are not counted"},
    CacheProgram{"on_inode_gone", "ext4_evict_inode", kInodesGone, "ext4"},
    CacheProgram{"on_xfs_inode_gone", "xfs_destroy_inode", kInodesGone, "xfs"},
    CacheProgram{"on_btrfs_inode_gone", "btrfs_inode_evict", kInodesGone, "btrfs"},
    CacheProgram{"on_shrunk", "mm_shrink_slab_end", "what shrinkers give back is not counted"},
    CacheProgram{"on_readahead_sync", "page_cache_sync_ra", kReadahead},
    CacheProgram{"on_readahead_async", "page_cache_async_ra", kReadahead},
    CacheProgram{"on_window", "page_cache_ra_unbounded", kReadahead},
    CacheProgram{"on_large_window", "page_cache_ra_order", kReadahead},
    CacheProgram{"on_reclaim", "mm_vmscan_direct_reclaim_begin",
                 "reclaim by this process is not counted"},
    CacheProgram{"on_reclaim_end", "mm_vmscan_direct_reclaim_end",
                 "reclaim by this process is not counted"},
    CacheProgram{"on_group_reclaim", "mm_vmscan_memcg_reclaim_begin",
                 "reclaim under a memory limit is not counted"},
    CacheProgram{"on_group_reclaim_end", "mm_vmscan_memcg_reclaim_end",
                 "reclaim under a memory limit is not counted"},
    CacheProgram{"on_kswapd", "mm_vmscan_kswapd_wake", "background reclaim is not counted"},
};

}  // namespace blksweep
