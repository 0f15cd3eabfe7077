"""Moves the output of a TFLite file to the input of its last operator: a network that ends in a sigmoid then gives its logits.

Only the four bytes that hold the output's index are changed, found by walking the FlatBuffer: root table → field 2 (subgraphs) →
first subgraph → fields 2 (outputs) and 3 (operators) → last operator → field 1 (inputs).
"""
import struct


def _u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def _field(data, table, number):
    """Where the field's value lies, or None where the table leaves it out."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, vtable)[0]:
        return None
    offset = struct.unpack_from("<H", data, vtable + 4 + 2 * number)[0]
    return table + offset if offset else None


def _follow(data, at):
    return at + _u32(data, at)


def _vector(data, table, number):
    """(position of the first element, count)"""
    at = _follow(data, _field(data, table, number))
    return at + 4, _u32(data, at)


def before_last_operator(data):
    """The same file with its first output moved back by one operator."""
    data = bytearray(data)
    model = _follow(data, 0)
    subgraph = _follow(data, _vector(data, model, 2)[0])
    outputs, _ = _vector(data, subgraph, 2)
    operators, count = _vector(data, subgraph, 3)
    last = _follow(data, operators + 4 * (count - 1))
    inputs, _ = _vector(data, last, 1)
    data[outputs:outputs + 4] = data[inputs:inputs + 4]
    return bytes(data)
