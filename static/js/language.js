/* Sentences in the language of the page. Where it is not English, base.html loads the translations
   (annotator/language.py) before any module; without them the English sentence is said.

   gettext("Draft saved."), gettext("%(name)s is out of date", { name }),
   ngettext("%(count)s answer", "%(count)s answers", count). deploy/messages.py finds these calls. */
const catalog = globalThis.django ?? {};

const fill = (text, values) =>
  text.replace(/%\((\w+)\)s/g, (all, name) => (values && name in values ? String(values[name]) : all));

export function gettext(text, values) {
  return fill(catalog.gettext?.(text) ?? text, values);
}

export function ngettext(one, many, count, values) {
  const text = catalog.ngettext?.(one, many, count) ?? (count === 1 ? one : many);
  return fill(text, { count, ...values });
}

/* Sentences after one another: Chinese has no space between them. */
export function sentences(...texts) {
  return texts.join(document.documentElement.lang.startsWith("zh") ? "" : " ");
}

/* The language of times and numbers: what the browser has, where the page is English as ever. */
export function locale() {
  return catalog.gettext ? document.documentElement.lang : undefined;
}

/* "wing", "wing and tail", "wing, tail and beak". */
export function listed(names) {
  if (names.length < 2) return names.join("");
  return gettext("%(names)s and %(last)s", { names: names.slice(0, -1).join(", "), last: names.at(-1) });
}

/* What a page of images says. */
export function countsInWords(yes, no, hard) {
  return hard
    ? gettext("%(yes)s yes, %(no)s no, %(hard)s too hard", { yes, no, hard })
    : gettext("%(yes)s yes, %(no)s no", { yes, no });
}
