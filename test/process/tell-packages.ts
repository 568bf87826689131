/** A module for `node --import`: it writes each package that is loaded on stderr. */
export const TELL_PACKAGES = `
import { writeSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url) ?? [];
    if (name !== undefined) writeSync(2, name + "\\n");
    return next(url, context);
  },
});
`;
