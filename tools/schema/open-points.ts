import { describeOpenPoint, listOpenPoints } from "../../provider/emulator/open-points.ts";

const INTRODUCTION = `# Switches of the emulator

Each reads an [open point of the specification](open-points.md). A switch is an option of \`startEmulator\`, a field of a [seed file](emulator.md#a-seed-file),
and a flag of \`apichat emulator\`: \`handshake.timeoutMs\` is \`--handshake-timeout-ms\`. As an option, \`header:NAME\` is \`{ header: "NAME" }\`.
`;

/** Returns docs/emulator-switches.md, generated from the emulator's table of open points. */
export function generateSwitchesPage(): string {
  const entries = listOpenPoints().map(([path, point]) => {
    const text = describeOpenPoint(point, (value) => `\`${value}\``);
    return `- \`${path}\`: ${escape(text).replaceAll("\n", "\n  ")}\n`;
  });
  return `${INTRODUCTION}\n${entries.join("")}`;
}

/** Escapes the characters that Markdown interprets. */
const escape = (text: string): string => text.replaceAll(/[*\\]/g, String.raw`\$&`);
