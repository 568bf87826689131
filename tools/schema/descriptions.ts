/** Words of the doc comments, each with what it is for people of every language. */
export type Wording = readonly (readonly [from: string, to: string])[];

/** Doc comments of TypeScript as the descriptions of a schema. */
export interface Reworded {
  /** In the words of every language. */
  reword: (text: string) => string;
  /** The same, with each paragraph in one line and the specification named. */
  describe: (comment: string) => string;
  /** Throws if there are words that no text had: the comment has changed, and what it says now is not reworded. */
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
    describe: (comment) => nameSpecification(reword(comment).replaceAll(/(?<!\n)\n(?!\n)/g, " ")),
    finish: () => {
      if (unused.size > 0) throw new Error(`no doc comment has these words: ${[...unused].join("; ")}`);
    },
  };
}

/** Completes "(section 4.1)": whoever reads the help of an SDK does not know which document is meant. */
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
