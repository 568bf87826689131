import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEmulator, type Emulator } from "pulumi-apichat/emulator";
import { createDelivery } from "pulumi-apichat/responder";
import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { afterTests } from "../support/http.ts";
import { processesNaming } from "../support/processes.ts";
import { copyExample, type ProgramFolder } from "../support/program-folder.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend, type Backend } from "../support/stack.ts";

const names = ["acme", "globex", "initech"];
const MESSAGE = {
  sender_id: "7",
  conv_id: 1,
  type: "text",
  message_type: "outgoing",
  private: false,
  text: "Hello",
} as const;
const keys = Object.fromEntries(names.map((name) => [name, `${VERIFICATION_KEY}/${name}`]));

let backend: Backend;
let emulator: Emulator;
let endpoint: Endpoint;

beforeAll(async () => {
  backend = await createBackend();
  emulator = await startEmulator({
    workspaces: [...names, "single", "rotated"].map((name) => ({ name, apiKey: API_KEY })),
  });
  afterTests(() => emulator.close());
  endpoint = await startEndpoint({ keys: [VERIFICATION_KEY, ...Object.values(keys)] });
});

describe("The example quickstart, as its README says", () => {
  let program: ProgramFolder;

  beforeAll(async () => {
    program = await copyExample(backend, "quickstart");
    await succeed(program, ["stack", "init", "dev"]);
    await succeed(program, ["config", "set", "apichat:baseUrl", emulator.workspace("single").baseUrl]);
    await succeed(program, ["config", "set", "--secret", "apichat:apiKey"], API_KEY);
    await succeed(program, ["config", "set", "webhookUrl", `${endpoint.url}/quickstart`]);
    await succeed(program, ["config", "set", "--secret", "verificationKey"], VERIFICATION_KEY);
  });

  test("up registers the webhook and exports bot_url and status", async () => {
    await succeed(program, ["up", "--yes"]);
    const { botUrl, registration } = emulator.workspace("single");
    expect(registration).toMatchObject({
      webhook_url: `${endpoint.url}/quickstart`,
      webhook_verification_key: VERIFICATION_KEY,
    });
    expect(await outputs(program)).toEqual({ bot_url: botUrl, status: "verified" });
  });

  test("destroy removes it, and nothing printed a warning or a secret", async () => {
    await succeed(program, ["destroy", "--yes"]);
    expect(emulator.workspace("single").registration).toBeUndefined();
    expectCleanOutput(program);
  });
});

const registration = (): { webhook_url: string; webhook_verification_key: string } => {
  const found = emulator.workspace("rotated").registration;
  if (!found) throw new Error("nothing is registered");
  return found;
};
const deliver = async (): Promise<number | undefined> => {
  const { status } = await emulator.workspace("rotated").deliver(MESSAGE);
  return status;
};

describe("The example rotation, as its README says", () => {
  let program: ProgramFolder;
  const environment = { CI: "false" };
  const run = async (...args: string[]): Promise<void> => {
    const { exitCode, output } = await program.pulumi(args, {
      environment: { ...environment, XDG_STATE_HOME: join(backend.folder, "state") },
    });
    expect(exitCode, output).toBe(0);
  };
  beforeAll(async () => {
    program = await copyExample(backend, "rotation");
    await succeed(program, ["stack", "init", "dev"]);
    await succeed(program, ["config", "set", "apichat:baseUrl", emulator.workspace("rotated").baseUrl]);
    await succeed(program, ["config", "set", "--secret", "apichat:apiKey"], API_KEY);
  });

  test("up makes a key, brings the responder up, and registers it", async () => {
    await run("up", "--yes");
    expect(await outputs(program)).toEqual({
      bot_url: emulator.workspace("rotated").botUrl,
      status: "verified",
      webhook_url: registration().webhook_url,
      data_dir: expect.stringMatching(
        /\/state\/pulumi-apichat\/apichat-rotation\/dev-[^/]+\/rotation$/,
      ) as string,
    });
    expect(await deliver()).toBe(200);
  });

  test("a new rotation registers a new key at the same URL, and both are accepted", async () => {
    const before = registration();
    await run("config", "set", "rotation", "2026-12");
    await run("up", "--yes");
    expect(registration().webhook_url).toBe(before.webhook_url);
    expect(registration().webhook_verification_key).not.toBe(before.webhook_verification_key);
    expect(await deliver()).toBe(200);
    const url = before.webhook_url;
    const earlier = await fetch(
      await createDelivery("text", { url, verificationKey: before.webhook_verification_key }),
    );
    expect(earlier.status).toBe(200);
  });

  test("destroy removes it once the key is not protected any more", async () => {
    const key = registration().webhook_verification_key;
    expect((await program.pulumi(["destroy", "--yes"])).exitCode).not.toBe(0);
    await run("state", "unprotect", "--all", "--yes");
    await run("destroy", "--yes");
    expect(emulator.workspace("rotated").registration).toBeUndefined();
    expect(await processesNaming(backend.folder)).toEqual([]);
    expect(findSecrets(program.printed(), [API_KEY, key])).toEqual([]);
  });
});

