// SPDX-License-Identifier: Apache-2.0
#include "check/attention_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>

namespace saccade::check {

namespace {

constexpr std::int64_t kElementLimit = std::int64_t{1} << 26;
constexpr char kAxes[] = "bhqk", kScaleAxes[] = "bht";

struct Name {
  const char* text;
  int value;
};

// The words of the enumerations that a spec has; the first of each is what an option that is left out means.
constexpr std::array<Name, 3> kDtypes{{{"f32", static_cast<int>(io::DType::F32)},
                                       {"f16", static_cast<int>(io::DType::F16)},
                                       {"bf16", static_cast<int>(io::DType::BF16)}}};
constexpr std::array<Name, 2> kQuantised{{{"f8e4m3", static_cast<int>(io::DType::F8_E4M3)},
                                          {"i8", static_cast<int>(io::DType::I8)}}};
constexpr std::array<Name, 3> kSlopes{{{"none", static_cast<int>(Slopes::None)},
                                       {"h", static_cast<int>(Slopes::PerHead)},
                                       {"bh", static_cast<int>(Slopes::PerBatchAndHead)}}};
constexpr std::array<Name, 3> kHidden{{{"ordinary", static_cast<int>(Hidden::Ordinary)},
                                       {"nan", static_cast<int>(Hidden::Nan)},
                                       {"zero", static_cast<int>(Hidden::Zero)}}};
constexpr std::array<Name, 4> kPackings{{{"separate", static_cast<int>(Packing::Separate)},
                                         {"qkv", static_cast<int>(Packing::Qkv)},
                                         {"shared_kv", static_cast<int>(Packing::SharedKv)},
                                         {"interleaved_kv", static_cast<int>(Packing::InterleavedKv)}}};
constexpr std::array<Name, 4> kLayouts{{{"bhsd", static_cast<int>(Layout::Contiguous)},
                                        {"bshd", static_cast<int>(Layout::TokensFirst)},
                                        {"padded", static_cast<int>(Layout::PaddedRows)},
                                        {"slice", static_cast<int>(Layout::CacheSlice)}}};

template <typename Enum, std::size_t count>
const char* wordOf(const std::array<Name, count>& names, Enum value) {
  return std::find_if(names.begin(), names.end(),
                      [&](const Name& n) { return n.value == static_cast<int>(value); })
      ->text;
}

[[noreturn]] void refuse(std::string_view item, const std::string& allowed) {
  throw std::invalid_argument(fmt::format("'{}' in the description of a check: {}", item, allowed));
}

template <typename Enum, std::size_t count>
void parseWord(const std::array<Name, count>& names, std::string_view text, Enum& value) {
  for (const Name& name : names) {
    if (text == name.text) {
      value = static_cast<Enum>(name.value);
      return;
    }
  }
  std::vector<std::string> allowed;
  for (const Name& name : names) {
    allowed.emplace_back(name.text);
  }
  refuse(text, fmt::format("allowed are {}", fmt::join(allowed, ", ")));
}

template <typename Number>
Number parseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    refuse(text, "it must be a number");
  }
  return number;
}

