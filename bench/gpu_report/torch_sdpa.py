# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention on a GPU, as a process that measures what it is asked for.

Its first line says who takes part, or {"refused": "why"}. Each line that it reads is a request such as

    {"backend": "flash", "batch": 2, "heads": 16, "heads_kv": 16, "seqlen_q": 4096, "seqlen_k": 4096,
     "head_dim": 64, "causal": true, "dtype": "f16", "seconds": 1.0}

and is answered by {"ms": [...], "error": ..., "error_allowed": ..., "passed": ..., "note": ...} or by
{"refused": "why"}.
Times are those of the device between two events, of several calls in a row so that their submission is hidden; the error
is that of the output of the last of them, on sampled rows of every head against the same in double precision.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings

_KEYS = ("batch", "heads", "heads_kv", "seqlen_q", "seqlen_k", "head_dim", "causal", "dtype")
_SAMPLED_ROWS = 48
# Errors allowed, in units of the dtype's epsilon times the sum of |weight * value|. 16-bit types: the weights and the
# result are rounded once each, which is half a unit each, and sums are of fp32. fp32: scores of many products, and an
# approximate exp.
_ALLOWED_ROUNDINGS = {"f16": 1.25, "bf16": 1.25, "f32": 16}


def _answer(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


class Refused(Exception):
    pass


def _find_device(torch, wanted: str):
    """The device that Vulkan calls `wanted`; the same name, or one that begins the other's."""
    if wanted == "cpu":
        return torch.device("cpu"), "CPU"
    if not torch.cuda.is_available():
        raise Refused(f"PyTorch {torch.__version__} sees no GPU")
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    for index, name in enumerate(names):
        if name == wanted or wanted.startswith(f"{name} ") or name.startswith(f"{wanted} "):
            return torch.device("cuda", index), name
    raise Refused(f"PyTorch sees {', '.join(names)}, but not {wanted}")


class Attention:
    """Inputs of one shape, and calls on them. Values are uniform in -1 to 1, as those of `saccade bench`."""

    def __init__(self, torch, device, request: dict) -> None:
        self._torch = torch
        self._request = request
        self._dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[request["dtype"]]
        generator = torch.Generator(device=device)
        generator.manual_seed(1)

        def tensor(heads: int, seqlen: int):
            sizes = (request["batch"], heads, seqlen, request["head_dim"])
            values = torch.rand(sizes, generator=generator, device=device, dtype=torch.float32)
            return (values * 2 - 1).to(self._dtype)

        self._q = tensor(request["heads"], request["seqlen_q"])
        self._k = tensor(request["heads_kv"], request["seqlen_k"])
        self._v = tensor(request["heads_kv"], request["seqlen_k"])
        self._group = request["heads"] // request["heads_kv"]
        if request["causal"] and request["seqlen_q"] != request["seqlen_k"]:
            raise Refused("causal is compared with as many queries as keys only")
        self.note = ""

    def call(self, backend: str):
        """A function that computes `out` with a backend. Raises what PyTorch raises if that does not take it."""
        attention = self._torch.nn.attention
        name = {
            "flash": "FLASH_ATTENTION",
            "cudnn": "CUDNN_ATTENTION",
            "efficient": "EFFICIENT_ATTENTION",
            "math": "MATH",
        }
        chosen = getattr(attention.SDPBackend, name[backend], None)
        if chosen is None:
            raise Refused(f"PyTorch {self._torch.__version__} has no backend {name[backend]}")
        if self._group > 1:
            ways = [lambda: (self._k, self._v, {"enable_gqa": True}), lambda: (*self._repeated(), {})]
        else:
            ways = [lambda: (self._k, self._v, {})]
        failure: Exception | None = None
        for number, way in enumerate(ways):
            k, v, options = way()

            def compute(k=k, v=v, options=options):
                with attention.sdpa_kernel([chosen]):
                    return self._torch.nn.functional.scaled_dot_product_attention(
                        self._q, k, v, is_causal=self._request["causal"], **options
                    )

            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    compute()
                except (RuntimeError, TypeError) as error:
                    reasons = [str(warning.message).split(" (Triggered")[0] for warning in said]
                    failure = Refused("; ".join(dict.fromkeys([str(error).splitlines()[0], *reasons[-2:]])))
                    continue
            self.note = "keys and values repeated for every query head" if number else ""
            return compute
        raise failure

    def _repeated(self):
        return (tensor.repeat_interleave(self._group, dim=1) for tensor in (self._k, self._v))

    def check(self, out) -> dict[str, object]:
        """Sampled rows of every head against double precision."""
        torch, r = self._torch, self._request
        count = min(r["seqlen_q"], _SAMPLED_ROWS)
        rows = torch.linspace(0, r["seqlen_q"] - 1, count, dtype=torch.float64).round().long().to(out.device)
        shape = (r["batch"], r["heads_kv"], self._group, count, r["head_dim"])
        q = self._q[:, :, rows].double().reshape(shape)
        k, v = self._k.double().unsqueeze(2), self._v.double().unsqueeze(2)
        scores = q @ k.transpose(-1, -2) / math.sqrt(r["head_dim"])
        if r["causal"]:
            keys = torch.arange(r["seqlen_k"], device=out.device)
            scores.masked_fill_(keys[None, :] > rows[:, None], -math.inf)
        weights = scores.softmax(-1)
        error = (out[:, :, rows].double().reshape(shape) - weights @ v).abs()
        rounding = _ALLOWED_ROUNDINGS[r["dtype"]] * torch.finfo(self._dtype).eps
        allowed = rounding * (weights @ v.abs())
        worst = (error / allowed).nan_to_num(nan=math.inf).argmax()
        return {
            "error": error.max().item(),
            "error_allowed": allowed.flatten()[worst].item(),
            "passed": bool((error <= allowed).all().item()),  # false for NaN
        }


class Timer:
    """Milliseconds of `calls` calls in a row, by the device's clock where it is a GPU."""

    def __init__(self, torch, device) -> None:
        self._torch = torch
        self._gpu = device.type == "cuda"

    def synchronise(self) -> None:
        if self._gpu:
            self._torch.cuda.synchronize()

    def milliseconds(self, compute, calls: int):
        if not self._gpu:
            start = time.perf_counter()
            for _ in range(calls):
                out = compute()
            return (time.perf_counter() - start) * 1e3, out
        begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            out = compute()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end), out


