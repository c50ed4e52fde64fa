#include "replay/read_samples.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "replay/request.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kNoFile = 0xFFFFFFFF;

class Samples {
 public:
  explicit Samples(CatalogParts& catalog) : catalog_(catalog) {
    const Catalog view = catalog.view();
    for (std::uint32_t file = 0; file < view.files.size(); ++file) {
      files_.emplace(view.path(file), file);
    }
    catalog.whole.clear();
    catalog.parts.clear();
    catalog.label_end.clear();
    catalog.label_bytes.clear();
  }

  void name(const std::string& name) {
    const auto file = files_.find(name);
    file_of_.push_back(file == files_.end() ? kNoFile : file->second);
  }

  const char* add(const TraceRecord& r) {
    if (r.op != TraceOp::read) {
      return "writes and others";
    }
    const std::uint32_t file = file_of_[r.place];
    if (file == kNoFile) {
      return "reads of files that are not there";
    }
    const std::uint64_t size = catalog_.files[file].size;
    const auto wanted = r.returned == kNotTold ? r.bytes : static_cast<std::uint64_t>(r.returned);
    if (wanted == 0) {
      return "reads of nothing";
    }
    if (is_beyond(r, size)) {
      return kReadsBeyondFile;
    }
    const std::uint64_t length = std::min({wanted, size - r.offset, kMaxSampleBytes});
    catalog_.parts.push_back({r.offset, length, file, kNoLabel});
    return nullptr;
  }

 private:
  CatalogParts& catalog_;
  std::unordered_map<std::string_view, std::uint32_t> files_;  // path_bytes does not change
  std::vector<std::uint32_t> file_of_;                         // by place of the trace
};

}  // namespace

Result<LeftOut> take_reads(TraceReader& trace, CatalogParts& catalog,
                           const std::atomic<bool>& stop) {
  if (trace.facts().kind != TraceKind::file) {
    return usage_error("--trace needs a file trace: this one is of a block device");
  }
  Samples samples(catalog);
  LeftOut left_out;
  std::vector<TraceRecord> block;
  std::size_t named = 0;
  for (;;) {
    BLKSWEEP_TRY(const bool some, trace.next(block));
    if (!some) {
      break;
    }
    if (stop.load()) {
      return fail("interrupted: nothing was written", Exit::interrupted);
    }
    for (; named < trace.names().size(); ++named) {
      samples.name(trace.names()[named]);
    }
    for (const TraceRecord& r : block) {
      if (const char* reason = samples.add(r); reason != nullptr) {
        ++left_out[reason];
      }
    }
  }
  if (catalog.parts.empty()) {
    return fail("none of the trace's reads is of a file below " + catalog.root);
  }
  return left_out;
}

}  // namespace blksweep
