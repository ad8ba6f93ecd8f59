/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations and functions of a host that owns a device. */
#include "host.h"

BLOCK
