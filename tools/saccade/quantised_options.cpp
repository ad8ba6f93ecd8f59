// SPDX-License-Identifier: Apache-2.0
#include "quantised_options.hpp"

#include <map>
#include <string>

#include "exit_code.hpp"

namespace saccade::tool {

void addQuantisedOptions(CLI::App& command, std::optional<io::DType>& dtype, std::int64_t& block) {
  static const std::map<std::string, io::DType> kDtypes{{"f8e4m3", io::DType::F8_E4M3}, {"i8", io::DType::I8}};
  command
      .add_option_function<std::string>(
          "--kv-dtype", [&dtype](const std::string& name) { dtype = kDtypes.at(name); },
          "attention: keys and values as f8e4m3 or i8 with scales, whatever the queries are")
      ->check(CLI::IsMember({"f8e4m3", "i8"}))
      ->type_name("DTYPE");
  command.add_option("--scale-block", block, "attention: tokens of quantised keys and values that share a scale; 0: all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30).description(""))
      ->type_name("N");
}

void requireQuantised(const CLI::App& command) {
  if (command.count("--scale-block") > 0 && command.count("--kv-dtype") == 0) {
    throw UsageError("--scale-block", "only quantised keys and values have scales; give --kv-dtype, too");
  }
}

}  // namespace saccade::tool
