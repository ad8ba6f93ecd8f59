/* SPDX-License-Identifier: Apache-2.0
 *
 * C11 with nothing but the header of Saccade: no Vulkan loader is linked. A context needs a device; what can be asked without
 * one is the version, and refusals. */
#include <stdio.h>
#include <string.h>

#include <saccade/saccade.h>

int main(void) {
  if (saccadeGetVersion() != SACCADE_VERSION) {
    fprintf(stderr, "the library has version %u, the header %u\n", (unsigned)saccadeGetVersion(), (unsigned)SACCADE_VERSION);
    return 1;
  }
  SaccadeContextCreateInfo info = saccadeContextCreateInfoDefault();
  SaccadeContext context = NULL;
  SaccadeMessage message;
  if (saccadeCreateContext(&info, &context, &message) != SACCADE_ERROR_INVALID_ARGUMENT || context != NULL) {
    fprintf(stderr, "a context without an instance was not refused\n");
    return 1;
  }
  if (strcmp(message.field, "instance") != 0) {
    fprintf(stderr, "the refusal names '%s': %s\n", message.field, message.text);
    return 1;
  }
  printf("saccade %d.%d.%d: %s\n", SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR, SACCADE_VERSION_PATCH, message.text);
  return 0;
}
