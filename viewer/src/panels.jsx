// What is said of the state at the cursor: the step, what it changed, what is on its way, the page that was asked for.

import { history } from "./history.js";
import { Fragment, h } from "./render.js";

export function Live({ view }) {
  return (
    <>
      <Moment view={view} />
      <Values view={view} />
      <Dots view={view} />
      <Basis view={view} />
      <OnTheWay view={view} />
      <PageHistory view={view} />
      <Source view={view} />
    </>
  );
}

function StepLink({ view, step, children }) {
  return (
    <a href={`#t${view.number}.s${step}`} data-step={step}>
      {children.length ? children : `step ${step}`}
    </a>
  );
}

function Moment({ view }) {
  const { trace, state } = view;
  if (state === 0) {
    return (
      <section class="moment">
        <h2>The start</h2>
        <p>Nothing has happened yet.</p>
      </section>
    );
  }
  const step = trace.step(state);
  return (
    <section class="moment">
      <h2>
        Step {state} <span class="lane">{step.lane}</span> {step.guilty ? <span class="cause">cause</span> : null}
      </h2>
      <p class="call">
        <code>{step.full}</code>
      </p>
      <p>{step.text}</p>
      {step.notes.map(([kind, text]) => (
        <p class={`note ${kind}`}>{text}</p>
      ))}
      <Exchanges view={view} />
    </section>
  );
}

// What the step sends, takes, posts and lands, with the other end of each.
function Exchanges({ view }) {
  const { trace, state } = view;
  const { messages, flights } = trace.data;
  const lines = [];
  for (const message of messages) {
    if (message.sent === state)
      lines.push(
        <>
          sends <i>{message.text}</i>, {taken(view, message)}
        </>,
      );
    if (message.taken === state) {
      lines.push(
        <>
          takes <i>{message.text}</i>, sent by {message.sender} at <StepLink view={view} step={message.sent} />
        </>,
      );
    }
  }
  for (const flight of flights) {
    if (flight.posted === state)
      lines.push(
        <>
          posts a write of {flight.request}
          {into(flight)}, {landing(view, flight)}
        </>,
      );
    if (flight.ended === state) {
      const word = flight.landed === state ? "lands" : "drops";
      lines.push(
        <>
          {word} a write of {flight.request}
          {into(flight)}, posted at <StepLink view={view} step={flight.posted} />
        </>,
      );
    }
  }
  return lines.length ? (
    <ul class="exchanges">
      {lines.map((line) => (
        <li>{line}</li>
      ))}
    </ul>
  ) : null;
}

function taken(view, message) {
  if (message.taken === null) return "which nobody takes";
  return (
    <>
      taken by {message.taker} at <StepLink view={view} step={message.taken} />
    </>
  );
}

function landing(view, flight) {
  if (flight.ended === null) return "which does not land in this run";
  const word = flight.landed === null ? "dropped" : flight.late ? "which lands LATE" : "which lands";
  return (
    <>
      {word} at <StepLink view={view} step={flight.ended} />
    </>
  );
}

function into(flight) {
  return flight.target === null ? "" : ` to ${flight.target}`;
}

function Values({ view }) {
  const { trace, state, settings } = view;
  const { full } = settings;
  const changed = state ? trace.step(state).delta : {};
  const unchanged = trace.values.size - Object.keys(changed).length;
  return (
    <section class="values">
      <h2>
        {full ? "All variables" : "What it changed"}
        <button
          type="button"
          class="full-toggle"
          aria-pressed={String(full)}
          onclick={() => view.toggleFull()}
          title="changes only, or every variable (d)"
        >
          {full ? "changes only" : `${unchanged} unchanged`}
        </button>
      </h2>
      {full ? <Everything view={view} changed={changed} /> : <Changes view={view} />}
    </section>
  );
}

function Changes({ view }) {
  const changes = view.state ? view.trace.step(view.state).changes : [];
  if (!changes.length) return <p class="none">No variable.</p>;
  return (
    <dl class="state diff">
      {changes.map(([path, old, now]) => (
        <div data-path={path}>
          <dt>{path}</dt>
          <dd class="was">{old}</dd>
          <dd class="now">{now}</dd>
        </div>
      ))}
    </dl>
  );
}

function Everything({ view, changed }) {
  const groups = [...view.groups].map(([name, paths]) => (
    <Group view={view} name={name} paths={paths} changed={changed} />
  ));
  return <div class="groups">{groups}</div>;
}

function Group({ view, name, paths, changed }) {
  const open = !view.closed.has(name);
  const count = paths.filter((path) => Object.hasOwn(changed, path)).length;
  return (
    <div class={count ? "group changed" : "group"}>
      <h3>
        <button type="button" aria-expanded={String(open)} onclick={() => view.toggleGroup(name)}>
          {name}{" "}
          <span>
            {count ? `${count} changed, ` : ""}
            {paths.length - count} unchanged
          </span>
        </button>
      </h3>
      <dl class="state" hidden={!open}>
        {paths.map((path) => (
          <Variable view={view} path={path} changed={Object.hasOwn(changed, path)} />
        ))}
      </dl>
    </div>
  );
}

