/** How the hint of a failure names what can be set: in the words of a program or of a command line. */
export interface Wording {
  /** Follows "If the API key is right, ": goes on although nobody knows what is registered. */
  replaceUnseen: string;
  /** Follows a comma: has a failed handshake of our own only said. */
  warnOnly: string;
  /** Follows a semicolon: does the same once more. */
  again: string;
  /** Waits longer for the endpoint and the service. */
  waitLonger: string;
  /** Looks again and removes what is left. */
  removeAgain: string;
}

export const OF_PROGRAM: Wording = {
  replaceUnseen: 'onExisting: "replace" goes on all the same',
  warnOnly: 'set preflight: "warn"',
  again: "run pulumi up again",
  waitLonger: "raise timeouts.readySeconds",
  removeAgain: "run pulumi refresh and try again",
};
