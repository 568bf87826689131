/** Lets a thread that a test starts run from the sources, whose imports name the compiled files. */
import { registerHooks } from "node:module";

registerHooks({
  resolve: (specifier, context, next) => {
    try {
      return next(specifier, context);
    } catch (error) {
      if (!specifier.endsWith(".js")) throw error;
      return next(specifier.replace(/js$/, "ts"), context);
    }
  },
});
