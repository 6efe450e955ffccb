import assert from "node:assert/strict";
import { test } from "node:test";
import { nextHit, search } from "../src/search.js";

const step = (text) => ({
  lane: "l",
  call: "c",
  full: "c",
  text,
  loc: "m",
  changes: [],
  notes: [["late", `LATE ${text}`]],
});
const STEPS = ["Page A", "page b", "none"].map(step);

test("hits, whatever the case", () => {
  assert.deepEqual([1, 2], [...search(STEPS, " PAGE ")]);
  assert.deepEqual([1, 2, 3], [...search(STEPS, "late")]);
  assert.deepEqual([], [...search(STEPS, "  ")]);
});

test("from hit to hit, round the end", () => {
  const found = new Set([9, 2, 5]);
  assert.deepEqual(
    [5, 9, 2, 2],
    [2, 5, 9, 0].map((from) => nextHit(found, from, 1)),
  );
  assert.deepEqual(
    [9, 2, 5, 9],
    [2, 5, 9, 0].map((from) => nextHit(found, from, -1)),
  );
  assert.equal(null, nextHit(new Set(), 3, 1));
});
