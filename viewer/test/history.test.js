import assert from "node:assert/strict";
import { test } from "node:test";
import { history } from "../src/history.js";

const cell = (owner, contents, coming = []) => ({ owner, contents, coming });

function of(cells, reads = [], end = 99) {
  const trace = { end, pages: new Map([["decode/3", { cells }]]), data: { reads } };
  return history(trace, "decode/3").map(({ step, kind, text }) => `${step} ${kind}: ${text}`);
}

test("the way of a late write", () => {
  const found = of(
    [
      [0, cell(null, [null])],
      [4, cell("A", [null])],
      [11, cell("A", [null], ["A"])],
      [13, cell("B", [null], ["A"])],
      [18, cell("B", ["A"])],
    ],
    [
      [19, "decode/3", "B", "A"],
      [19, "decode/4", "B", "A"],
      [100, "decode/3", "B", "A"],
    ],
  );
  assert.deepEqual(
    [
      "0 start: free, never written",
      "4 given: given to A",
      "11 posted: a write of A is on its way to it",
      "13 freed: A gives it back",
      "13 given: given to B",
      "18 wrong: written by A, and it is B's",
      "19 wrong: read for B: A's content",
    ],
    found,
  );
});

test("a write that is dropped, and a page that is cleared", () => {
  const found = of([
    [0, cell("A", ["A"], ["A"])],
    [2, cell("A", ["A"])],
    [3, cell("A", [null])],
  ]);
  assert.deepEqual(
    ["0 start: owned by A, written by A", "2 ended: the write of A is over", "3 written: cleared"],
    found,
  );
});

test("slices, and two writes at once", () => {
  const found = of([
    [0, cell("A", [null, null])],
    [1, cell("A", [null, null], ["A", "A"])],
    [2, cell("A", ["A", null], ["A"])],
    [3, cell(null, ["A", "B"])],
  ]);
  assert.deepEqual(
    [
      "0 start: owned by A, never written",
      "1 posted: a write of A is on its way to it",
      "1 posted: a write of A is on its way to it",
      "2 written: written by A",
      "3 freed: A gives it back",
      "3 wrong: written by B, and it is free",
    ],
    found,
  );
});

test("reads of the reader's own content", () => {
  assert.deepEqual(
    ["0 start: owned by A, written by A", "5 read: read for A: A's content"],
    of([[0, cell("A", ["A"])]], [[5, "decode/3", "A", "A"]]),
  );
});
