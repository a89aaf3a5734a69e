/* Says how far an upload is, and refuses too many files before they travel:
   <form data-upload> with <input type="file" multiple> and, inside,
   <div data-upload-progress hidden><progress max="100"></progress><span role="status"></span></div> */

const MAX_FILES = 100;

for (const form of document.querySelectorAll("form[data-upload]")) {
  const input = form.querySelector("input[type=file]");
  const place = form.querySelector("[data-upload-progress]");
  const bar = place.querySelector("progress");
  const words = place.querySelector("[role=status]");

  input.addEventListener("change", () => {
    const many = input.files.length > MAX_FILES;
    input.setCustomValidity(
      many ? `${input.files.length} files are too many at once: take up to ${MAX_FILES}, or a zip.` : "",
    );
    if (many) input.reportValidity();
  });

  form.addEventListener("submit", (event) => {
    if (!input.checkValidity()) {
      event.preventDefault();
      input.reportValidity();
      return;
    }
    if (!input.files.length) return;
    event.preventDefault();
    place.hidden = false;
    form.querySelector("[type=submit]").disabled = true;
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      bar.value = (100 * loaded) / total;
      const done = loaded === total;
      if (done) bar.removeAttribute("value");
      words.textContent = done
        ? "All sent; the images are being looked at …"
        : `${(loaded / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB sent`;
    });
    request.addEventListener("load", () => {
      // Led elsewhere (to the progress of an import): go there, its page has scripts of its own.
      if (request.responseURL !== form.action) return location.assign(request.responseURL);
      // The answer is a whole page: take its place, so that it looks as without scripts.
      const page = new DOMParser().parseFromString(request.responseText, "text/html");
      document.title = page.title;
      document.querySelector("main").replaceWith(page.querySelector("main"));
      document.querySelector("main").focus();
    });
    request.addEventListener("error", () => {
      form.querySelector("[type=submit]").disabled = false;
      words.textContent =
        "The connection broke. Send the same again: what arrived is not added twice.";
    });
    request.open("POST", form.action);
    request.send(new FormData(form));
  });
}
