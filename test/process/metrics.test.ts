import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { createHandshake } from "pulumi-apichat/responder";
import { expect, test } from "vitest";
import { VERSION } from "../../dist/provider/lib/version.js";
import { freePort, startServer } from "../support/http.ts";
import { readPage } from "../support/pages.ts";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";
import { findSecrets } from "../support/secrets.ts";
import { LIST_PACKAGES } from "./cli-harness.ts";
import { KEY, makeFolder, makeHome, SECOND_KEY, startResponder } from "./program.ts";

/** Starts a responder with metrics. */
async function startCounted(config: object) {
  const port = await freePort();
  const started = await startResponder(await makeHome(config), ["--metrics-port", String(port)]);
  const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return { ...started, scrape, port };
}

/** Maps the name and labels of each sample, without the prefix `apichat_responder_`, to its value. */
const samplesOf = (text: string): Record<string, number> =>
  Object.fromEntries(
    [...text.matchAll(/^apichat_responder_(\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]),
  );

/** Starts a target that responds with 503 and asks for a retry in an hour. */
const startBusyTarget = () =>
  startServer((_, response) => response.writeHead(503, { "retry-after": "3600" }).end());

const times = <T>(count: number, act: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, act));

test("a scrape shows the number of requests and deliveries in Prometheus's format, and shows no keys", async () => {
  const [receiver, refusing, busy] = await Promise.all([startReceiver(), startReceiver(), startBusyTarget()]);
  refusing.answerWith(400);
  const { origin, scrape } = await startCounted({
    workspaces: {
      acme: { verificationKeys: KEY, forwardTo: receiver.url },
      refused: { verificationKeys: KEY, forwardTo: refusing.url },
      busy: { verificationKeys: KEY, forwardTo: busy.url },
      kept: { verificationKeys: SECOND_KEY },
    },
  });
  let conversation = 0;
  const deliver = (workspace: string, key = KEY) =>
    deliverTo(`${origin}/${workspace}`, key, { conv_id: (conversation += 1) });
  const shake = async (verificationKey: string, challenge = "1") =>
    (await fetch(createHandshake({ url: `${origin}/acme`, verificationKey, challenge }))).status;
  const statuses = [
    await times(20, () => deliver("acme")),
    await times(3, () => deliver("refused")),
    await times(4, () => deliver("busy")),
    await times(5, () => deliver("kept", SECOND_KEY)),
    await times(6, () => deliver("acme", SECOND_KEY)),
    await times(7, () => deliver("nowhere")),
    await times(3, () => shake(KEY)),
    await times(2, () => shake(SECOND_KEY)),
    await times(1, () => shake(KEY, "é")),
  ];
  expect(statuses.map((all) => new Set(all))).toEqual(
    [200, 200, 200, 200, 401, 404, 200, 401, 400].map((status) => new Set([status])),
  );
  const expected = {
    'deliveries_accepted_total{workspace="acme"}': 20,
    'deliveries_accepted_total{workspace="refused"}': 3,
    'deliveries_accepted_total{workspace="busy"}': 4,
    'deliveries_accepted_total{workspace="kept"}': 5,
    'requests_rejected_total{workspace="acme",code="invalid_signature"}': 6,
    'requests_rejected_total{workspace="",code="not_found"}': 7,
    'requests_rejected_total{workspace="acme",code="invalid_token"}': 2,
    'requests_rejected_total{workspace="acme",code="unavailable"}': 0,
    'handshakes_total{workspace="acme",result="answered"}': 3,
    'handshakes_total{workspace="acme",result="invalid_token"}': 2,
    'handshakes_total{workspace="acme",result="invalid_challenge"}': 1,
    'handshakes_total{workspace="kept",result="answered"}': 0,
    'forward_attempts_total{workspace="acme",result="done"}': 20,
    'forward_attempts_total{workspace="refused",result="refused"}': 3,
    'forward_attempts_total{workspace="busy",result="retry"}': 4,
    'forward_attempts_total{workspace="kept",result="done"}': 0,
    'forward_duration_seconds_count{result="done"}': 20,
    'forward_duration_seconds_count{result="refused"}': 3,
    'pending_deliveries{workspace="acme"}': 0,
    'pending_deliveries{workspace="busy"}': 4,
    'pending_deliveries{workspace="kept"}': 5,
    'oldest_pending_seconds{workspace="acme"}': 0,
    'dead_letters{workspace="refused"}': 3,
    'dead_letters{workspace="busy"}': 0,
    [`build_info{version="${VERSION}"}`]: 1,
  };
  await expect.poll(async () => samplesOf(await scrape())).toMatchObject(expected);

  const text = await scrape();
  const samples = samplesOf(text);
  expect(samples['oldest_pending_seconds{workspace="kept"}']).toBeGreaterThan(0);
  expect(samples["spool_bytes"]).toBeGreaterThan(5 * 1024);
  expect(samples['forward_duration_seconds_sum{result="done"}']).toBeGreaterThan(0);
  expect(findSecrets(text, [KEY, SECOND_KEY])).toEqual([]);
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type]) => ({ name, type }));
  expect(types.filter(({ name, type }) => name.endsWith("_total") !== (type === "counter"))).toEqual([]);
  // promtool is in Debian's package `prometheus`. The format is not checked if promtool is not installed.
  const checked = await execa("promtool", ["check", "metrics"], { input: text, reject: false });
  expect(checked.code === "ENOENT" ? "" : checked.stderr).toBe("");

  const ours = /\bapichat_responder_\w+/g;
  const page = readPage("docs/operate/metrics.md").text.replaceAll(/_(?:bucket|sum|count)\b/g, "");
  const named = types.map(({ name }) => name).filter((name) => name.match(ours));
  expect(new Set(page.match(ours))).toEqual(new Set(named));
});

