/* The form of a new campaign: <form data-kinds> shows the fields of the chosen kind
   (<fieldset data-kind="naming hierarchy">) and suggests a name from the title until one is typed
   (<input data-slug-source="id of the name">). Rules that a kind starts from ({kind: {rule: value}}
   in #kind-policies) are filled in where nobody has changed them. Without scripts all is shown. */

const policies = JSON.parse(document.getElementById("kind-policies")?.textContent ?? "{}");

/* Writes a kind's rules into the form; `written` keeps what fields held before, by their name. */
function fillRules(form, kind, written) {
  const wanted = policies[kind] ?? {};
  for (const [name, { before, now }] of written) {
    const field = form.elements[name];
    if (field.value === now && !(name in wanted)) field.value = before;
    if (!(name in wanted)) written.delete(name);
  }
  for (const [name, value] of Object.entries(wanted)) {
    const field = form.elements[name];
    if (!field || written.has(name) || field.value !== initial(field)) continue;
    written.set(name, { before: field.value, now: String(value) });
    field.value = String(value);
  }
}

const initial = (field) =>
  field.options
    ? ([...field.options].find((option) => option.defaultSelected) ?? field.options[0]).value
    : field.defaultValue;

for (const form of document.querySelectorAll("form[data-kinds]")) {
  const written = new Map();
  let chosen = form.querySelector("[name=kind]:checked")?.value;
  const show = () => {
    const kind = form.querySelector("[name=kind]:checked")?.value;
    if (kind !== chosen) fillRules(form, (chosen = kind), written);
    for (const group of form.querySelectorAll("[data-kind]")) {
      group.hidden = !group.dataset.kind.split(" ").includes(kind);
    }
  };
  form.addEventListener("change", show);
  show();

  for (const title of form.querySelectorAll("[data-slug-source]")) {
    const name = document.getElementById(title.dataset.slugSource);
    let suggested = "";
    title.addEventListener("input", () => {
      if (name.value !== suggested) return;
      suggested = title.value
        .normalize("NFD")
        .toLowerCase()
        .replace(/[\u0300-\u036f]/g, "")
        .replace(/[^a-z0-9]+/g, "-")
        .replace(/^-+|-+$/g, "")
        .slice(0, 80);
      name.value = suggested;
    });
  }
}
