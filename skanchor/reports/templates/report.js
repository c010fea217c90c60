"use strict";
(() => {
  const said = document.getElementById("sorted");
  const text = (row, column) => row.cells[column].textContent;
  const words = (a, b) => a.localeCompare(b, "en", { numeric: true });

  // Cells begin with their number: 0.80 to 1.13, 1–2, < 0.001, 1,200, 61 %.
  const number = (cell) => {
    if (/^[?∞]/.test(cell)) return Infinity;
    const value = parseFloat(cell.replace("−", "-").replace(/[<,]/g, ""));
    return Number.isNaN(value) ? -Infinity : value;
  };
  const numbers = (a, b) => Math.sign(number(a) - number(b)) || 0;

  const sort = (table, heading, column) => {
    const isNumber = heading.classList.contains("number");
    const first = isNumber ? "descending" : "ascending";
    const opposite = { ascending: "descending", descending: "ascending" };
    const order = opposite[heading.ariaSort] || first;
    const sign = order === "ascending" ? 1 : -1;
    const compare = isNumber ? numbers : words;
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => sign * compare(text(a, column), text(b, column)));
    table.tBodies[0].append(...rows);
    for (const other of table.tHead.rows[0].querySelectorAll("th")) other.ariaSort = "none";
    heading.ariaSort = order;
    said.textContent = `Sorted by ${heading.textContent}, ${order}`;
  };

  for (const heading of document.querySelectorAll("thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    const table = heading.closest("table");
    button.addEventListener("click", () => sort(table, heading, heading.cellIndex));
    heading.append(button);
  }

  for (const input of document.querySelectorAll("input[type=search]")) {
    input.closest("p").hidden = false;
    const rows = Array.from(document.getElementById(input.dataset.table).tBodies[0].rows);
    const found = document.getElementById(`${input.dataset.table}-found`);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLocaleLowerCase();
      for (const row of rows) row.hidden = !text(row, 0).toLocaleLowerCase().includes(wanted);
      const shown = rows.filter((row) => !row.hidden).length;
      found.textContent = wanted ? `${shown} of ${rows.length} shown` : "";
    });
  }
})();
