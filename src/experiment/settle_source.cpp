#include "experiment/settle_source.h"

namespace blksweep {

Result<std::vector<std::string>> settle_addresses(Source& source, AddressProof& proof) {
  BLKSWEEP_TRY(ExtentCheck check, proof.before(source));
  if (const std::string stale = stale_catalog(source, check); !stale.empty()) {
    return fail(stale);
  }
  if (check.clean()) {
    return std::vector<std::string>{};
  }
  std::string text = moved_text(source, check);
  BLKSWEEP_TRY(Source now, open_source(source.origin));
  if (const std::string changed = other_files(source, now); !changed.empty()) {
    return fail(changed);
  }
  source = std::move(now);
  return std::vector{std::move(text)};
}

}  // namespace blksweep