test("each of the first 100 workspaces has its own series, and all others share one", async () => {
  const names = Array.from({ length: 103 }, (_, index) => `w${index}`);
  const workspaces = Object.fromEntries(names.map((name) => [name, { verificationKeys: KEY }]));
  const { origin, scrape } = await startCounted({ workspaces });
  for (const name of ["w99", "w100", "w101", "w101"]) await deliverTo(`${origin}/${name}`, KEY);
  const samples = samplesOf(await scrape());
  const accepted = Object.keys(samples).filter((name) => name.startsWith("deliveries_accepted_total"));
  expect(accepted).toHaveLength(101);
  expect(samples).toMatchObject({
    'deliveries_accepted_total{workspace="w99"}': 1,
    'deliveries_accepted_total{workspace="*"}': 3,
    'pending_deliveries{workspace="*"}': 3,
  });
  expect(samples['oldest_pending_seconds{workspace="*"}']).toBeGreaterThan(0);
});

test("metrics are served only on loopback, and prom-client is loaded only if they are enabled", async () => {
  const file = join(await makeFolder(), "list-packages.mjs");
  await writeFile(file, LIST_PACKAGES);
  const environment = { NODE_OPTIONS: `--import=${file}` };
  const without = await startResponder(await makeHome(), [], { environment });
  expect((await fetch(`${without.origin}/metrics`)).status).toBe(404);
  without.child.kill("SIGINT");
  expect((await without.ended).stderr).not.toMatch(/^prom-client$/m);

  const port = await freePort();
  const parameters = ["--metrics-port", String(port)];
  const { child, ended } = await startResponder(await makeHome(), parameters, { environment });
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
  await expect(fetch(`http://127.0.0.2:${port}/metrics`)).rejects.toThrow("fetch failed");
  child.kill("SIGINT");
  const { stderr } = await ended;
  expect(stderr).toMatch(/^prom-client$/m);
  expect(stderr).toContain(`"event":"metrics","host":"127.0.0.1","port":${port}`);
});
