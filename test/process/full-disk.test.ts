import { createDelivery } from "pulumi-apichat/responder";
import { expect, test } from "vitest";
import { KEY, makeHome, run, startResponder } from "./program.ts";

const FILE_LIMIT_KIB = 512;
const TEXT = "x".repeat(16 * 1024);

test("a responder that cannot write answers 503 and not 200, goes on, and has kept what it acknowledged", async () => {
  const home = await makeHome();
  const { child, ended, origin } = await startResponder(home, [], { fileLimitKib: FILE_LIMIT_KIB });
  const url = `${origin}/acme`;
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);
  const deliver = async (text: string): Promise<Response> =>
    fetch(await createDelivery("text", { url, verificationKey: KEY, message: { text } }));

  let acknowledged = 0;
  let refused: Response | undefined;
  while (refused === undefined && acknowledged < 200) {
    const answer = await deliver(TEXT);
    if (answer.status === 200) acknowledged += 1;
    else refused = answer;
  }
  expect(acknowledged).toBeGreaterThan(0);
  expect(refused?.status).toBe(503);
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused?.json()).toMatchObject({ error: { code: "unavailable" } });
  await expect.poll(async () => (await fetch(`${origin}/healthz`)).status).toBe(503);

  child.kill("SIGKILL");
  expect((await ended).stderr).toContain('"event":"not accepted"');
  const { stdout } = await run(
    "responder",
    "deliveries",
    "--data-dir",
    home.dataDir,
    "--json",
    "--limit",
    "1000",
  );
  expect(stdout.trimEnd().split("\n")).toHaveLength(acknowledged);
});
