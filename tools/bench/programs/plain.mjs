/**
 * What `up` and `destroy` need, as users write it today: a closure, which Pulumi serializes with all that it captures. It leaves out
 * what ours does without a call: limits, retries, explanations.
 */
import * as pulumi from "@pulumi/pulumi";

/**
 * @typedef {Record<"name" | "baseUrl" | "apiKey" | "webhookUrl" | "webhookVerificationKey", string>} WebhookArgs
 * @typedef {WebhookArgs} Inputs
 * @typedef {Inputs & { status: string, botUrl: string }} State
 * @typedef {{ webhook_url: string, webhook_status: string, bot_url: string }} Configuration
 */

/**
 * @param {Inputs} inputs
 * @param {string} action
 * @param {object} [fields]
 * @returns {Promise<Configuration>}
 */
async function callService(inputs, action, fields) {
  const response = await fetch(`${inputs.baseUrl}?action=${action}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ChaveApi: inputs.apiKey, ...fields }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${action}: HTTP ${response.status}: ${text}`);
  const { status, data } = JSON.parse(text);
  if (status !== "ok") throw new Error(`${action}: ${text}`);
  return data;
}

/**
 * @param {Inputs} inputs
 * @param {"form" | "json"} encoding
 */
async function tryHandshake(inputs, encoding) {
  const challenge = crypto.randomUUID();
  const parameters = {
    hub_mode: "subscribe",
    hub_verify_token: inputs.webhookVerificationKey,
    hub_challenge: challenge,
  };
  /** @type {RequestInit} */
  const request =
    encoding === "form"
      ? { body: new URLSearchParams(parameters) }
      : { body: JSON.stringify(parameters), headers: { "content-type": "application/json" } };
  const response = await fetch(inputs.webhookUrl, { method: "POST", ...request });
  return (await response.text()) === challenge;
}

/**
 * @param {Inputs} inputs
 * @returns {Promise<State>}
 */
async function setWebhook(inputs) {
  const passed = await Promise.all([tryHandshake(inputs, "form"), tryHandshake(inputs, "json")]);
  if (!passed.includes(true)) throw new Error(`${inputs.webhookUrl} does not answer the handshake`);
  const seen = await callService(inputs, "set-webhook", {
    webhook_url: inputs.webhookUrl,
    webhook_verification_key: inputs.webhookVerificationKey,
  });
  if (seen.webhook_url !== inputs.webhookUrl || seen.bot_url === "") {
    throw new Error(`${inputs.baseUrl} shows ${seen.webhook_url} after set-webhook`);
  }
  return { ...inputs, status: seen.webhook_status, botUrl: seen.bot_url };
}

/** @type {pulumi.dynamic.ResourceProvider<Inputs, State>} */
const provider = {
  async create(inputs) {
    const seen = await callService(inputs, "get-webhook");
    if (seen.webhook_url !== "" && seen.webhook_url !== inputs.webhookUrl) {
      throw new Error(`${inputs.baseUrl} has the webhook ${seen.webhook_url} already`);
    }
    const outs = await setWebhook(inputs);
    return { id: outs.botUrl, outs };
  },
  async delete(_id, props) {
    const seen = await callService(props, "get-webhook");
    if (seen.webhook_url !== props.webhookUrl) return;
    const left = await callService(props, "delete-webhook");
    if (left.webhook_url !== "") throw new Error(`${props.baseUrl} still shows ${left.webhook_url}`);
  },
};

export class PlainWebhook extends pulumi.dynamic.Resource {
  /** @param {WebhookArgs} args */
  constructor({ name, ...args }) {
    super(provider, name, {
      name,
      ...args,
      apiKey: pulumi.secret(args.apiKey),
      webhookVerificationKey: pulumi.secret(args.webhookVerificationKey),
      botUrl: undefined,
      status: undefined,
    });
  }
}
