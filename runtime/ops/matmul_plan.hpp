// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/facts.hpp"
#include "ops/matmul_choice.hpp"
#include "ops/matmul_problem.hpp"
#include "plan/plan.hpp"
#include "tune/tuning_table.hpp"

namespace saccade::core {

// Which slots of a plan a matmul step takes.
struct MatmulSlots {
  int a, b, bias, residual, out;
};

PlanDraft planMatmul(const DeviceFacts& facts, const MatmulProblem& problem, const std::string& forcedKernel,
                     const TuningTable& tuning = {});

// The problem as kernels see it: products that follow each other in memory are one. Tuning files name it.
MatmulProblem foldBatches(MatmulProblem problem);

// The one dispatch of a product that is not empty, for operators that contain one.
StepDraft makeMatmulStep(const DeviceFacts& facts, const MatmulProblem& problem, const MatmulChoice& choice,
                         const MatmulSlots& slots);

double matmulFlops(const MatmulProblem& problem);  // 2 M N K per product

}  // namespace saccade::core
