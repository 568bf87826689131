import { MASK } from "../../lib/redact.js";
import { hideQuery, secretsOfUrl } from "../../lib/url.js";
import { currentRegistration, type WorkspaceState } from "../state.js";

/**
 * A record without secrets: what is secret by its place or by the name of its field, and the keys of the workspace wherever they
 * are, because an endpoint may echo them.
 */
export function maskRecord<Shown extends object>(
  record: Shown,
  workspace: WorkspaceState | undefined,
): Shown {
  const known = workspace === undefined ? [] : spellingsOf(secretsOf(workspace));
  const maskText = (text: string): string =>
    maskFields(known.reduce((masked, secret) => masked.replaceAll(secret, MASK), text));
  return maskFieldsOf(record, maskText) as Shown;
}

type MaskText = (text: string) => string;

function maskFieldsOf(fields: object, maskText: MaskText): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, maskValue(name, value, maskText)]),
  );
}

function maskValue(name: string, value: unknown, maskText: MaskText): unknown {
  if (typeof value === "string") {
    if (name === "url") return hideQuery(value);
    return name === "base64" ? MASK : maskText(value);
  }
  if (Array.isArray(value)) return value.map((entry: unknown) => maskValue("", entry, maskText));
  if (typeof value !== "object" || value === null) return value;
  return name === "headers" ? maskHeaders(value, maskText) : maskFieldsOf(value, maskText);
}

const SECRET_HEADER = /authorization|cookie|token|secret|signature|api[-_]?key/i;

function maskHeaders(headers: object, maskText: MaskText): object {
  const mask = (name: string, value: string): string => {
    if (SECRET_HEADER.test(name)) return MASK;
    return name === "location" ? hideValues(value) : maskText(value);
  };
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, mask(name, String(value))]),
  );
}

/** A shorter key would black out innocent words. */
const TELLING_CHARACTERS = 8;

function secretsOf(workspace: WorkspaceState): string[] {
  const { webhook_verification_key = "", webhook_url = "" } = currentRegistration(workspace) ?? {};
  const keys = [workspace.apiKey, workspace.flowApiKey, webhook_verification_key];
  return [...keys, ...secretsOfUrl(webhook_url)].filter((key) => key.length >= TELLING_CHARACTERS);
}

/** As it is, in JSON, and in a form or query. */
const spellingsOf = (secrets: readonly string[]): string[] => [
  ...new Set(
    secrets.flatMap((secret) => [secret, asJson(secret), encodeURIComponent(secret), asForm(secret)]),
  ),
];

const asJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const asForm = (text: string): string => new URLSearchParams({ _: text }).toString().slice(2);

/** Also in a body that is cut off: the value may have no end. */
const SECRET_FIELD =
  /"(ChaveApi|webhook_verification_key|hub_verify_token)"(\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s,}\]]+)/g;
const SECRET_PARAMETER = /(^|[&?])(ChaveApi|webhook_verification_key|hub_verify_token)=[^&\s"]*/g;
const SECRET_PART = /(name="hub_verify_token"\r\n\r\n)[^\r\n]*/g;
const URL_FIELD = /"(webhook_url)"(\s*:\s*)"((?:[^"\\]|\\.)*)"/g;

/** What is secret by the name of its field, in JSON or any form: also a key that is not the right one. */
const maskFields = (text: string): string =>
  text
    .replace(SECRET_FIELD, `"$1"$2"${MASK}"`)
    .replace(SECRET_PARAMETER, `$1$2=${MASK}`)
    .replace(SECRET_PART, `$1${MASK}`)
    // Only behind the question mark, since the text is still escaped.
    .replace(
      URL_FIELD,
      (_, name: string, colon: string, url: string) =>
        `"${name}"${colon}"${url.replace(/\?.*$/s, hideValues)}"`,
    );

const hideValues = (query: string): string => query.replace(/=[^&#]*/g, "=***");
