import { expect, it, vi } from "vitest";
import { signHmac } from "#hmac";
import { describeSignatureContract } from "./signature-contract.js";

vi.mock("#hmac", () => import("../../../provider/responder/hmac-web.js"));

it("runs on WebCrypto", async () => {
  const sign = vi.spyOn(crypto.subtle, "sign");
  await signHmac("key", "body");
  expect(sign).toHaveBeenCalledOnce();
  sign.mockRestore();
});

it("imports a key once", async () => {
  const importKey = vi.spyOn(crypto.subtle, "importKey");
  for (const body of ["a", "b", "c"]) await signHmac("a key used three times", body);
  expect(importKey).toHaveBeenCalledOnce();
  importKey.mockRestore();
});

describeSignatureContract("WebCrypto");
