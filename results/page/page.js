
"use strict";
for (const run of document.querySelectorAll(".run")) {
  const table = run.querySelector("table.results");
  if (!table) continue;
  // A row is a body of its own: the line of figures and, if it has any, that of
  // marks, which move together.
  const rows = Array.from(table.tBodies);
  const heads = Array.from(table.tHead.querySelectorAll("th"));
  const form = run.querySelector(".filters");
  const none = run.querySelector(".none");
  const figures = Array.from(run.querySelectorAll("figure"));
  const groups = Array.from(run.querySelectorAll(".group"));

  // key is a number, a text, or null for what is absent.
  const key = (row, i) => {
    const cell = i < row.rows[0].cells.length ? row.rows[0].cells[i] : row.rows[1] && row.rows[1].cells[0];
    if (!cell) return null;
    const v = cell.dataset.v;
    if (v === undefined) return cell.textContent.trim() || null;
    return v === "" ? null : Number(v);
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : 0;
    return String(a).localeCompare(String(b), "en", {numeric: true});
  };
  // What is absent stays last in both directions; equal rows keep their order.
  const order = (i, descending) => {
    const keyed = rows.map((row, at) => ({row, at, key: key(row, i)}));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.at - b.at;
      const c = compare(a.key, b.key);
      return (descending ? -c : c) || a.at - b.at;
    });
    table.append(...keyed.map(k => k.row));
  };
  const original = () => {
    table.append(...rows);
    for (const h of heads) h.setAttribute("aria-sort", "none");
    for (const r of rows) r.classList.toggle("first", r.dataset.first === "1");
  };
  for (const r of rows) r.dataset.first = r.classList.contains("first") ? "1" : "";

  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const first = head.dataset.high ? "descending" : "ascending";
      const next = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
      for (const h of heads) h.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", next);
      for (const r of rows) r.classList.remove("first");
      order(i, next === "descending");
    });
  });

  const filter = () => {
    const words = form.elements.lock.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
    const workload = form.elements.workload.value, workers = form.elements.workers.value;
    let shown = 0;
    for (const r of rows) {
      const lock = r.dataset.lock.toLowerCase();
      const ok = (words.length === 0 || words.some(w => lock.includes(w))) &&
        (workload === "" || r.dataset.workload === workload) &&
        (workers === "" || r.dataset.workers === workers);
      r.hidden = !ok;
      if (ok) shown++;
    }
    none.hidden = shown > 0;
    form.querySelector("output").textContent = shown + " of " + rows.length + (rows.length === 1 ? " row" : " rows");
    for (const f of figures) {
      f.hidden = (workload !== "" && f.dataset.workload !== workload) ||
        (workers !== "" && f.dataset.workers !== "" && f.dataset.workers !== workers);
    }
    for (const g of groups) g.hidden = Array.from(g.querySelectorAll("figure")).every(f => f.hidden);
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", e => e.preventDefault());
  form.addEventListener("reset", e => {
    e.preventDefault();
    for (const name of ["lock", "workload", "workers"]) form.elements[name].value = "";
    original();
    filter();
  });
  form.hidden = false;
  filter();
}
