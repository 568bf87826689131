import { PassThrough } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { askSecret } from "../../../provider/cli/credentials.js";

/** A terminal of which one can see what is shown and whether it echoes. */
function openTerminal() {
  const setRawMode = vi.fn<(raw: boolean) => void>();
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const output = new PassThrough();
  const onInterrupt = vi.fn<() => void>();
  const answer = askSecret("Key: ", { input, output }, onInterrupt);
  const shown = (): string => String(output.read() ?? "");
  return { input, answer, shown, setRawMode, onInterrupt };
}

describe("a secret that is asked for on a terminal", () => {
  test("is read up to the line break, and nothing of it is shown", async () => {
    const { input, answer, shown, setRawMode, onInterrupt } = openTerminal();
    // The terminal's own echo is off before anything can be typed.
    expect(setRawMode.mock.calls).toEqual([[true]]);
    input.write("the secreX\u007ft ü\r");
    expect(await answer).toBe("the secret ü");
    expect(shown()).toBe("Key: \n");
    expect(setRawMode.mock.calls).toEqual([[true], [false]]);
    expect(onInterrupt).not.toHaveBeenCalled();
  });

  test("is undefined at the end of the input", async () => {
    const { input, answer } = openTerminal();
    input.write("\u0004");
    expect(await answer).toBeUndefined();
  });

  test("is given up at Ctrl-C", async () => {
    const { input, answer, setRawMode, onInterrupt } = openTerminal();
    input.write("half a sec\u0003");
    expect(await answer).toBeUndefined();
    expect(onInterrupt).toHaveBeenCalledTimes(1);
    expect(setRawMode.mock.calls.at(-1)).toEqual([false]);
  });
});
