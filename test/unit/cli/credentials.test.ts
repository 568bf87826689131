import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, test, vi } from "vitest";
import { askSecret } from "../../../provider/cli/confirm.js";
import { type CredentialOptions, Credentials } from "../../../provider/cli/credentials.js";
import { UsageError } from "../../../provider/cli/usage-error.js";
import { takeText } from "../../support/stream.js";
import { makeFolder } from "../../support/folder.ts";

const API_KEY = "api-key-0123456789";
const WRONG = "wrong-api-key-0123456789";

const folder = await makeFolder();
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.removeAllListeners("SIGINT");
});

async function write(name: string, content: string, mode = 0o600): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content, { mode });
  return path;
}

function open(options: CredentialOptions, variable?: string) {
  vi.stubEnv("APICHAT_API_KEY", variable);
  return new Credentials(options);
}

describe("a credential", () => {
  test("is read from its file, else from the environment", async () => {
    const apiKeyFile = await write("good.key", `${API_KEY}\r\n`);
    expect(await open({ apiKeyFile }, WRONG).secret("apiKey")).toBe(API_KEY);
    expect(await open({}, API_KEY).secret("apiKey")).toBe(API_KEY);
  });

  test("causes a warning if others can read its file", async () => {
    const apiKeyFile = await write("open.key", API_KEY, 0o644);
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(await open({ apiKeyFile }).findSecret("apiKey")).toBe(API_KEY);
    expect(stderr.mock.calls.join("")).toMatch(/^warning: .*open\.key .*chmod 600 /);
  });

  test("causes a usage error if its file is a JSON list, and the error does not quote the key", async () => {
    const apiKeyFile = await write("keys.json", JSON.stringify([API_KEY]));
    const found = open({ apiKeyFile }).findSecret("apiKey");
    await expect(found).rejects.toThrow(
      /^--api-key-file: \S+keys.json contains JSON; name a file that contains only /,
    );
    expect(await found.catch(String)).not.toContain(API_KEY);
  });

  test.each<[string, CredentialOptions, string | undefined, RegExp]>([
    ["missing", {}, undefined, /^the API key is missing; set APICHAT_API_KEY, or .*--api-key-file/],
    ["followed by a space", {}, `${API_KEY} `, /^APICHAT_API_KEY: .*whitespace/],
    ["in a file that does not exist", { apiKeyFile: "/nowhere/key" }, undefined, /^--api-key-file: ENOENT/],
  ])(
    "causes a usage error if it is %s, and the error does not quote it",
    async (_, options, variable, message) => {
      const failure: unknown = await open(options, variable)
        .secret("apiKey")
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(UsageError);
      expect((failure as Error).message).toMatch(message);
      expect((failure as Error).message).not.toContain(API_KEY);
    },
  );
});

/** A terminal that records its output and when raw mode is switched. */
function openTerminal() {
  const setRawMode = vi.fn<(raw: boolean) => void>();
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const output = new PassThrough();
  const onInterrupt = vi.fn<() => void>();
  process.once("SIGINT", onInterrupt);
  const answer = askSecret("Key: ", { input, output });
  return { input, answer, shown: () => takeText(output), setRawMode, onInterrupt };
}

describe("a secret that is typed at a prompt", () => {
  test("is read up to the line break, and never shown", async () => {
    const { input, answer, shown, setRawMode, onInterrupt } = openTerminal();
    // The terminal's own echo is off before the prompt appears.
    expect(setRawMode.mock.calls).toEqual([[true]]);
    input.write("the secreX\u007ft ü\r");
    expect(await answer).toBe("the secret ü");
    expect(shown()).toBe("Key: \n");
    expect(setRawMode.mock.calls).toEqual([[true], [false]]);
    expect(onInterrupt).not.toHaveBeenCalled();
  });

  test.each([
    ["the end of the input", "\u0004", 0],
    ["Ctrl-C", "half a sec\u0003", 1],
  ])("is empty after %s", async (_, typed, interruptions) => {
    const { input, answer, setRawMode, onInterrupt } = openTerminal();
    input.write(typed);
    expect(await answer).toBe("");
    expect(onInterrupt).toHaveBeenCalledTimes(interruptions);
    expect(setRawMode.mock.calls.at(-1)).toEqual([false]);
  });
});
