import { delimiter, join } from "node:path";
import { engineEnvironment } from "../../tools/engine/environment.ts";
import { findPythonSdk } from "../../tools/sdk/python.ts";
import { engine } from "./stack.ts";

/** A Pulumi language whose programs run on the resource plugin here. */
export interface PluginLanguage {
  /** As `apichat init --language` has it; `examples/` has a folder of this name. */
  name: string;
  /** What its programs find in their environment, in place of that of the engine. */
  environment: Record<string, string>;
  /** Stands in for `pulumi install` in the folder of a program. */
  install(folder: string): Promise<void>;
}

const nothing = (): Promise<void> => Promise.resolve();

const { PATH = "" } = engineEnvironment(engine, { home: "", backend: "", passphrase: "" });

/** The set-up of `npm test` has made it, or said that there is no Python on this machine. */
const pythonSdk = await findPythonSdk();

const python = (environment: string): PluginLanguage => ({
  name: "python",
  environment: { PATH: [join(environment, "bin"), PATH].join(delimiter), VIRTUAL_ENV: environment },
  install: nothing,
});

/** Those that run on this machine. */
export const pluginLanguages: PluginLanguage[] = [
  { name: "yaml", environment: {}, install: nothing },
  ...(pythonSdk === undefined ? [] : [python(pythonSdk)]),
];
