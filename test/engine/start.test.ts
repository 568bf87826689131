import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { execa, type ResultPromise } from "execa";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { processesNaming, type ProcessInfo } from "../../tools/lib/processes.ts";
import { fasterPulumi, makeFolder } from "../support/folder.ts";

const script = fileURLToPath(new URL("../../tools/start/main.ts", import.meta.url));
const options = { all: true, reject: false } as const;

/** The run's folder for temporary files. Every process of the run has this path in its environment. */
let temporary: string;

beforeEach(async () => {
  temporary = await makeFolder();
});

describe("npm start", () => {
  test("registers, delivers, repairs, reads bot URLs in another stack, destroys, and leaves nothing", async () => {
    const { exitCode, all } = await start();
    expect({ exitCode, all }).toMatchObject({ exitCode: 0 });
    expectInOrder(all, [
      "$ pulumi stack init dev",
      "$ pulumi config set --secret apichat:apiKey",
      "$ pulumi up --yes --skip-preview",
      "  + created acme, globex, initech",
      "$ pulumi stack output --json",
      /^ {2}acme {5}status verified {2}bot_url http:\/\/127\.0\.0\.1:\d+\/api\/apichat\/\w+$/,
      /^ {2}initech {2}status verified {2}bot_url http/,
      '  "Where is my parcel?" sent; the service responded with 200',
      new RegExp(
        "^ {2}a reply with the buttons Text, .* arrived, and the endpoint accepted it; " +
          "signature verified with acme's key$",
      ),
      "$ pulumi refresh --yes --skip-preview",
      "  ~ globex [diff: ~webhookUrl]",
      "$ pulumi preview --diff",
      /^ {2}~ webhookUrl ?: "http:\S+\/somebody-else" => "http:\S+\/webhooks\/apichat"$/,
      "$ pulumi up --yes --skip-preview",
      "  ~ updated globex; the service has our URL again",
      "$ cd ../consumer",
      "$ pulumi up --yes --skip-preview",
      "  bot_url of acme, globex, initech: the same as above",
      "$ pulumi destroy --yes --skip-preview",
      "$ pulumi destroy --yes --skip-preview",
      "  - deleted acme, globex, initech; the service has no registration left",
    ]);
    expect(all.split("\n").length).toBeLessThan(60);
    expect(all, "escape sequences").not.toContain("\u001b");
    expect(all, "secrets are 64 hexadecimal digits").not.toMatch(/[0-9a-f]{64}/);
    await expectNothingLeft();
  });

  test("exits with 130 on Ctrl-C while pulumi runs, and leaves nothing behind", async () => {
    const run = start();
    let printed = "";
    run.all.on("data", (chunk) => (printed += String(chunk)));
    await vi.waitUntil(
      async () =>
        printed.includes("$ pulumi up --yes --skip-preview\n") &&
        (await processesNaming(temporary)).some(isHost),
      { timeout: 120_000, interval: 20 },
    );
    run.kill("SIGINT");
    const { exitCode, all } = await run;
    expect({ exitCode, all }).toMatchObject({ exitCode: 130 });
    expect(all).toContain("Interrupted; every process that was started has ended.");
    await expectNothingLeft();
  });
});

const isHost = ({ commandLine: [command] }: ProcessInfo): boolean =>
  command?.endsWith("pulumi-language-nodejs") ?? false;

function start(): ResultPromise<typeof options> {
  const env = { TMPDIR: temporary, ...fasterPulumi };
  return execa("node", [script], { ...options, env });
}

/** Expects the text to contain each of these lines, in this order. */
function expectInOrder(text: string, expected: (string | RegExp)[]): void {
  let rest = text.split("\n");
  for (const line of expected) {
    const index = rest.findIndex((one) => (typeof line === "string" ? one === line : line.test(one)));
    expect({ missing: index < 0 ? line : undefined, in: text }).toEqual({ missing: undefined, in: text });
    rest = rest.slice(index + 1);
  }
}

async function expectNothingLeft(): Promise<void> {
  expect(await readdir(temporary)).toEqual([]);
  expect(await processesNaming(temporary)).toEqual([]);
}
