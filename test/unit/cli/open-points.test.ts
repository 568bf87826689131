import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { addOpenPointOptions, flagOf, pickSwitches } from "../../../provider/cli/emulator/open-points.js";
import { OPEN_POINTS } from "../../../provider/cli/emulator/open-points.js";
import { emulatorOptions } from "../../../provider/emulator/options.js";

const points = Object.entries(OPEN_POINTS);

/** The switches that a command line chooses. */
function parse(...words: string[]): Record<string, unknown> {
  const command = addOpenPointOptions(new Command("emulator"));
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  return pickSwitches(command.parse(words, { from: "user" }).opts());
}

describe("the open points of the command line", () => {
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
