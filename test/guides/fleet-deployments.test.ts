import { execa } from "execa";
import { expect, test } from "vitest";
import { startServer } from "../support/http.ts";
import { copyExample } from "../support/program-folder.ts";
import { findSecrets } from "../support/secrets.ts";
import { makeFolder } from "../support/folder.ts";

const SECRETS = { APICHAT_API_KEY: 'the "api" key', KEY_SEED: "the seed", PULUMI_ACCESS_TOKEN: "the token" };
const stackAt = (index: number): string => `/api/stacks/acme/apichat-fleet/example-${index}-of-3/deployments`;

/**
 * The schedules that exist in Pulumi Cloud: the first stack has a scheduled destroy, the second drift detection.
 * The third has none.
 */
const scheduled: Record<string, object[]> = {
  [`${stackAt(0)}/schedules`]: [{ id: "ttl", definition: { request: { operation: "destroy" } } }],
  [`${stackAt(1)}/schedules`]: [{ id: "drift", definition: { request: { operation: "detect-drift" } } }],
};

async function runScript(environment: Record<string, string>, ...args: string[]) {
  const folder = await makeFolder();
  const { path } = await copyExample({ folder, environment: {} }, "fleet");
  const repository = "https://github.com/acme/fleet.git";
  return execa(process.execPath, ["deployments.ts", "acme", repository, ...args], {
    cwd: path,
    env: { ...SECRETS, ...environment },
    reject: false,
    all: true,
  });
}

test("deployments.ts prints each stack's settings, with the names of secrets instead of their values", async () => {
  const { exitCode, stdout } = await runScript({});
  expect(exitCode).toBe(0);
  for (const index of [0, 1, 2]) {
    const printed = stdout.split("\n").filter((line) => line.includes(stackAt(index)));
    expect(printed.map((line) => line.split(" ", 1)[0])).toEqual(["POST", "GET", "DELETE", "POST"]);
  }
  expect(stdout).toContain('"APICHAT_API_KEY":{"secret":"$APICHAT_API_KEY"}');
  expect(findSecrets(stdout, Object.values(SECRETS))).toEqual([]);
});

test("deployments.ts --apply configures Deployments, removes scheduled destroys, adds drift detection", async () => {
  const cloud = await startServer(({ path }, response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ schedules: scheduled[path] ?? [] })),
  );
  const { exitCode, all } = await runScript({ PULUMI_API: cloud.url }, "--apply");
  expect(exitCode, all).toBe(0);
  expect(cloud.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `POST ${stackAt(0)}/settings`,
    `GET ${stackAt(0)}/schedules`,
    `DELETE ${stackAt(0)}/schedules/ttl`,
    `POST ${stackAt(0)}/drift/schedules`,
    `POST ${stackAt(1)}/settings`,
    `GET ${stackAt(1)}/schedules`,
    `POST ${stackAt(2)}/settings`,
    `GET ${stackAt(2)}/schedules`,
    `POST ${stackAt(2)}/drift/schedules`,
  ]);
  const [settings, , , drift] = cloud.requests;
  expect(settings?.headers.authorization).toBe("token the token");
  expect(JSON.parse(settings?.body ?? "")).toEqual({
    sourceContext: { git: { repoUrl: "https://github.com/acme/fleet.git", branch: "refs/heads/main" } },
    operationContext: {
      preRunCommands: ["npm ci", "node fleet.ts write --stack example-0-of-3 --folder ."],
      options: { skipInstallDependencies: true },
      environmentVariables: {
        APICHAT_API_KEY: { secret: SECRETS.APICHAT_API_KEY },
        KEY_SEED: { secret: SECRETS.KEY_SEED },
      },
    },
  });
  expect(JSON.parse(drift?.body ?? "")).toEqual({ scheduleCron: "47 4 * * *", autoRemediate: false });
  expect(findSecrets(all, Object.values(SECRETS))).toEqual([]);
});
