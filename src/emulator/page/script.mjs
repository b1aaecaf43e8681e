/** @import { ChangeView, FaultView, RequestMark, ObjectView, RequestView, View } from "./view.js" */

// Strings of requests are only ever set as text, never as HTML.

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const say = (/** @type {string} */ text) => {
  byId("message").textContent = text;
};

/** Creates an element with a class, and with text or children. */
function make(/** @type {string} */ tag, className = "", /** @type {(string | Node)[]} */ ...children) {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

function makeSvg(/** @type {string} */ tag, /** @type {Record<string, string | number>} */ attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** @type {WeakMap<Element, string>} */
const shown = new WeakMap();

/**
 * Shows a list. An item that hasn't changed keeps its element, and so its focus and selection.
 * @template {{ readonly id: string | number }} T
 * @param {string} id id of the list, whose empty state is `no-` with the id
 * @param {readonly T[]} items
 * @param {(item: T) => Element} render
 */
function showList(id, items, render) {
  const list = byId(id);
  const old = new Map([...list.children].map((element) => [element.getAttribute("data-id"), element]));
  const elements = items.map((item) => {
    const json = JSON.stringify(item);
    const before = old.get(String(item.id));
    if (before && shown.get(before) === json) return before;
    const element = render(item);
    element.setAttribute("data-id", String(item.id));
    shown.set(element, json);
    return element;
  });
  if (elements.length !== list.children.length || elements.some((one, at) => one !== list.children[at]))
    list.replaceChildren(...elements);
  byId(`no-${id}`).hidden = items.length > 0;
}

const isBad = (/** @type {Omit<RequestMark, "at">} */ { status, fault }) =>
  status >= 400 || (status === 0 && fault !== undefined);
const count = (/** @type {number} */ n, /** @type {string} */ noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const duration = (/** @type {number} */ ms) =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;

function replyOf(/** @type {Omit<RequestMark, "at">} */ { status, fault }) {
  const reply = status === 0 ? (fault ? "no reply" : "…") : String(status);
  return fault ? `${reply} (${fault})` : reply;
}

/** Draws a change: its requests, its operation, and the time until a poll reported the end. */
function timeline(/** @type {ChangeView} */ { attempts, polls, operation }, /** @type {string} */ label) {
  const times = [...attempts, ...polls].map(({ at }) => at);
  if (operation) times.push(operation.startedAt, operation.endsAt);
  const start = Math.min(...times);
  const span = Math.max(Math.max(...times) - start, 1);
  const percent = (/** @type {number} */ ms) => `${(100 * ms) / span}%`;
  const svg = makeSvg("svg", { role: "img", "aria-label": label });
  const bar = (/** @type {string} */ name, /** @type {number} */ from, /** @type {number} */ to) =>
    svg.append(
      makeSvg("rect", { class: name, x: percent(from - start), width: percent(to - from), y: 6, height: 10 }),
    );
  svg.append(makeSvg("rect", { class: "track", width: "100%", y: 9, height: 4, rx: 2 }));
  if (operation) {
    const { startedAt, endsAt, outcome, progress, seenAt } = operation;
    bar("work", startedAt, endsAt);
    if (outcome === "failed") bar("failed", startedAt, endsAt);
    else bar("worked", startedAt, startedAt + (endsAt - startedAt) * progress);
    if (seenAt !== undefined) bar("late", endsAt, seenAt);
  }
  const line = (/** @type {string} */ name, /** @type {number} */ at, /** @type {number} */ y) => {
    const x = percent(at - start);
    svg.append(makeSvg("line", { class: name, x1: x, x2: x, y1: y, y2: 22 - y }));
  };
  for (const poll of polls) line(isBad(poll) ? "poll bad" : "poll", poll.at, 3);
  if (operation && operation.outcome !== "open") line("end", operation.endsAt, 0);
  for (const attempt of attempts) {
    const name = isBad(attempt) ? "attempt bad" : "attempt";
    svg.append(makeSvg("circle", { class: name, cx: percent(attempt.at - start), cy: 11, r: 4.5 }));
  }
  return svg;
}

function renderChange(/** @type {ChangeView} */ change) {
  const { kind, attempts, polls, operation } = change;
  const replies = attempts.map(replyOf).join(", ");
  const figures = [
    attempts.length > 1 ? `${count(attempts.length, "attempt")}: ${replies}` : replies,
    ...(operation ? [count(polls.length, "poll")] : []),
  ];
  if (operation) {
    const { outcome, startedAt, endsAt, progress, seenAt } = operation;
    if (outcome === "open") figures.push(`${Math.round(progress * 100)}% of ${duration(endsAt - startedAt)}`);
    else {
      figures.push(`${outcome} after ${duration(endsAt - startedAt)}`);
      figures.push(seenAt === undefined ? "end not polled yet" : `overshoot ${duration(seenAt - endsAt)}`);
    }
  }
  const text = figures.filter((one) => one !== "").join(" · ");
  const element = make("div", "change", make("b", "", kind), " ", make("span", "figures", text));
  if (operation?.problem !== undefined) element.append(" ", make("span", "bad", operation.problem));
  if (operation || attempts.length > 1) element.append(timeline(change, `${kind}: ${text}`));
  return element;
}

function renderObject(/** @type {ObjectView} */ { id, name, status, revision, changes }) {
  const header = make(
    "header",
    "",
    make("h3", "", name === "" ? id : name),
    make("span", "id", revision === undefined ? id : `${id} · revision ${revision}`),
    make("span", "status", status),
  );
  return make("article", status === "deleted" ? "gone" : "", header, ...changes.map(renderChange));
}

function renderRequest(/** @type {RequestView} */ { at, method, path, key, revision, ...mark }) {
  const details = [key && `key ${key}`, revision && `If-Match ${revision}`].filter(Boolean).join(" · ");
  const request = make("td", "", make("b", "", method), ` ${path}`);
  if (details !== "") request.append(make("small", "narrow", details));
  const time = new Date(at).toISOString();
  // The start of a key is enough to recognize its next request.
  const shortKey = make(
    "td",
    "wide",
    key === undefined || key.length <= 13 ? (key ?? "") : `${key.slice(0, 12)}…`,
  );
  shortKey.title = key ?? "";
  return make(
    "tr",
    "",
    make("td", "", time.slice(11, 19), make("span", "wide", time.slice(19, 23))),
    request,
    shortKey,
    make("td", "wide", revision ?? ""),
    make("td", isBad(mark) ? "bad" : "", replyOf(mark)),
  );
}

function renderFault(/** @type {FaultView} */ { id, kind, requests, used, times }) {
  const button = make("button", "", "End");
  button.setAttribute("type", "button");
  button.setAttribute("aria-label", `End fault ${kind} for ${requests}`);
  button.addEventListener("click", () => act({ endFault: id }, `Ended ${kind} for ${requests}.`));
  const use = times === null ? `${used} so far` : `${used} of ${times}`;
  return make("li", "", make("span", "", make("b", "", kind), ` for ${requests} · ${use}`), button);
}

/** Sends an action to the emulator, and reports the result in the live region. */
async function act(/** @type {object} */ action, /** @type {string} */ done) {
  const headers = { "content-type": "application/json" };
  try {
    const reply = await fetch("/page/actions", { method: "POST", headers, body: JSON.stringify(action) });
    say(reply.ok ? done : await reply.text());
  } catch {
    say("The emulator doesn't respond.");
  }
}

const choice = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (document.getElementById(id));

document.addEventListener("click", ({ target }) => {
  if (!(target instanceof HTMLButtonElement)) return;
  const { fault, run } = target.dataset;
  if (run !== undefined) void act({ run }, `${target.textContent}: done.`);
  if (fault === undefined) return;
  const rule = {
    ...JSON.parse(fault),
    ...JSON.parse(choice("matching").value),
    times: JSON.parse(choice("times").value),
  };
  const [requests] = choice("matching").selectedOptions;
  void act({ fault: rule }, `Injected ${target.textContent} into ${requests?.textContent}.`);
});

byId("endpoint").textContent = `${location.origin}/v1`;

const events = new EventSource("/page/events");
events.onmessage = (/** @type {MessageEvent<string>} */ { data }) => {
  /** @type {View} */
  const { objects, requests, faults, count: all } = JSON.parse(data);
  const connection = byId("connection");
  connection.dataset.state = "open";
  connection.textContent = `${location.origin}/v1`;
  showList("objects", objects, renderObject);
  showList("requests", requests, renderRequest);
  showList("faults", faults, renderFault);
  byId("planned").textContent =
    all.plannedFailures === 0 ? "" : `${count(all.plannedFailures, "failure")} planned`;
  const left = all.objects - objects.length;
  byId("objects-count").textContent = [
    count(all.objects, "object"),
    ...(all.running > 0 ? [`${count(all.running, "operation")} running`] : []),
    ...(left > 0 ? [`newest ${objects.length} shown`] : []),
  ].join(" · ");
  byId("requests-count").textContent = String(all.requests);
};
events.onerror = () => {
  const connection = byId("connection");
  connection.dataset.state = "lost";
  connection.textContent = "The emulator doesn't respond. Reconnecting …";
};
