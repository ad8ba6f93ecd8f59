// SPDX-License-Identifier: Apache-2.0
//
// A source file as it stands.
BLOCK
