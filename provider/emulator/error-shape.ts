import type { HttpAnswer } from "./http-server.js";
import { Refusal, type FieldErrors } from "./refusal.js";
import type { ErrorShape } from "./switches.js";

/** The answer to a refused request, in the shape that is chosen. What is no refusal is thrown on. */
export async function answerRefusals(
  shape: ErrorShape,
  work: () => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { httpStatus, headers, ...what } = error;
    return { status: httpStatus, ...writeError(shape, error.message, what.fields, headers) };
  }
}

/** Headers and body of an error: the specification shows neither (section 7). */
export function writeError(
  shape: ErrorShape,
  message: string,
  fields: FieldErrors = {},
  headers: Record<string, string> = {},
): Omit<HttpAnswer, "status"> {
  if (shape === "empty") return { headers, body: "" };
  if (shape === "text") {
    return { headers: { "content-type": "text/plain; charset=utf-8", ...headers }, body: message };
  }
  const value = shape === "errors" ? { message, errors: fields } : { status: "error", message };
  return { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}
