// SPDX-License-Identifier: Apache-2.0
// What `saccade bench` makes of its figures: presets, limits, the forms of the report, comparison, plots, sweeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "program.hpp"
#include "unit/temporary_folder.hpp"

namespace saccade::test {
namespace {

using nlohmann::json;

ProgramResult bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  return saccade(arguments);
}

json jsonOf(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const ProgramResult result = bench(arguments);
  EXPECT_EQ(result.exitCode, 0) << result.out << result.err;
  return json::parse(result.out);
}

// A quick run with two rows and no limits.
const std::vector<std::string> kQuick = {"--preset", "peers", "--only", "S1,S6", "--no-limits", "--repeat", "3"};

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Every tag is closed, in order, and there is one root.
testing::AssertionResult wellFormed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t begin = xml.find('<'); begin != std::string::npos; begin = xml.find('<', begin + 1)) {
    const std::size_t end = xml.find('>', begin);
    if (end == std::string::npos) return testing::AssertionFailure() << "a tag without an end";
    const std::string tag = xml.substr(begin + 1, end - begin - 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return testing::AssertionFailure() << "quotes in " << tag;
    const std::string name = tag.substr(tag[0] == '/', tag.find_first_of(" /", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != name) return testing::AssertionFailure() << "</" << name << "> closes nothing";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  return open.empty() ? testing::AssertionSuccess() : testing::AssertionFailure() << open.back() << " stays open";
}

TEST(BenchReport, PeersShapesAreKnownByTheirNames) {
  const json report = jsonOf({"--preset", "peers", "--only", "S6,padded-batch", "--no-limits", "--repeat", "1"});
  EXPECT_EQ(report["format"], "saccade bench 1");
  ASSERT_EQ(report["results"].size(), 2u);
  const json &decode = report["results"][0], &padded = report["results"][1];
  EXPECT_EQ(decode["name"], "S6");
  EXPECT_EQ(decode["shape"], "B1 H32/8 Tq1 Tk4096 D128");
  EXPECT_EQ(decode["flops"], 4.0 * 32 * 4096 * 128);
  EXPECT_EQ(decode["bytes"], 4.0 * 128 * (2 * 32 + 2 * 8 * 4096));
  EXPECT_EQ(padded["name"], "S7");
  EXPECT_EQ(padded["stands_for"], "padded-batch");
  EXPECT_EQ(padded["flops"], 4.0 * 8 * 12 * 128 * 128 * 64);
  EXPECT_EQ(padded["useful_flops"], 4.0 * 2 * 12 * 64 * (128 * 128 + 96 * 96 + 64 * 64 + 32 * 32));
  EXPECT_FALSE(decode.contains("share_of_roof"));
  EXPECT_FALSE(report.contains("limits"));
}

TEST(BenchReport, MeasuresTheLimitsOfTheDeviceAndTheShareOfEachRow) {
  const json report = jsonOf({"--preset", "peers", "--only", "S1,S6", "--repeat", "3"});
  const json& limits = report["limits"];
  EXPECT_GT(limits["fp32_gflops"].get<double>(), 0.1);
  EXPECT_GT(limits["copy_gbytes_per_second"].get<double>(), 0.1);
  EXPECT_GT(limits["read_gbytes_per_second"].get<double>(), 0.1);
  EXPECT_TRUE(limits.contains("fp16_gflops"));
  EXPECT_TRUE(limits.contains("matrix_gflops"));
  const double bandwidth = std::max(limits["copy_gbytes_per_second"].get<double>(),
                                    limits["read_gbytes_per_second"].get<double>());
  for (const json& row : report["results"]) {
    const double ops = row["useful_gflops"].get<double>() / limits["fp32_gflops"].get<double>();
    const double memory = row["gbytes_per_second"].get<double>() / bandwidth;
    EXPECT_NEAR(row["share_of_roof"].get<double>(), std::max(ops, memory), 1e-9);
    EXPECT_EQ(row["roof"], memory > ops ? "memory" : "arithmetic");
  }
}

TEST(BenchReport, CountsVisibleKeysOfWindowsAndLengths) {
  const json window = jsonOf({"attention", "--heads", "2", "--seqlen", "40", "--causal", "top_left", "--window-left",
                              "7", "--no-limits", "--repeat", "1"})["results"][0];
  EXPECT_EQ(window["shape"], "B1 H2 T40 D64 causal top_left left 7");
  EXPECT_EQ(window["useful_flops"], 4.0 * 2 * 64 * (36 + 32 * 8));  // 1 + ... + 8, then 8 keys a row
  EXPECT_TRUE(window["passed"].get<bool>());
  const json lengths = jsonOf({"attention", "--heads", "2", "--tq", "3", "--tk", "50", "--lengths", "50,0,7",
                               "--no-limits", "--repeat", "1"})["results"][0];
  EXPECT_EQ(lengths["shape"], "B3 H2 Tq3 Tk50 D64 lengths");
  EXPECT_EQ(lengths["useful_flops"], 4.0 * 2 * 64 * 3 * (50 + 0 + 7));
  EXPECT_TRUE(lengths["passed"].get<bool>());
}

TEST(BenchReport, CsvHasALinePerRowAndAsManyFieldsInEach) {
  const ProgramResult result = bench(with(kQuick, {"--csv"}));
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const std::vector<std::string> lines = linesOf(result.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(startsWith(lines[0], "operator,name,shape,dtype,kernel,ms_median,"));
  EXPECT_TRUE(startsWith(lines[1], "attention,S1,B1 H3 T197 D64,F32,"));
  for (const std::string& line : lines) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(lines[0].begin(), lines[0].end(), ',')) << line;
  }
}

TEST(BenchReport, MarkdownIsATable) {
  const ProgramResult result = bench(with(kQuick, {"--markdown"}));
  ASSERT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "|---|"));
  EXPECT_TRUE(contains(result.out, "| attention S1 ViT-Tiny | B1 H3 T197 D64 | F32 |"));
}

