/**
 * How the flow API key is presented. The specification does not say (section 5): a bearer token is a guess, because the
 * add-on is described as using bearer authentication. This is the only place that knows.
 */
export const flowKeyHeaders = (flowApiKey: string): Record<string, string> => ({
  authorization: `Bearer ${flowApiKey}`,
});

export const FLOW_KEY_HINT =
  "The flow API key is not the API key of the registration interface; it needs the permission " +
  '"Gerenciar Fluxo" (manage flow). It is sent as "Authorization: Bearer": the service\'s specification does not say how';

/** What is wrong with a flow API key, as a list of at most one. */
export function flowKeyFlaws(flowApiKey: string): string[] {
  if (!flowApiKey) return [`flowApiKey: is missing. ${FLOW_KEY_HINT}`];
  if (/^[\x21-\x7e]+$/.test(flowApiKey)) return [];
  return [
    "flowApiKey: holds a character that its header cannot carry, such as white space or a line break; copy it once more",
  ];
}
