/* Another row in a form of many rows, counted as Django's formsets count:
   <section data-rows="prefix"> <input name="prefix-TOTAL_FORMS"> <div data-rows-list>…</div>
   <template>… __prefix__ …</template> <button data-add-row hidden></button> </section> */

for (const section of document.querySelectorAll("[data-rows]")) {
  const total = section.querySelector(`[name="${section.dataset.rows}-TOTAL_FORMS"]`);
  const most = Number(section.querySelector(`[name="${section.dataset.rows}-MAX_NUM_FORMS"]`).value);
  const list = section.querySelector("[data-rows-list]");
  const template = section.querySelector("template");
  const button = section.querySelector("[data-add-row]");

  button.hidden = Number(total.value) >= most;
  button.addEventListener("click", () => {
    const row = document.createElement("template");
    row.innerHTML = template.innerHTML.replaceAll("__prefix__", total.value);
    const added = row.content.firstElementChild;
    list.append(row.content);
    total.value = Number(total.value) + 1;
    button.hidden = Number(total.value) >= most;
    added.querySelector("input:not([type=hidden]), textarea").focus();
  });
}
