// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <saccade/runtime.hpp>

#include "reference/compare.hpp"

namespace saccade::check {

enum class State { Passed, Failed, NotRun };

struct Outcome {
  State state = State::NotRun;
  std::string reason;  // why it failed or was not run; empty if it passed
  // The element with the largest error / tolerance of all that was compared, if anything was.
  std::optional<reference::TensorComparison> worst;
};

// A smaller call that fails as well.
struct Smaller {
  std::string description;
  std::string only;  // as Check::only
  Outcome outcome;
  unsigned tries = 0;  // calls that it took to find it
};

// One call of an operator, with its expected result, that any device and kernel can be asked to get right.
// Instances may be used for several devices and kernels, one thread at a time.
class Check {
 public:
  Check(std::string name, std::string group, SaccadeOperator op)
      : name_(std::move(name)), group_(std::move(group)), op_(op) {}
  virtual ~Check() = default;
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  const std::string& name() const { return name_; }    // unique; runs it alone: `saccade verify --only NAME`
  const std::string& group() const { return group_; }  // "case files", "shapes", "properties" or "sweep"
  SaccadeOperator op() const { return op_; }           // whose kernels it can be run with
  // What is computed, in one line.
  virtual std::string description() const = 0;
  // What `saccade verify --only` takes to repeat it, with the same seed.
  virtual std::string only() const { return name_; }
  // Equal for checks that need the same pipelines: those are run one after the other.
  virtual std::string family() const { return name_; }

  // Never passes something that was not compared. A device that is lost throws Error DeviceLost; every other
  // failure of the device is an outcome.
  Outcome run(const Device& device, const std::string& kernel);

  // After a failure: looks for a smaller call that fails too, within a bounded number of tries and time.
  // Nothing if this kind of check cannot be made smaller, or if none of the smaller ones fails.
  virtual std::optional<Smaller> shrink(const Device& device, const std::string& kernel);

 private:
  // May throw what run() turns into an outcome: Error, io::FileError.
  virtual Outcome compute(const Device& device, const std::string& kernel) = 0;

  std::string name_;
  std::string group_;
  SaccadeOperator op_;
};

// Whether a kernel that was asked for by name says that it is not made for a call: for its dtype or its head dims. Such a check is not run.
bool isStatedLimit(const Error& error);

using Checks = std::vector<std::unique_ptr<Check>>;

// The outcome of tensors that were compared: failed if one of them did, or if something was written outside a
// tensor.
Outcome judge(const std::vector<reference::TensorComparison>& tensors,
              const std::vector<std::string>& overwritten);

// "attention", "matmul", ...
const char* operatorName(SaccadeOperator op);

// The variants of an operator that can be asked for and that a device supports.
std::vector<std::string> supportedKernels(const Device& device, SaccadeOperator op);

}  // namespace saccade::check