std::vector<std::int32_t> parseList(std::string_view text) {
  std::vector<std::int32_t> numbers;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    numbers.push_back(parseNumber<std::int32_t>(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return numbers;
}

// "b-q-": full over batch and query.
template <std::size_t count>
std::string broadcastText(const std::array<bool, count>& full, const char* axes = kAxes) {
  std::string text(count, '-');
  for (std::size_t axis = 0; axis < full.size(); ++axis) {
    text[axis] = full[axis] ? axes[axis] : '-';
  }
  return text;
}

template <typename Full>
Full parseBroadcast(std::string_view text, const char* axes = kAxes) {
  Full full{};
  for (std::size_t axis = 0; axis < full.size(); ++axis) {
    if (text.size() != full.size() || (text[axis] != '-' && text[axis] != axes[axis])) {
      refuse(text, fmt::format("it must be {}, with a '-' for each axis of size 1", axes));
    }
    full[axis] = text[axis] != '-';
  }
  return full;
}

// Splits "a:b"; b is empty without a colon.
std::pair<std::string_view, std::string_view> splitPair(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon == std::string_view::npos ? std::pair(text, std::string_view{})
                                         : std::pair(text.substr(0, colon), text.substr(colon + 1));
}

using Setter = std::function<void(AttentionSpec&, std::string_view value)>;

// Items of the form name=value, and without "=value" where the value may be empty.
const std::map<std::string_view, Setter>& options() {
  static const std::map<std::string_view, Setter> all = {
      {"causal",
       [](AttentionSpec& s, std::string_view value) {
         if (!value.empty() && value != "top_left") {
           refuse(value, "causal alone is bottom_right; the other is causal=top_left");
         }
         s.causal = value.empty() ? io::Causal::BottomRight : io::Causal::TopLeft;
       }},
      {"window",
       [](AttentionSpec& s, std::string_view value) {
         const auto [left, right] = splitPair(value);
         s.windowLeft = parseNumber<std::int64_t>(left);
         s.windowRight = parseNumber<std::int64_t>(right);
       }},
      {"scale", [](AttentionSpec& s, std::string_view value) { s.softmaxScale = parseNumber<float>(value); }},
      {"temperature",
       [](AttentionSpec& s, std::string_view value) { s.temperature = parseNumber<float>(value); }},
      {"softcap", [](AttentionSpec& s, std::string_view value) { s.softcap = parseNumber<float>(value); }},
      {"mask", [](AttentionSpec& s, std::string_view value) { s.mask = parseBroadcast<Broadcast>(value); }},
      {"bias",
       [](AttentionSpec& s, std::string_view value) {
         const auto [dtype, axes] = splitPair(value);
         parseWord(kDtypes, dtype, s.biasDtype);
         s.bias = parseBroadcast<Broadcast>(axes);
       }},
      {"alibi", [](AttentionSpec& s, std::string_view value) { parseWord(kSlopes, value, s.alibi); }},
      {"sink", [](AttentionSpec& s, std::string_view) { s.sink = true; }},
      {"seqlens_q", [](AttentionSpec& s, std::string_view value) { s.seqlensQ = parseList(value); }},
      {"seqlens_k", [](AttentionSpec& s, std::string_view value) { s.seqlensK = parseList(value); }},
      {"cu_q", [](AttentionSpec& s, std::string_view value) { s.cuSeqlensQ = parseList(value); }},
      {"cu_k", [](AttentionSpec& s, std::string_view value) { s.cuSeqlensK = parseList(value); }},
      {"kv",
       [](AttentionSpec& s, std::string_view value) {
         s.kvDtype.emplace();
         parseWord(kQuantised, value, *s.kvDtype);
       }},
      {"k_scale",
       [](AttentionSpec& s, std::string_view value) { s.kScale = parseBroadcast<ScaleAxes>(value, kScaleAxes); }},
      {"v_scale",
       [](AttentionSpec& s, std::string_view value) { s.vScale = parseBroadcast<ScaleAxes>(value, kScaleAxes); }},
      {"scale_block",
       [](AttentionSpec& s, std::string_view value) { s.scaleBlock = parseNumber<std::int64_t>(value); }},
      {"page",
       [](AttentionSpec& s, std::string_view value) { s.pageSize = parseNumber<std::int64_t>(value); }},
      {"lse", [](AttentionSpec& s, std::string_view) { s.lse = true; }},
      {"probs", [](AttentionSpec& s, std::string_view) { s.probs = true; }},
      {"packing",
       [](AttentionSpec& s, std::string_view value) { parseWord(kPackings, value, s.layout.packing); }},
      {"q", [](AttentionSpec& s, std::string_view value) { parseWord(kLayouts, value, s.layout.q); }},
      {"k", [](AttentionSpec& s, std::string_view value) { parseWord(kLayouts, value, s.layout.k); }},
      {"v", [](AttentionSpec& s, std::string_view value) { parseWord(kLayouts, value, s.layout.v); }},
      {"out", [](AttentionSpec& s, std::string_view value) { parseWord(kLayouts, value, s.layout.out); }},
      {"keys_first", [](AttentionSpec& s, std::string_view) { s.layout.keysFirst = true; }},
      {"host_lengths", [](AttentionSpec& s, std::string_view) { s.layout.hostLengths = true; }},
      {"hidden", [](AttentionSpec& s, std::string_view value) { parseWord(kHidden, value, s.hidden); }},
      {"nan", [](AttentionSpec& s, std::string_view) { s.visibleNan = true; }},
      {"data", [](AttentionSpec& s, std::string_view value) { s.data = parseNumber<std::uint64_t>(value); }},
  };
  return all;
}

struct Size {
  const char* name;
  std::int64_t AttentionSpec::* field;
};

constexpr std::array<Size, 7> kSizes{{{"B", &AttentionSpec::batch},
                                      {"Hq", &AttentionSpec::numHeadsQ},
                                      {"Hkv", &AttentionSpec::numHeadsKv},
                                      {"Tq", &AttentionSpec::seqlenQ},
                                      {"Tk", &AttentionSpec::seqlenK},
                                      {"Dqk", &AttentionSpec::headDimQk},
                                      {"Dv", &AttentionSpec::headDimV}}};

void parseItem(std::string_view item, AttentionSpec& spec) {
  for (const Name& dtype : kDtypes) {
    if (item == dtype.text) {
      spec.dtype = static_cast<io::DType>(dtype.value);
      return;
    }
  }
  for (const Size& size : kSizes) {
    const std::string_view name = size.name;
    if (item.starts_with(name) && item.size() > name.size() &&
        item.find_first_not_of("0123456789", name.size()) == std::string_view::npos) {
      spec.*size.field = parseNumber<std::int64_t>(item.substr(name.size()));
      return;
    }
  }
  const std::size_t equals = std::min(item.find('='), item.size());
  const auto option = options().find(item.substr(0, equals));
  if (option == options().end()) {
    refuse(item, "it is no dtype, no size such as Tq17 and no option such as causal");
  }
  option->second(spec, item.substr(std::min(equals + 1, item.size())));
}

std::string offsetsMistake(const std::vector<std::int32_t>& offsets, std::int64_t batch, std::int64_t total,
                           const char* name) {
  const bool fits = static_cast<std::int64_t>(offsets.size()) == batch + 1 && offsets.front() == 0 &&
                    std::is_sorted(offsets.begin(), offsets.end()) && offsets.back() <= total;
  return fits ? "" : fmt::format("{} must have B + 1 entries that rise from 0 to at most {}", name, total);
}

std::string packedMistake(const AttentionSpec& s) {
  if (!s.cuSeqlensQ && !s.cuSeqlensK) {
    return "";
  }
  if (!s.cuSeqlensQ || !s.cuSeqlensK) {
    return "cu_q and cu_k need each other";
  }
  if (s.mask || s.bias || s.seqlensQ || s.seqlensK || s.probs) {
    return "packed sequences exclude mask, bias, seqlens_q, seqlens_k and probs";
  }
  const std::string mistake = offsetsMistake(*s.cuSeqlensQ, s.batch, s.seqlenQ, "cu_q");
  return mistake.empty() ? offsetsMistake(*s.cuSeqlensK, s.batch, s.seqlenK, "cu_k") : mistake;
}

std::string scaleMistake(const AttentionSpec& s) {
  if (!s.kScale && !s.vScale) {
    return s.scaleBlock == 0 ? "" : "scale_block needs k_scale or v_scale";
  }
  if (!s.kvDtype) {
    return "k_scale and v_scale need kv=f8e4m3 or kv=i8";
  }
  const bool perBlock = (s.kScale && (*s.kScale)[2]) || (s.vScale && (*s.vScale)[2]);
  if (s.scaleBlock < 0 || (perBlock && s.scaleBlock == 0)) {
    return "a scale per block of tokens needs scale_block";
  }
  // The scalar path sees keys without pages; a block must then be one there, too.
  if (s.pageSize > 0 && perBlock && (s.pageSize % s.scaleBlock != 0 || (s.packed() && s.scaleBlock != 1))) {
    return "of pages, scale_block must divide the page size, and be 1 with packed sequences";
  }
  return "";
}

std::string layoutMistake(const AttentionSpec& s) {
  switch (s.layout.packing) {
    case Packing::Separate: break;
    case Packing::Qkv:
      return s.seqlenQ == s.seqlenK && s.headDimQk == s.headDimV && s.pageSize == 0 && !s.kvDtype
                 ? ""
                 : "packing=qkv needs Tq = Tk, Dqk = Dv, no pages and k and v of the dtype of q";
    case Packing::SharedKv: return s.pageSize == 0 ? "" : "packing=shared_kv excludes pages";
    case Packing::InterleavedKv:
      return s.pageSize > 0 && s.headDimQk == s.headDimV ? ""
                                                         : "packing=interleaved_kv needs pages and Dqk = Dv";
  }
  return "";
}

bool scoresFit(const AttentionSpec& s) {
  double elements = 0;
  const auto add = [&](std::initializer_list<std::int64_t> sizes) {
    double count = 1;
    for (const std::int64_t size : sizes) {
      count *= static_cast<double>(size);
    }
    elements += count;
  };
  add({s.batch, s.numHeadsQ, s.seqlenQ, s.headDimQk + s.headDimV + s.seqlenK});
  add({s.batch, s.numHeadsKv, s.seqlenK, s.headDimQk + s.headDimV});
  return elements <= static_cast<double>(kElementLimit);
}

}  // namespace

std::string formatSpec(const AttentionSpec& s) {
  std::string text = wordOf(kDtypes, s.dtype);
  for (const Size& size : kSizes) {
    text += fmt::format(",{}{}", size.name, s.*size.field);
  }
  const auto add = [&text](bool has, const std::string& item) { text += has ? "," + item : ""; };
  const auto list = [&](const char* name, const std::optional<std::vector<std::int32_t>>& numbers) {
    if (numbers) {
      add(true, fmt::format("{}={}", name, fmt::join(*numbers, "/")));
    }
  };
  add(s.causal == io::Causal::BottomRight, "causal");
  add(s.causal == io::Causal::TopLeft, "causal=top_left");
  add(s.windowLeft != -1 || s.windowRight != -1, fmt::format("window={}:{}", s.windowLeft, s.windowRight));
  add(s.softmaxScale.has_value(), fmt::format("scale={}", s.softmaxScale.value_or(0)));
  add(s.temperature != 1, fmt::format("temperature={}", s.temperature));
  add(s.softcap != 0, fmt::format("softcap={}", s.softcap));
  add(s.mask.has_value(), "mask=" + broadcastText(s.mask.value_or(Broadcast{})));
  add(s.bias.has_value(),
      fmt::format("bias={}:{}", wordOf(kDtypes, s.biasDtype), broadcastText(s.bias.value_or(Broadcast{}))));
  add(s.alibi != Slopes::None, fmt::format("alibi={}", wordOf(kSlopes, s.alibi)));
  add(s.sink, "sink");
  list("seqlens_q", s.seqlensQ);
  list("seqlens_k", s.seqlensK);
  list("cu_q", s.cuSeqlensQ);
  list("cu_k", s.cuSeqlensK);
  add(s.pageSize != 0, fmt::format("page={}", s.pageSize));
  add(s.kvDtype.has_value(), fmt::format("kv={}", wordOf(kQuantised, s.kvDtype.value_or(io::DType::I8))));
  add(s.kScale.has_value(), "k_scale=" + broadcastText(s.kScale.value_or(ScaleAxes{}), kScaleAxes));
  add(s.vScale.has_value(), "v_scale=" + broadcastText(s.vScale.value_or(ScaleAxes{}), kScaleAxes));
  add(s.scaleBlock != 0, fmt::format("scale_block={}", s.scaleBlock));
  add(s.lse, "lse");
  add(s.probs, "probs");
  add(s.layout.packing != Packing::Separate, fmt::format("packing={}", wordOf(kPackings, s.layout.packing)));
  for (const auto& [name, layout] :
       {std::pair("q", s.layout.q), {"k", s.layout.k}, {"v", s.layout.v}, {"out", s.layout.out}}) {
    add(layout != Layout::Contiguous, fmt::format("{}={}", name, wordOf(kLayouts, layout)));
  }
  add(s.layout.keysFirst, "keys_first");
  add(s.layout.hostLengths, "host_lengths");
  add(s.hidden != Hidden::Ordinary, fmt::format("hidden={}", wordOf(kHidden, s.hidden)));
  add(s.visibleNan, "nan");
  add(s.data != 0, fmt::format("data={}", s.data));
  return text;
}

AttentionSpec parseSpec(std::string_view text) {
  AttentionSpec spec;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parseItem(text.substr(begin, end - begin), spec);
    begin = end + 1;
  }
  if (const std::string mistake = specMistake(spec); !mistake.empty()) {
    refuse(text, mistake);
  }
  return spec;
}

