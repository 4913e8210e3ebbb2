"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const models = new Map(data.models.map((model) => [model.name, model]));
const readers = new Map();
for (const model of data.models) for (const read of model.reads) readers.set(read, [...(readers.get(read) || []), model.name]);
const panel = document.getElementById("panel");
let before = null;

function make(tag, parent, text, cls) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  if (cls) node.className = cls;
  if (parent) parent.append(node);
  return node;
}
function names(parent, title, list) {
  if (!list.length) return;
  const line = make("p", parent, title + " ");
  list.forEach((name, index) => {
    if (index) line.append(", ");
    if (models.has(name)) make("button", line, name).addEventListener("click", () => show(name));
    else make("span", line, name);
  });
}
function facts(parent, pairs) {
  if (!pairs.length) return;
  const list = make("dl", parent);
  for (const [name, value] of pairs) { make("dt", list, name); make("dd", list, value); }
}
function step(parent, told) {
  const box = make("div", parent, null, "step " + (told.target === "refused" ? "refused" : ""));
  const head = make("p", box);
  make("b", head, told.event); head.append(": " + told.source + " → "); make("b", head, told.target, told.target);
  make("span", head, "  record " + told.sequence + ", " + told.time, "dim");
  const guards = make("ul", box, null, "guards");
  for (const guard of told.guards) {
    const item = make("li", guards);
    make("span", item, guard.holds === "yes" ? "holds " : "refuses ", guard.holds === "yes" ? "good" : "bad");
    item.append(guard.guard + " (" + guard.invariant + ")");
    if (guard.holds !== "yes") { make("div", item, "[" + guard.code + "] " + guard.because, "bad"); make("div", item, "remedy: " + guard.remedy); }
    if (guard.says) item.title = guard.says + " It looks at: " + guard.reads;
  }
  const seen = make("details", box);
  make("summary", seen, "evidence");
  facts(seen, told.facts.map((fact) => [fact.name, fact.value]));
  if (told.target === "refused") seen.open = true;
}
function show(name) {
  const model = models.get(name);
  if (!model) return;
  if (panel.hidden) before = document.activeElement;
  panel.replaceChildren();
  const close = make("button", panel, "close (Esc)", "close");
  close.addEventListener("click", hide);
  const title = make("h2", panel, model.name);
  title.id = "panel-title";
  const line = make("p", panel, [model.kind, model.action].filter(Boolean).join(", ") + (model.kind || model.action ? ", " : ""));
  make("b", line, model.state, model.state);
  if (model.rows) line.append("; rows: " + model.rows);
  if (model.because) make("p", panel, (model.code ? "[" + model.code + "] " : "") + model.because, model.state === "refused" ? "bad" : "dim");
  for (const need of model.needed) make("p", panel, "would have had to be true: " + need, "dim");
  if (model.remedy) { const help = make("p", panel); make("b", help, "remedy: "); help.append(model.remedy); }
  names(panel, "reads", model.reads);
  names(panel, "read by", readers.get(name) || []);
  if (model.checks.length) { make("h3", panel, "Checks"); for (const check of model.checks) make("p", panel, check); }
  if (model.columns.length) {
    make("h3", panel, "Where its columns come from");
    facts(panel, model.columns.map((each) => [each.name, each.value]));
  }
  if (model.steps.length) { make("h3", panel, "Its way"); for (const told of model.steps) step(panel, told); }
  if (model.work) {
    make("h3", panel, "What the plan said");
    facts(panel, [...model.work.reasons.map((each) => ["because", each]), ...model.work.notes.map((each) => ["note", each]),
      ...model.work.bounds.map((each) => ["bounds", each])]);
    if (model.work.text) { make("h3", panel, "The author's text"); make("pre", panel, model.work.text); }
    for (const each of model.work.statements) {
      const box = make("details", panel);
      make("summary", box, "SQL: " + each.role);
      make("pre", box, each.text);
    }
  }
  panel.hidden = false;
  panel.scrollTop = 0;
  close.focus();
  for (const node of document.querySelectorAll(".dag .node")) node.classList.toggle("chosen", node.dataset.name === name);
}
function hide() {
  panel.hidden = true;
  for (const node of document.querySelectorAll(".dag .chosen")) node.classList.remove("chosen");
  if (before) before.focus();
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panel.hidden) hide();
  else if (event.key === "/" && document.activeElement.tagName !== "INPUT") { event.preventDefault(); search.focus(); }
  else if ((event.key === "Enter" || event.key === " ") && event.target.dataset && event.target.dataset.name && event.target.tagName !== "BUTTON") {
    event.preventDefault();
    show(event.target.dataset.name);
  }
});
document.addEventListener("click", (event) => {
  const node = event.target.closest("[data-name]");
  if (node) show(node.dataset.name);
});
const search = document.getElementById("search");
const state = document.getElementById("state");
const count = document.getElementById("count");
const rows = [...document.querySelectorAll("#models tbody tr")];
const nodes = [...document.querySelectorAll(".dag .node")];
function filter() {
  const word = search.value.trim().toLowerCase();
  const fits = (name) => name.toLowerCase().includes(word);
  let shown = 0;
  for (const row of rows) {
    row.hidden = !(fits(row.dataset.model) && (!state.value || row.dataset.state === state.value));
    shown += !row.hidden;
  }
  for (const node of nodes) node.classList.toggle("unmatched", Boolean(word) && !fits(node.dataset.name));
  count.textContent = shown + " of " + rows.length;
}
search.addEventListener("input", filter);
state.addEventListener("change", filter);
filter();
document.documentElement.dataset.ready = "yes";
