#include "cli/verb.h"

namespace blksweep {

void add_doctor(Verbs& /*verbs*/) {}

}  // namespace blksweep
