# SPDX-License-Identifier: Apache-2.0
"""What the tables stand beside: ggml 0.27's flash attention in fp16, without a mask, compiled by the same drivers (Mesa 26.1.6), and
what Saccade's kernels are to reach. Static figures are the same on every run, so they were measured once.
"""

MEASURED_WITH = "Mesa 26.1.6"

# FLOP per clock and SIMD, units overlapped and not, by family and head dim.
RATES = {
    "navi31": {64: (99.0, 42.7), 128: (118.4, 46.9)},
    "gfx1201": {64: (134.3, 83.6), 128: (170.2, 100.4)},
    "navi21": {64: (42.7, 34.1), 128: (48.6, 33.0)},
    "vega10": {64: (12.5, 10.0), 128: (19.8, 13.9)},
}
RATES_TO_REACH = {
    "navi31": {64: (195, 140), 128: (200, 140)},
    "gfx1201": {64: (350, 240), 128: (390, 260)},
    "navi21": {64: (54, 43), 128: (61, 42)},
    "vega10": {64: (16, 13), 128: (25, 18)},
}

# Cycles of a subgroup per 1000 useful FLOP of a step, of the whole shader.
CYCLES = {
    "nvk170": {64: 77.5, 128: 58.5},
    "dg2": {64: 1961, 128: 2066},
    "bmg": {64: 1166, 128: 1129},
    "tgl": {64: 1907, 128: 2010},
}
# At most: of NVIDIA a number, of Intel with matrix units a third of the peer, without them three quarters.
CYCLES_TO_REACH = {
    "nvk170": {64: 10, 128: 10},
    "dg2": {64: 1961 / 3, 128: 2066 / 3},
    "bmg": {64: 1166 / 3, 128: 1129 / 3},
    "tgl": {64: 0.75 * 1907, 128: 0.75 * 2010},
}

# Bytes per clock and SIMD that memory gives: what a kernel for few query rows shall ask for four times over.
MEMORY = {"navi31": 2.0, "gfx1201": 1.7, "navi21": 1.4, "vega10": 1.3}
