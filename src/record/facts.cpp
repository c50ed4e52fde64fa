#include "record/facts.h"

#include <sys/utsname.h>

#include "base/text.h"

namespace blksweep {

TraceFacts recorded_facts(TraceKind kind, const std::string& origin) {
  utsname system{};
  ::uname(&system);
  TraceFacts facts;
  facts.kind = kind;
  facts.format = "recorded";
  facts.origin = printable(origin);
  facts.recorded_on = std::string(system.sysname) + " " + system.release + " " + system.machine;
  return facts;
}

}  // namespace blksweep
