// What happened to a page, in order: who got it, who wrote it, who read it, as [step, words].

export function history(trace, name) {
  const events = [];
  let before = null;
  for (const [since, cell] of trace.pages.get(name).cells) {
    events.push(...(before ? changed(since, before, cell) : began(cell)));
    before = cell;
  }
  for (const [step, page, reader, content] of trace.data.reads) {
    if (page === name && step <= trace.end) events.push(read(step, reader, content));
  }
  return events
    .map((event, index) => [event, index])
    .sort(([one, i], [other, j]) => one.step - other.step || i - j)
    .map(([event]) => event);
}

function began(cell) {
  const owner = cell.owner === null ? "free" : `owned by ${cell.owner}`;
  const written = cell.contents.every((writer) => writer === null)
    ? "never written"
    : `written by ${named(cell.contents)}`;
  return [{ step: 0, kind: "start", text: `${owner}, ${written}` }];
}

function changed(step, old, now) {
  const events = [];
  if (old.owner !== now.owner) {
    if (old.owner !== null) events.push({ step, kind: "freed", text: `${old.owner} gives it back` });
    if (now.owner !== null) events.push({ step, kind: "given", text: `given to ${now.owner}` });
  }
  const posted = added(now.coming, old.coming);
  for (const request of posted)
    events.push({ step, kind: "posted", text: `a write of ${request} is on its way to it` });
  const written = now.contents.filter((writer, index) => writer !== old.contents[index]);
  if (written.length) {
    const wrong = written.some((writer) => writer !== null && writer !== now.owner);
    const by = written.every((writer) => writer === null) ? "cleared" : `written by ${named(written)}`;
    events.push({ step, kind: wrong ? "wrong" : "written", text: wrong ? `${by}, and it is ${owned(now)}` : by });
  } else if (added(old.coming, now.coming).length) {
    events.push({ step, kind: "ended", text: `the write of ${named(added(old.coming, now.coming))} is over` });
  }
  return events;
}

function read(step, reader, content) {
  const what = content === null ? "never written" : `${content}'s content`;
  const wrong = reader !== content;
  return { step, kind: wrong ? "wrong" : "read", text: `read for ${reader ?? "nobody"}: ${what}` };
}

function owned(cell) {
  return cell.owner === null ? "free" : `${cell.owner}'s`;
}

function named(writers) {
  return [...new Set(writers)].map((writer) => writer ?? "nobody").join(", ");
}

// The members of a list that another lacks, with repetitions.
function added(list, other) {
  const left = [...other];
  return list.filter((item) => {
    const place = left.indexOf(item);
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
}
