// SPDX-License-Identifier: Apache-2.0
#include "field_cases.hpp"

#include <fstream>
#include <map>
#include <set>

#include "field_rows.hpp"

namespace saccade::conformance {
namespace {

// The tests of each row that has one.
std::map<int, std::set<std::string>>& registeredRows() {
  static std::map<int, std::set<std::string>> rows;
  return rows;
}

std::string rowsName(const std::vector<int>& rows, const std::string& name) {
  std::string text = "row";
  for (const int row : rows) {
    const std::string digits = std::to_string(row);
    text += '_' + std::string(3 - digits.size(), '0') + digits;
  }
  text += '_' + name;
  for (const int row : rows) registeredRows()[row].insert(text);
  return text;
}

// The page's table: a line "| 001 | kind | test or reason |" per row. Cells may hold several tests.
std::map<int, std::string> rowsOfThePage() {
  std::map<int, std::string> rows;
  std::ifstream page(SACCADE_FIELD_CASES_PAGE);
  for (std::string line; std::getline(page, line);) {
    if (line.size() < 7 || line.compare(0, 2, "| ") != 0 || line[2] < '0' || line[2] > '9') continue;
    const int row = std::stoi(line.substr(2, 3));
    EXPECT_TRUE(rows.emplace(row, line).second) << "row " << row << " stands on the page twice";
  }
  return rows;
}

// Every row is tested where the list says, and the page says the same.
void everyRowHasItsPlace() {
  std::map<int, std::string> page = rowsOfThePage();
  const auto takeLine = [&](int row) {
    const auto node = page.extract(row);
    EXPECT_FALSE(node.empty()) << "row " << row << " is not on the page";
    return node.empty() ? std::string() : node.mapped();
  };
  std::map<int, std::set<std::string>> registered = registeredRows();
  for (const int row : rowsOnDevices()) {
    const std::set<std::string> tests = registered[row];
    registered.erase(row);
    EXPECT_FALSE(tests.empty()) << "row " << row << " has no test";
    const std::string line = takeLine(row);
    for (const std::string& test : tests)
      EXPECT_NE(line.find(test), std::string::npos) << test << " is not on the page";
  }
  for (const auto& [row, tests] : registered) ADD_FAILURE() << *tests.begin() << " is not on the list";
  for (const int row : rowsInPlanner())
    EXPECT_NE(takeLine(row).find("Limits."), std::string::npos) << "row " << row;
  for (const int row : rowsOfLaterFeatures())
    EXPECT_NE(takeLine(row).find("Later: "), std::string::npos) << "row " << row;
  for (const auto& [row, line] : page) ADD_FAILURE() << "row " << row << " is not on the list";
}

}  // namespace

void fieldCase(const Device& device, const std::vector<int>& rows, const std::string& name,
               const std::vector<io::DType>& dtypes, const VariantTest& test) {
  for (const io::DType dtype : dtypes) {
    for (const std::string& kernel : kernelChoices(device, SACCADE_OPERATOR_ATTENTION)) {
      registerTest("field_cases", rowsName(rows, name) + "/" + shortName(dtype) + "/" + kernel,
                   [=] { test(device, {kernel, dtype}); });
    }
  }
}

void registerFieldCases(const Device& device) {
  registerEmptyRowCases(device);
  registerLeakCases(device);
  registerCausalCases(device);
  registerMaskCases(device);
  registerRangeCases(device);
  registerShapeCases(device);
  registerLayoutCases(device);
  registerBoundsCases(device);
  registerIndexCases(device);
  registerGridCases(device);
  registerHeadCases(device);
  registerScoreCases(device);
  registerLseCases(device);
  registerSequenceCases(device);
  registerRepeatCases(device);
  registerTest("field_cases", "every_row_has_a_test_or_a_reason", everyRowHasItsPlace);
}

}  // namespace saccade::conformance
