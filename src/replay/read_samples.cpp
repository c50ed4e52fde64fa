#include "replay/read_samples.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "replay/request.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kNoFile = 0xFFFFFFFF;

// The first folder, as of a scan (dataset/scan.h); "": the file lies in none.
std::string_view class_of(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// As a scan has it: "./a//b" is a/b, as for the kernel. ".." stays: a link may stand before it.
std::string scanned_name(std::string_view name) {
  std::string out(name.starts_with('/') ? "/" : "");
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (!part.empty() && part != ".") {
      out.append(out.empty() || out.ends_with('/') ? "" : "/").append(part);
    }
    begin = end + 1;
  }
  return out;
}

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

  void name(const std::string& traced) {
    const std::string name = scanned_name(traced);
    const auto file = files_.find(name);
    file_of_.push_back(file == files_.end() ? kNoFile : file->second);
    class_of_.emplace_back(class_of(name));
    label_of_.push_back(kNoLabel);
  }

  const char* add(const TraceRecord& r) {
    if (r.op != TraceOp::read) {
      return "writes and others";
    }
    const std::uint32_t file = file_of_[r.place];
    if (file == kNoFile) {
      return "reads of files that are not in the catalog";
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
    catalog_.parts.push_back({r.offset, length, file, label_of(r.place)});
    return nullptr;
  }

 private:
  // By first appearance, so that no label is without samples.
  std::uint32_t label_of(std::uint32_t place) {
    const std::string& name = class_of_[place];
    if (label_of_[place] == kNoLabel && !name.empty()) {
      const auto [at, is_new] = labels_.try_emplace(name, 0);
      at->second = is_new ? catalog_.add_label(name) : at->second;
      label_of_[place] = at->second;
    }
    return label_of_[place];
  }

  CatalogParts& catalog_;
  std::unordered_map<std::string_view, std::uint32_t> files_;  // path_bytes does not change
  std::vector<std::uint32_t> file_of_;                         // by place of the trace
  std::vector<std::string> class_of_;                          // likewise
  std::vector<std::uint32_t> label_of_;                        // likewise, once one was read
  std::unordered_map<std::string, std::uint32_t> labels_;
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
