import type { Flow } from "./flow.js";

/** Says the same again: the text, which button was pressed, or media of the same kind and URL. */
export const echo: Flow = ({ message }) => {
  if ("attachments" in message) {
    const [{ file_type: type, data_url: url }] = message.attachments;
    return [{ type, url }];
  }
  const pressed = message.event === "message_postback";
  return [{ type: "text", text: pressed ? `You pressed ${message.content}` : message.content }];
};