describe("The examples workspaces and consumer, as their READMEs say", () => {
  let workspaces: ProgramFolder;
  let consumer: ProgramFolder;

  beforeAll(async () => {
    workspaces = await copyExample(backend, "workspaces");
    consumer = await copyExample(backend, "consumer");
    await succeed(workspaces, ["stack", "init", "dev"]);
    await succeed(workspaces, ["config", "set", "--secret", "apichat:apiKey"], API_KEY);
    await succeed(consumer, ["stack", "init", "dev"]);
    await succeed(consumer, ["config", "set", "workspacesStack", "organization/apichat-workspaces/dev"]);
  });

  test("a list with mistakes fails before anything is registered, and names all of them", async () => {
    await writeList(
      "webhookUrl: ''\nworkspaces: [{ name: a b, baseUrl: 4 }, { name: x, baseUrl: y }, { name: x }]",
    );
    await setKey("acme");
    const { exitCode, output } = await workspaces.pulumi(["preview"]);
    expect(exitCode).not.toBe(0);
    for (const place of [
      "webhookUrl: ",
      "workspaces[0].name: ",
      "workspaces[0].baseUrl: ",
      "workspaces[2].baseUrl: ",
    ]) {
      expect(output).toContain(place);
    }
    expect(output).toMatch(/workspaces.*"x"/);
  });

  test("workspaces without a key fail, and the commands that make the keys are printed", async () => {
    await writeList([`webhookUrl: ${endpoint.url}/all`, "workspaces:", ...names.map(toEntry)].join("\n"));
    const { exitCode, output } = await workspaces.pulumi(["up", "--yes"]);
    expect(exitCode).not.toBe(0);
    for (const name of ["globex", "initech"]) {
      expect(output).toMatch(new RegExp(`pulumi config set --secret.* verificationKeys.${name}`));
    }
    expect(output).not.toContain("verificationKeys.acme");
    expect(emulator.requests.filter(({ workspace }) => names.includes(workspace ?? ""))).toEqual([]);
    expectNoSecret(workspaces);
  });

  test("up registers each workspace with its own key at the one receiver", async () => {
    await setKey("globex");
    await setKey("initech");
    await succeed(workspaces, ["up", "--yes"]);
    for (const name of names) {
      expect(emulator.workspace(name).registration).toMatchObject({
        webhook_url: `${endpoint.url}/all`,
        webhook_verification_key: keys[name],
      });
    }
    expect(await outputs(workspaces)).toEqual(expectedOutputs());
  });

  test("the consumer reads bot_url and status, and makes an environment of them", async () => {
    await succeed(consumer, ["up", "--yes"]);
    const { environment, ...read } = await outputs(consumer);
    expect(read).toEqual(expectedOutputs());
    const { APICHAT_BOT_URLS } = environment as { APICHAT_BOT_URLS: string };
    expect(JSON.parse(APICHAT_BOT_URLS)).toEqual(expectedOutputs().bot_url);
    expectCleanOutput(consumer);
  });

  test("destroy of both leaves nothing registered", async () => {
    await succeed(consumer, ["destroy", "--yes"]);
    await succeed(workspaces, ["destroy", "--yes"]);
    for (const name of names) expect(emulator.workspace(name).registration).toBeUndefined();
    expectNoSecret(workspaces);
  });

  const writeList = (text: string): Promise<void> =>
    writeFile(join(workspaces.path, "workspaces.yaml"), text);
  const setKey = (name: string): Promise<void> =>
    succeed(workspaces, ["config", "set", "--secret", "--path", `verificationKeys.${name}`], keys[name]);
});

function toEntry(name: string): string {
  return `  - { name: ${name}, baseUrl: "${emulator.workspace(name).baseUrl}" }`;
}

function expectedOutputs(): { bot_url: object; status: object } {
  return {
    bot_url: Object.fromEntries(names.map((name) => [name, emulator.workspace(name).botUrl])),
    status: Object.fromEntries(names.map((name) => [name, "verified"])),
  };
}

async function succeed(program: ProgramFolder, args: string[], input?: string): Promise<void> {
  const { exitCode, output } = await program.pulumi(args, input === undefined ? {} : { input });
  expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
}

async function outputs(program: ProgramFolder): Promise<Record<string, unknown>> {
  const { stdout } = await program.pulumi(["stack", "output", "--json"]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

function expectCleanOutput(program: ProgramFolder): void {
  expect(program.printed()).not.toMatch(/warning/i);
  expectNoSecret(program);
}

function expectNoSecret(program: ProgramFolder): void {
  expect(findSecrets(program.printed(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
}
