import { createDelivery } from "pulumi-apichat/responder";
import { expect, test } from "vitest";
import { KEY, makeHome, run, startResponder } from "./program.ts";

test("a responder that cannot write answers 503 and not 200, goes on, and has kept what it acknowledged", async () => {
  const home = await makeHome();
  const { child, ended, origin } = await startResponder(home, [], { fileLimitKib: 512 });
  const healthOf = async (): Promise<number> => (await fetch(`${origin}/healthz`)).status;
  expect(await healthOf()).toBe(200);
  const message = { text: "x".repeat(16 * 1024) };
  const deliver = async (): Promise<Response> =>
    fetch(await createDelivery("text", { url: `${origin}/acme`, verificationKey: KEY, message }));

  let acknowledged = 0;
  let answer = await deliver();
  for (; answer.status === 200 && acknowledged < 200; answer = await deliver()) acknowledged += 1;
  expect(acknowledged).toBeGreaterThan(0);
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await answer.json()).toMatchObject({ error: { code: "unavailable" } });
  await expect.poll(healthOf).toBe(503);

  child.kill("SIGKILL");
  expect((await ended).stderr).toContain('"event":"not accepted"');
  const place = ["--data-dir", home.dataDir, "--json", "--limit", "1000"];
  const { stdout } = await run("responder", "deliveries", ...place);
  expect(stdout.trimEnd().split("\n")).toHaveLength(acknowledged);
});
