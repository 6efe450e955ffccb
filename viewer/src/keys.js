// The keys, and what they are for.

export const KEYS = [
  [["j", "ArrowDown"], "one step on", (view) => view.step(1)],
  [["k", "ArrowUp"], "one step back", (view) => view.step(-1)],
  [["Home"], "the start", (view) => view.go(0)],
  [["End"], "the last state", (view) => view.go(view.trace.end)],
  [["n"], "next step of the cause", (view) => view.guilty(1)],
  [["N"], "step of the cause before", (view) => view.guilty(-1)],
  [["d"], "what changed, or every variable", (view) => view.toggleFull()],
  [["c"], "where the steps of the cause read their values", (view) => view.toggleCone()],
  [["l"], "fold runs of local steps", (view) => view.toggleFold()],
  [["/"], "search: marks what has the words; Enter goes to the next", (view) => view.searchBox.focus()],
  [["f"], "filter: shows only what fits, such as lane=decode page=3 request=A", (view) => view.filterBox.focus()],
  [["["], "the trace before", (view, page) => page.turn(-1)],
  [["]"], "the next trace", (view, page) => page.turn(1)],
  [["?"], "these keys", (view, page) => page.help()],
  [["Escape"], "close, leave the field, take back search and filter", (view) => view.escape()],
];

const BY_KEY = new Map(KEYS.flatMap(([keys, , call]) => keys.map((key) => [key, call])));

// Obeys a key, unless it is meant for a field or for the browser.
export function press(event, view, page) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const field = event.target.closest?.("input, select, textarea");
  if (field && event.key !== "Escape") return;
  const call = BY_KEY.get(event.key);
  if (!call) return;
  event.preventDefault();
  call(view, page);
}

const NAMES = { ArrowDown: "Down", ArrowUp: "Up", Escape: "Esc" };

export function keyName(key) {
  return NAMES[key] ?? key;
}
