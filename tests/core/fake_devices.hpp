// SPDX-License-Identifier: Apache-2.0
// Devices that exist on paper only: facts to plan for, without a driver.
#pragma once

#include <string>
#include <vector>

#include "device/facts.hpp"

namespace saccade::test {

struct FakeDevice {
  std::string name;  // letters, digits and underscores: part of test names
  core::DeviceFacts facts;
};

// Typed in for tests that want particular numbers.
core::DeviceFacts cpuFacts();         // subgroups of 8, everything native
core::DeviceFacts desktopGpuFacts();  // subgroups of 32, 48 KiB of shared memory
core::DeviceFacts wideGpuFacts();     // subgroups of 64, 64 KiB of shared memory
core::DeviceFacts matrixGpuFacts();   // subgroups of 32 or 64, matrices of 16x16x16
core::DeviceFacts plainCpuFacts();    // subgroups of 4, nothing native
core::DeviceFacts minimalFacts();     // what Vulkan 1.2 guarantees and buffer device addresses, nothing more

// Every device of tests/facts/, which says where its numbers are from, and the minimal one.
const std::vector<FakeDevice>& fakeDevices();

}  // namespace saccade::test
