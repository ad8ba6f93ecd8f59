// SPDX-License-Identifier: Apache-2.0
// A replaced operator new that counts, on this thread and while somebody wants it.
#pragma once

namespace saccade::host {

class CountedNew {
 public:
  CountedNew();   // begins to count
  ~CountedNew();  // ends it

  int count() const;  // so far

  // What happens in a driver or a layer is not counted.
  static void pause();
  static void resume();
};

}  // namespace saccade::host
