"""Style and script of the page that `forebay.graph_page` writes. The script only ever sets text, never markup."""

from __future__ import annotations

STYLE = """
:root { --ink: #1d2733; --soft: #5c6b7c; --line: #d5dce5; --paper: #fff; --ground: #f5f7fa; --edge: #a9b6c5; --l1:
  #e6eef8; --l2: #c3d8ef; --l3: #8ab5e0; --l4: #4484c4; --l5: #1c5596; --on-dark: #fff; --there: #2c9a62; --partly:
  #d99a1c; --missing: #d0532b; --analyzer: #8a4fbf; --focus: #e0651b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4eaf1; --soft: #9aa9ba; --line: #344150; --paper: #1b232c;
  --ground: #131920; --edge: #51606f; --l1: #24354a; --l2: #27486d; --l3: #2d6199; --l4: #4a8fd0; --l5: #a5cdf3;
  --on-dark: #0d1620; --analyzer: #b98be6; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 28px 32px 60px; background: var(--ground); color: var(--ink); font: 14px/1.5 system-ui,
  "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 22px; margin: 0 0 2px; }
h2 { font-size: 16px; margin: 32px 0 10px; }
p.sub { margin: 0; color: var(--soft); }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 18px 0 0; }
.tile { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 10px 16px; min-width:
  130px; }
.tile b { display: block; font-size: 21px; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 12px; }
table { border-collapse: collapse; background: var(--paper); border: 1px solid var(--line); width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); font-size: 12px; position: sticky; top: 0; background: var(--paper); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.total td { font-weight: 600; }
td code { font: 12px ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.warning { border-left: 4px solid var(--partly); background: var(--paper); padding: 8px 14px; margin: 14px 0 0; }
.kind { font-weight: 600; }
.soft { color: var(--soft); }
.tools { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: center; margin: 0 0 10px; }
.tools input, .tools select, .tools button { font: inherit; color: inherit; background: var(--paper); border: 1px
  solid var(--line); border-radius: 6px; padding: 4px 10px; }
.tools input { width: 240px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; color: var(--soft); font-size: 12px; align-items: center; }
.swatch { display: inline-block; width: 14px; height: 14px; border-radius: 3px; vertical-align: -2px; margin-right:
  5px; }
.scroll { max-width: 980px; max-height: 360px; overflow: auto; }
.shade1 { background: var(--l1); }
.shade2 { background: var(--l2); }
.shade3 { background: var(--l3); }
.shade4 { background: var(--l4); }
.shade5 { background: var(--l5); }
.edge-a { border: 2.5px solid var(--analyzer); }
.edge-t { border: 2px solid var(--there); }
.edge-p { border: 2px solid var(--partly); }
.edge-m { border: 2px solid var(--missing); }
.figure { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; overflow: auto; max-height:
  82vh; }
#graph { display: block; }
.bar { margin-right: 8px; border-radius: 4px; }
.bar .none { fill: var(--missing); }
.bar .some { fill: var(--there); }
svg text { font-size: 12px; fill: var(--ink); pointer-events: none; }
svg text.below { font-size: 10px; fill: var(--soft); }
svg text.head { font-size: 11px; fill: var(--soft); }
.component { fill: var(--ground); stroke: var(--line); }
.edge { fill: none; stroke: var(--edge); stroke-width: 1.2; }
.node { cursor: pointer; outline: none; }
.node rect { stroke: rgba(40, 60, 90, .28); stroke-width: 1; }
.raw rect { fill: var(--paper); stroke: var(--soft); stroke-dasharray: 3 2; }
.raw text { font-weight: 600; }
.level1 rect { fill: var(--l1); }
.level2 rect { fill: var(--l2); }
.level3 rect { fill: var(--l3); }
.level4 rect { fill: var(--l4); }
.level5 rect { fill: var(--l5); }
.level3 text.below { fill: var(--ink); }
.level4 text, .level5 text, .level4 text.below, .level5 text.below { fill: var(--on-dark); }
.node.analyzer rect { stroke: var(--analyzer); stroke-width: 2.5; }
.output rect { fill: var(--paper); stroke: var(--line); stroke-width: 1.5; }
.output text { font-weight: 600; }
.output text.below { font-weight: 400; }
.output.there rect { stroke: var(--there); }
.output.partly rect { stroke: var(--partly); }
.output.missing rect { stroke: var(--missing); }
svg.focused .node:not(.lit) { opacity: .16; }
svg.focused .edge:not(.lit) { opacity: .08; }
.edge.lit { stroke: var(--focus); stroke-width: 1.8; }
.node.chosen rect, .node:focus-visible rect { stroke: var(--focus); stroke-width: 2.5; }
#about { position: fixed; right: 20px; bottom: 20px; width: 380px; max-height: 60vh; overflow: auto; background:
  var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; box-shadow: 0 6px 30px
  rgba(0, 0, 0, .18); }
#about[hidden] { display: none; }
#about h3 { margin: 0 0 6px; font-size: 15px; }
#about dl { margin: 0; }
#about dt { color: var(--soft); font-size: 12px; margin-top: 6px; }
#about dd { margin: 0; overflow-wrap: anywhere; }
#about button { float: right; border: 0; background: none; color: var(--soft); font-size: 18px; cursor: pointer; }
@media print { .tools, #about { display: none; } .figure { max-height: none; } }
"""

