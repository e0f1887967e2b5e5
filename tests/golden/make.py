#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what NumPy says of every operator that it has, for golden_test.cc: make.py FOLDER. --check compares with what is there.

One JSON file a family. `arrays` holds each array once: element type, shape, and its bytes row-major as hexadecimal digits. A case
names an operator, its attributes, the arrays that go in and those that come out, and how many units in the last place they may
differ: 0 where the operation is exact. What is not exact is computed in 80-bit floating point and rounded, so that the files do
not depend on the processor that NumPy finds; no random number generator is used.
"""
import json
import math
import pathlib
import sys
import warnings

try:
    import numpy as np
except ImportError:
    sys.exit(77)  # ctest: skipped

NAMES = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
         "uint32": "u32", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64"}
FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
SOME = (np.int8, np.int64, np.uint8) + FLOATS  # where every type takes the same path
wide = np.longdouble


class Family:
    def __init__(self):
        self.arrays, self.numbers, self.cases = [], {}, []

    def number(self, array):
        array = np.asarray(array)
        key = (NAMES[array.dtype.name], array.shape, np.ascontiguousarray(array).tobytes().hex())
        if key not in self.numbers:
            self.numbers[key] = len(self.arrays)
            self.arrays.append({"dtype": key[0], "shape": list(key[1]), "data": key[2]})
        return self.numbers[key]

    def case(self, op, inputs, outputs, ulp=0, **attrs):
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        case = {"op": op, "attrs": attrs, "in": [self.number(x) for x in inputs], "out": [self.number(x) for x in outputs]}
        if ulp:
            case["ulp"] = ulp
        self.cases.append(case)

    def text(self):
        lines = lambda rows: "[\n" + ",\n".join(json.dumps(row) for row in rows) + "]"
        return '{"arrays": ' + lines(self.arrays) + ',\n"cases": ' + lines(self.cases) + "}\n"


def numbers(shape, dtype, seed=1):
    """Well mixed, in [-4, 4) or [-100, 100), the same everywhere (a linear congruence)."""
    state, values = seed * 7919 + 17, []
    for _ in range(int(np.prod(shape, dtype=np.int64))):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        values.append((state >> 40) / 2**24)
    values = np.array(values, np.float64).reshape(shape)
    if dtype == np.bool_:
        return values < 0.5
    if np.issubdtype(dtype, np.floating):
        return (values * 8 - 4).astype(dtype)
    return np.floor(values * 200 - (100 if np.issubdtype(dtype, np.signedinteger) else 0)).astype(dtype)


def specials(dtype):
    if dtype == np.bool_:
        return np.array([False, True])
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        few = [0, 1, 2, 7, limits.max, limits.max - 1, limits.min] + ([-1, -7] if limits.min < 0 else [100])
        return np.array(few, dtype)
    limits = np.finfo(dtype)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -2.5, 3.7, limits.max, limits.min, limits.tiny,
                     limits.smallest_subnormal, -limits.smallest_subnormal, 1 + limits.eps], dtype)


def pairs(dtype):
    few = specials(dtype)
    if dtype in FLOATS:
        few = few[[0, 1, 2, 3, 4, 5, 8, 9, 10, 13]]
    return np.repeat(few, len(few)), np.tile(few, len(few))


def rounded(function, x, dtype):
    """In 80 bits and back."""
    return np.asarray(function(np.asarray(x).astype(wide))).astype(dtype)


def unary(family):
    exact = {"negative": np.negative, "abs": np.abs, "square": np.square, "sign": np.sign}
    whole = {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc}
    for dtype in SOME:
        for name, f in exact.items():
            family.case(name, [specials(dtype)], f(specials(dtype)))
        family.case("relu", [specials(dtype)], np.maximum(specials(dtype), dtype(0)) + dtype(0))
    for dtype in FLOATS:
        halves = np.concatenate([specials(dtype), np.array([1.5, 2.5, -1.5, -0.5, 0.5, 1000.5], dtype)])
        for name, f in whole.items():
            family.case(name, [halves], f(halves))
        for name, f in {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}.items():
            family.case(name, [specials(dtype)], f(specials(dtype)))
        few = np.concatenate([specials(dtype), numbers((8,), dtype)])
        family.case("sqrt", [few], np.sqrt(few))
        family.case("reciprocal", [few], np.reciprocal(few))
        ulp = 1 if dtype == np.float16 else 4
        for name, f in {"exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "tanh": np.tanh,
                        "sigmoid": lambda x: 1 / (1 + np.exp(-x))}.items():
            family.case(name, [few], rounded(f, few, dtype), ulp)
        turns = np.concatenate([specials(dtype)[:9], numbers((12,), dtype)])
        for name, f in {"sin": np.sin, "cos": np.cos}.items():
            family.case(name, [turns], rounded(f, turns, dtype), ulp)
        family.case("erf", [few], np.array([math.erf(x) for x in few.astype(np.float64)]).astype(dtype), ulp)
    for dtype in (np.bool_,) + SOME:
        family.case("logical_not", [specials(dtype)], np.logical_not(specials(dtype)))


def binary(family):
    for dtype in SOME:
        a, b = pairs(dtype)
        floating = dtype in FLOATS
        for name, f in {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "floor_divide": np.floor_divide,
                        "remainder": np.remainder}.items():
            family.case(name, [a, b], f(a, b))
        if floating:
            family.case("divide", [a, b], np.divide(a, b))
            base, exponent = np.abs(numbers((16,), dtype)), numbers((16,), dtype, 2)
            family.case("power", [base, exponent], np.power(base.astype(wide), exponent.astype(wide)).astype(dtype),
                        1 if dtype == np.float16 else 4)
        else:
            family.case("power", [a, np.abs(b) % 9], np.power(a, np.abs(b) % 9))
    for dtype in (np.bool_,) + SOME:
        a, b = pairs(dtype)
        signs = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)) if dtype in FLOATS else np.zeros(a.shape, bool)
        for name, f in {"maximum": np.maximum, "minimum": np.minimum}.items():
            family.case(name, [a[~signs], b[~signs]], f(a[~signs], b[~signs]))
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
                     "logical_xor"):
            family.case(name, [a, b], getattr(np, name)(a, b))
    for one, other in ((np.int8, np.uint8), (np.int64, np.uint64), (np.int32, np.float64), (np.uint8, np.int16),
                       (np.float16, np.float32)):
        a, b = numbers((2, 1, 3), one), numbers((2, 1), other, 2)
        family.case("add", [a, b], np.add(a, b))
        family.case("less", [a, b], np.less(a, b))
    x = numbers((2, 3), np.float32)
    family.case("where", [x > 0, x, numbers((3,), np.float32, 2)], np.where(x > 0, x, numbers((3,), np.float32, 2)))
    for one in (np.bool_,) + INTEGERS + FLOATS:
        for other in (np.bool_, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64):
            few = numbers((6,), one)
            few = np.abs(few) if np.issubdtype(other, np.unsignedinteger) else few
            family.case("cast", [few], few.astype(other), dtype=NAMES[np.dtype(other).name])


REDUCED = (((2, 3, 4), None), ((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((3, 0, 2), (1,)), ((), None))


def with_axis(axis):
    return {} if axis is None else {"axis": list(axis)}


def reduction(family):
    for dtype in (np.bool_,) + SOME:
        for shape, axis in REDUCED:
            x = numbers(shape, dtype)
            floating = dtype in FLOATS
            for name, f in {"sum": np.sum, "prod": np.prod}.items():
                exact = f(x.astype(wide), axis=axis).astype(dtype) if floating else f(x, axis=axis)
                family.case(name, [x], exact, (8 if name == "prod" else 1) if floating else 0, **with_axis(axis))
            if floating:
                family.case("mean", [x], np.mean(x.astype(wide), axis=axis).astype(dtype), 1, **with_axis(axis))
            for name in ("any", "all"):
                family.case(name, [x], getattr(np, name)(x, axis=axis), **with_axis(axis))
            if x.size == 0:
                continue
            for name in ("max", "min"):
                family.case(name, [x], getattr(np, name)(x, axis=axis, keepdims=True), keepdims=True, **with_axis(axis))
            if axis is None or len(axis) == 1:
                for name in ("argmax", "argmin"):
                    family.case(name, [x], getattr(np, name)(x, axis=axis and axis[0]), **with_axis(axis))
    for dtype in FLOATS:
        few = specials(dtype).reshape(4, 4)
        for axis in ((0,), (1,)):
            for name in ("max", "min"):
                family.case(name, [few], getattr(np, name)(few, axis=axis), **with_axis(axis))
            for name in ("argmax", "argmin"):
                family.case(name, [few], getattr(np, name)(few, axis=axis[0]), **with_axis(axis))
        for axis, ddof in ((None, 0), ((0,), 1)):
            x = numbers((5, 4), dtype)
            for name in ("var", "std"):
                family.case(name, [x], getattr(np, name)(x.astype(wide), axis=axis, ddof=ddof).astype(dtype),
                            1 if dtype == np.float16 else 4, correction=ddof, **with_axis(axis))
            family.case("norm", [x], np.sqrt(np.sum(np.square(x.astype(wide)), axis=axis)).astype(dtype),
                        1 if dtype == np.float16 else 4, **with_axis(axis))
            family.case("log_sum_exp", [x], np.log(np.sum(np.exp(x.astype(wide)), axis=axis)).astype(dtype),
                        2 if dtype == np.float16 else 4, **with_axis(axis))


def shape(family):
    x, y = numbers((2, 3, 4), np.float32), numbers((2, 1, 4), np.float32, 2)
    family.case("reshape", [x], x.reshape(4, 6), shape=[4, -1])
    family.case("permute_dims", [x], x.transpose(2, 0, 1), axes=[2, 0, 1])
    family.case("broadcast_to", [y], np.broadcast_to(y, (3, 2, 5, 4)), shape=[3, 2, 5, 4])
    family.case("concat", [x, y], np.concatenate([x, y], 1), axis=1)
    family.case("stack", [x, x * 2], np.stack([x, x * 2], -1), axis=-1)
    for axis in (None, (1,), (0, -1)):
        family.case("flip", [x], np.flip(x, axis), **with_axis(axis))
    for shift, axis in ((5, None), (-1, 0), (7, 2), (0, 1)):
        family.case("roll", [x], np.roll(x, shift, axis), shift=shift, axis=axis)
    family.case("roll", [x[:0]], np.roll(x[:0], 10, 0), shift=10, axis=0)
    for counts in ((2,), (1, 2, 2), (2, 1, 1, 3), (0, 1)):
        family.case("tile", [x], np.tile(x, counts), counts=list(counts))
    for count, axis in ((2, None), (3, 1), (0, 2)):
        family.case("repeat", [x], np.repeat(x, count, axis), count=count, axis=axis)
    before, after = [1, 0, 2], [0, 3, 1]
    for dtype in (np.bool_, np.int16, np.float64):
        z = numbers((2, 3, 4), dtype)
        family.case("pad", [z], np.pad(z, list(zip(before, after)), constant_values=1), before=before, after=after, value=1)
    far = [0, 5, 1]
    family.case("reflect_pad", [x], np.pad(x, list(zip(before, far)), mode="reflect"), before=before, after=far)
    family.case("replicate_pad", [x], np.pad(x, list(zip(before, after)), mode="edge"), before=before, after=after)
    family.case("slice", [x], x[1:, ::-2, 3], start=[1, 2, 3], stop=[2, -1, 4], step=[1, -2, 1], squeeze=[2])
    z = x.copy()
    z[:, 1:3] = y
    family.case("set_slice", [x, y], z, start=[0, 1, 0], stop=[2, 3, 4], step=[1, 1, 1])
    family.case("split", [x], np.split(x, 2, 2), parts=2, axis=2)
    for k in (-1, 0, 2):
        family.case("tril", [x], np.tril(x, k), offset=k)
        family.case("triu", [x], np.triu(x, k), offset=k)
    family.case("clip", [x, y, y + 1], np.clip(x, y, y + 1))
    for start, stop, step in ((0.6, 0.9, 0.1), (0.5, 0.9, 0.1), (1, 1.3, 0.1), (5, -3, -2)):
        counted = np.arange(start, stop, step, dtype=np.float64)
        family.case("arange", [], counted, 1, dtype="f64", start=start, stop=stop, step=step)
    for stop, count in ((99.78730976641236, 100), (1.0, 1), (1.0, 0)):
        family.case("linspace", [], np.linspace(0, stop, count), 1, dtype="f64", start=0.0, stop=stop, count=count)
    family.case("eye", [], np.eye(3, 4, 1, dtype=np.float32), rows=3, columns=4, diagonal=1)


def index(family):
    x = numbers((3, 4, 5), np.float64)
    i, j = np.array([[0, -1, 2]]), np.array([[1], [-4]])
    family.case("take", [x, i], np.take(x, i, 1), axis=1)
    places = np.argsort(x, axis=1, kind="stable")
    family.case("take_along_axis", [x, places], np.take_along_axis(x, places, 1), axis=1)
    family.case("index_get", [x, i, j], x[i, j], axes=[0, 1])
    family.case("index_get", [x, i, j], x[i, :, j], axes=[0, 2])
    family.case("index_get", [x, i, j], x[:, i, j], axes=[1, 2], at=1)
    for at, value in ((0, np.arange(5.0)), (0, np.arange(30.0).reshape(2, 3, 5))):
        y = x.copy()
        y[i, j] = value
        family.case("index_put", [x, value, i, j], y, axes=[0, 1], at=at)
        y = x.copy()
        np.add.at(y, (i, j), value)
        family.case("index_put", [x, value, i, j], y, axes=[0, 1], accumulate=True)
    y = x.copy()
    np.add.at(y, (slice(None), i[0]), numbers((3, 3, 5), np.float64, 2))
    family.case("scatter_add", [x, i[0], numbers((3, 3, 5), np.float64, 2)], y, axis=1)
    y = np.zeros_like(x)
    np.put_along_axis(y, places, x, 1)
    family.case("scatter_add_along_axis", [np.zeros_like(x), places, x], y, axis=1)
    mask = x[:, :, 0] > 0
    family.case("masked_select", [x, mask], x[mask])
    y = x.copy()
    y[mask] = numbers((int(mask.sum()), 5), np.float64, 3)
    family.case("masked_scatter", [x, mask, numbers((int(mask.sum()), 5), np.float64, 3)], y)
    family.case("nonzero", [mask], np.nonzero(mask))
    family.case("one_hot", [i], np.eye(4, dtype=np.float32)[i], classes=4)


def sort(family):
    for dtype in (np.bool_,) + INTEGERS + FLOATS:
        few = np.concatenate([numbers((9,), dtype), specials(dtype), specials(dtype)])
        for x, axis in ((few, -1), (numbers((5, 3), dtype), 0)):
            places = np.argsort(x, axis, kind="stable")
            family.case("argsort", [x], places, axis=axis)
            family.case("sort", [x], np.take_along_axis(x, places, axis), axis=axis)
    x = numbers((3, 7), np.float32)
    largest = np.argsort(-x, 1, kind="stable")[:, :3]
    family.case("top_k", [x], [np.take_along_axis(x, largest, 1), largest], k=3)
    family.case("argsort", [x], np.argsort(-x, 1, kind="stable"), descending=True)


def scan(family):
    for dtype in (np.bool_,) + SOME:
        x = numbers((3, 5), dtype)
        floating = dtype in FLOATS
        for axis in (0, 1):
            for name, f in {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}.items():
                exact = f(x.astype(wide), axis).astype(dtype) if floating else f(x, axis)
                family.case(name, [x], exact, 1 if floating else 0, axis=axis)
                back = np.flip(f(np.flip(x.astype(wide) if floating else x, axis), axis), axis)
                family.case(name, [x], back.astype(exact.dtype), 1 if floating else 0, axis=axis, reverse=True)
            for name, f in {"cumulative_max": np.maximum, "cumulative_min": np.minimum}.items():
                family.case(name, [x], f.accumulate(x, axis), axis=axis)
    few = specials(np.float32)[::-1].copy()
    family.case("cumulative_max", [few], np.maximum.accumulate(few))


def linear(family):
    for dtype in (np.int8, np.uint16, np.int64) + FLOATS:
        for one, other in (((3, 4), (4, 5)), ((4,), (4,)), ((2, 1, 3, 4), (3, 4, 2)), ((2, 3, 4), (4,)), ((3, 0), (0, 2))):
            a, b = numbers(one, dtype), numbers(other, dtype, 2)
            if dtype in FLOATS:  # sixteenths: products and sums are exact
                a, b = np.rint(a * 16) / dtype(16), np.rint(b * 16) / dtype(16)
                exact = np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)
            else:
                exact = np.matmul(a, b)
            family.case("matmul", [a, b], exact)
    a, b, c = (np.rint(numbers(s, np.float64, k) * 16) / 16 for k, s in enumerate(((2, 3, 4), (4, 3, 5), (5, 2))))
    square = numbers((4, 4, 2), np.int64)
    for text, operands in (("ijk,kjl->il", [a, b]), ("ijk,kjl,li", [a, b, c]), ("ijk,kjl,li->jk", [a, b, c]), ("ijk->kij", [a]),
                           ("ijk->", [a]), ("...j,...j->...", [a[0], a]), ("b...k,k...l->...bl", [a, b]), ("iij->ij", [square]),
                           ("iij", [square]), ("i...i->...", [square.transpose(0, 2, 1)]), ("ij,kj->ikj", [a[0], a[1]]),
                           ("ij,jk", [a[0, :, :1], a[1]]), ("i,j->ij", [a[0, 0], c[:, 0]]), (" i j , j -> i ", [a[0], a[1, 0]]),
                           ("ij,ij->", [a[0], a[1]])):
        family.case("einsum", operands, np.asarray(np.einsum(text, *operands)), equation=text)
    family.case("outer", [c[:, 0], a[0, 0]], np.outer(c[:, 0], a[0, 0]))


def main():
    check = sys.argv[1] == "--check"
    folder = pathlib.Path(sys.argv[-1])
    differing = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of nothing
        for make in (unary, binary, reduction, shape, index, sort, scan, linear):
            family = Family()
            make(family)
            file = folder / f"{make.__name__}.json"
            if not check:
                file.write_text(family.text())
            elif file.read_text() != family.text():
                differing.append(file.name)
    if differing:
        sys.exit(f"make.py gives other files: {', '.join(differing)}")


if __name__ == "__main__":
    main()
