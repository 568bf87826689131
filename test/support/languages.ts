import { delimiter, join } from "node:path";
import { execa } from "execa";
import { engineEnvironment } from "../../tools/engine/environment.ts";
import { findPythonSdk } from "../../tools/sdk/python.ts";
import { engine } from "./stack.ts";

/** A Pulumi language whose programs run on the resource plugin here. */
export interface PluginLanguage {
  /** As `apichat init --language` has it; `examples/` has a folder of this name. */
  name: string;
  /** What its programs find in their environment, in place of that of the engine. */
  environment: Record<string, string>;
  /** `pulumi install` in the folder of a program, or what stands in for it where the host that could be built is too old. */
  install(folder: string, environment: Record<string, string>): Promise<unknown>;
}

const { PATH = "" } = engineEnvironment(engine, { home: "", backend: "", passphrase: "" });

/** The set-up of `npm test` has made it, or said that there is no Python on this machine. */
const pythonSdk = await findPythonSdk();

const python = (environment: string): PluginLanguage => ({
  name: "python",
  environment: { PATH: [join(environment, "bin"), PATH].join(delimiter), VIRTUAL_ENV: environment },
  install: async () => {},
});

/** Those that run on this machine. */
export const pluginLanguages: PluginLanguage[] = [
  {
    name: "yaml",
    environment: {},
    install: (cwd, env) => execa("pulumi", ["install"], { cwd, env, extendEnv: false }),
  },
  ...(pythonSdk === undefined ? [] : [python(pythonSdk)]),
];
