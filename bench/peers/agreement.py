"""How far a contender's outputs lie from the reference's.

    agreement.py REFERENCE.json REFERENCE.bin OUTPUT.json OUTPUT.bin

The JSON files describe the outputs that lie one after another in the binary files (contender.py). Prints JSON: the largest error
over all outputs, relative to the largest value of its output; the share of pixels of the first output that get the same class:
the largest channel, the side of a half for a single channel, the number itself for integers.
"""
import json
import sys

import numpy

LEAST = 1e-3  # a mask of nothing at all must not make every difference look large


def read(description, path):
    with open(description) as file:
        outputs = json.load(file)
    raw, offset, arrays = numpy.fromfile(path, numpy.uint8), 0, []
    for output in outputs:
        dtype = numpy.dtype(output["dtype"])
        size = dtype.itemsize * int(numpy.prod(output["shape"], dtype=numpy.int64))
        arrays.append(raw[offset:offset + size].view(dtype).reshape(output["shape"]))
        offset += size
    return arrays


def classes(array):
    if array.dtype.kind in "iu":
        return array
    if array.ndim == 4 and array.shape[1] > 1:
        return array.argmax(1)
    return array > 0.5


def compare(reference, outputs):
    if len(reference) != len(outputs):
        raise ValueError(f"{len(outputs)} outputs instead of {len(reference)}")
    worst = None
    for expected, given in zip(reference, outputs):
        if expected.size != given.size:
            raise ValueError(f"an output of shape {list(given.shape)} instead of {list(expected.shape)}")
        if expected.dtype.kind != "f":
            continue
        # A single channel lies alike in either order of dimensions.
        error = numpy.abs(given.reshape(expected.shape).astype(numpy.float64) - expected).max() / max(numpy.abs(expected).max(), LEAST)
        worst = float(error) if worst is None or not error <= worst else worst
    expected, given = reference[0], outputs[0].reshape(reference[0].shape)
    return {"max_error": worst, "same_class": float((classes(expected) == classes(given)).mean())}


if __name__ == "__main__":
    print(json.dumps(compare(read(*sys.argv[1:3]), read(*sys.argv[3:5]))))
