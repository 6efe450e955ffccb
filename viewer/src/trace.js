// What the page knows of a trace: the data from Python, and who had which value when.

// A list of [since, value], the first since 0: what it is in a state.
export function at(history, state) {
  let low = 0;
  let high = history.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (history[middle][0] <= state) low = middle;
    else high = middle - 1;
  }
  return history[low][1];
}

// The data with a history for each variable and each page; steps are numbered from 1, state 0 is the start.
export class Trace {
  constructor(data) {
    this.data = data;
    this.steps = data.steps;
    this.paths = data.init.map(([path]) => path);
    this.end = data.steps.length;
    this.values = new Map(data.init.map(([path, value]) => [path, [[0, value]]]));
    data.steps.forEach((step, index) => {
      for (const [path, value] of Object.entries(step.delta)) this.values.get(path)?.push([index + 1, value]);
    });
    this.pages = new Map();
    data.pools.forEach((pool, number) => {
      pool.pages.forEach((page, index) => {
        const looks = data.looks[number][index];
        const cells = pool.cells[index].map((cell, place) => [cell.since, { ...cell, look: looks[place] }]);
        this.pages.set(`${pool.name}/${page}`, { pool, page, cells });
      });
    });
  }

  step(number) {
    return this.steps[number - 1];
  }

  value(path, state) {
    return at(this.values.get(path), state);
  }

  cell(name, state) {
    return at(this.pages.get(name).cells, state);
  }

  // The variables in groups: those of req[A] together, arrays as a whole.
  groups() {
    const groups = new Map();
    for (const path of this.values.keys()) {
      const name = groupOf(path);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(path);
    }
    return groups;
  }

  // The step in the cause that comes next in a direction (1 or -1); null where there is none.
  guilty(from, direction) {
    for (let number = from + direction; number >= 1 && number <= this.end; number += direction) {
      if (this.step(number).guilty) return number;
    }
    return null;
  }
}

// `req[A].decode` belongs to `req[A]`, `d_owner[0][3]` to `d_owner`, `clock` to itself.
export function groupOf(path) {
  const dot = path.lastIndexOf(".");
  const head = dot > 0 ? path.slice(0, dot) : path;
  if (dot > 0) return head;
  const bracket = head.indexOf("[");
  return bracket > 0 ? head.slice(0, bracket) : head;
}
