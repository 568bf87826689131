import { Command } from "commander";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { addOpenPointOptions, flagOf, pickSwitches } from "../../../provider/cli/emulator/open-points.js";
import { OPEN_POINTS } from "../../../provider/cli/emulator/open-points.js";
import { emulatorOptions } from "../../../provider/emulator/options.js";
import { switches } from "../../../provider/emulator/switches.js";

const points = Object.entries(OPEN_POINTS);
const withReadings = points.flatMap(([path, point]) => ("readings" in point ? [{ path, ...point }] : []));
const withValues = points.flatMap(([path, point]) => ("value" in point ? [{ path, ...point }] : []));

/** What the schema of the options says of each switch: its default, and its readings if it is one of a few. */
function readSchema(): Record<string, { otherwise: unknown; readings: readonly string[] | undefined }> {
  const { handshake, ...others } = switches;
  const inner = handshake.unwrap().shape;
  const fields: [string, z.ZodType][] = [
    ...Object.entries(inner).map(([name, field]): [string, z.ZodType] => [`handshake.${name}`, field]),
    ...Object.entries(others),
  ];
  return Object.fromEntries(fields.map(([name, field]) => [name, describeField(field)]));
}

function describeField(field: z.ZodType) {
  const bare = field instanceof z.ZodDefault || field instanceof z.ZodOptional ? field.unwrap() : field;
  const readings = bare instanceof z.ZodUnion ? bare.options.flatMap(readingsOf) : readingsOf(bare);
  return { otherwise: field.safeParse(undefined).data, readings: readings.length > 0 ? readings : undefined };
}

/** An object is a reading with a name in it. */
function readingsOf(type: unknown): string[] {
  if (type instanceof z.ZodEnum) return type.options.map(String);
  return type instanceof z.ZodObject ? Object.keys(type.shape).map((key) => `${key}:NAME`) : [];
}

/** How the text of a default starts: as the value, if that is a number or a text. */
const startOf = (value: unknown): RegExp =>
  typeof value === "number" || typeof value === "string" ? new RegExp(`^${value}\\b`) : /./;

/** The switches that a command line chooses. */
function parse(...words: string[]): Record<string, unknown> {
  const command = addOpenPointOptions(new Command("emulator"));
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  return pickSwitches(command.parse(words, { from: "user" }).opts());
}

describe("the open points of the command line", () => {
  const schema = readSchema();

  test.each(points)("%s can be chosen, and the emulator takes what was chosen", (path, point) => {
    const chosen = "readings" in point ? Object.keys(point.readings) : ["7"];
    for (const value of chosen) {
      const isFlag = "value" in point && point.value === "none";
      const picked = parse(flagOf(path), ...(isFlag ? [] : [value]));
      const settings: unknown = emulatorOptions.parse(picked);
      const found = path
        .split(".")
        .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], settings);
      // Such as {"header":"NAME"}, or a value alone.
      expect(JSON.stringify(found).replaceAll(/[{}"]/g, "")).toBe(isFlag ? "true" : value);
    }
  });

  test("refuse a reading that there is none of, and a number that is none", () => {
    expect(() => parse("--failed-handshake", "explodes")).toThrow(/Allowed choices are keeps, clears/);
    expect(() => parse("--delivery-attempts", "0")).toThrow(/whole number above 0/);
    expect(() => parse("--delivery-timeout-ms", "1.5")).toThrow(/milliseconds/);
  });

  test("stand in the help, each with its section and all of its readings", () => {
    const help = addOpenPointOptions(new Command("emulator"))
      .configureHelp({ helpWidth: 1000 })
      .helpInformation();
    const lines = help.split("\n");
    for (const [path, point] of points) {
      const first = lines.findIndex((line) => line.trimStart().startsWith(`${flagOf(path)} `));
      expect(lines[first], path).toContain(`(section ${point.section})`);
      const readings = "readings" in point ? Object.keys(point.readings) : [];
      const listed = lines.slice(first + 1, first + 1 + readings.length);
      expect(listed.map((line) => line.trim().replace(/: .*/, ""))).toEqual(
        readings.map((one) => `- ${one}`),
      );
    }
  });
});
