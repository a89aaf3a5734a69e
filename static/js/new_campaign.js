/* The form of a new campaign: <form data-kinds> shows the fields of the chosen kind
   (<fieldset data-kind="naming hierarchy">) and suggests a name from the title until one is typed
   (<input data-slug-source="id of the name">). Without scripts everything is shown. */

for (const form of document.querySelectorAll("form[data-kinds]")) {
  const show = () => {
    const kind = form.querySelector("[name=kind]:checked")?.value;
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
