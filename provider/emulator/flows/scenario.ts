import * as z from "zod";
import type { InboundMessage } from "../../../schema/inbound.js";
import { INBOUND_KINDS, inboundKindOf, MEDIA_KINDS } from "../../../schema/message-kind.js";
import { flowReply, payloadOf, type Flow, type FlowReply } from "./flow.js";

const pattern = z.string().check(({ value, issues }) => {
  try {
    compilePattern(value);
  } catch (error) {
    issues.push({
      code: "custom",
      input: value,
      message: `is not a valid regular expression: ${String(error)}`,
    });
  }
});

/** A pattern that does not compile is reported as that: all else is neither of the two. */
function describeText(issue: z.core.$ZodRawIssue): string {
  const problems = issue.code === "invalid_union" ? issue.errors.flat() : [];
  const problem = problems.find(({ code }) => code === "custom");
  return problem ? `matches ${problem.message}` : 'must be a text, or { matches: "a regular expression" }';
}

const condition = z
  .strictObject({
    /**
     * The text (`content`; for a button press, the button's title). A string must match the whole text, ignoring case and
     * surrounding spaces. `matches` is a JavaScript regular expression, without slashes, that ignores case and may match any
     * part.
     */
    text: z.union([z.string(), z.strictObject({ matches: pattern })], { error: describeText }).optional(),
    /** The payload of the button that was pressed. */
    payload: z.string().optional(),
    /** The `file_type` of an attachment. */
    media: z.enum(MEDIA_KINDS).optional(),
    /** The kind of message: `text`, `button` for a press, `image`, `audio`, `video` or `file`. */
    kind: z.enum(INBOUND_KINDS).optional(),
  })
  .refine((given) => Object.keys(given).length > 0, {
    error: "must name text, payload, media or kind; what replies to everything else is 'otherwise'",
  });

/** What a message must be for a rule: all that is named, and at least one. */
export interface ScenarioCondition extends z.infer<typeof condition> {}

const scenarioRule = z.strictObject({
  when: condition,
  /** What replies, in this order; an empty list is silence. */
  reply: z.array(flowReply),
});

/** One rule of a scenario. */
export interface ScenarioRule extends z.infer<typeof scenarioRule> {}

export const scenario = z.strictObject({
  rules: z.array(scenarioRule),
  /** What replies when no rule matches. Default: nothing. */
  otherwise: z.array(flowReply).optional(),
});

/**
 * A flow written as data (a file, YAML or JSON): the first rule that matches replies. In the texts, titles, subtitles and
 * payloads of replies `{{text}}`, `{{name}}` and `{{payload}}` stand for what the contact wrote, its name, and what it pressed.
 *
 * @example
 * rules:
 *   - when: { text: { matches: "^(oi|olá)" } }
 *     reply: [{ type: text, text: "Olá, {{name}}!" }]
 *   - when: { media: image }
 *     reply: [{ type: text, text: "Obrigado pela foto.", delayMs: 500 }]
 * otherwise: [{ type: text, text: "Não entendi: {{text}}" }]
 */
export interface Scenario extends z.infer<typeof scenario> {}

/** The flow that a scenario describes. */
export function flowOfScenario({ rules, otherwise = [] }: Scenario): Flow {
  const ready = rules.map(({ when, reply }) => ({ matches: compileCondition(when), reply }));
  return ({ message }) => {
    const rule = ready.find(({ matches }) => matches(message));
    return (rule?.reply ?? otherwise).map((reply) => fillReply(reply, message));
  };
}

type Test = (message: InboundMessage) => boolean;

function compileCondition({ text, payload, media, kind }: ScenarioCondition): Test {
  const tests: Test[] = [];
  if (text !== undefined) tests.push(compileText(text));
  if (payload !== undefined) tests.push((message) => payloadOf(message) === payload);
  if (media !== undefined) tests.push((message) => inboundKindOf(message) === media);
  if (kind !== undefined) tests.push((message) => inboundKindOf(message) === kind);
  return (message) => tests.every((test) => test(message));
}

function compileText(text: string | { matches: string }): Test {
  if (typeof text !== "string") {
    const expression = compilePattern(text.matches);
    return ({ content }) => expression.test(content);
  }
  return ({ content }) => foldText(content) === foldText(text);
}

function compilePattern(source: string): RegExp {
  return new RegExp(source, "iu");
}

function foldText(text: string): string {
  return text.trim().toLowerCase();
}

/** The fields of a reply that people or flows read. A URL must be one before it is filled, so none stands in it. */
const FILLED_FIELDS: ReadonlySet<string> = new Set(["text", "title", "subtitle", "payload"]);

const PLACEHOLDER = /\{\{(text|name|payload)\}\}/g;

/** A reply with `{{text}}`, `{{name}}` and `{{payload}}` filled from the message. What the contact wrote is not filled again. */
function fillReply(reply: FlowReply, message: InboundMessage): FlowReply {
  const values: Record<string, string> = {
    text: message.content,
    name: message.sender.name,
    payload: payloadOf(message) ?? "",
  };
  const fill = (text: string): string =>
    text.replaceAll(PLACEHOLDER, (_, name: string) => values[name] ?? "");
  return fillFields(reply, fill);
}

function fillFields<T>(value: T, fill: (text: string) => string): T {
  const text = JSON.stringify(value, (field, held: unknown) =>
    typeof held === "string" && FILLED_FIELDS.has(field) ? fill(held) : held,
  );
  return JSON.parse(text) as T;
}