function Variable({ view, path, changed }) {
  const { trace, state } = view;
  return (
    <div data-path={path} class={changed ? "changed" : null}>
      <dt>{path}</dt>
      <dd>{trace.value(path, state)}</dd>
      {changed ? <dd class="was">{trace.value(path, state - 1)}</dd> : null}
    </div>
  );
}

const SHOWN = 6;

// What the step read, and which step had set it.
function Basis({ view }) {
  const { trace, state } = view;
  if (state === 0) return null;
  const [set, others] = trace.data.bases[state - 1];
  const lines = set.map(([place, step]) => {
    const path = trace.paths[place];
    return (
      <li>
        <code>{path}</code> = <code>{trace.value(path, state - 1)}</code>, <StepLink view={view} step={step} />
      </li>
    );
  });
  if (!lines.length) return null;
  const rest = lines.slice(SHOWN);
  return (
    <section class="basis">
      <h2>What it went by</h2>
      <ul>{lines.slice(0, SHOWN)}</ul>
      {rest.length ? (
        <details>
          <summary>{rest.length} more</summary>
          <ul>{rest}</ul>
        </details>
      ) : null}
      {others ? <p class="none">{others === 1 ? "1 variable" : `${others} variables`} as at the start</p> : null}
    </section>
  );
}

// The changes of the step that the violation rests on.
function Dots({ view }) {
  const dots = view.trace.data.dots.filter(([step]) => step === view.state);
  if (!dots.length) return null;
  return (
    <section class="dots">
      <h2>Had it left one of these as it was</h2>
      <ul>
        {dots.map(([, path, then]) => (
          <li>
            <code>{path}</code> {then}
          </li>
        ))}
      </ul>
    </section>
  );
}

// Messages that nobody has taken yet and writes that have not landed.
function OnTheWay({ view }) {
  const { trace, state } = view;
  const open = (from, to) => from <= state && (to === null || to > state);
  const lines = [
    ...trace.data.messages
      .filter((message) => open(message.sent, message.taken))
      .map((message) => (
        <>
          <i>{message.text}</i> from {message.sender}, since <StepLink view={view} step={message.sent} />
        </>
      )),
    ...trace.data.flights
      .filter((flight) => open(flight.posted, flight.ended))
      .map((flight) => (
        <>
          a write of {flight.request}
          {into(flight)}, posted at <StepLink view={view} step={flight.posted} />
        </>
      )),
  ];
  if (!lines.length) return null;
  return (
    <section class="way">
      <h2>On the way</h2>
      <ul>
        {lines.map((line) => (
          <li>{line}</li>
        ))}
      </ul>
    </section>
  );
}

function PageHistory({ view }) {
  const { trace, state, picked } = view;
  if (!trace.pages.size) return null;
  const pools = [...Map.groupBy(trace.pages.keys(), (name) => trace.pages.get(name).pool.name)];
  return (
    <section class="history">
      <h2>
        <label>
          History of page{" "}
          <select class="pick" onchange={(event) => view.pick(event.currentTarget.value || null)}>
            <option value="" selected={picked === null}>
              choose
            </option>
            {pools.map(([pool, names]) => (
              <optgroup label={pool}>
                {names.map((name) => (
                  <option value={name} selected={name === picked}>
                    {name}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </label>
      </h2>
      {picked === null ? null : (
        <ol>
          {history(trace, picked).map((event) => (
            <Event view={view} event={event} state={state} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Event({ view, event, state }) {
  const now = event.step === state;
  const call = event.step ? <code>{view.trace.step(event.step).call}</code> : null;
  return (
    <li class={event.step > state ? `${event.kind} later` : event.kind} aria-current={now ? "step" : null}>
      <StepLink view={view} step={event.step}>
        {event.step ? `step ${event.step}` : "start"}
      </StepLink>{" "}
      {call} {event.text}
    </li>
  );
}

function Source({ view }) {
  if (view.state === 0) return null;
  const step = view.trace.step(view.state);
  const written = view.excerpt(step.action);
  return (
    <section class="source">
      <h2>
        As it is written <span class="place">{step.loc}</span>
      </h2>
      {written ? <div class="excerpt">{copied(written)}</div> : null}
    </section>
  );
}

// A copy of a part of the page, which is told apart by its label.
function copied(part) {
  const copy = part.cloneNode(true);
  const text = copy.querySelector("pre");
  text?.setAttribute("aria-label", `${text.getAttribute("aria-label")}, at the cursor`);
  return [...copy.childNodes];
}