TEST(BenchReport, ComparesWithAnOlderReport) {
  const TemporaryFolder folder;
  // Enough runs for a median that others on the machine do not move.
  const std::vector<std::string> quick = {"attention", "--preset", "peers", "--only", "S1", "--no-limits", "--repeat", "15"};
  const json report = jsonOf(quick);
  const auto base = [&](const std::string& name, double factor) {
    json changed = report;
    for (json& row : changed["results"]) {
      row["ms_median"] = row["ms_median"].get<double>() * factor;
      for (json& time : row["ms"]) time = row["ms_median"];  // no noise of its own
    }
    return folder.file(name, changed.dump()).string();
  };
  const ProgramResult slower = bench(with(quick, {"--compare", base("quick.json", 0.01)}));
  EXPECT_EQ(slower.exitCode, 1);
  EXPECT_TRUE(contains(slower.out, "SLOWER"));
  EXPECT_EQ(bench(with(quick, {"--compare", base("quick.json", 0.01), "--tolerance", "1000000"})).exitCode, 0);

  const json faster = jsonOf(with(quick, {"--compare", base("slow.json", 100)}));
  ASSERT_EQ(faster["comparison"]["rows"].size(), 1u);
  for (const json& row : faster["comparison"]["rows"]) {
    EXPECT_EQ(row["verdict"], "faster");
    EXPECT_LT(row["ratio"].get<double>(), 0.5);
    EXPECT_GE(row["noise"].get<double>(), 0.02);
  }
  const json other = jsonOf({"attention", "--seqlen", "17", "--no-limits", "--repeat", "1", "--compare",
                             base("slow.json", 1)});
  EXPECT_TRUE(other["comparison"]["rows"].empty());
  EXPECT_EQ(other["comparison"]["notes"][0], "attention custom (B1 H1 T17 D64) is new");
}

TEST(BenchReport, RefusesAComparisonThatItCannotMakeBeforeItMeasures) {
  const TemporaryFolder folder;
  const std::string missing = (folder / "missing.json").string();
  for (const std::string& path :
       {missing, folder.file("text.json", "no JSON").string(), folder.file("other.json", "{\"a\": 1}").string(),
        folder.file("newer.json", "{\"format\": \"saccade bench 2\", \"results\": []}").string()}) {
    const ProgramResult result = bench(with(kQuick, {"--compare", path}));
    EXPECT_EQ(result.exitCode, 2) << path;
    EXPECT_EQ(result.out, "") << path;
    EXPECT_TRUE(contains(result.err, path));
  }
}

