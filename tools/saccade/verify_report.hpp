// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "verify_options.hpp"
#include "verify_run.hpp"

namespace saccade::tool {

// What `verify` found on one device, collected check by check. The JSON form is what --json prints and what
// the text form is made from, so that a device that was checked in a process of its own reads no differently.
class DeviceReport {
 public:
  DeviceReport(const DeviceSummary& device, const VerifyOptions& options);

  void add(const CheckResult& result);
  void setSeconds(double seconds) { json_["seconds"] = seconds; }
  // The device as a whole failed: it was lost, or its driver took the process down.
  void setFailure(const std::string& reason) { json_["device_failure"] = reason; }
  // The device cannot run anything: what it lacks.
  void setUnsupported(const std::vector<std::string>& missing) { json_["missing"] = missing; }

  const nlohmann::json& result() const { return json_; }

 private:
  nlohmann::json failureJson(const CheckResult& result) const;
  std::string repeatCommand(const CheckResult& result, const std::string& only) const;

  VerifyOptions options_;
  nlohmann::json json_;
};

// Joins the reports of several devices: {"devices": [...], "passed": N, "failed": N, "not_run": N, "ok": B}.
// A device that failed as a whole counts as one failure.
nlohmann::json joinReports(std::vector<nlohmann::json> devices);

// The report for people.
std::string reportText(const nlohmann::json& report);

}  // namespace saccade::tool
