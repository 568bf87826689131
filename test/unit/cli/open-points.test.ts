import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { addOpenPointOptions, flagOf, pickSwitches } from "../../../provider/cli/emulator/open-points.js";
import { listOpenPoints, type OpenPoint } from "../../../provider/emulator/open-points.js";
import { emulatorOptions } from "../../../provider/emulator/options.js";

const points = listOpenPoints();

/** Parses the switches of a command line. */
function parse(...words: string[]): Record<string, unknown> {
  const command = addOpenPointOptions(new Command("emulator"));
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  return pickSwitches(command.parse(words, { from: "user" }).opts());
}

const isFlag = (point: OpenPoint): boolean => "kind" in point && point.kind === "flag";

/** Returns the option at this path as a flag's value: {"header":"NAME"} becomes header:NAME. */
function settingAt(path: string, options: unknown): string {
  const settings: unknown = emulatorOptions.parse(options);
  const found = path.split(".").reduce((at, name) => (at as Record<string, unknown>)[name], settings);
  return JSON.stringify([found]).replaceAll(/[[\]{}"]/g, "");
}

describe("the command line's switches", () => {
  test.each(points)("let users choose every value of %s, and the emulator accepts each", (path, point) => {
    const chosen = "readings" in point ? Object.keys(point.readings) : ["7"];
    for (const value of chosen) {
      const picked = parse(flagOf(path), ...(isFlag(point) ? [] : [value]));
      expect(settingAt(path, picked)).toBe(isFlag(point) ? "true" : value);
    }
    expect(settingAt(path, {})).toBe(String(point.default ?? null));
  });

  test("reject an unknown value and an invalid number", () => {
    expect(() => parse("--failed-handshake", "explodes")).toThrow(/Allowed choices are keeps, clears/);
    expect(() => parse("--delivery-attempts", "0")).toThrow(/whole number from 1 to 100\./);
    expect(() => parse("--delivery-timeout-ms", "1.5")).toThrow(/whole number from 1 to 2147483647/);
    expect(parse("--delivery-retry-ms", "0")).toEqual({ deliveryRetryMs: 0 });
  });
});
