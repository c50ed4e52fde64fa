// What a recorded trace says of itself from the beginning.
#pragma once

#include <string>

#include "trace/trace_record.h"

namespace blksweep {

TraceFacts recorded_facts(TraceKind kind, const std::string& origin);

}  // namespace blksweep
