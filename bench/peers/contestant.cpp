// SPDX-License-Identifier: Apache-2.0
#include "contestant.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace saccade::peers {

namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::string caseFile, result, weights;
  int threads = 1;
};

Arguments argumentsFrom(int argc, char** argv) {
  const char* usage = "usage: PROGRAM CASE.safetensors RESULT.safetensors --threads N [--weights MODEL.safetensors]";
  if (argc < 3 || argc % 2 == 0) {
    throw std::invalid_argument(usage);
  }
  Arguments arguments{.caseFile = argv[1], .result = argv[2]};
  for (int i = 3; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--threads" && std::atoi(argv[i + 1]) > 0) {
      arguments.threads = std::atoi(argv[i + 1]);
    } else if (name == "--weights") {
      arguments.weights = argv[i + 1];
    } else {
      throw std::invalid_argument(usage);
    }
  }
  return arguments;
}

void answer(const ordered_json& line) { std::cout << line.dump() << std::endl; }

ordered_json timesOf(Contestant& contestant, int runs) {
  ordered_json times = ordered_json::array();
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    contestant.run();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return times;
}

void obey(Contestant& contestant, const io::CaseFile& file, const std::string& resultFile) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    int runs = 0;
    words >> verb >> runs;
    if (verb == "run" && runs > 0) {
      answer({{"ms", timesOf(contestant, runs)}});
    } else if (verb == "write") {
      const Identity identity = contestant.identity();
      io::writeResultFile(
          resultFile, file, contestant.result(),
          {.kernel = identity.name, .device = identity.device, .pRounding = identity.pRounding});
      answer({{"written", true}});
    } else {
      throw std::invalid_argument("'" + line + "' is neither `run N` nor `write`");
    }
  }
}

}  // namespace

io::AttentionCase comparedAttention(const io::CaseFile& file) {
  if (file.op != "attention" || !file.unknown.empty()) {
    throw std::invalid_argument("it computes attention, and the case is about " + file.op);
  }
  const io::AttentionCase attention = io::readAttentionCase(file);
  const bool plain = !attention.packed && !attention.bias && !attention.mask && !attention.alibiSlopes &&
                     !attention.sink && attention.windowLeft < 0 && attention.windowRight < 0 &&
                     !attention.softmaxScale && attention.temperature == 1 && attention.softcap == 0 &&
                     attention.normalizer == io::Normalizer::Softmax &&
                     attention.causal != io::Causal::TopLeft && attention.q.dtype() != io::DType::BF16;
  if (!plain) {
    throw std::invalid_argument("of attention's options only causal and lengths are compared");
  }
  return attention;
}

int contest(int argc, char** argv, MakeContestant make) {
  try {
    const Arguments arguments = argumentsFrom(argc, argv);
    const Invitation invitation{io::readCaseFile(arguments.caseFile), arguments.threads, arguments.weights};
    const std::unique_ptr<Contestant> contestant = make(invitation);
    contestant->run();
    const Identity identity = contestant->identity();
    answer({{"name", identity.name},
            {"version", identity.version},
            {"device", identity.device},
            {"driver", identity.driver},
            {"note", identity.note}});
    obey(*contestant, invitation.file, arguments.result);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    answer({{"refused", error.what()}});
    return EXIT_FAILURE;
  }
}

}  // namespace saccade::peers
