// The language of the filter: lane=decode page=3 request=A and free words, all of which must fit.

const WORD = /(?:(lane|page|request)=|(?=\S))(?:"([^"]*)"?|(\S*))/gi;

// The parts of a query as [key, text]; a word without a key has the key "".
export function parse(query) {
  const parts = [];
  for (const match of query.matchAll(WORD)) {
    const text = (match[2] ?? match[3]).toLowerCase();
    if (text) parts.push([(match[1] ?? "").toLowerCase(), text]);
  }
  return parts;
}

// Whether a step fits all parts.  While a name is being typed its beginning is enough, as long as nothing has
// the whole of it.
export function matcher(query, steps) {
  const parts = parse(query).map(([key, text]) => [key, text, whole(key, text, steps)]);
  return (step) => parts.every(([key, text, exact]) => fits(step, key, text, exact));
}

function whole(key, text, steps) {
  return key !== "" && steps.some((step) => names(step, key).includes(text));
}

function fits(step, key, text, exact) {
  if (key === "") return words(step).includes(text);
  return names(step, key).some((name) => (exact ? name === text : name.startsWith(text)));
}

// What a key of the filter compares with; a page is called with its pool or without.
function names(step, key) {
  const found = key === "lane" ? [step.lane] : key === "request" ? step.requests : step.pages.flatMap(withoutPool);
  return found.map((name) => name.toLowerCase());
}

function withoutPool(page) {
  return [page, page.slice(page.lastIndexOf("/") + 1)];
}

// All that is written of a step, in small letters.
export function words(step) {
  step.words ??= [
    step.lane,
    step.call,
    step.full,
    step.text,
    step.loc,
    ...step.changes.flatMap(([path, old, now]) => [path, `${old} -> ${now}`]),
    ...step.notes.map(([, text]) => text),
  ]
    .join("\n")
    .toLowerCase();
  return step.words;
}
