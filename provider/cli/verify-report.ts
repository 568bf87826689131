import { styleText } from "node:util";
import { describeAddresses, rowsOf } from "../diagnosis/describe.js";
import type { HandshakeDiagnosis, HandshakeRecord } from "../diagnosis/index.js";

type Colour = "green" | "red" | "yellow" | "cyan";

/** The diagnosis for a person: verdict, what was seen, warnings, and how to fix it. Coloured where the terminal shows it. */
export function formatDiagnosis(diagnosis: HandshakeDiagnosis): string {
  const { transcript, warnings } = diagnosis;
  const lines = [
    formatVerdict(diagnosis),
    ...formatFacts(transcript),
    ...warnings.map(({ text }) => formatLabel("warning", "yellow", text)),
    ...(diagnosis.passed ? [] : [formatLabel("hint", "cyan", diagnosis.hint)]),
  ];
  return `${lines.join("\n")}\n`;
}

function formatVerdict(diagnosis: HandshakeDiagnosis): string {
  const { url } = diagnosis.transcript;
  return diagnosis.passed
    ? formatLabel("passed", "green", `${url} answers the handshake`)
    : formatLabel("failed", "red", `${url}: ${diagnosis.reason}`);
}

function formatFacts({ addresses, steps }: HandshakeRecord): string[] {
  const rows = rowsOf(steps).map((row) => ({ ...row, times: `${row.times.join(", ")} ms` }));
  const timesWidth = Math.max(...rows.map(({ times }) => times.length));
  const facts = [
    { label: "address", text: describeAddresses(addresses) },
    ...rows.map(({ encodings, times, outcome }) => ({
      label: encodings,
      text: `${times.padStart(timesWidth)}  ${outcome}`,
    })),
  ];
  const labelWidth = Math.max(...facts.map(({ label }) => label.length));
  return facts.map(({ label, text }) => `  ${label.padEnd(labelWidth)}  ${text}`);
}

const formatLabel = (label: string, colour: Colour, text: string): string =>
  `${styleText([colour, "bold"], label, { stream: process.stdout })}${" ".repeat(9 - label.length)}${text}`;
