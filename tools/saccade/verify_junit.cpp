// SPDX-License-Identifier: Apache-2.0
#include "verify_junit.hpp"

#include <fmt/format.h>

#include <map>
#include <vector>

namespace saccade::tool {

namespace {

using nlohmann::json;

// For attribute values and text alike. XML 1.0 has no control characters, escaped or not.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\n': result += "&#10;"; break;
      default: result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string keyOf(const json& item) {
  return item["name"].get<std::string>() + '\n' + item["kernel"].get<std::string>();
}

struct Suite {
  std::string cases;
  unsigned tests = 0, failures = 0, skipped = 0;
  double seconds = 0;
};

void addCheck(Suite& suite, const json& check, const std::map<std::string, std::string>& failures,
              const std::map<std::string, std::string>& reasons) {
  const std::string state = check["state"], name = check["name"];
  const double seconds = check["seconds"];
  std::string inside;
  if (state == "failed") {
    ++suite.failures;
    inside = failures.at(keyOf(check));
  } else if (state == "not_run") {
    ++suite.skipped;
    inside = fmt::format("<skipped message=\"{}\"/>", escaped(reasons.at(keyOf(check))));
  }
  ++suite.tests;
  suite.seconds += seconds;
  suite.cases += fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{:.4f}\">{}</testcase>\n",
                             escaped(check["operator"].get<std::string>()),
                             escaped(check["kernel"].get<std::string>()), escaped(name), seconds, inside);
}

std::string failureElement(const json& failure) {
  std::string text = failure["description"].get<std::string>();
  if (failure.contains("smallest")) {
    text += "\nsmallest: " + failure["smallest"]["description"].get<std::string>() + ": " +
            failure["smallest"]["reason"].get<std::string>() +
            "\nrepeat: " + failure["smallest"]["repeat"].get<std::string>();
  } else {
    text += "\nrepeat: " + failure["repeat"].get<std::string>();
  }
  return fmt::format("<failure message=\"{}\">{}</failure>", escaped(failure["reason"].get<std::string>()),
                     escaped(text));
}

std::string deviceSuites(const json& device) {
  const std::string name =
      fmt::format("{}, {}", device["name"].get<std::string>(), device["driver"].get<std::string>());
  std::map<std::string, std::string> failures, reasons;
  for (const json& failure : device["failures"]) {
    failures[keyOf(failure)] = failureElement(failure);
  }
  for (const json& notRun : device["not_run_cases"]) {
    reasons[keyOf(notRun)] = notRun["reason"];
  }
  std::vector<std::pair<std::string, Suite>> suites;
  for (const json& check : device.value("checks", json::array())) {
    const std::string suiteName =
        fmt::format("{}: {} {} {}", name, check["operator"].get<std::string>(),
                    check["kernel"].get<std::string>(), check["group"].get<std::string>());
    std::size_t index = 0;
    while (index < suites.size() && suites[index].first != suiteName) {
      ++index;
    }
    if (index == suites.size()) {
      suites.emplace_back(suiteName, Suite{});
    }
    addCheck(suites[index].second, check, failures, reasons);
  }
  if (device.contains("device_failure")) {
    const std::string reason = device["device_failure"];
    suites.emplace_back(name, Suite{fmt::format("    <testcase classname=\"device\" name=\"{}\">"
                                                "<failure message=\"{}\"/></testcase>\n",
                                                escaped(name), escaped(reason)),
                                    1, 1, 0, 0});
  }
  std::string text;
  for (const auto& [suiteName, suite] : suites) {
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}  "
        "</testsuite>\n",
        escaped(suiteName), suite.tests, suite.failures, suite.skipped, suite.seconds, suite.cases);
  }
  return text;
}

}  // namespace

std::string junitText(const json& report) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"saccade verify\">\n";
  for (const json& device : report["devices"]) {
    text += deviceSuites(device);
  }
  return text + "</testsuites>\n";
}

}  // namespace saccade::tool
