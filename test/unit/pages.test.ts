import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createResponder } from "../../provider/responder/index.js";
import { loadConfig } from "../../provider/server/config.js";
import { MIN_NODE, MIN_PULUMI } from "../../provider/lib/version.js";
import { readWorkspaceList } from "../../provider/workspace-list/read.js";
import { MIN_PYTHON } from "../../tools/lib/python.ts";
import pluginSchema from "../../provider/plugin/schema.json" with { type: "json" };
import vectors from "../../schema/vectors.json" with { type: "json" };
import { makeFolder } from "../support/folder.ts";
import {
  blocksOf,
  headingsOf,
  isRelative,
  readPage,
  readPages,
  root,
  targetsOf,
  withoutCode,
  withoutPlugin,
} from "../support/pages.ts";
import { apiKey, startAcme } from "./emulator/harness.ts";

const pages = readPages();
const docs = pages.filter(({ path }) => path.startsWith("docs/"));
const examples = readdirSync(`${root}examples`).filter((name) => !/^\.|\.md$/.test(name));
const all = [
  ...pages,
  ...["CONTRIBUTING.md", "examples/README.md", ...examples.map((name) => `examples/${name}/README.md`)].map(
    readPage,
  ),
];
const KIB = 1024;
const { stdout: files } = spawnSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" });
const markdown = files.trimEnd().split("\n");

/** Returns GitHub's anchor for a heading. */
const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

test.each(docs)("$path is at most 15 KiB, and is linked from the README", ({ path, text }) => {
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(15 * KIB);
  expect(targetsOf(readPage("README.md"))).toContain(path);
});

test("docs/ has at most 24 pages", () =>
  expect(markdown.filter((path) => path.startsWith("docs/")).length).toBeLessThanOrEqual(24));

test("the README is at most 10 KiB", () =>
  expect(Buffer.byteLength(readPage("README.md").text)).toBeLessThanOrEqual(10 * KIB));

test.each(all.map((page) => [page.path, page] as const))("every link of %s has a target", (path, page) => {
  const broken = targetsOf(page)
    .filter(isRelative)
    .filter((target) => {
      const [file = "", anchor] = target.split("#");
      const found = file === "" ? path : normalize(join(dirname(path), file));
      if (!existsSync(`${root}${found}`)) return true;
      return anchor !== undefined && !headingsOf(readPage(found)).map(slug).includes(anchor);
    });
  expect(broken).toEqual([]);
});

test.each(markdown)("no line of prose in %s exceeds 200 columns, so a diff shows what changed", (path) => {
  const lines = withoutCode(readPage(path).text).split("\n");
  expect(lines.filter((line) => line.length > 200 && !/^\s*[|<]/.test(line))).toEqual([]);
});

