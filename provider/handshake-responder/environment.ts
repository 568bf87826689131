/** What the process may know of the provider's environment, which holds the config passphrase and cloud credentials. */
const ALLOWED = [
  "PATH",
  "HOME",
  "TZ",
  "LANG",
  "TMPDIR",
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

/** The whole environment of the process. */
export function processEnvironment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const given = ALLOWED.map((name) => [name, own[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
