/** Runs a handler as Lambda's Node.js runtime does: asks the Runtime API for an event, posts what came of it, and again. */
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";

const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;
const [file, name] = (process.env["_HANDLER"] ?? "").split(".");
const require = createRequire(join(process.env.LAMBDA_TASK_ROOT ?? "", "package.json"));

/** @param {string} path @param {unknown} body */
const post = (path, body) => fetch(`${api}/${path}`, { method: "POST", body: JSON.stringify(body) });

/** @param {unknown} error */
const describe = (error) =>
  error instanceof Error
    ? { errorType: error.name, errorMessage: error.message }
    : { errorType: typeof error, errorMessage: String(error) };

try {
  const { [name]: handler } = require(`./${file}.cjs`);
  for (;;) await answerNext(handler);
} catch (error) {
  await post("init/error", describe(error));
  process.exit(1);
}

/** @param {(event: unknown) => Promise<unknown>} handler */
async function answerNext(handler) {
  const response = await fetch(`${api}/invocation/next`);
  const id = response.headers.get("lambda-runtime-aws-request-id");
  const event = await response.json();
  try {
    await post(`invocation/${id}/response`, await handler(event));
  } catch (error) {
    await post(`invocation/${id}/error`, describe(error));
  }
}
