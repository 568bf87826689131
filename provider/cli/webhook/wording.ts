import type { Wording } from "../../webhook/wording.js";

/** How hints name what can be set on the command line. */
export const OF_COMMAND: Wording = {
  replaceUnseen: "--replace goes on all the same",
  warnOnly: "use --preflight warn",
  again: "run it again",
  waitLonger: "raise --ready-seconds",
  removeAgain: "look with apichat webhook get and try again",
};
