// Owning handles of libbpf's objects.
#pragma once

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <memory>

#include "wire/block_probe.h"

// After the types that it names.
#include "block_probe.skel.h"

namespace blksweep {

struct SkeletonDeleter {
  void operator()(block_probe* s) const { block_probe__destroy(s); }
};
struct LinkDeleter {
  void operator()(bpf_link* l) const { bpf_link__destroy(l); }
};
struct BtfDeleter {
  void operator()(btf* b) const { btf__free(b); }
};
using SkeletonPtr = std::unique_ptr<block_probe, SkeletonDeleter>;
using LinkPtr = std::unique_ptr<bpf_link, LinkDeleter>;
using BtfPtr = std::unique_ptr<btf, BtfDeleter>;

}  // namespace blksweep
