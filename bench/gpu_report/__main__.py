# SPDX-License-Identifier: Apache-2.0
"""tools/gpu-report starts this folder as a program."""

import sys

from main import main

sys.exit(main())
