import assert from "node:assert/strict";
import { test } from "node:test";
import { warp, warpPath, warpPoints } from "../src/warp.js";

const TOP = 70;
const PITCH = 30;
const row = (number) => TOP + (number - 1) * PITCH;

test("with all rows nothing moves", () => {
  const move = warp(TOP, PITCH, 4, [1, 2, 3, 4]);
  for (const y of [0, 40, TOP, 85, 111.5, row(4), row(4) + 44]) assert.equal(y, move(y));
});

test("rows that are seen close up", () => {
  const move = warp(TOP, PITCH, 5, [2, 5]);
  assert.deepEqual([row(1), row(2)], [move(row(2)), move(row(5))]);
  assert.equal(12, move(12));
  assert.equal(row(2) + 50, move(row(5) + 50));
});

test("a row that is gone lies where the next one is, or at the last", () => {
  const move = warp(TOP, PITCH, 5, [2, 4]);
  assert.deepEqual(
    [row(1), row(1), row(2), row(2), row(2)],
    [1, 2, 3, 4, 5].map((number) => move(row(number))),
  );
});

test("no row at all", () => {
  const move = warp(TOP, PITCH, 3, []);
  assert.deepEqual(
    [row(1), row(1), row(1)],
    [1, 2, 3].map((number) => move(row(number))),
  );
  assert.equal(row(1) + 20, move(row(3) + 20));
});

test("order is kept whatever is hidden", () => {
  for (let mask = 0; mask < 64; mask += 1) {
    const rows = [1, 2, 3, 4, 5, 6].filter((number) => mask & (1 << (number - 1)));
    const move = warp(TOP, PITCH, 6, rows);
    rows.forEach((number, place) => assert.equal(row(place + 1), move(row(number))));
    let before = -Infinity;
    for (let y = 0; y < 400; y += 5) {
      assert.ok(move(y) >= before, `${rows} at ${y}`);
      before = move(y);
    }
  }
});

test("paths: only what is vertical moves", () => {
  const up = (y) => y - 10;
  assert.equal("M1 10L3 30H7V40C1 10 2 20 3 30Z", warpPath("M1 20L3 40H7V50C1 20 2 30 3 40Z", up));
  assert.equal("M-1.5 10L3 -20.5", warpPath("M-1.5,20 L 3 -10.5", up));
  assert.equal("1 10 3 20", warpPoints(" 1,20 3,30 ", up));
});
