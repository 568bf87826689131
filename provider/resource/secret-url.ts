import * as pulumi from "@pulumi/pulumi";

/** A query may hold a token, so a URL that has one is kept as a secret. */
export function keepQuerySecret(url: pulumi.Input<string | undefined>): pulumi.Input<string | undefined> {
  if (url === undefined) return undefined;
  // Without an Output in between, which a program of hundreds of webhooks would feel.
  if (typeof url === "string") return mayHoldQuery(url) ? pulumi.secret(url) : url;
  return pulumi
    .output(url)
    .apply((known) => (mayHoldQuery(known) ? pulumi.secret(known) : pulumi.output(known)));
}

/** Whether a URL has a query, or is not known yet. */
export const mayHoldQuery = (url: unknown): boolean => typeof url !== "string" || url.includes("?");
