/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements of a host that owns a device. */
#include "host.h"

int block(void);
int block(void) {
BLOCK
  return 0;
}