TEST(BenchReport, PlotsTheRoofline) {
  const TemporaryFolder folder;
  const std::string path = (folder / "roofline.svg").string();
  const ProgramResult result = bench({"--preset", "peers", "--only", "S1,S6", "--repeat", "1", "--plot", path});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const std::string svg = contentOf(path);
  EXPECT_TRUE(startsWith(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(wellFormed(svg));
  for (const char* part : {">S1<", ">S6<", "GFLOP/s", "floating-point operations per byte", "GB/s of memory"}) {
    EXPECT_TRUE(contains(svg, part));
  }
  const ProgramResult refused = bench(with(kQuick, {"--plot", (folder / "missing" / "a.svg").string()}));
  EXPECT_EQ(refused.exitCode, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(contains(refused.err, "a.svg"));
}

TEST(BenchSweep, MemoryGrowsWithTheSequenceAndWithoutFlashWithItsSquare) {
  const TemporaryFolder folder;
  const std::string path = (folder / "sweep.svg").string();
  const json report = jsonOf({"--preset", "sweep", "--seqlen", "512", "--budget", "20", "--repeat", "1", "--no-limits",
                              "--plot", path});
  ASSERT_EQ(report["results"].size(), 18u);  // 128, 256, 512; three masks; with and without
  for (const json& row : report["results"]) {
    EXPECT_TRUE(row["passed"].get<bool>()) << row;
    const double t = row["seqlen"].get<double>();
    const double extra = row["extra_memory_bytes"].get<double>();
    if (row["fused"].get<bool>()) {
      EXPECT_LT(extra, 64.0 * 1024 * 1024) << row;
    } else {
      EXPECT_EQ(extra, 4 * t * t) << row;
    }
  }
  ASSERT_EQ(report["growth"].size(), 6u);
  EXPECT_EQ(report["growth"][2]["series"], "window 256, flash");
  const std::string svg = contentOf(path);
  EXPECT_TRUE(wellFormed(svg));
  for (const char* part : {"causal, unfused", "sequence length, tokens", "milliseconds", "MiB"}) {
    EXPECT_TRUE(contains(svg, part));
  }
}

TEST(BenchSweep, LeavesOutWhatWouldNotEndInTime) {
  const json report = jsonOf({"--preset", "sweep", "--dtype", "f16", "--seqlen", "131072", "--budget", "1.5", "--repeat",
                              "1", "--no-limits"});
  const json& last = report["results"].back();
  ASSERT_TRUE(last.contains("skipped")) << last;
  EXPECT_TRUE(contains(last["skipped"].get<std::string>(), "--budget"));
  for (const json& row : report["results"]) {
    EXPECT_TRUE(row["fused"].get<bool>());  // scores in 16 bits are not compared
  }
}

TEST(BenchSweep, RefusesOtherOperators) {
  const ProgramResult result = bench({"matmul", "--preset", "sweep"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_TRUE(contains(result.err, "--preset"));
}

TEST(BenchReport, AShapeThatDoesNotFitIntoMemoryIsRefusedWithWhatItNeedsAndWhatThereIs) {
  std::ifstream memory("/proc/meminfo");
  std::string word;
  double kilobytes = 0;
  if (!(memory >> word >> kilobytes) || kilobytes > 60e6) {
    GTEST_SKIP() << "the shape of this test may fit into this machine";
  }
  // Four tensors of 15.8 GiB each.
  const ProgramResult result =
      bench({"attention", "--heads", "63", "--seqlen", "1048576", "--head-dim", "64", "--no-limits"});
  EXPECT_EQ(result.exitCode, 2) << result.err;
  EXPECT_TRUE(contains(result.err, "B1 H63 T1048576 D64 needs "));
  EXPECT_TRUE(contains(result.err, "GiB of memory, but "));
  EXPECT_TRUE(contains(result.err, " available"));
}

}  // namespace
}  // namespace saccade::test
