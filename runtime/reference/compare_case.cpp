// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "io/attention_case.hpp"
#include "reference/attention.hpp"
#include "reference/compare.hpp"
#include "reference/exact_zeros.hpp"
#include "reference/tolerance.hpp"

namespace saccade::reference {

namespace {

// Tolerances of one case: what its file says, else what its inputs give.
class CaseTolerances {
 public:
  CaseTolerances(const io::CaseFile& file, io::PRounding pRounding) : file_(file), pRounding_(pRounding) {}

  TensorTolerance of(const std::string& tensor) {
    TensorTolerance tolerance = absoluteOf(tensor);
    tolerance.relative = tensor == "lse" ? kLseRelativeTolerance : 0;
    tolerance.exact = tensor == "out" && file_.tolerance == io::CaseTolerance::Exact;
    return tolerance;
  }

 private:
  bool roundsP() const {
    return pRounding_ == io::PRounding::Storage && file_.tolerance != io::CaseTolerance::Fp32;
  }

  TensorTolerance absoluteOf(const std::string& tensor) {
    if (tensor == "out" && roundsP()) {
      if (const auto given = file_.number("atol_out_rounded_p")) {
        return {.absolute = *given};
      }
    } else if (const auto given = file_.number("atol_" + tensor)) {
      return {.absolute = *given};
    }
    return computed(tensor);
  }

  TensorTolerance computed(const std::string& tensor) {
    if (file_.op != "attention") {
      const std::vector<double> expected = file_.expected.at(tensor).toDoubles();
      return toleranceFromPlain(io::DType::F32, expected, {}, largestMagnitude(expected));
    }
    if (!attention_) {
      const io::AttentionCase given = io::readAttentionCase(file_);
      const OwnedProblem owned = problemFromCase(given);
      const Probs probs = file_.expected.contains("probs") ? Probs::Store : Probs::Skip;
      attention_ = attentionTolerances(owned.problem, given.q.dtype(), attention(owned.problem, probs));
    }
    if (tensor == "lse") {
      return attention_->lse;
    }
    if (tensor == "probs") {
      return attention_->probs;
    }
    return roundsP() ? attention_->outRoundedP : attention_->out;
  }

  const io::CaseFile& file_;
  io::PRounding pRounding_;
  std::optional<AttentionTolerances> attention_;
};

}  // namespace

CaseComparison compareCase(const io::CaseFile& file, const io::TensorMap& results, io::PRounding pRounding) {
  CaseComparison comparison;
  CaseTolerances tolerances(file, pRounding);
  const ZeroMasks zeros = exactZeros(file);
  for (const auto& [name, expected] : file.expected) {
    const auto result = results.find(name);
    if (result == results.end()) {
      comparison.missing.push_back(name);
      continue;
    }
    const auto zero = zeros.find(name);
    comparison.tensors.push_back(compareTensor(
        name, result->second, expected, tolerances.of(name),
        zero == zeros.end() ? std::span<const std::uint8_t>{} : std::span<const std::uint8_t>(zero->second)));
  }
  return comparison;
}

}  // namespace saccade::reference
