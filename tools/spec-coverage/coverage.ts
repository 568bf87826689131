import { deliveryRows } from "./delivery-rows.ts";
import { emulatorRows } from "./emulator-rows.ts";
import { messageRows } from "./message-rows.ts";
import { registrationRows } from "./registration-rows.ts";
import { PARTS, type CoverageRow, type TestReference } from "./row.ts";

/** Every operation, field and state of the specification, then what the emulator has beside it. */
export const coverage: readonly CoverageRow[] = [
  ...[...registrationRows, ...messageRows, ...deliveryRows].toSorted((a, b) =>
    a.section.localeCompare(b.section, "en"),
  ),
  ...emulatorRows,
];

/** The page of the coverage, relative to this folder. */
export const coveragePage = new URL("../../docs/spec-coverage.md", import.meta.url);

const INTRODUCTION = `# Coverage of the specification

Every operation, field and state of the "API Channel Integration Service Specification": which file implements it, and which
test files below \`test/unit\` show it: in the emulator, then in the client, the resource and the responder where they use it. "Switch" is the
emulator's switch for an [open point](open-points.md).

\`npm run check:coverage\` holds this page against the schemas and the tests. \`node tools/spec-coverage/main.ts\` writes it.
`;

/** The whole page as Markdown, as prettier leaves it. */
export function formatCoverage(rows: readonly CoverageRow[] = coverage): string {
  const sections = [...Map.groupBy(rows, ({ section }) => section)];
  const contents = sections.map(([section]) => {
    const title = titleOf(section);
    return `- [${title}](#${title.toLowerCase().replaceAll(".", "").replaceAll(" ", "-")})`;
  });
  const chapters = sections.map(([section, own]) => `## ${titleOf(section)}\n\n${listRows(own)}\n`);
  return [INTRODUCTION, `${contents.join("\n")}\n`, ...chapters].join("\n");
}

/** The specification's own titles. */
const TITLES: Readonly<Record<string, string>> = {
  "2.1": "Webhook configuration",
  "2.2": "Response envelope",
  "2.3": "Inbound message",
  "2.4": "Outbound message",
  "3": "States and transitions",
  "4.1": "Registration interface",
  "4.2": "Message-sending interface",
  "4.3": "Endpoint of the client",
  "5": "Authentication",
  "6.1": "Verification handshake",
  "6.2": "Message delivery",
  "7": "Errors",
  "8": "Limits",
  "": "Only in the emulator",
};

const titleOf = (section: string): string => `${section} ${TITLES[section]}`.trimStart();

/** Rows with the same files and tests are one entry of the list. */
function listRows(rows: readonly CoverageRow[]): string {
  const entries = Map.groupBy(rows, factsOf);
  return [...entries]
    .map(([facts, same]) => `- ${same.map(({ what }) => what).join("; ")}\n${facts}`)
    .join("\n");
}

function factsOf({ where, switches = [], shownBy, parts = {} }: CoverageRow): string {
  const tests = [shownBy, ...PARTS.map((part) => parts[part])].flatMap((test) =>
    test ? [fileOf(test)] : [],
  );
  const switched = switches.length === 0 ? [] : [`  - Switch: ${switches.map(code).join(", ")}`];
  return [`  - Code: ${where.map(code).join(", ")}`, ...switched, `  - Tests: ${tests.join(", ")}`].join(
    "\n",
  );
}

const code = (text: string): string => `\`${text}\``;

/** A test's file; its name is in the rows. */
const fileOf = ([file]: TestReference): string =>
  code(file.replace("test/unit/", "").replace(".test.ts", ""));
