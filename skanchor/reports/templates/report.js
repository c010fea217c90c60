"use strict";
(() => {
  const said = document.getElementById("sorted");
  const numbers = (a, b) => (Number(a) < Number(b) ? -1 : Number(a) > Number(b) ? 1 : 0);
  const words = (a, b) => a.localeCompare(b, "en", { numeric: true });

  const sort = (table, heading, column) => {
    const opposite = { ascending: "descending", descending: "ascending" };
    const order = opposite[heading.ariaSort] || heading.dataset.first;
    const sign = order === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const compare = heading.classList.contains("number") ? numbers : words;
    const key = (row) => row.cells[column].dataset.key;
    rows.sort((a, b) => sign * compare(key(a), key(b)));
    body.append(...rows);
    for (const other of table.tHead.rows[0].querySelectorAll("th")) other.ariaSort = "none";
    heading.ariaSort = order;
    said.textContent = `Sorted by ${heading.textContent}, ${order}`;
  };

  for (const table of document.querySelectorAll("table")) {
    table.tHead.rows[0].querySelectorAll("th").forEach((heading) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading, heading.cellIndex));
      heading.append(button);
    });
  }

  for (const input of document.querySelectorAll("input[type=search]")) {
    input.closest("p").hidden = false;
    const rows = Array.from(document.getElementById(input.dataset.table).tBodies[0].rows);
    const found = document.getElementById(`${input.dataset.table}-found`);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLocaleLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = !row.cells[0].textContent.toLocaleLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      found.textContent = wanted ? `${shown} of ${rows.length} shown` : "";
    });
  }
})();
