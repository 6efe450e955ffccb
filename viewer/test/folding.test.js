import assert from "node:assert/strict";
import { test } from "node:test";
import { localRuns, visible } from "../src/folding.js";

const steps = [..."aAaabbBbab"].map((letter) => ({
  lane: letter.toLowerCase(),
  local: letter === letter.toLowerCase(),
}));
const all = { fits: () => true, hiddenLanes: new Set(), folded: false };

test("runs of local steps of one lane", () => {
  assert.deepEqual(
    [
      [3, 4],
      [5, 6],
    ],
    localRuns(steps),
  );
  assert.deepEqual([], localRuns([]));
  assert.deepEqual([[1, 3]], localRuns(Array.from({ length: 3 }, () => ({ lane: "a", local: true }))));
});

test("a folded run is its first row, which says for how many it stands", () => {
  const { rows, stands } = visible(steps, { ...all, folded: true });
  assert.deepEqual([1, 2, 3, 5, 7, 8, 9, 10], rows);
  assert.deepEqual(
    [
      [3, 1],
      [5, 1],
    ],
    [...stands],
  );
});

test("without folding every row is there", () => {
  const { rows, stands } = visible(steps, all);
  assert.deepEqual(
    steps.map((_, index) => index + 1),
    rows,
  );
  assert.equal(0, stands.size);
});

test("lanes and filter", () => {
  assert.deepEqual([5, 6, 7, 8, 10], visible(steps, { ...all, hiddenLanes: new Set("a") }).rows);
  assert.deepEqual([2, 7], visible(steps, { ...all, fits: (step) => !step.local }).rows);
  const { rows, stands } = visible(steps, {
    fits: (step) => step !== steps[2],
    hiddenLanes: new Set("b"),
    folded: true,
  });
  assert.deepEqual([[1, 2, 4, 9], 0], [rows, stands.size]);
});
