# SPDX-License-Identifier: Apache-2.0
"""Saccade beside other libraries; bench/peers/compare starts this."""

import sys

from main import main

sys.exit(main())
