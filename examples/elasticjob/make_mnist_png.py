"""Draw a small data set in the form of mnist_png: DIR/training/<label>/*.png and DIR/testing/...

The digits are drawn with a round pen along strokes that are turned, slanted, scaled and shifted; no
picture is the same as another, and the same seed draws the same set.  Standard library only.
"""

from __future__ import annotations

import argparse
import random
import struct
import zlib
from math import cos, hypot, radians, sin
from pathlib import Path

SIDE = 28  # pixels
Point = tuple[float, float]
Stroke = list[Point]


def arc(x: float, y: float, wide: float, high: float, start: int, end: int) -> Stroke:
    """Around x, y; degrees from the right, clockwise."""
    turns = [radians(start + (end - start) * i / 16) for i in range(17)]
    return [(x + wide * cos(t), y + high * sin(t)) for t in turns]


# In a box from 0 to 1, y downwards.
STROKES: list[list[Stroke]] = [
    [arc(0.5, 0.5, 0.35, 0.5, 0, 360)],
    [[(0.3, 0.2), (0.55, 0), (0.55, 1)]],
    [[*arc(0.5, 0.28, 0.33, 0.28, 180, 400), (0.15, 1), (0.88, 1)]],
    [arc(0.45, 0.25, 0.33, 0.25, 200, 450), arc(0.45, 0.75, 0.37, 0.25, 270, 520)],
    [[(0.65, 1), (0.65, 0), (0.1, 0.68), (0.9, 0.68)]],
    [[(0.82, 0), (0.25, 0), (0.2, 0.45), *arc(0.47, 0.68, 0.35, 0.32, -130, 150)]],
    [[(0.72, 0.02), (0.35, 0.3), *arc(0.5, 0.69, 0.32, 0.31, 180, 540)]],
    [[(0.12, 0), (0.88, 0), (0.4, 1)]],
    [arc(0.5, 0.25, 0.28, 0.25, 90, 450), arc(0.5, 0.74, 0.34, 0.26, -90, 270)],
    [[*arc(0.5, 0.3, 0.32, 0.3, 0, 360), (0.7, 1)]],
]


class Picture:
    def __init__(self) -> None:
        self.ink = [[0.0] * SIDE for _ in range(SIDE)]

    def dab(self, at: Point, radius: float) -> None:
        x, y = at
        for row in range(max(0, int(y - radius - 1)), min(SIDE, int(y + radius + 2))):
            for column in range(max(0, int(x - radius - 1)), min(SIDE, int(x + radius + 2))):
                cover = min(1.0, radius + 0.5 - hypot(column - x, row - y))
                self.ink[row][column] = max(self.ink[row][column], cover)

    def line(self, start: Point, end: Point, radius: float) -> None:
        count = int(hypot(end[0] - start[0], end[1] - start[1]) * 2) + 1
        for i in range(count + 1):
            part = i / count
            self.dab(
                (start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])),
                radius,
            )


def draw(digit: int, dice: random.Random) -> list[bytes]:
    """Lines of pixels, ink is 255."""
    turn, slant = dice.uniform(-0.25, 0.25), dice.uniform(-0.2, 0.3)
    wide, high = dice.uniform(11, 17), dice.uniform(16, 20)
    right, down = dice.uniform(-2, 2), dice.uniform(-1.5, 1.5)
    radius, middle = dice.uniform(0.7, 1.4), (SIDE - 1) / 2

    def place(point: Point) -> Point:
        y = (point[1] - 0.5) * high
        x = (point[0] - 0.5) * wide - slant * y
        across = x * cos(turn) - y * sin(turn) + dice.uniform(-0.3, 0.3)
        along = x * sin(turn) + y * cos(turn) + dice.uniform(-0.3, 0.3)
        return middle + right + across, middle + down + along

    picture = Picture()
    for stroke in STROKES[digit]:
        points = [place(point) for point in stroke]
        for start, end in zip(points, points[1:]):
            picture.line(start, end, radius)
    strength = dice.uniform(190, 255)
    return [bytes(round(max(0.0, dot) * strength) for dot in row) for row in picture.ink]


def png(lines: list[bytes]) -> bytes:
    """8-bit grey, each line as the difference from the one above."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)

    above = [bytes(len(lines[0])), *lines]
    packed = b"".join(
        b"\2" + bytes((dot - up) & 255 for dot, up in zip(line, before))
        for line, before in zip(lines, above)
    )
    head = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(packed)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def fill(directory: Path, count: int, dice: random.Random) -> None:
    for index in range(count):
        digit = index % len(STROKES)
        path = directory / str(digit) / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(draw(digit, dice)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path, metavar="DIR")
    option = parser.add_argument
    option("--training", type=int, default=300, metavar="N", help="pictures (%(default)s)")
    option("--testing", type=int, default=100, metavar="N", help="pictures (%(default)s)")
    option("--seed", type=int, default=1, metavar="N", help="another set (%(default)s)")
    options = parser.parse_args()
    dice = random.Random(options.seed)
    fill(options.directory / "training", options.training, dice)
    fill(options.directory / "testing", options.testing, dice)
    print(f"{options.training} + {options.testing} digits in {options.directory}")


if __name__ == "__main__":
    main()
