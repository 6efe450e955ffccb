import assert from "node:assert/strict";
import { test } from "node:test";
import { matcher, parse } from "../src/filter.js";

const step = (lane, call, pages = [], requests = []) => ({
  lane,
  call,
  full: call,
  text: "",
  loc: "models/m.py:7",
  requests,
  pages,
  changes: [["req[A].sent", "0", "1"]],
  notes: [],
});

const STEPS = [
  step("decode", "prealloc(A)", ["decode/3", "decode/4"], ["A"]),
  step("decode[1]", "prealloc(AB)", ["decode/13"], ["AB"]),
  step("prefill", "admit(A)", ["prefill/3"], ["A"]),
  step("gpu worker", "begin(B)", [], ["B"]),
];

const shown = (query) => STEPS.map(matcher(query, STEPS)).flatMap((fits, index) => (fits ? [index] : []));

test("keys, quotes and free words", () => {
  assert.deepEqual(
    [
      ["lane", "decode"],
      ["", "late"],
      ["page", "3"],
    ],
    parse("lane=decode LATE  Page=3"),
  );
  assert.deepEqual([["lane", "gpu worker"]], parse('lane="GPU worker"'));
  assert.deepEqual([["lane", "gpu wo"]], parse('lane="gpu wo'));
  assert.deepEqual([["", "x=1"]], parse("x=1"));
  assert.deepEqual([], parse("lane="));
});

test("a whole name is that name only", () => {
  assert.deepEqual([0], shown("lane=decode"));
  assert.deepEqual([0, 2], shown("request=A"));
  assert.deepEqual([0, 2], shown("page=3"));
  assert.deepEqual([0], shown("page=decode/3"));
});

test("the beginning of a name is enough while nothing has the whole", () => {
  assert.deepEqual([0, 1], shown("lane=dec"));
  assert.deepEqual([1], shown("page=1"));
});

test("all parts must fit", () => {
  assert.deepEqual([2], shown("request=A lane=prefill"));
  assert.deepEqual([], shown("request=B lane=prefill"));
});

test("free words look at all that is written", () => {
  assert.deepEqual([0, 1], shown("PREALLOC"));
  assert.deepEqual([0, 1, 2, 3], shown("req[a].sent"));
  assert.deepEqual([0, 1, 2, 3], shown(""));
  assert.deepEqual([3], shown('lane="gpu worker"'));
});
