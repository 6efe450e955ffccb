// Runs of steps that exchange nothing with another machine, and which rows are to be seen.

// Runs of at least two local steps of one lane as [first, last]; nothing else lies between them.
export function localRuns(steps) {
  const runs = [];
  let first = 0;
  steps.forEach((step, index) => {
    const before = steps[index - 1];
    const goes = step.local && before?.local && before.lane === step.lane;
    if (!goes) first = index;
    if (goes) {
      if (index - first === 1) runs.push([first + 1, index + 1]);
      else runs[runs.length - 1][1] = index + 1;
    }
  });
  return runs;
}

// The numbers of the rows to be seen, and for the first of each folded run how many others it stands for.
export function visible(steps, { fits, hiddenLanes, folded }) {
  const rows = [];
  const stands = new Map();
  const runOf = new Map();
  if (folded) {
    for (const [first, last] of localRuns(steps)) {
      for (let number = first; number <= last; number += 1) runOf.set(number, first);
    }
  }
  steps.forEach((step, index) => {
    const number = index + 1;
    if (!fits(step) || hiddenLanes.has(step.lane)) return;
    const first = runOf.get(number);
    const shown = rows.at(-1);
    if (first !== undefined && runOf.get(shown) === first) stands.set(shown, (stands.get(shown) ?? 0) + 1);
    else rows.push(number);
  });
  return { rows, stands };
}
