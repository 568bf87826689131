/**
 * A responder in the eyes of whoever starts it: the same command line, files and control interface, and no more. Run by
 * Node as it is. The names of its workspaces tell how it is to misbehave.
 */
import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";

interface Config {
  host: string;
  port: number;
  dataDir: string;
  workspaces: Record<string, { path: string; forwardTo?: string; verificationKeys: string[] }>;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  strict: false,
  options: { config: { type: "string" }, instance: { type: "string" }, "data-dir": { type: "string" } },
});
const [, command] = positionals;
if (command === undefined) await serve(String(values.config), String(values.instance));
else throw new Error(`no such command: ${command}`);

async function serve(file: string, instance: string): Promise<void> {
  let bytes = readFileSync(file);
  let config = JSON.parse(bytes.toString()) as Config;
  const has = (name: string): boolean => Object.hasOwn(config.workspaces, name);
  if (has("ends")) endWith(`it cannot start: ${config.workspaces["ends"]?.verificationKeys[0]}`);
  if (has("hangs")) setInterval(() => undefined, 1000);
  else await start();

  async function start(): Promise<void> {
    const main = await listen(config);
    const token = `token-of-${instance}`;
    const status = (): object => {
      const { port } = main.address() as AddressInfo;
      const configDigest = createHash("sha256").update(bytes).digest("hex");
      return { instance, pid: process.pid, host: config.host, port, configDigest, workspaces: {} };
    };
    const reload = (): void => {
      const nextBytes = readFileSync(file);
      const next = JSON.parse(nextBytes.toString()) as Config;
      if (Object.hasOwn(next.workspaces, "refused")) throw new Error("workspaces.refused: is refused");
      [bytes, config] = [nextBytes, next];
    };
    const stop = (): void => {
      if (has("stubborn")) return;
      rmSync(join(config.dataDir, "instance.json"), { force: true });
      process.exit(0);
    };
    const answer = async (path: string, response: ServerResponse): Promise<void> => {
      if (path === "/reload") reload();
      response.end(JSON.stringify(status()), path === "/stop" ? stop : undefined);
    };
    const control = createServer((request, response) => {
      response.setHeader("x-apichat-instance", instance);
      if (request.headers.authorization !== `Bearer ${token}`) {
        response.writeHead(401).end();
        return;
      }
      answer(request.url ?? "", response).catch((error: Error) =>
        response
          .writeHead(422)
          .end(JSON.stringify({ error: { code: "invalid_config", message: error.message } })),
      );
    });
    process.on("SIGTERM", stop);
    await new Promise<void>((resolve) => control.listen(0, "127.0.0.1", resolve));
    const { port: controlPort } = control.address() as AddressInfo;
    const announced = { ...status(), controlPort, token, startedAt: new Date().toISOString() };
    writeFileSync(join(config.dataDir, "instance.json.new"), JSON.stringify(announced), { mode: 0o600 });
    renameSync(join(config.dataDir, "instance.json.new"), join(config.dataDir, "instance.json"));
  }
}

/** Answers every request with its environment and arguments, which tests look at. */
async function listen({ host, port }: Config): Promise<Server> {
  const server = createServer((_request, response) =>
    response.end(JSON.stringify({ environment: process.env, arguments: process.argv, cwd: process.cwd() })),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  }).catch((error: Error) => endWith(error.message));
  return server;
}

function endWith(message: string): never {
  console.error(message);
  process.exit(1);
}
