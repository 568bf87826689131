import type * as z from "zod";
import * as received from "../../../schema/received-outbound.js";
import { samples, type SampleName } from "../../../tools/schema/samples.ts";
import { outboundCorpus } from "./corpus-outbound.js";
import { literal, missing, receivedUrl, type CorpusEntry, type ValuesByPath } from "./corpus-values.js";

/** Values at one path that are not in the form of the specification, and what all of them are read as. */
type Written = readonly [path: string, values: readonly unknown[], read: unknown];

const attributes = "content_attributes";
const card = `${attributes}.items.0`;

const writtenInDelivery: Written[] = [
  ["sender_id", [42], "42"],
  ["conv_id", ["42"], 42],
  ["conv_id", ["-9007199254740993"], -9007199254740993n],
  ["message_type", [missing, null, ""], "outgoing"],
  ["private", [missing, null, "", 0, "0", "false"], false],
  ["private", [1, "1", "true"], true],
];
const emptyText = [missing, null];
const emptyList = [missing, null, "", [], {}];
const writtenButtons = (path: string): Written[] => [
  [path, emptyList, []],
  [
    path,
    [{ 1: { type: "postback", title: 1, payload: 2 } }],
    [{ type: "postback", title: "1", payload: "2" }],
  ],
  [`${path}.0.type`, emptyText, ""],
  [`${path}.0.title`, emptyText, ""],
  [`${path}.0.payload`, emptyText, ""],
];

/** By the name of a sample. */
export const written = {
  OutboundText: [...writtenInDelivery, ["text", [42], "42"], ["content_type", [""], null]],
  OutboundImage: [...writtenInDelivery, ["url", ["//cdn.example/a b.png"], "https://cdn.example/a b.png"]],
  OutboundButtonTemplate: [
    ...writtenInDelivery,
    ["text", emptyText, ""],
    [attributes, [...emptyText, "", [], {}], { text: "", buttons: [] }],
    [`${attributes}.text`, emptyText, ""],
    ...writtenButtons(`${attributes}.buttons`),
  ],
  OutboundGenericTemplate: [
    ...writtenInDelivery,
    ["text", emptyText, ""],
    [attributes, [...emptyText, "", [], {}], { ratio: "", items: [] }],
    [`${attributes}.ratio`, emptyText, ""],
    [`${attributes}.items`, emptyList, []],
    [`${card}.title`, emptyText, ""],
    [`${card}.title`, [2026], "2026"],
    [`${card}.image_url`, emptyText, ""],
    [`${card}.image_url`, ["//cdn.example/a"], "https://cdn.example/a"],
    [`${card}.item_url`, [missing, ""], null],
    [`${card}.item_url`, ["//shop.example/a"], "https://shop.example/a"],
    [`${card}.subtitle`, emptyText, ""],
    [`${card}.default_action`, [missing, [], ""], null],
    ...writtenButtons(`${card}.buttons`),
  ],
} satisfies Partial<Record<SampleName, Written[]>>;

export type WrittenName = keyof typeof written;

const notTexts = [true, ["x"], { x: "x" }];
const notUrls = receivedUrl.filter((value) => value !== "" && value !== null && value !== missing);
const rejectedInDelivery: ValuesByPath = {
  sender_id: [missing, null, ...notTexts],
  conv_id: [missing, null, "", "4 2", "1.5", 1.5, true, [42], "1".repeat(41)],
  message_type: ["incoming", "Outgoing", 0, false],
  private: [2, "no", "FALSE", [], {}],
};
const notLists = ["x", 5, true, ["x"], { 1: "x" }, { type: "postback" }];
const rejectedButtons = (path: string): ValuesByPath => ({
  [path]: notLists,
  [`${path}.0`]: [null, "x", 5],
  [`${path}.0.type`]: notTexts,
  [`${path}.0.title`]: notTexts,
  [`${path}.0.payload`]: notTexts,
});

const rejected: Record<WrittenName, ValuesByPath> = {
  OutboundText: {
    ...rejectedInDelivery,
    type: literal("text"),
    text: [missing, null, ...notTexts],
    content_type: ["button_template", 5, []],
  },
  OutboundImage: {
    ...rejectedInDelivery,
    type: [...literal("image"), "text"],
    url: [...receivedUrl, "///a", "//"],
  },
  OutboundButtonTemplate: {
    ...rejectedInDelivery,
    type: literal("text"),
    text: notTexts,
    content_type: literal("button_template"),
    [attributes]: ["x", 5, ["x"]],
    [`${attributes}.text`]: notTexts,
    ...rejectedButtons(`${attributes}.buttons`),
  },
  OutboundGenericTemplate: {
    ...rejectedInDelivery,
    type: literal("text"),
    text: notTexts,
    content_type: literal("generic_template"),
    [attributes]: ["x", 5, ["x"]],
    [`${attributes}.ratio`]: notTexts,
    [`${attributes}.items`]: notLists,
    [card]: [null, "x", 5],
    [`${card}.title`]: notTexts,
    [`${card}.image_url`]: notUrls,
    [`${card}.item_url`]: notUrls,
    [`${card}.subtitle`]: notTexts,
    [`${card}.default_action`]: ["x", 5, ["x"], true],
    ...rejectedButtons(`${card}.buttons`),
  },
};

/** What is accepted of each field: as the specification has it, and as it may be written otherwise. */
function acceptedIn(name: WrittenName): ValuesByPath {
  const accepted: Record<string, unknown[]> = {};
  const bySpecification = outboundCorpus.find(({ shape }) => shape.valid === samples[name])?.accepted ?? {};
  for (const [path, values] of [...Object.entries(bySpecification), ...written[name]]) {
    (accepted[path] ??= []).push(...values);
  }
  return accepted;
}

const zodByName: Record<string, unknown> = { ...received };

/** The seven kinds of deliveries (section 2.4) as they may be written. */
export const receivedCorpus: readonly CorpusEntry[] = (Object.keys(written) as WrittenName[]).map((name) => {
  const type = name === "OutboundImage" ? "ReceivedMedia" : name.replace("Outbound", "Received");
  const ref = `received-outbound.schema.json#/definitions/${type}`;
  const zod = zodByName[`r${type.slice(1)}`] as z.ZodType;
  return {
    shape: { name: type, ref, zod, valid: samples[name] },
    accepted: acceptedIn(name),
    rejected: rejected[name],
  };
});
