import { setTimeout as sleep } from "node:timers/promises";
import type { AnswerFault } from "./faults.js";
import { answerError, answerJson, type HttpAnswer } from "./http-server.js";

/** Faults that leave the change alone and spoil its answer. */
type Damage = Exclude<AnswerFault, object | "close-before">;

/** Makes the change and answers, as far as the fault lets it. */
export async function answerStruck(
  fault: AnswerFault | undefined,
  makeChange: () => Promise<HttpAnswer>,
  closing: AbortSignal,
): Promise<HttpAnswer> {
  if (fault === undefined) return makeChange();
  if (fault === "close-before") return { status: 0, body: "", cut: "closed" };
  if (typeof fault === "string") return damageAnswer(await makeChange(), fault);
  if ("delayMs" in fault) {
    const early = fault.afterChange ? await makeChange() : undefined;
    await sleep(fault.delayMs, undefined, { signal: closing });
    return early ?? makeChange();
  }
  if (fault.afterChange) await makeChange();
  return imagineRefusal(fault);
}

const maintenancePage: HttpAnswer = {
  status: 200,
  headers: { "content-type": "text/html" },
  body: "<!doctype html><title>Maintenance</title><p>Please come back later.</p>",
};

function damageAnswer(answer: HttpAnswer, damage: Damage): HttpAnswer {
  if (damage === "html") return maintenancePage;
  if (damage === "broken-json") return { ...answer, body: answer.body.slice(0, -4) };
  return { ...answer, cut: damage === "truncated" ? "truncated" : "closed" };
}

function imagineRefusal(fault: Exclude<AnswerFault, string | { delayMs: number }>): HttpAnswer {
  if ("statusField" in fault) {
    return answerJson(200, { status: fault.statusField, message: "an injected fault" });
  }
  const { status, retryAfterSeconds, body } = fault;
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  return body === undefined ? answerError(status, "an injected fault", headers) : { status, headers, body };
}
