import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { vi } from "vitest";
import { findPython, preparePackages } from "../../tools/lib/python.ts";
import { afterTests, freePort } from "./http.ts";

const BUCKET = "fleet-state";
const { signal } = new AbortController();

/**
 * Starts moto, an S3 server from PyPI, and creates a bucket. Returns the environment variables that make the
 * bucket Pulumi's backend, or undefined if the machine has no suitable Python.
 */
export async function startS3(): Promise<Record<string, string> | undefined> {
  const found = await findPython(signal);
  if (found === undefined) return undefined;
  const requirements = new URL("moto-requirements.txt", import.meta.url);
  const python = await preparePackages(found, requirements, signal);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const words = ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)];
  const server = execa(python, words, { cwd, reject: false, stdio: "ignore" });
  afterTests(() => server.kill("SIGKILL"));
  // Not signed, because the server does not check signatures.
  const makeBucket = () =>
    fetch(`${origin}/${BUCKET}`, { method: "PUT" }).then(
      ({ ok }) => ok,
      () => false,
    );
  await vi.waitUntil(makeBucket, { timeout: 60_000 });
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
