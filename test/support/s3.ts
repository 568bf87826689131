import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { findPython, preparePackages } from "../../tools/lib/python.ts";
import { afterTests } from "./http.ts";

const BUCKET = "fleet-state";
const { signal } = new AbortController();

/**
 * Starts a real S3 server (moto, from PyPI) with a bucket. Returns the environment of a Pulumi backend in it,
 * or undefined if the machine has no suitable Python.
 */
export async function startS3(): Promise<Record<string, string> | undefined> {
  const found = await findPython(signal);
  if (found === undefined) return undefined;
  const requirements = new URL("moto-requirements.txt", import.meta.url);
  const python = await preparePackages(found, requirements, signal);
  const server = execa(python, ["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"], {
    all: true,
    reject: false,
    cwd: fileURLToPath(new URL(".", import.meta.url)),
  });
  afterTests(() => server.kill("SIGKILL"));
  const origin = await findOrigin(server);
  // It accepts any signature, and also none.
  const made = await fetch(`${origin}/${BUCKET}`, { method: "PUT" });
  if (!made.ok) throw new Error(`the S3 server made no bucket: HTTP ${made.status}`);
  const options = new URLSearchParams({
    endpoint: new URL(origin).host,
    disableSSL: "true",
    s3ForcePathStyle: "true",
  });
  return {
    PULUMI_BACKEND_URL: `s3://${BUCKET}?${options.toString()}`,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_REGION: "us-east-1",
  };
}

/** It prints its address. Its later output is read too, so that the pipe does not fill. */
async function findOrigin(server: { all: NodeJS.ReadableStream }): Promise<string> {
  let printed = "";
  return new Promise((resolve, reject) => {
    server.all.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      const [, origin] = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(printed) ?? [];
      if (origin !== undefined) resolve(origin);
    });
    server.all.on("end", () => reject(new Error(`the S3 server has ended:\n${printed}`)));
  });
}
