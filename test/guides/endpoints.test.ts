import { cp } from "node:fs/promises";
import { delimiter, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { checkEndpoint } from "../../provider/diagnosis/index.js";
import vectors from "../../schema/vectors.json" with { type: "json" };
import { findExecutable } from "../../tools/engine/engine.ts";
import { preparePackages, requirePython } from "../../tools/lib/python.ts";
import { commandsIn } from "../support/command.ts";
import { freePort } from "../support/http.ts";
import { makeFolder } from "../support/folder.ts";

type Command = [file: string, ...parameters: string[]];

/** How an endpoint in examples/endpoint-other-languages is built and started. */
interface Endpoint {
  /** The endpoint's name, which is also its folder's name. */
  name: string;
  /** A program that must be on PATH. */
  needs: string;
  build?: Command;
  run: (port: number) => Command;
}

const endpoints: Endpoint[] = [
  { name: "go", needs: "go", build: ["go", "build", "-o", "endpoint", "."], run: () => ["./endpoint"] },
  { name: "php", needs: "php", run: (port) => ["php", "-S", `127.0.0.1:${port}`, "webhook.php"] },
];
/** Tested only by `npm run suite languages`, because these endpoints need downloads. */
const slowEndpoints: Endpoint[] = [
  {
    name: "fastapi",
    needs: "python3",
    run: (port) => ["python", "-m", "uvicorn", "main:app", "--port", `${port}`],
  },
  {
    name: "flask",
    needs: "python3",
    run: (port) => ["python", "-m", "waitress", `--listen=127.0.0.1:${port}`, "main:app"],
  },
  { name: "java", needs: "mvn", build: ["mvn", "compile"], run: () => ["mvn", "exec:java"] },
  {
    name: "csharp",
    needs: "dotnet",
    build: ["dotnet", "build", "--output", "built"],
    run: () => ["dotnet", "built/endpoint.dll"],
  },
];
if (process.env["TEST_SUITE"] === "languages") endpoints.push(...slowEndpoints);

const { keys } = vectors;
const folders = (process.env["PATH"] ?? "").split(delimiter);
const inExample = (path: string): URL =>
  new URL(`../../examples/endpoint-other-languages/${path}`, import.meta.url);

/** Returns the PATH for an endpoint. For one in Python, this begins with the folder of its virtual environment. */
async function pathFor({ name, needs }: Endpoint): Promise<string> {
  if (needs !== "python3") return folders.join(delimiter);
  const { signal } = new AbortController();
  const packages = await preparePackages(
    await requirePython(signal),
    inExample(`${name}/requirements.txt`),
    signal,
  );
  return [dirname(packages), ...folders].join(delimiter);
}

describe.each(endpoints)("The endpoint $name", (endpoint) => {
  const isHere = findExecutable(endpoint.needs, folders) !== undefined;
  const title = isHere ? "" : `: NOT CHECKED, because ${endpoint.needs} is not on PATH`;

  test.runIf(isHere)(`handles each handshake and each delivery correctly${title}`, async () => {
    const folder = await makeFolder();
    const port = await freePort();
    await cp(fileURLToPath(inExample(endpoint.name)), folder, { recursive: true });
    const start = commandsIn(folder, {
      ...(process.env as Record<string, string>),
      // Java decodes environment variables with the locale's encoding, and the keys must be read as UTF-8.
      LC_ALL: "C.UTF-8",
      PATH: await pathFor(endpoint),
      PORT: `${port}`,
      APICHAT_VERIFICATION_KEY: keys.current,
      APICHAT_EARLIER_VERIFICATION_KEY: keys.earlier,
    });
    if (endpoint.build !== undefined) {
      const { exitCode, output } = await start(...endpoint.build).done;
      if (exitCode !== 0) throw new Error(output);
    }
    const server = start(...endpoint.run(port));
    const url = `http://127.0.0.1:${port}/webhooks/apichat`;
    await server.until(() =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    );
    const checks = await checkEndpoint({ url, verificationKey: keys.current, earlierKey: keys.earlier });
    expect(checks.filter(({ result }) => result !== "right")).toEqual([]);
    expect(checks.length).toBe(vectors.handshakes.length + vectors.deliveries.length);
    await server.until(() => server.output().includes('"type":"sticker"'));
    expect(server.output()).not.toContain("Hellp");
  });
});
