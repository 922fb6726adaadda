"""The float weights of an ONNX file as safetensors, by numpy alone. usage: onnx_tensors.py IN.onnx OUT.safetensors
Fields after onnx.proto3: ModelProto.graph = 7; GraphProto.node = 1, initializer = 5; NodeProto.output = 2, attribute = 5; AttributeProto.t = 5;
TensorProto.dims = 1, data_type = 2 (1: float), float_data = 4, name = 8, raw_data = 9."""
import json
import struct
import sys

import numpy as np


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """Number and value (an integer or bytes) of every field of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = 8 if kind == 1 else 4 if kind == 5 else None
            if size is None:
                size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def integers(values):
    """Of a repeated field, packed or not."""
    out = []
    for v in values:
        if isinstance(v, int):
            out.append(v)
            continue
        at = 0
        while at < len(v):
            x, at = varint(v, at)
            out.append(x)
    return out


def tensor(message, name=None):
    f = {}
    for number, value in fields(message):
        f.setdefault(number, []).append(value)
    if f.get(2, [0])[0] != 1:
        return None
    data = f[9][0] if 9 in f else b"".join(f.get(4, []))
    return name or bytes(f[8][0]).decode(), integers(f.get(1, [])), np.frombuffer(data, "<f4")


def tensors(graph):
    """Initializers, and the constants among the nodes, by the names of their outputs."""
    for number, value in fields(graph):
        if number == 5:
            yield tensor(value)
        elif number == 1:
            node = list(fields(value))
            for n, attribute in node:
                for k, t in fields(attribute) if n == 5 else ():
                    if k == 5:
                        yield tensor(t, bytes(next(v for m, v in node if m == 2)).decode())


def main(source, target):
    with open(source, "rb") as f:
        model = memoryview(f.read())
    found = {t[0]: t for graph in (v for n, v in fields(model) if n == 7) for t in tensors(graph) if t and len(t[2])}
    header, at = {}, 0
    for name, shape, data in found.values():
        assert int(np.prod(shape)) == len(data), f"{name}: expected {shape}, found {len(data)} numbers"
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * len(data)]}
        at += 4 * len(data)
    text = json.dumps(header).encode()
    with open(target, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data.tobytes() for _, _, data in found.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
