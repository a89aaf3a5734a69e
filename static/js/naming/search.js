/* Which classes a few letters mean: nine hits at most, the likeliest first.

   An entry is {key, name}; a name lists synonyms, with ", " between them. Better is, in this order: the
   whole of a synonym, the beginning of one, beginnings of its words (all that is typed, with or without
   spaces: "note" for Norfolk terrier), letters in their order from the beginning of a word on, and letters
   anywhere within. Of equal ones the shorter span of letters, then the shorter synonym, then the order of
   the list. */
export const HITS = 9;

export const fold = (text) =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("ß", "ss");

/* Entries made ready: their synonyms folded, with where words begin. */
export function indexed(entries) {
  return entries.map((entry, place) => ({
    entry,
    place,
    synonyms: entry.name.split(", ").map((name) => {
      const folded = fold(name);
      return { folded, starts: [...folded.matchAll(/[\p{L}\p{N}]+/gu)].map((match) => match.index) };
    }),
  }));
}

export function search(index, query, most = HITS) {
  const wanted = fold(query).trim().replace(/\s+/g, " ");
  if (!wanted) return [];
  const letters = wanted.replaceAll(" ", "");
  const found = [];
  for (const { entry, place, synonyms } of index) {
    let best = null;
    for (const synonym of synonyms) {
      const rank = rankOf(synonym, wanted, letters);
      if (rank && (!best || before(rank, best) < 0)) best = rank;
    }
    if (best) found.push([...best, place, entry]);
  }
  return found
    .sort(before)
    .slice(0, most)
    .map((row) => row.at(-1));
}

const before = (one, other) => {
  for (let at = 0; at < 4; at += 1) if (one[at] !== other[at]) return one[at] - other[at];
  return 0;
};

/* [tier, span, length]; null where it does not match. */
function rankOf({ folded, starts }, wanted, letters) {
  if (folded === wanted) return [0, 0, folded.length];
  if (folded.startsWith(wanted)) return [1, 0, folded.length];
  if (starts.some((start) => folded.startsWith(wanted, start))) return [2, 0, folded.length];
  if (byWords(folded, starts, letters, 0, 0)) return [3, 0, folded.length];
  const span = Math.min(...starts.map((start) => spanFrom(folded, start, letters)));
  if (span < Infinity) return [4, span, folded.length];
  return folded.includes(wanted) ? [5, 0, folded.length] : null;
}

/* Whether the letters from `at` on are beginnings of words from `word` on, in their order. */
function byWords(folded, starts, letters, word, at) {
  if (at === letters.length) return true;
  for (let next = word; next < starts.length; next += 1) {
    let length = 0;
    const end = starts[next + 1] ?? folded.length;
    while (
      at + length < letters.length &&
      starts[next] + length < end &&
      folded[starts[next] + length] === letters[at + length]
    ) {
      length += 1;
      if (byWords(folded, starts, letters, next + 1, at + length)) return true;
    }
  }
  return false;
}

/* How far the letters reach where the first one stands at `start` and the others follow in order. */
function spanFrom(folded, start, letters) {
  if (folded[start] !== letters[0]) return Infinity;
  let at = start;
  for (const letter of letters.slice(1)) {
    at = folded.indexOf(letter, at + 1);
    if (at < 0) return Infinity;
  }
  return at - start;
}
