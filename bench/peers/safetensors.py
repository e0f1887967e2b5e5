# SPDX-License-Identifier: Apache-2.0
"""Reads a safetensors file: a length, a JSON header, the bytes of the arrays."""
import json
import struct

import numpy

TYPES = {"F64": "f8", "F32": "f4", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?"}


def read(path):
    """(arrays by name, strings by name)"""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    strings = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = numpy.frombuffer(data[begin:end], dtype="<" + TYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"]).copy()
    return arrays, strings
