/** The table of docs/spec-coverage.yaml, and the page that is generated from it. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Switches } from "../../provider/emulator/open-point-options.ts";

/**
 * The emulator, then the parts that a program uses: the clients, the resource with its preflight, and the
 * responder.
 */
const PARTS = ["emulator", "client", "resource", "responder"] as const;
type Part = (typeof PARTS)[number];

/** Items of the specification or the emulator with the same code and the same tests. */
interface Entry {
  what: string[];
  /** The generated JSON Schemas whose fields these are. */
  schemas?: string[];
  /** Switches of the open points that decide its reading. */
  switches?: (keyof Switches)[];
  code: string[];
  /** The test that shows it in each part: `<file> > <title>`, as written in the file. */
  tests: Partial<Record<Part, string>>;
}

const quote = (text: string): string => `\`${text}\``;

/** `section` is the specification's; empty for additions of the emulator. */
const sections = parse(readFileSync(new URL("../../docs/spec-coverage.yaml", import.meta.url), "utf8")) as {
  section: string;
  title: string;
  entries: Entry[];
}[];

/** Every operation, field and state of the specification, then the emulator's additions. */
export const coverage = sections.flatMap(({ section, entries }) =>
  entries.map(({ what, schemas = [], switches = [], ...entry }) => ({
    ...entry,
    section,
    switches,
    what: schemas.length > 0 ? what.map(quote) : what,
    /** Such as `inbound sender.id`. */
    fields: schemas.flatMap((schema) => what.map((name) => `${schema} ${name}`)),
  })),
);

const INTRODUCTION = `# Coverage of the specification

Every operation, field and state of the "API Channel Integration Service Specification", with the code that implements it and
the tests that show it: in the clients, the resource and the responder, and in the emulator. Code is in \`provider\` and
\`schema\`; tests are in \`test/unit\`, those of the contract in \`test\`. "Switch" is the emulator's switch for an [open point](open-points.md).

A test compares this page with the schemas, the code and the tests. \`npm run schema\` writes it.
`;

/** Returns docs/spec-coverage.md, as prettier formats it. */
export function generateCoveragePage(): string {
  const titles = sections.map(({ section, title }) => `${section} ${title}`.trimStart());
  const contents = titles.map(
    (title) => `- [${title}](#${title.toLowerCase().replaceAll(".", "").replaceAll(" ", "-")})\n`,
  );
  const chapters = sections.map(
    ({ section }, index) => `## ${titles[index]}\n\n${listEntries(section).join("\n")}\n`,
  );
  return [INTRODUCTION, contents.join(""), ...chapters].join("\n");
}

/**
 * Lists the entries of a section. The page does not name the tests, so it merges entries with the same files.
 */
function listEntries(section: string): string[] {
  const entries = Map.groupBy(
    coverage.filter((entry) => entry.section === section),
    describeEntry,
  );
  return [...entries].map(([facts, same]) => `- ${same.flatMap(({ what }) => what).join("; ")}\n${facts}`);
}

function describeEntry({ code, switches, tests }: (typeof coverage)[number]): string {
  const files = PARTS.flatMap((part) => tests[part]?.split(/(?:\.test)?\.ts > /)[0] ?? []);
  const shown = files.map((file) => quote(file.replace(/^test\/(?:unit\/)?/, "")));
  return [
    `  - Code: ${code.map((file) => quote(file.replace(/^provider\/|\.ts$/g, ""))).join(", ")}`,
    ...(switches.length > 0 ? [`  - Switch: ${switches.map(quote).join(", ")}`] : []),
    `  - Tests: ${shown.join(", ")}`,
  ].join("\n");
}
