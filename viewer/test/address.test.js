import assert from "node:assert/strict";
import { test } from "node:test";
import { Address, format, parse } from "../src/address.js";

test("places", () => {
  assert.deepEqual({ trace: 2, state: 17 }, parse("#t2.s17"));
  assert.deepEqual({ trace: 2, state: null }, parse("#t2"));
  for (const odd of ["", "#", "#t", "#t1.s", "#t1.s2x", "#why", "#t1.a3"]) assert.equal(null, parse(odd), odd);
  assert.deepEqual({ trace: 3, state: 0 }, parse(format(3, 0)));
});

// A clock that goes by hand.
function example() {
  const written = [];
  const waiting = [];
  let time = 0;
  const address = new Address(
    (hash) => written.push(hash),
    () => time,
    (call, span) => waiting.push([time + span, call]),
  );
  const pass = (span) => {
    time += span;
    for (const [due, call] of waiting.splice(0)) due <= time ? call() : waiting.push([due, call]);
  };
  return { address, written, pass };
}

test("what is set now and then is written at once", () => {
  const { address, written, pass } = example();
  for (const hash of ["#a", "#b", "#c"]) {
    address.set(hash);
    assert.equal(hash, written.at(-1));
    pass(50);
  }
});

test("a key held down: most are left out, the last never", () => {
  const { address, written, pass } = example();
  for (let number = 0; number < 1000; number += 1) {
    address.set(`#${number}`);
    pass(10);
  }
  assert.ok(written.length <= 200, `${written.length}`);
  pass(10_000);
  assert.equal("#999", written.at(-1));
});

test("after a pause everything is written again", () => {
  const { address, written, pass } = example();
  for (let number = 0; number < 300; number += 1) address.set(`#${number}`);
  pass(20_000);
  address.set("#later");
  assert.equal("#later", written.at(-1));
});
