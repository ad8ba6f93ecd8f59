// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace saccade::tool {

struct Globals;

// What `saccade vit` is asked to do.
struct VitOptions {
  std::string model;
  std::vector<std::string> pictures;
  std::string attention;      // folder for attention maps; empty: none
  std::int64_t top = 3;       // classes printed per picture
  std::int64_t size = 0;      // side in pixels that pictures are brought to; 0: the model's own
  double crop = 0.875;        // share of the shorter side of a picture that is looked at
  std::int64_t batch = 0;     // pictures per forward; 0: 8 pictures, 250 of a data set
  std::string images;         // idx file of a data set
  std::string labels;         // idx file of its classes
  std::string expected;       // raw bytes: the classes that another program gave
  std::optional<std::int64_t> minAgreement;
};

// Prints classes or features of pictures and writes attention maps. Return an ExitCode.
int lookAtPictures(const Globals& globals, const VitOptions& options);
// Classifies a whole data set and compares.
int classifyDataSet(const Globals& globals, const VitOptions& options);

}  // namespace saccade::tool
