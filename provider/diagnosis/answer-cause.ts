import type { HandshakeCause } from "../errors/index.js";
import { numberOf } from "./challenge.js";
import type { AnswerStart } from "./exchange.js";

const STATUS_CAUSES = new Map<number, HandshakeCause>([
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "not_found"],
  [405, "method_not_allowed"],
]);

/** With these an endpoint refuses the handshake itself, and often says why. */
const REFUSING_STATUSES = new Set([400, 401, 403, 422]);
const SPEAKS_OF_SIGNATURE = /signature|\bhmac\b/i;
const SPEAKS_OF_TOKEN = /token|verification[ _-]?key/i;

/** What broke the rule of section 6.1 in an answer; undefined if its body is exactly the challenge. */
export function causeOfAnswer(answer: AnswerStart, challenge: string): HandshakeCause | undefined {
  const { status, body } = answer;
  if (status < 200 || status > 299) return causeOfStatus(answer);
  if (body.length === challenge.length && body.toString("latin1") === challenge) return undefined;
  return causeOfBody(answer, challenge);
}

function causeOfStatus({ status, headers, body }: AnswerStart): HandshakeCause {
  if (status >= 300 && status < 400) return "redirect";
  if (status >= 500) return "server_error";
  if (REFUSING_STATUSES.has(status) && headers["www-authenticate"] === undefined) {
    const text = body.toString("utf8");
    if (SPEAKS_OF_SIGNATURE.test(text)) return "signature_demanded";
    if (SPEAKS_OF_TOKEN.test(text)) return "token_refused";
  }
  return STATUS_CAUSES.get(status) ?? "other_status";
}

function causeOfBody({ headers, body }: AnswerStart, challenge: string): HandshakeCause {
  const text = body.toString("utf8");
  // Also takes a byte order mark away.
  const core = text.trim();
  if (text === "") return "empty_body";
  if (core === challenge) return "challenge_padded";
  if (core.toLowerCase() === challenge.toLowerCase()) return "challenge_case_changed";
  if (isNumberOf(core, challenge)) return "challenge_as_number";
  if (isHtml(core, String(headers["content-type"]))) return "html_page";
  return causeOfWrapping(core, challenge);
}

function causeOfWrapping(core: string, challenge: string): HandshakeCause {
  if (unquote(core).trim() === challenge) return "challenge_in_quotes";
  if (!core.includes(challenge)) return "other_body";
  if (core.includes("hub_challenge") && core.includes("hub_verify_token")) return "body_echoed";
  return isJson(core) ? "challenge_in_json" : "challenge_among_more";
}

/** `parseInt` and its like stop at the first letter; `Number` makes "NaN" of the whole; some write 4.2e+7. */
function isNumberOf(core: string, challenge: string): boolean {
  return (
    core === "NaN" || (/^\d[\d.,]*(e\+?\d+)?$/i.test(core) && Number(core) === Number(numberOf(challenge)))
  );
}

const isHtml = (core: string, contentType: string): boolean =>
  /^(<\?xml[^>]*>\s*)?<(!doctype|html|head|body)\b/i.test(core) ||
  (/\bhtml\b/i.test(contentType) && core.startsWith("<"));

/** The text within JSON's quotes or the single ones of other notations. */
function unquote(core: string): string {
  if (/^'.*'$/s.test(core)) return core.slice(1, -1);
  const value = readJson(core);
  return typeof value === "string" ? value : "";
}

const isJson = (core: string): boolean => typeof readJson(core) === "object";

function readJson(core: string): unknown {
  try {
    return JSON.parse(core);
  } catch {
    // Not JSON: then it is none of JSON's mistakes.
    return undefined;
  }
}

/** The title of an HTML page. */
export function titleOf(page: string): string | undefined {
  const title = /<title\b[^>]*>([^<]*)/i.exec(page)?.[1]?.trim();
  return title === "" ? undefined : title;
}
