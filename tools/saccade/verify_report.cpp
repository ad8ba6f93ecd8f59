// SPDX-License-Identifier: Apache-2.0
#include "verify_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace saccade::tool {

namespace {

using nlohmann::json;

constexpr unsigned kShownFailures = 2;  // of one kernel and group

const char* stateName(check::State state) {
  switch (state) {
    case check::State::Passed: return "passed";
    case check::State::Failed: return "failed";
    case check::State::NotRun: break;
  }
  return "not_run";
}

// JSON has no NaN and no infinity: those become words.
json number(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return fmt::format("{}", value);
}

double toDouble(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

json elementJson(const reference::TensorComparison& worst) {
  return {{"tensor", worst.tensor},      {"index", worst.worstIndex},    {"expected", number(worst.expected)},
          {"got", number(worst.got)},    {"error", number(worst.error)}, {"tolerance", number(worst.allowed)},
          {"ratio", number(worst.ratio)}};
}

json worstJson(const CheckResult& result) {
  json worst = elementJson(*result.outcome.worst);
  worst["name"] = result.name;
  worst["operator"] = result.op;
  worst["kernel"] = result.kernel;
  return worst;
}

std::string plural(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string worstText(const json& worst) {
  return fmt::format(
      "worst case: {} on {} {}: {}[{}] is {}, expected {}: error {} = {:.3g} of the tolerance {}\n",
      worst["name"].get<std::string>(), worst["operator"].get<std::string>(),
      worst["kernel"].get<std::string>(), worst["tensor"].get<std::string>(),
      fmt::join(worst["index"].get<std::vector<long long>>(), ","), worst["got"].dump(),
      worst["expected"].dump(), worst["error"].dump(), toDouble(worst["ratio"]), worst["tolerance"].dump());
}

std::string notRunText(const json& device) {
  // One line per case, although it may not have been run on several kernels.
  std::map<std::string, std::string> reasons;
  for (const json& item : device["not_run_cases"]) {
    reasons[item["name"]] = item["reason"];
  }
  if (reasons.empty()) {
    return "";
  }
  std::string text = fmt::format("not run, {}:\n", plural(reasons.size(), "case"));
  for (const auto& [name, reason] : reasons) {
    text += fmt::format("  {:<32} {}\n", name, reason);
  }
  return text;
}

std::string elementText(const json& element) {
  return fmt::format("{}[{}]: expected {}, got {}", element["tensor"].get<std::string>(),
                     fmt::join(element["index"].get<std::vector<long long>>(), ","),
                     element["expected"].dump(), element["got"].dump());
}

std::string failureText(const json& device, const json& failure) {
  std::string text =
      fmt::format("FAILED {} on {} {}: {}\n  call      {}\n", failure["name"].get<std::string>(),
                  failure["operator"].get<std::string>(), failure["kernel"].get<std::string>(),
                  failure["reason"].get<std::string>(), failure["description"].get<std::string>());
  if (failure.contains("smallest")) {
    const json& smallest = failure["smallest"];
    text += fmt::format(
        "  smallest  {} (after {})\n            {}\n", smallest["description"].get<std::string>(),
        plural(smallest["tries"].get<std::size_t>(), "smaller call"), smallest["reason"].get<std::string>());
  }
  const json& shown = failure.contains("smallest") ? failure["smallest"] : failure;
  if (shown.contains("worst")) {
    text += fmt::format("  worst     {}\n", elementText(shown["worst"]));
  }
  return text + fmt::format("  device    {}, {}\n  repeat    {}\n", device["name"].get<std::string>(),
                            device["driver"].get<std::string>(), shown["repeat"].get<std::string>());
}

// Those for which a smaller call was found come first; of each kernel and group a few.
std::string failuresText(const json& device) {
  std::vector<const json*> failures;
  for (const json& failure : device["failures"]) {
    failures.push_back(&failure);
  }
  std::stable_partition(failures.begin(), failures.end(),
                        [](const json* f) { return f->contains("smallest"); });
  std::string text;
  std::map<std::string, unsigned> shown;
  std::size_t further = 0;
  for (const json* failure : failures) {
    const std::string kind =
        (*failure)["kernel"].get<std::string>() + "/" + (*failure)["group"].get<std::string>();
    if (shown[kind]++ < kShownFailures) {
      text += failureText(device, *failure);
    } else {
      ++further;
    }
  }
  return text + (further == 0
                     ? ""
                     : fmt::format("... and {}: --json lists all\n", plural(further, "further failure")));
}

std::string deviceText(const json& device) {
  std::string text = fmt::format("device {}: {}, {}\n", device["index"].get<unsigned>(),
                                 device["name"].get<std::string>(), device["driver"].get<std::string>());
  if (device.contains("missing")) {
    return text + fmt::format("  not supported, it lacks: {}\n",
                              fmt::join(device["missing"].get<std::vector<std::string>>(), ", "));
  }
  if (device.contains("device_failure")) {
    text += fmt::format("FAILED as a whole: {}\n", device["device_failure"].get<std::string>());
  }
  if (!device["groups"].empty()) {
    text += fmt::format("  {:<12} {:<16} {:<12} {:>7} {:>7} {:>8}\n", "operator", "kernel", "group", "passed",
                        "failed", "not run");
  }
  for (const json& group : device["groups"]) {
    text += fmt::format("  {:<12} {:<16} {:<12} {:>7} {:>7} {:>8}\n", group["operator"].get<std::string>(),
                        group["kernel"].get<std::string>(), group["group"].get<std::string>(),
                        group["passed"].get<unsigned>(), group["failed"].get<unsigned>(),
                        group["not_run"].get<unsigned>());
  }
  text += notRunText(device);
  if (device.contains("worst")) {
    text += worstText(device["worst"]);
  }
  return text + failuresText(device) + "\n";
}

}  // namespace

DeviceReport::DeviceReport(const DeviceSummary& device, const VerifyOptions& options)
    : options_(options),
      json_{{"index", device.index},   {"name", device.name},       {"driver", device.driver},
            {"groups", json::array()}, {"failures", json::array()}, {"not_run_cases", json::array()}} {}

std::string DeviceReport::repeatCommand(const CheckResult& result, const std::string& only) const {
  return fmt::format("saccade verify --device {} --kernel {} {}", json_["index"].get<unsigned>(),
                     result.kernel, repeatArguments(options_, only));
}

json DeviceReport::failureJson(const CheckResult& result) const {
  json failure = {{"name", result.name},
                  {"operator", result.op},
                  {"kernel", result.kernel},
                  {"group", result.group},
                  {"reason", result.outcome.reason},
                  {"description", result.description},
                  {"repeat", repeatCommand(result, result.only)}};
  if (result.outcome.worst) {
    failure["worst"] = elementJson(*result.outcome.worst);
  }
  if (result.smaller) {
    json& smallest = failure["smallest"];
    smallest = {{"description", result.smaller->description},
                {"tries", result.smaller->tries},
                {"reason", result.smaller->outcome.reason},
                {"repeat", repeatCommand(result, result.smaller->only)}};
    if (result.smaller->outcome.worst) {
      smallest["worst"] = elementJson(*result.smaller->outcome.worst);
    }
  }
  return failure;
}

void DeviceReport::add(const CheckResult& result) {
  const check::Outcome& outcome = result.outcome;
  json* group = nullptr;
  for (json& known : json_["groups"]) {
    if (known["operator"] == result.op && known["kernel"] == result.kernel &&
        known["group"] == result.group) {
      group = &known;
    }
  }
  if (group == nullptr) {
    group = &json_["groups"].emplace_back(json{{"operator", result.op},
                                               {"kernel", result.kernel},
                                               {"group", result.group},
                                               {"passed", 0},
                                               {"failed", 0},
                                               {"not_run", 0}});
  }
  json& count = (*group)[stateName(outcome.state)];
  count = count.get<unsigned>() + 1;
  if (outcome.state == check::State::NotRun) {
    json_["not_run_cases"].push_back(
        {{"name", result.name}, {"kernel", result.kernel}, {"reason", outcome.reason}});
  }
  if (outcome.state == check::State::Failed) {
    json_["failures"].push_back(failureJson(result));
  }
  if (options_.everyCheck || !options_.junit.empty()) {
    json_["checks"].push_back({{"name", result.name},
                               {"operator", result.op},
                               {"kernel", result.kernel},
                               {"group", result.group},
                               {"state", stateName(outcome.state)},
                               {"seconds", result.seconds}});
  }
  if (outcome.worst &&
      (!json_.contains("worst") || outcome.worst->ratio > toDouble(json_["worst"]["ratio"]))) {
    json_["worst"] = worstJson(result);
  }
}

json joinReports(std::vector<json> devices) {
  std::map<std::string, unsigned> counts = {{"passed", 0}, {"failed", 0}, {"not_run", 0}};
  for (const json& device : devices) {
    counts["failed"] += device.contains("device_failure") ? 1 : 0;
    for (const json& group : device["groups"]) {
      for (auto& [state, count] : counts) {
        count += group[state].get<unsigned>();
      }
    }
  }
  return {{"devices", std::move(devices)},
          {"passed", counts["passed"]},
          {"failed", counts["failed"]},
          {"not_run", counts["not_run"]},
          {"ok", counts["failed"] == 0 && counts["passed"] > 0}};
}

std::string reportText(const json& report) {
  std::string text;
  for (const json& device : report["devices"]) {
    text += deviceText(device);
  }
  return text + fmt::format("{} passed, {} failed, {} not run\n", report["passed"].get<unsigned>(),
                            report["failed"].get<unsigned>(), report["not_run"].get<unsigned>());
}

}  // namespace saccade::tool
