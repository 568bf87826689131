import { expect, test } from "vitest";
import { parseUrn } from "../../../provider/lib/urn.js";

test.each([
  ["apichat:index:ApiChatWebhook::acme", "apichat:index:ApiChatWebhook", "acme"],
  ["shop:index:Customer$apichat:index:ApiChatWebhook::acme::eu", "apichat:index:ApiChatWebhook", "acme::eu"],
  ["pulumi:providers:apichat::default_0_1_0", "pulumi:providers:apichat", "default_0_1_0"],
])("the parts of the URN of %s", (end, type, name) => {
  expect(parseUrn(`urn:pulumi:dev::shop::${end}`)).toEqual({ stack: "dev", project: "shop", type, name });
});
