import assert from "node:assert/strict";
import { test } from "node:test";
import { at, groupOf, Trace } from "../src/trace.js";

const cell = (since, owner, content) => ({
  since,
  owner,
  contents: [content],
  coming: [],
  stale: owner !== content,
  words: "",
});

function example() {
  return new Trace({
    init: Object.entries({ "req[A].decode": "IDLE", "req[A].need": "0", clock: "0", "d_owner[0][3]": "none" }),
    steps: [
      { lane: "decode", guilty: true, delta: { "req[A].decode": "READY", clock: "1" } },
      { lane: "router", guilty: false, delta: {} },
      { lane: "decode", guilty: true, delta: { clock: "2" } },
    ],
    pools: [{ name: "decode", pages: ["0"], cells: [[cell(0, null, null), cell(2, "A", null)]] }],
    looks: [[[0, 7]]],
    reads: [],
  });
}

test("a value holds until it changes", () => {
  const trace = example();
  assert.deepEqual(
    ["0", "1", "1", "2"],
    [0, 1, 2, 3].map((state) => trace.value("clock", state)),
  );
  assert.deepEqual(
    ["IDLE", "READY", "READY", "READY"],
    [0, 1, 2, 3].map((state) => trace.value("req[A].decode", state)),
  );
});

test("every state of a long history is found", () => {
  const history = Array.from({ length: 50 }, (_, index) => [index * 3, index]);
  for (let state = 0; state < 150; state += 1) assert.equal(Math.floor(state / 3), at(history, state));
});

test("a page has a cell and a drawing in every state", () => {
  const trace = example();
  assert.deepEqual(
    [null, null, "A", "A"],
    [0, 1, 2, 3].map((state) => trace.cell("decode/0", state).owner),
  );
  assert.equal(7, trace.cell("decode/0", 3).look);
});

test("variables stand in groups, in their order", () => {
  const groups = [...example().groups()];
  assert.deepEqual(["req[A]", ["req[A].decode", "req[A].need"]], groups[0]);
  assert.deepEqual(
    ["clock", "d_owner"],
    groups.slice(1).map(([name]) => name),
  );
});

test("names of groups", () => {
  assert.equal("sender[0][A]", groupOf("sender[0][A].up[0]"));
  assert.equal("b", groupOf("b[ACK, A]"));
  assert.equal("[odd]", groupOf("[odd]"));
});

test("the next step of the cause", () => {
  const trace = example();
  assert.equal(1, trace.guilty(0, 1));
  assert.equal(3, trace.guilty(1, 1));
  assert.equal(null, trace.guilty(3, 1));
  assert.equal(1, trace.guilty(3, -1));
  assert.equal(null, trace.guilty(1, -1));
});
