import { expect, it } from "vitest";
import { readRefusal } from "../../../provider/emulator/page/refusal.ts";
import { control, inbound } from "../emulator/control-harness.ts";
import { startAcme } from "../emulator/harness.ts";

it("reads what bot_url answered to a message that it does not take", async () => {
  const { emulator } = await startAcme();
  const route = "POST /_emulator/workspaces/acme/messages";
  const { status, text } = await control(emulator, route, { ...inbound, content: 1 });
  const body = { message: expect.stringContaining("content: must be a text") as string };
  expect(status).toBe(422);
  expect(readRefusal(text)).toMatchObject({ status: 422, body });
});

it("reads what the emulator itself refuses", async () => {
  const { emulator } = await startAcme();
  const { text } = await control(emulator, "GET /_emulator/workspaces/globex");
  expect(readRefusal(text)).toMatchObject({ message: 'there is no workspace named "globex"' });
});

it.each(["", "<html>", "null", "7", '"no"', "[]", "{}", '{"error":"no"}', '{"status":"error"}'])(
  "reads nothing in %j, which is not the emulator's",
  (text) => {
    expect(readRefusal(text)).toBeUndefined();
  },
);
