import { MASK } from "../../lib/redact.js";
import { hideQuery, secretsOfUrl } from "../../lib/url.js";
import type { HttpPart } from "../records.js";
import { currentRegistration, type WorkspaceState } from "../workspace-state.js";
import type { HttpView } from "./shapes.js";

/** Shows what went over the wire, with or without its secrets. */
export interface Mask {
  text(text: string): string;
  secret(value: string): string;
  url(url: string): string;
  part(part: HttpPart): HttpView;
}

/** Hides nothing: for who asked with `reveal`. */
export const clear: Mask = {
  text: (text) => text,
  secret: (value) => value,
  url: (url) => url,
  part: ({ headers, body }) => ({ headers: { ...headers }, body }),
};

/** Hides what is secret by its place, and the keys of the workspace wherever they stand: an endpoint may echo them. */
export function maskOf(workspace: WorkspaceState | undefined): Mask {
  const known = workspace === undefined ? [] : spellingsOf(secretsOf(workspace));
  const text = (whole: string): string =>
    maskFields(known.reduce((masked, secret) => masked.replaceAll(secret, MASK), whole));
  return {
    text,
    secret: () => MASK,
    url: hideQuery,
    part: ({ headers, body }) => ({ headers: maskHeaders(headers, text), body: text(body) }),
  };
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

const SECRET_HEADER = /authorization|cookie|token|secret|signature|api[-_]?key/i;

function maskHeaders(
  headers: Readonly<Record<string, string>>,
  maskText: (text: string) => string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, maskHeader(name, value, maskText)]),
  );
}

function maskHeader(name: string, value: string, maskText: (text: string) => string): string {
  if (SECRET_HEADER.test(name)) return MASK;
  return name === "location" ? value.replace(/=[^&#]*/g, "=***") : maskText(value);
}

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
    .replace(
      URL_FIELD,
      (_, name: string, colon: string, url: string) => `"${name}"${colon}"${hideValues(url)}"`,
    );

/** Only behind the question mark, since the text is still escaped. */
const hideValues = (url: string): string =>
  url.replace(/\?.*$/s, (query) => query.replace(/=[^&#]*/g, "=***"));