def measure(timer: Timer, attention: Attention, backend: str, seconds: float) -> dict[str, object]:
    compute = attention.call(backend)
    start = time.monotonic()
    for number in range(100000):  # clocks rise only under load
        compute()
        timer.synchronise()
        if number >= 2 and time.monotonic() - start > seconds:
            break
    once, _ = timer.milliseconds(compute, 1)
    calls = min(max(math.ceil(2 / max(once, 0.01)), 1), 200)
    times: list[float] = []
    start = time.monotonic()
    while len(times) < 3 or (time.monotonic() - start < seconds and len(times) < 50):
        total, out = timer.milliseconds(compute, calls)
        times.append(total / calls)
        if time.monotonic() - start > 10 * seconds:
            break
    return {"ms": times, "note": attention.note, **attention.check(out)}


def _obey(torch, device) -> None:
    timer, key, attention = Timer(torch, device), None, None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            wanted = tuple(request[name] for name in _KEYS)
            if wanted != key:
                key, attention = None, None
                if device.type == "cuda":
                    torch.cuda.empty_cache()
                key, attention = wanted, Attention(torch, device, request)
            _answer(measure(timer, attention, request["backend"], request["seconds"]))
        except Refused as refused:
            _answer({"refused": str(refused)})
        except RuntimeError as error:
            # Out of memory is over when it is said; after other failures of a GPU nothing works in this process any
            # more, and the next synchronisation ends it.
            timer.synchronise()
            _answer({"refused": f"{type(error).__name__}: {str(error).splitlines()[0]}"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--device", required=True, help="the name that Vulkan gives it; `cpu` to try this program"
    )
    wanted = parser.parse_args().device
    try:
        import torch
        import torch.nn.attention

        torch.set_grad_enabled(False)
        device, name = _find_device(torch, wanted)
        if device.type == "cuda":
            torch.cuda.set_device(device)
        cudnn = torch.backends.cudnn.version() if device.type == "cuda" else None
    except Refused as refused:
        _answer({"refused": str(refused)})
        return
    except Exception as error:  # whatever an installation can do wrong
        _answer({"refused": f"{sys.executable} cannot import PyTorch: {type(error).__name__}: {error}"})
        return
    _answer({"name": "PyTorch", "version": torch.__version__, "device": name, "cuda": torch.version.cuda,
             "hip": torch.version.hip, "cudnn": cudnn})  # fmt: skip
    _obey(torch, device)


if __name__ == "__main__":
    main()
