// The address of a state: #t1.s17 is state 17 of trace 1, #t1 its last one.

const ADDRESS = /^#?t(\d{1,9})(?:\.s(\d{1,9}))?$/;

export function parse(hash) {
  const match = ADDRESS.exec(hash);
  return match ? { trace: Number(match[1]), state: match[2] === undefined ? null : Number(match[2]) } : null;
}

export function format(trace, state) {
  return `#t${trace}.s${state}`;
}

const SPAN = 10_000;
const MOST = 100;

// Browsers complain of a page that changes its address all the time, as when a key is held down: some are
// left out, the last never.  The clock and the waiting are given, for tests.
export class Address {
  constructor(write, now = () => performance.now(), wait = (call, time) => setTimeout(call, time)) {
    this.write = write;
    this.now = now;
    this.wait = wait;
    this.recent = [];
    this.due = null;
  }

  set(hash) {
    const now = this.now();
    this.recent = this.recent.filter((time) => now - time < SPAN);
    if (this.due === null && this.recent.length < MOST) {
      this.recent.push(now);
      this.write(hash);
      return;
    }
    if (this.due === null) {
      this.wait(() => {
        this.recent.push(this.now());
        this.write(this.due);
        this.due = null;
      }, SPAN / MOST);
    }
    this.due = hash;
  }
}
