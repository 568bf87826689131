/** A Pulumi language whose programs run on the resource plugin here. */
export interface PluginLanguage {
  /** As `apichat init --language` has it; `examples/` has a folder of this name. */
  name: string;
  /** What its programs find in their environment, beside that of the engine. */
  environment: Record<string, string>;
  /** Stands in for `pulumi install` in the folder of a program. */
  install(folder: string): Promise<void>;
}

const nothing = (): Promise<void> => Promise.resolve();

/** Those that run on this machine. */
export const pluginLanguages: PluginLanguage[] = [{ name: "yaml", environment: {}, install: nothing }];