std::string specMistake(const AttentionSpec& s) {
  for (const Size& size : kSizes) {
    if (s.*size.field < 0) {
      return fmt::format("{} must not be negative", size.name);
    }
  }
  if (s.headDimQk < 1 || s.headDimV < 1) {
    return "head dims must be at least 1";
  }
  if (s.numHeadsKv == 0 ? s.numHeadsQ != 0 : s.numHeadsQ % s.numHeadsKv != 0) {
    return "Hq must be a multiple of Hkv";
  }
  if (!scoresFit(s)) {
    return "it is larger than a check may be";
  }
  for (const auto& [name, lengths] : {std::pair("seqlens_q", &s.seqlensQ), {"seqlens_k", &s.seqlensK}}) {
    if (*lengths && static_cast<std::int64_t>((*lengths)->size()) != s.batch) {
      return fmt::format("{} must have B entries", name);
    }
  }
  if (s.pageSize < 0 || (s.pageSize > 0 && !s.packed() && s.seqlenK % s.pageSize != 0)) {
    return "Tk must be a multiple of the page size";
  }
  for (const auto& mistake : {packedMistake(s), scaleMistake(s)}) {
    if (!mistake.empty()) {
      return mistake;
    }
  }
  return layoutMistake(s);
}

std::string pipelineKey(const AttentionSpec& s) {
  return fmt::format(
      "attention {} {} {} {}", static_cast<int>(s.dtype), s.headDimQk, s.headDimV,
      fmt::join({static_cast<int>(s.causal), s.windowLeft >= 0 ? 1 : 0, s.windowRight >= 0 ? 1 : 0,
                 s.softcap > 0 ? 1 : 0, s.mask ? 1 : 0, s.bias ? 1 + static_cast<int>(s.biasDtype) : 0,
                 s.alibi != Slopes::None ? 1 : 0, s.sink ? 1 : 0, s.seqlensQ ? 1 : 0, s.seqlensK ? 1 : 0,
                 s.packed() ? 1 : 0, static_cast<int>(s.pageSize), s.lse ? 1 : 0, s.probs ? 1 : 0,
                 s.kvDtype ? static_cast<int>(*s.kvDtype) : 0, s.kScale ? 1 : 0, s.vScale ? 1 : 0, static_cast<int>(s.scaleBlock)},
                " "));
}

std::int64_t workOf(const AttentionSpec& s) {
  return (s.packed() ? 1 : s.batch) * s.numHeadsQ * s.seqlenQ * s.seqlenK * (s.headDimQk + s.headDimV);
}

}  // namespace saccade::check
