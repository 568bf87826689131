/** Phrases of the doc comments, each with its wording for every language. */
export type Wording = readonly (readonly [from: string, to: string])[];

/** Doc comments of TypeScript as the descriptions of a schema. */
export interface Reworded {
  /** Rewords a text for every language. */
  reword: (text: string) => string;
  /** The same, after each paragraph is joined into one line; names the specification. */
  describe: (comment: string) => string;
  /** Throws if a phrase was not found: its comment has changed, so it is no longer reworded. */
  finish: () => void;
}

export function createRewording(wording: Wording): Reworded {
  const unused = new Set(wording.map(([from]) => from));
  const reword = (text: string): string =>
    wording.reduce((before, [from, to]) => {
      if (before.includes(from)) unused.delete(from);
      return before.replaceAll(from, to);
    }, text);
  return {
    reword,
    describe: (comment) => nameSpecification(reword(comment.replaceAll(/(?<!\n)\n(?!\n)/g, " "))),
    finish: () => {
      if (unused.size > 0) throw new Error(`no doc comment has these words: ${[...unused].join("; ")}`);
    },
  };
}

/** Completes "(section 4.1)", because the help of an SDK does not say which document is meant. */
const nameSpecification = (text: string): string =>
  text.replaceAll(/\((section [\d.]+)\)/g, "($1 of the API Channel specification)");

/** Code by language, in the form of which each SDK takes its own. */
export function writeExamples(examples: Record<string, string>): string {
  const blocks = Object.entries(examples).map(
    ([language, code]) => `\`\`\`${language}\n${code.trimEnd()}\n\`\`\``,
  );
  // The heading too is for one language: an SDK that has no example has none.
  const lines = ["{{% examples %}}", "{{% example %}}", "## Example Usage", ...blocks, "{{% /example %}}"];
  return [...lines, "{{% /examples %}}"].join("\n");
}
