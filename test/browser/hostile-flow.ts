import type { EmulatorOptions } from "pulumi-apichat/emulator";
import { HOSTILE } from "./hostile-texts.ts";

type Flow = Exclude<NonNullable<EmulatorOptions["flow"]>, string>;

/** Replies once with all seven kinds, every text of them hostile; fails when it is told to, and is silent afterwards. */
export function hostileFlow(address: string): Flow {
  const buttons = [{ type: "postback", title: HOSTILE, payload: HOSTILE }];
  const card = { title: HOSTILE, subtitle: HOSTILE, image_url: address, item_url: address, buttons };
  const items = [{ ...card, default_action: { type: HOSTILE, url: HOSTILE } }, card];
  return ({ message, messagesBefore }) => {
    if (message.content === "fail") throw new Error(HOSTILE);
    if (message.content === "once more") return [{ type: "text", text: HOSTILE }];
    if (messagesBefore > 0) return [];
    return [
      { type: "text", text: HOSTILE },
      {
        type: "text",
        text: HOSTILE,
        content_type: "button_template",
        content_attributes: { text: HOSTILE, buttons },
      },
      {
        type: "text",
        text: HOSTILE,
        content_type: "generic_template",
        content_attributes: { ratio: HOSTILE, items },
      },
      { type: "image", url: address },
      { type: "audio", url: address },
      { type: "video", url: address },
      { type: "file", url: address },
    ];
  };
}
