// Search: steps that have the text, and the text itself marked wherever it stands.

import { words } from "./filter.js";

const NAME = "kv-search";

export function search(steps, text) {
  const wanted = text.trim().toLowerCase();
  const found = new Set();
  if (!wanted) return found;
  steps.forEach((step, index) => {
    if (words(step).includes(wanted)) found.add(index + 1);
  });
  return found;
}

// The next hit after a step in a direction, round the end; null where there is none.
export function nextHit(found, from, direction) {
  const hits = [...found].sort((one, other) => one - other);
  if (!hits.length) return null;
  if (direction > 0) return hits.find((hit) => hit > from) ?? hits[0];
  return hits.findLast((hit) => hit < from) ?? hits.at(-1);
}

// Marks text without touching the document: a long page stays quick.  Browsers without highlights mark rows only.
export function highlight(roots, text) {
  const registry = globalThis.CSS?.highlights;
  if (!registry) return;
  const wanted = text.trim().toLowerCase();
  if (!wanted) {
    registry.delete(NAME);
    return;
  }
  registry.set(NAME, new Highlight(...roots.flatMap((root) => [...ranges(root, wanted)])));
}

function* ranges(root, wanted) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.toLowerCase();
    for (let place = text.indexOf(wanted); place >= 0; place = text.indexOf(wanted, place + wanted.length)) {
      const range = new Range();
      range.setStart(node, place);
      range.setEnd(node, Math.min(place + wanted.length, node.length));
      yield range;
    }
  }
}
