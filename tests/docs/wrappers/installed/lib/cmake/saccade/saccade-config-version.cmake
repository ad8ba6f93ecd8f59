# SPDX-License-Identifier: Apache-2.0
# Whatever version a guide asks for.
set(PACKAGE_VERSION "${PACKAGE_FIND_VERSION}")
set(PACKAGE_VERSION_COMPATIBLE TRUE)