SCRIPT = """
"use strict";
const svg = document.getElementById("graph"), about = document.getElementById("about");
const facts = JSON.parse(document.getElementById("facts").textContent);
const search = document.getElementById("search"), model = document.getElementById("model");
const nodes = [...svg.querySelectorAll(".node")], edges = [...svg.querySelectorAll(".edge")];
const rows = [...document.querySelectorAll("#columns tbody tr")];
const before = new Map(), after = new Map();
const push = (map, key, edge) => { if (!map.has(key)) map.set(key, []); map.get(key).push(edge); };
for (const edge of edges) { push(before, edge.dataset.to, edge); push(after, edge.dataset.from, edge); }

function reach(start, map, end, lit) {
  const todo = [start];
  while (todo.length) for (const edge of map.get(todo.pop()) || []) {
    if (lit.has(edge)) continue;
    lit.add(edge);
    lit.add(edge.dataset[end]);
    todo.push(edge.dataset[end]);
  }
}

let chosen = null;
function show(lit) {
  svg.classList.toggle("focused", lit !== null);
  for (const node of nodes) node.classList.toggle("lit", lit !== null && lit.has(node.id));
  for (const edge of edges) edge.classList.toggle("lit", lit !== null && lit.has(edge) && !lit.has("filter"));
}

function focusOn(key) {
  const lit = new Set([key]);
  reach(key, before, "from", lit);
  reach(key, after, "to", lit);
  show(lit);
}

function filter() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean), wanted = model.value;
  const used = models => !wanted || models.split(" ").includes(wanted);
  const fits = (text, models) => used(models) && words.every(word => text.includes(word));
  for (const row of rows) row.hidden = !fits(row.textContent.toLowerCase(), row.dataset.models);
  if (!words.length && !wanted) return show(null);
  const lit = new Set(["filter"]);
  for (const node of nodes) {
    if (fits(facts[node.id].flat().join(" ").toLowerCase(), node.dataset.models)) lit.add(node.id);
  }
  for (const edge of edges) if (lit.has(edge.dataset.from) && lit.has(edge.dataset.to)) lit.add(edge);
  show(lit);
}

function rest() { if (chosen) focusOn(chosen.id); else filter(); }

function choose(node) {
  if (chosen) chosen.classList.remove("chosen");
  chosen = node === chosen ? null : node;
  about.hidden = !chosen;
  if (!chosen) return rest();
  chosen.classList.add("chosen");
  const [title, ...entries] = facts[chosen.id];
  about.querySelector("h3").textContent = title;
  const list = about.querySelector("dl");
  list.replaceChildren();
  for (const [name, text] of entries) {
    const term = document.createElement("dt"), value = document.createElement("dd");
    term.textContent = name;
    value.textContent = text;
    list.append(term, value);
  }
  rest();
}

for (const node of nodes) {
  node.addEventListener("mouseenter", () => { if (!chosen) focusOn(node.id); });
  node.addEventListener("mouseleave", () => { if (!chosen) filter(); });
  node.addEventListener("click", () => choose(node));
  node.addEventListener("keydown", event => { if (event.key === "Enter") choose(node); });
}
about.querySelector("button").addEventListener("click", () => choose(chosen));
document.addEventListener("keydown", event => { if (event.key === "Escape" && chosen) choose(chosen); });
search.addEventListener("input", filter);
model.addEventListener("change", filter);

const width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height"));
let scale = 1;
function zoom(to) {
  scale = Math.min(3, Math.max(0.1, to));
  svg.setAttribute("width", width * scale);
  svg.setAttribute("height", height * scale);
}
const fit = () => zoom((svg.parentElement.clientWidth - 2) / width);
document.getElementById("in").addEventListener("click", () => zoom(scale * 1.25));
document.getElementById("out").addEventListener("click", () => zoom(scale / 1.25));
document.getElementById("fit").addEventListener("click", fit);
if (width > svg.parentElement.clientWidth) zoom(Math.max(0.7, (svg.parentElement.clientWidth - 2) / width));
"""
