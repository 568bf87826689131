/** Names what a misspelt word most likely stands for, to be put behind it; nothing where none of the names is near. */
export function didYouMean(word: string, names: readonly string[]): string {
  const [nearest] = names
    .map((name) => ({ name, edits: countEdits(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, edits }) => edits <= name.length / 4)
    .toSorted((a, b) => a.edits - b.edits);
  return nearest === undefined ? "" : ` (did you mean ${nearest.name}?)`;
}

/** How many characters are to be added, removed or replaced to make one text of the other: the distance of Levenshtein. */
function countEdits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const char of a) {
    let left = (row[0] ?? 0) + 1;
    const next = [left];
    for (let index = 1; index <= b.length; index += 1) {
      const replaced = (row[index - 1] ?? 0) + (b[index - 1] === char ? 0 : 1);
      left = Math.min(replaced, left + 1, (row[index] ?? 0) + 1);
      next.push(left);
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
