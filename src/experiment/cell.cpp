#include "experiment/cell.h"

namespace blksweep {

std::string_view to_string(Control control) {
  switch (control) {
    case Control::same:
      return "a/a";
    case Control::ram:
      return "ram";
    case Control::reverse:
      return "reverse";
    case Control::no_op:
      return "no-op";
    case Control::none:
      break;
  }
  return "";
}

}  // namespace blksweep
