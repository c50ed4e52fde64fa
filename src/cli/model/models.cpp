#include "cli/model/models.h"

#include "cli/scripts.h"

namespace blksweep {

Result<ModelSpec> model_by_name(const std::string& text) {
  std::vector<std::string> folders;
  for (const std::filesystem::path& folder : script_folders()) {
    if (check_scripts(folder / "models")) {
      folders.push_back((folder / "models").string());
    }
  }
  return load_model(text, folders);
}

}  // namespace blksweep
