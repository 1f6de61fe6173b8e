"use strict";
// Without this the page is whole: the links of the grid lead to the findings below it.
const dialog = document.querySelector("dialog");
const [title, found] = [dialog.querySelector("h2"), dialog.querySelector(".found")];

function open(link) {
  const run = link.dataset.run;
  const id = link.hash.slice(1);
  const sections = document.querySelectorAll(`section[data-patch="${id}"]`);
  const parts = [...sections].flatMap((section) => [...section.children]).filter(
    (part) => part.dataset.runs !== undefined &&
      (run === undefined || part.dataset.runs === "" || part.dataset.runs.split(" ").includes(run)));
  title.textContent = link.dataset.title;
  found.replaceChildren(...parts.map((part) => part.cloneNode(true)));
  const diffs = found.querySelectorAll("details");
  if (run !== undefined) diffs.forEach((diff) => { diff.open = true; });
  if (!parts.length) found.append("Nothing was found.");
  dialog.showModal();
  dialog.scrollTop = 0;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest(".grid a");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    open(link);
  }
  if (event.target === dialog || event.target.closest("dialog a")) dialog.close();
});
dialog.querySelector("button").addEventListener("click", () => dialog.close());

// One stop of the tab key for each grid; the arrow keys go on from there, over cells without a link.
const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
for (const grid of document.querySelectorAll(".grid")) {
  const links = [...grid.querySelectorAll("a")];
  links.slice(1).forEach((link) => { link.tabIndex = -1; });
  links.forEach((link) => { link.setAttribute("aria-haspopup", "dialog"); });
  grid.setAttribute("role", "grid");
  grid.addEventListener("focusin", (event) => {
    links.forEach((link) => { link.tabIndex = link === event.target ? 0 : -1; });
  });
  grid.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const cell = event.target.closest("td, th");
    if (!step || !cell) return;
    event.preventDefault();
    let [row, column] = [cell.parentElement.rowIndex, cell.cellIndex];
    for (let next; ;) {
      [row, column] = [row + step[0], column + step[1]];
      next = grid.rows[row]?.cells[column];
      if (!next) return;
      const link = next.querySelector("a");
      if (link) { link.focus(); return; }
    }
  });
}

let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach((diff) => { diff.open = true; });
});
addEventListener("afterprint", () => closed.forEach((diff) => { diff.open = false; }));
