// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "kernels_report.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kLineWidth = 110;

std::string textOf(const json& value) { return value.get<std::string>(); }

// Several lines keep their breaks.
std::string line(const std::string& title, const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each);) {
    if (each.empty()) continue;
    result += fmt::format("  {:<8} {}\n", result.empty() ? title : "", each);
  }
  return result;
}

std::string tileText(const json& fields) {
  std::vector<std::string> texts;
  for (const json& field : fields) {
    const auto number = [&](const char* name) { return field[name].get<std::uint32_t>(); };
    texts.push_back(fmt::format("{}{} ({} to {}{})", textOf(field["name"]),
                                field["built_in"].is_null() ? "" : fmt::format("={}", number("built_in")),
                                number("least"), number("most"),
                                number("step") == 1 ? "" : fmt::format(" in steps of {}", number("step"))));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Those that run in a line, then each that is refused in a line of its own.
std::string dtypesText(const json& dtypes) {
  std::string fine, refused;
  for (const json& dtype : dtypes) {
    const std::string name = textOf(dtype["dtype"]), refusal = textOf(dtype["refusal"]);
    if (refusal.empty()) {
      fine += (fine.empty() ? "" : ", ") + name + " " + textOf(dtype["form"]);
    } else {
      refused += fmt::format("{} refused: {}\n", name, refusal);
    }
  }
  return fine + "\n" + refused;
}

std::string executableText(const json& executable) {
  const auto subgroup = executable["subgroup_size"].get<std::uint32_t>();
  std::string text = fmt::format("      {}{}\n", textOf(executable["name"]),
                                 subgroup == 0 ? "" : fmt::format(", subgroups of {}", subgroup));
  std::string row;
  for (const auto& [name, value] : executable["statistics"].items()) {
    const std::string cell = fmt::format("{} {}", name, value.dump());
    if (!row.empty() && row.size() + cell.size() + 10 > kLineWidth) {
      text += fmt::format("        {}\n", row);
      row.clear();
    }
    row += (row.empty() ? "" : ", ") + cell;
  }
  return row.empty() ? text : text + fmt::format("        {}\n", row);
}

std::string planText(const json& plan) {
  if (plan.contains("refusal")) {
    return fmt::format("  {}: refused: {}\n", textOf(plan["plan"]), textOf(plan["refusal"]));
  }
  const std::string tile = textOf(plan["tile"]);
  std::string text = fmt::format("  {}: {}{}\n", textOf(plan["plan"]), textOf(plan["label"]),
                                 tile.find(' ') == std::string::npos ? "" : tile.substr(tile.find(' ')));
  for (const json& pipeline : plan["pipelines"]) {
    text += fmt::format("    {}, compiled in {:.2f} s of CPU time\n", textOf(pipeline["module"]),
                        pipeline["cpu_seconds"].get<double>());
    for (const json& executable : pipeline["executables"]) text += executableText(executable);
  }
  return text;
}

std::string kernelText(const json& kernel) {
  std::string text = fmt::format("\n{}  {}\n", textOf(kernel["operator"]), textOf(kernel["name"]));
  text += line("idea", textOf(kernel["idea"]));
  const std::string needs = textOf(kernel["needs"]);
  text += line("needs", needs.empty() ? "nothing that a device may lack" : needs);
  text += line("here", kernel["supported"].get<bool>() ? "yes" : "no: " + textOf(kernel["reason"]));
  text += line("left out", textOf(kernel["left_out"]));
  if (!kernel["selectable"].get<bool>()) text += line("runs", "as a part of other plans; cannot be asked for by name");
  if (kernel["supported"].get<bool>()) text += line("dtypes", dtypesText(kernel["dtypes"]));
  if (!kernel["tile"].empty()) text += line("tile", tileText(kernel["tile"]));
  for (const json& plan : kernel.value("statistics", json::array())) text += planText(plan);
  return text;
}

}  // namespace

std::string kernelsText(const json& report) {
  std::string text = fmt::format("{}\n{}\nbuilt-in tiles{} for {}, head_dim {}\n", textOf(report["device"]),
                                 textOf(report["driver"]),
                                 report["kernels"].front().contains("statistics") ? " and statistics" : "",
                                 textOf(report["dtype"]), report["head_dim"].get<std::int64_t>());
  for (const json& kernel : report["kernels"]) text += kernelText(kernel);
  return text;
}

}  // namespace saccade::tool