test("no published text runs `npx apichat`, because anybody could publish a package of that name", () => {
  const search = ["grep", "-nE", "npx +(-y |--yes )?apichat", "--", ".", ":!test"];
  const { status, stdout } = spawnSync("git", search, { cwd: root, encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
});

test("the requirements table matches the code", () => {
  const [, table = ""] =
    /## Requirements\n\n([^]*?)\n\n/.exec(readPage("docs/guide/first-steps.md").text) ?? [];
  expect(table).toContain(`Node ${MIN_NODE} or newer`);
  expect(table).toContain(`Pulumi ${MIN_PULUMI.replace(/\.0$/, "")} or newer`);
  expect(table).toContain(`${MIN_PYTHON} or newer for the tests of a clone`);
  const least = pluginSchema.language.python.pythonRequires.replace(">=", "");
  expect(table).toContain(`${least} or newer in your own project`);
  expect(readPage("docs/guide/without-node.md").text).toContain(`Python ${least} or newer`);
  expect(table).toContain(`Go ${/^go ([\d.]+)$/m.exec(readPage("examples/go/go.mod").text)?.[1]};`);
  expect(table).toContain(
    `JDK ${/<maven.compiler.target>(\d+)</.exec(readPage("examples/java/pom.xml").text)?.[1]} `,
  );
});

test("docs/reference/support.md quotes the message that setup prints in a clone on Windows", () => {
  const [, sentence = ""] = /"(Develop on Linux .*)"/.exec(readPage("tools/setup.mjs").text) ?? [];
  expect(blocksOf(readPage("docs/reference/support.md"), "text")).toEqual([`${sentence}\n`]);
});

test("the index page for the Pulumi Registry shows the examples' programs", () => {
  const page = readPage("docs/_index.md");
  const programs = {
    typescript: "typescript/quickstart/index.ts",
    python: "python/quickstart/__main__.py",
    go: "go/quickstart/main.go",
    java: "java/quickstart/src/main/java/example/App.java",
    yaml: "yaml/quickstart/Pulumi.yaml",
  };
  for (const [language, path] of Object.entries(programs))
    expect(blocksOf(page, language)).toEqual([withoutPlugin(readPage(`examples/${path}`).text)]);
});

test("the page about endpoints shows the Python example, and links to the others", () => {
  const page = readPage("docs/guide/endpoint.md");
  expect(blocksOf(page, "python")).toEqual([
    readPage("examples/endpoint-other-languages/fastapi/main.py").text,
  ]);
  const targets = targetsOf(page).join(" ");
  const folders = readdirSync(`${root}examples/endpoint-other-languages`).filter(
    (name) => !name.endsWith(".md"),
  );
  expect(folders.filter((name) => !targets.includes(`/endpoint-other-languages/${name}/`))).toEqual([]);
});

test("the list of examples is complete", () =>
  expect(
    examples.filter((name) => !targetsOf(readPage("examples/README.md")).includes(`${name}/README.md`)),
  ).toEqual([]));

test("every rule that a test vector names is on the page about endpoints", () => {
  const [, list = ""] = /## The rules\n([^]*?)\n##/.exec(readPage("docs/guide/endpoint.md").text) ?? [];
  const numbers = [...list.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => Number(number));
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const used = [...vectors.handshakes, ...vectors.deliveries].map(({ rule }) => rule);
  expect(numbers).toEqual(expect.arrayContaining(used));
});

describe("blocks of the docs", async () => {
  const folder = await makeFolder();
  const write = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };

  test("the responder accepts the sample handshake and delivery from the library's page", async () => {
    const [handshake = "", challenge = "", delivery = ""] = blocksOf(
      readPage("docs/guide/library.md"),
      "http",
    );
    const onDelivery = vi.fn<() => void>();
    const responder = createResponder({ verificationKeys: "a-key-that-nobody-guesses", onDelivery });
    const answer = await responder(parseRequest(handshake));
    expect(answer.status).toBe(200);
    const { headers, body } = splitMessage(challenge);
    expect(answer.headers.get("content-type")).toBe(headers.get("content-type"));
    expect(await answer.text()).toBe(body);
    expect((await responder(parseRequest(delivery))).status).toBe(200);
    expect(onDelivery).toHaveBeenCalledOnce();
  });

  test("the emulator accepts the sample messages from the page about endpoints", async () => {
    const page = readPage("docs/guide/endpoint.md");
    const { path, headers, body } = splitMessage(blocksOf(page, "http").join(""));
    const text = JSON.parse(body) as object;
    const changes = blocksOf(page, "json").map((block) => JSON.parse(block) as object);
    const messages = [text, ...changes.map((change) => ({ ...text, ...change }))];
    expect(messages).toHaveLength(3);
    const flowApiKey = "acme-flow-api-key";
    const { acme } = await startAcme({ workspaces: [{ name: "acme", apiKey, flowApiKey }] });
    const url = new URL(path, acme.botUrl);
    for (const message of messages) {
      const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
      expect([answer.status, await answer.text()]).toEqual([200, '{"status":"ok"}']);
    }
  });

  test("the emulator accepts the documented requests to its control API", async () => {
    const registration = { webhook_url: "https://chat.example/hook", webhook_verification_key: "our-key" };
    const { emulator, acme } = await startAcme({ workspaces: [{ name: "acme", apiKey, registration }] });
    const { text } = readPage("docs/reference/emulator.md");
    const [, fault = ""] = /-d '([^']+)'/.exec(text) ?? [];
    const shown = [...text.matchAll(/^`(\w+) ([^`]+)`[^`]*\n\n```json\n([^`]+)```/gm)];
    const requests = shown.map(([, method = "", route = "", body = ""]) => ({ method, route, body }));
    expect(requests).toHaveLength(3);
    for (const { method, route, body } of [...requests, { method: "POST", route: "faults", body: fault }]) {
      const url = `${emulator.url}/_emulator/${route.replace("{name}", "acme")}`;
      const answer = await fetch(url, { method, headers: { "content-type": "application/json" }, body });
      expect(answer.ok, await answer.text()).toBe(true);
    }
    // The documented change keeps our key: with a different one, the webhook would be somebody else's.
    expect(acme.registration).toMatchObject({
      webhook_url: expect.stringContaining("changed-by-hand") as string,
      webhook_verification_key: "our-key",
    });
  });

  test("the configuration of the responder and the list of workspaces are valid", async () => {
    const [config = ""] = blocksOf(readPage("docs/operate/responder.md"), "json");
    const key = write("acme-key", "a-key-that-nobody-guesses");
    const loaded = await loadConfig(write("responder.json", config.replace("/run/secrets/acme-key", key)));
    expect(loaded.config.port).toBe(8080);
    vi.stubEnv("GLOBEX_API_KEY", "an-api-key");
    const [list = ""] = blocksOf(readPage("docs/reference/command-line.md"), "yaml");
    expect((await readWorkspaceList(write("workspaces.yaml", list))).map(({ name }) => name)).toEqual([
      "acme",
      "globex",
    ]);
    vi.unstubAllEnvs();
  });
});

interface Message {
  /** The path of the request. */
  path: string;
  headers: Headers;
  body: string;
}

function splitMessage(text: string): Message {
  const [head = "", body = ""] = text.trimEnd().split("\n\n");
  const [first = "", ...lines] = head.split("\n");
  const headers = new Headers(lines.map((line) => line.split(": ") as [string, string]));
  return { path: first.split(" ")[1] ?? "", headers, body };
}

function parseRequest(text: string): Request {
  const { path, headers, body } = splitMessage(text);
  return new Request(`https://${headers.get("host")}${path}`, { method: "POST", headers, body });
}
