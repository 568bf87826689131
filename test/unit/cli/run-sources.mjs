// Lets Node run the sources as they are: their imports name the files that the build makes.
import { registerHooks } from "node:module";

const sources = /\/(provider|schema)\//;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "#hmac")
      return next(new URL("../../../provider/responder/hmac-node.ts", import.meta.url).href);
    const isSource = specifier.startsWith(".") && sources.test(context.parentURL ?? "");
    return next(isSource ? specifier.replace(/\.js$/, ".ts") : specifier, context);
  },
});
