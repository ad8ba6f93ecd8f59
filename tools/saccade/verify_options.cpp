// SPDX-License-Identifier: Apache-2.0
#include "verify_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "check/case_checks.hpp"
#include "check/spec_check.hpp"
#include "check/sweep.hpp"
#include "exit_code.hpp"

namespace saccade::tool {

namespace {

// Chosen so that a CPU device with two cores is through in well under a minute.
constexpr std::uint32_t kDefaultSweep = 128;
constexpr std::uint32_t kThoroughSweep = 1000;

std::uint32_t sweepOf(const VerifyOptions& options) {
  return options.sweep.value_or(options.thorough ? kThoroughSweep : kDefaultSweep);
}

void append(check::Checks& checks, check::Checks more) {
  std::move(more.begin(), more.end(), std::back_inserter(checks));
}

std::unique_ptr<check::Check> takeNamed(check::Checks& checks, const std::string& name) {
  const auto found =
      std::find_if(checks.begin(), checks.end(), [&](const auto& c) { return c && c->name() == name; });
  return found == checks.end() ? nullptr : std::move(*found);
}

std::unique_ptr<check::Check> checkOnly(check::Checks& cases, const VerifyOptions& options,
                                        const std::string& name) {
  if (auto found = takeNamed(cases, name)) {
    return found;
  }
  try {
    if (auto spec = check::parseSpecCheck(name, options.seed)) {
      return spec;
    }
  } catch (const std::invalid_argument& error) {
    throw UsageError("--only", error.what());
  }
  if (auto random = check::sweepCheck(options.seed, name)) {
    return random;
  }
  check::Checks builtIn = check::shapeChecks(options.seed, options.thorough);
  append(builtIn, check::propertyChecks(options.seed, options.thorough));
  if (auto found = takeNamed(builtIn, name)) {
    return found;
  }
  throw UsageError("--only",
                   fmt::format("'{}' is neither a case in --cases, nor a built-in or random check such as "
                               "shapes/0, causality/0, {}, nor a description such as attention:f16,B1,Hq2,"
                               "Hkv1,Tq3,Tk17,Dqk4,Dv4,causal",
                               name, fmt::join(check::sweepExamples(), ", ")));
}

}  // namespace

const std::vector<std::string>& groupNames() {
  static const std::vector<std::string> names = {"cases", "shapes", "properties", "sweep"};
  return names;
}

check::Checks collectChecks(const VerifyOptions& options) {
  const std::set<std::string> groups(options.groups.begin(), options.groups.end());
  const auto has = [&](const std::string& group) { return groups.empty() || groups.contains(group); };
  check::Checks checks;
  if (!options.cases.empty() && has("cases")) {
    checks = check::caseChecks(options.cases, options.weights);
    if (checks.empty()) {
      throw UsageError("--cases", fmt::format("there is no *.safetensors file in '{}'", options.cases));
    }
  }
  if (!options.only.empty()) {
    check::Checks chosen;
    for (const std::string& name : options.only) {
      chosen.push_back(checkOnly(checks, options, name));
    }
    return chosen;
  }
  if (has("shapes")) {
    append(checks, check::shapeChecks(options.seed, options.thorough));
  }
  if (has("properties")) {
    append(checks, check::propertyChecks(options.seed, options.thorough));
  }
  if (has("sweep")) {
    append(checks, check::sweepChecks(options.seed, sweepOf(options)));
  }
  return checks;
}

std::vector<std::string> childArguments(const VerifyOptions& options, const std::string& kernel) {
  std::vector<std::string> arguments = {"verify",    "--json",
                                        "--sweep",   fmt::format("{}", sweepOf(options)),
                                        "--seed",    fmt::format("{}", options.seed),
                                        "--threads", fmt::format("{}", options.threads)};
  const auto pass = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) {
      arguments.insert(arguments.end(), {option, value});
    }
  };
  pass("--cases", options.cases);
  pass("--weights", options.weights);
  pass("--kernel", kernel);
  pass("--groups", fmt::format("{}", fmt::join(options.groups, ",")));
  for (const std::string& name : options.only) {
    pass("--only", name);
  }
  if (options.thorough) {
    arguments.emplace_back("--thorough");
  }
  if (options.everyCheck || !options.junit.empty()) {
    arguments.emplace_back("--every-check");
  }
  return arguments;
}

std::string repeatArguments(const VerifyOptions& options, const std::string& only) {
  const bool isSpec = only.find(':') != std::string::npos;
  return fmt::format("{}--seed {} --only '{}'",
                     isSpec || options.cases.empty() ? "" : fmt::format("--cases {} ", options.cases),
                     options.seed, only);
}

}  // namespace saccade::tool
