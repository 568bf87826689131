import { describe, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { languagesOfTheWholeWay } from "../support/languages.ts";
import { copyExample } from "../support/program-folder.ts";
import { expectCleanBackend, openScene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

const QUIET = ["--yes", "--skip-preview"];

describe.each(languagesOfTheWholeWay)("in $name", ({ name, environment, install }) => {
  test("up registers every workspace, another stack reads bot_url, and drift is found and repaired", async () => {
    const { emulator, backend } = await openScene(["acme", "globex"]);
    const registrations = () => [...emulator.workspaces.values()].map(({ registration }) => registration);
    const open = async (example: string) => {
      const more = { CI: "false", XDG_STATE_HOME: backend.folder, ...environment };
      const program = await copyExample(backend, `${name}/${example}`, more);
      await install(program.path, { ...backend.environment, ...more });
      await program.run("stack", "init", "dev");
      return program;
    };
    const workspaces = await open("workspaces");
    await workspaces.run("config", "set", "platform", emulator.url);
    await workspaces.run("config", "set", "--secret", "apichat:apiKey", API_KEY);
    await workspaces.run("up", ...QUIET);
    const registered = registrations();
    const keys = registered.map((registration) => registration?.webhook_verification_key ?? "");
    expect(registered).toMatchObject([{ webhook_status: "verified" }, { webhook_status: "verified" }]);

    const consumer = await open("consumer");
    await consumer.run("up", ...QUIET);
    const outputs = JSON.parse(await consumer.run("stack", "output", "--json")) as {
      bot_url: Record<string, string>;
      environment: { APICHAT_BOT_URLS: string };
    };
    expect(outputs.bot_url).toEqual({
      acme: emulator.workspace("acme").botUrl,
      globex: emulator.workspace("globex").botUrl,
    });
    expect(JSON.parse(outputs.environment.APICHAT_BOT_URLS)).toEqual(outputs.bot_url);

    emulator.workspace("acme").change({ webhook_url: "http://127.0.0.1:1/changed-by-hand" });
    expect(await workspaces.run("refresh", ...QUIET)).toMatch(/ApiChatWebhook acme updated .*webhookUrl/);
    await workspaces.run("up", ...QUIET);
    expect(registrations()).toEqual(registered);

    await workspaces.run("destroy", ...QUIET);
    expect(registrations()).toEqual([undefined, undefined]);
    const printed = workspaces.printed() + consumer.printed();
    expect(printed).not.toMatch(/warning/i);
    expect(findSecrets(printed, [API_KEY, ...keys])).toEqual([]);
    await expectCleanBackend(backend, [API_KEY, ...keys]);
  });
});
