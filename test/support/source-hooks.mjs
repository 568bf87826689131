/** Lets a thread that a test starts run the sources: an import that names a .js file loads the .ts file. */
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
