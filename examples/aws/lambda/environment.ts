/** Reads environment variables that the Pulumi program sets. Throws if one of them is missing. */
export function readEnvironment<Name extends string>(...names: Name[]): Record<Name, string> {
  const values = names.map((name) => {
    const value = process.env[name];
    if (!value) throw new Error(`the environment variable ${name} is not set`);
    return [name, value];
  });
  return Object.fromEntries(values) as Record<Name, string>;
}
