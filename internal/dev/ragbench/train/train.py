"""Trains the embedding table: train.py TOKENS-DIRECTORY TABLE. Needs NumPy and SciPy."""

import struct
import sys
import time

import numpy as np
import scipy.sparse as sp

DIMENSIONS = 512
KEPT = 256  # after PCA
BATCH = 1024
EPOCHS = 8
RATE = 0.002
TEMPERATURE = 0.05
MAGIC = 0x53454D31


def read_pairs(path):
    """Returns all numbers, and where each comment and each code starts and how long it is."""
    numbers = np.fromfile(path, dtype="<u4")
    starts, lengths, at = [], [], 0
    while at < len(numbers):
        starts.append(at + 1)
        lengths.append(int(numbers[at]))
        at += lengths[-1] + 1
    starts, lengths = np.array(starts), np.array(lengths)
    return numbers, (starts[0::2], lengths[0::2]), (starts[1::2], lengths[1::2])


def bag(numbers, lists, chosen, words):
    """Makes a matrix of the chosen texts: the square root of how often each has each word."""
    starts, lengths = lists[0][chosen], lists[1][chosen]
    ends = np.cumsum(lengths)
    index = np.repeat(starts - np.concatenate(([0], ends[:-1])), lengths) + np.arange(ends[-1])
    rows = np.concatenate(([0], ends))
    matrix = sp.csr_matrix((np.ones(ends[-1], "f4"), numbers[index].astype("i4"), rows), shape=(len(chosen), words))
    matrix.sum_duplicates()
    matrix.data = np.sqrt(matrix.data)
    return matrix


def unit(x):
    norm = np.linalg.norm(x, axis=1, keepdims=True) + 1e-6
    return x / norm, norm


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def gradient(table, comments, code):
    """Returns the loss and the gradients of comment and code vectors: each must find the other in the batch."""
    (q, qn), (c, cn) = unit(comments @ table), unit(code @ table)
    scores = q @ c.T / TEMPERATURE
    ours = np.arange(len(q))
    forth, back = softmax(scores, 1), softmax(scores, 0)
    loss = -0.5 * (np.log(forth[ours, ours] + 1e-9).mean() + np.log(back[ours, ours] + 1e-9).mean())
    g = 0.5 * (forth + back)
    g[ours, ours] -= 1
    g /= len(q) * TEMPERATURE
    gq, gc = g @ c, g.T @ q
    gq = (gq - (gq * q).sum(1, keepdims=True) * q) / qn
    gc = (gc - (gc * c).sum(1, keepdims=True) * c) / cn
    return loss, gq, gc


def train(directory, pairs_with):
    words = len(pairs_with)
    random = np.random.default_rng(1)
    weight = np.log(1 + pairs_with.max() * 1.3 / pairs_with).astype("f4")
    table = (random.standard_normal((words, DIMENSIONS)) / np.sqrt(DIMENSIONS)).astype("f4")
    table *= (weight / weight.mean())[:, None]
    first, second = np.zeros_like(table), np.zeros_like(table)
    numbers, comments, code = read_pairs(directory + "/train.bin")
    count = len(comments[0])
    steps = EPOCHS * count // BATCH
    order, at, mean, began = random.permutation(count), 0, 0.0, time.time()
    for step in range(1, steps + 1):
        if at + BATCH > count:
            order, at = random.permutation(count), 0
        chosen = order[at : at + BATCH]
        at += BATCH
        q, c = bag(numbers, comments, chosen, words), bag(numbers, code, chosen, words)
        loss, gq, gc = gradient(table, q, c)
        both = sp.vstack([q, c]).tocsc()
        active = np.flatnonzero(np.diff(both.indptr))
        g = both[:, active].T @ np.vstack([gq, gc])
        # Adam on the rows that the batch has; warm-up, then a linear decline.
        rate = RATE * min(1, step / 100) * (1 - 0.95 * step / steps)
        first[active] = 0.9 * first[active] + 0.1 * g
        second[active] = 0.99 * second[active] + 0.01 * g * g
        m = first[active] / (1 - 0.9 ** min(step, 1000))
        v = second[active] / (1 - 0.99 ** min(step, 5000))
        table[active] -= rate * m / (np.sqrt(v) + 1e-8)
        mean = loss if step == 1 else 0.98 * mean + 0.02 * loss
        if step % 300 == 0:
            print(f"step {step} of {steps}, {time.time() - began:.0f} s, loss {mean:.3f}", flush=True)
    return table


def reduce(table, pairs_with):
    """Keeps the directions in which words that are used often differ most."""
    weighted = table * np.sqrt(pairs_with)[:, None]
    axes, _, _ = np.linalg.svd(weighted.T @ weighted)
    return (table @ axes[:, :KEPT]).astype("f4")


def write(table, vocabulary, path):
    scales = np.abs(table).max(1) / 127 + 1e-9
    values = np.round(table / scales[:, None]).astype("i1")
    with open(path, "wb") as f:
        f.write(struct.pack("<III", MAGIC, *table.shape))
        f.write(scales.astype("<f4").tobytes())
        f.write(values.tobytes())
        f.write("\n".join(vocabulary).encode())


def main(directory, path):
    with open(directory + "/vocab.txt", encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f]
    pairs_with = np.array([int(n) for _, n in lines], "f8")
    table = reduce(train(directory, pairs_with), pairs_with)
    write(table, [word for word, _ in lines], path)


if __name__ == "__main__":
    main(*sys.argv[1:])
