/* Numbers beside a figure are open where there is room (<details data-open-when-wide>).
   Tables become cards on narrow screens: names each cell after its column, for assay.css to show. Roles
   keep the table a table for screen readers, whatever its display. A table whose head is no single row of
   names, or with cells over several rows, stays as it is. */
function readText(cell) {
  const copy = cell.cloneNode(true);
  for (const hidden of copy.querySelectorAll('[aria-hidden="true"]')) hidden.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

function label(table) {
  const heads = [...table.tHead.rows[0].cells].map(readText);
  table.role = "table";
  for (const group of [table.tHead, ...table.tBodies]) group.role = "rowgroup";
  for (const row of table.rows) row.role = "row";
  for (const cell of table.tHead.rows[0].cells) if (cell.matches("th")) cell.role = "columnheader";
  for (const body of table.tBodies) {
    for (const row of body.rows) {
      let column = 0;
      for (const cell of row.cells) {
        // A cell over the whole row is under no name.
        cell.dataset.column = cell.colSpan > 1 && !column ? "" : (heads[column] ?? "");
        column += cell.colSpan;
        cell.role = cell.matches("th") ? "rowheader" : "cell";
        cell.classList.toggle("blank", !cell.textContent.trim() && !cell.querySelector("img, svg, input"));
        // Words beside elements stay one text; the card would lay each of them out as a block.
        const hasText = [...cell.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
        if (hasText && cell.children.length) {
          const words = document.createElement("span");
          words.append(...cell.childNodes);
          cell.append(words);
        }
      }
    }
  }
  table.classList.add("cards-when-narrow");
}

function labelAll() {
  for (const table of document.querySelectorAll(".table-scroll > table:not(.cards-when-narrow)")) {
    if (table.tHead?.rows.length === 1 && !table.querySelector("thead [colspan], [rowspan], tfoot")) label(table);
  }
}

const wide = matchMedia("(min-width: 1200px)");

function openDetails() {
  for (const details of document.querySelectorAll("[data-open-when-wide]")) details.open = wide.matches;
}

labelAll();
openDetails();
wide.addEventListener("change", openDetails);
document.addEventListener("htmx:afterSettle", () => {
  labelAll();
  openDetails();
});
