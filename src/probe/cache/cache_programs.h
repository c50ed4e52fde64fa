// The programs of cache_probe.bpf.c, and what a report lacks without each of them.
#pragma once

#include <array>

namespace blksweep {

struct CacheProgram {
  const char* program;           // in cache_probe.bpf.c
  const char* tracepoint;        // exists where BTF has btf_trace_<tracepoint>
  const char* without;           // what is missing without it; nullptr: nothing works without it
  const char* module = nullptr;  // that may have it
};

inline constexpr std::array kCachePrograms = {
    CacheProgram{"on_add", "mm_filemap_add_to_page_cache", nullptr},
    CacheProgram{"on_evict", "mm_filemap_delete_from_page_cache", nullptr},
    CacheProgram{"on_allocation", "kmem_cache_alloc", "inodes that are loaded are not counted"},
    CacheProgram{"on_inode_gone", "ext4_evict_inode", "inodes that are given up are not counted",
                 "ext4"},
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
