import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { Credentials } from "../../../provider/cli/credentials.js";
import { runChecks } from "../../../provider/cli/doctor/run.js";
import { afterTests } from "../../support/http.js";

const modules = fileURLToPath(new URL("../../../node_modules", import.meta.url));

/** A file's content, or the path of what it is a link to. */
type Files = Record<string, string | { link: string }>;

const json = (content: object): string => JSON.stringify(content);

/** The library, with the TypeScript that is inside it, in a folder that finds no other one. */
const pulumi = (place = "node_modules"): Files => ({
  [`${place}/@pulumi/pulumi/package.json`]: json({ name: "@pulumi/pulumi", version: "3.270.0" }),
  [`${place}/@pulumi/pulumi/vendor`]: { link: join(modules, "@pulumi/pulumi/vendor") },
});

/** This package: an ES module with types. */
const apichat = (place = "node_modules"): Files => ({
  [`${place}/pulumi-apichat/package.json`]: json({
    name: "pulumi-apichat",
    version: "0.1.0",
    type: "module",
    exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./package.json": "./package.json" },
  }),
  [`${place}/pulumi-apichat/index.d.ts`]: "export {};\n",
  [`${place}/pulumi-apichat/index.js`]: "",
});

const TYPESCRIPT_6: Files = { "node_modules/typescript": { link: join(modules, "typescript") } };

const project = (more = "", runtime = "nodejs"): Files => ({
  "Pulumi.yaml": `name: shop\nruntime: ${runtime}\n${more}`,
});
const manifest = (more: object = {}, folder = "."): Files => ({
  [join(folder, "package.json")]: json({ name: "shop", dependencies: { "pulumi-apichat": "*" }, ...more }),
});
const compilerOptions = (options: object, folder = "."): Files => ({
  [join(folder, "tsconfig.json")]: json({
    compilerOptions: { strict: true, skipLibCheck: true, ...options },
  }),
});

const TYPESCRIPT = { ...project(), ...manifest(), ...pulumi(), ...apichat(), "index.ts": "" };
const CLASSIC = { module: "commonjs", moduleResolution: "node", target: "es2020" };
const TSX = "{ name: nodejs, options: { typescript: false, nodeargs: --import tsx } }";

const PLUGIN_PATH = "./node_modules/pulumi-apichat/plugin";
const onPlugin = (runtime: string, more: Files = {}): Files => ({
  ...project(`packages: { apichat: ${PLUGIN_PATH} }\n`, runtime),
  ...manifest(),
  ...apichat(),
  [`${PLUGIN_PATH}/pulumi-resource-apichat`]: "",
  ...more,
});
const PYTHON = "{ name: python, options: { toolchain: pip, virtualenv: venv } }";
const python = (...versions: string[]): Files => ({
  "venv/bin/python": `#!/bin/sh\nprintf '%s\\n' ${versions.map((version) => `'${version}'`).join(" ")}\n`,
});
const GO_MOD = "module shop\n\nrequire example.com/pulumi-apichat/sdk/go v0.1.0\n\n";
const GO_REPLACE = "replace example.com/pulumi-apichat/sdk/go => ./sdks/apichat\n";

interface Row {
  /** A folder for each kind of project, as its package manager and Pulumi lay it out. */
  files: Files;
  /** Where the command runs. */
  from?: string;
  /** The checks that fail, with a piece of text or hint; none if `pulumi up` works. */
  fails?: Record<string, RegExp>;
}

const ROWS: Record<string, Row> = {
  "TypeScript without tsconfig.json": { files: { ...TYPESCRIPT, ...TYPESCRIPT_6 } },
  "nodenext without typescript": {
    files: { ...TYPESCRIPT, ...compilerOptions({ module: "nodenext" }) },
    fails: { typescript: /TS6046.*npm install typescript@6/s },
  },
  "commonjs, moduleResolution node, TypeScript 6": {
    files: { ...TYPESCRIPT, ...TYPESCRIPT_6, ...compilerOptions(CLASSIC) },
    fails: { typescript: /TS5107.*ignoreDeprecations/s },
  },
  "commonjs, moduleResolution node, TypeScript 6, ts-node 10": {
    files: {
      ...TYPESCRIPT,
      ...TYPESCRIPT_6,
      ...compilerOptions(CLASSIC),
      "node_modules/ts-node": { link: join(modules, "ts-node") },
    },
  },
  "commonjs alone": {
    files: { ...TYPESCRIPT, ...TYPESCRIPT_6, ...compilerOptions({ module: "commonjs" }) },
    fails: { typescript: /TS5110.*nodenext/s },
  },
  node16: {
    files: {
      ...TYPESCRIPT,
      ...TYPESCRIPT_6,
      ...compilerOptions({ module: "node16", moduleResolution: "node16" }),
    },
    fails: { typescript: /TS1479.*nodenext/s },
  },
  "an ES module in TypeScript": {
    files: { ...TYPESCRIPT, ...TYPESCRIPT_6, ...manifest({ type: "module" }) },
  },
  "JavaScript beside settings for an editor": {
    files: { ...TYPESCRIPT, ...TYPESCRIPT_6, ...compilerOptions(CLASSIC), "index.js": "" },
  },
  "tsx that is not installed": {
    files: { ...TYPESCRIPT, ...project("", TSX) },
    fails: { typescript: /tsx of nodeargs is not installed/ },
  },
  "main: a folder with its own packages": {
    files: {
      ...project("main: app/\n"),
      ...manifest({}, "app"),
      ...pulumi("app/node_modules"),
      ...apichat("app/node_modules"),
      ...compilerOptions(CLASSIC, "app"),
      "app/index.ts": "",
    },
  },
  "an npm workspace that has the packages at its top": {
    files: {
      "package.json": json({ name: "shop", workspaces: ["infra"], dependencies: { "pulumi-apichat": "*" } }),
      "infra/Pulumi.yaml": "name: shop\nruntime: nodejs\n",
      "infra/package.json": json({ name: "infra" }),
      "infra/index.ts": "",
      ...pulumi(),
      ...apichat(),
    },
    from: "infra",
  },
  "a yarn workspace without the package": {
    files: {
      "package.json": json({ name: "shop", workspaces: ["infra"] }),
      "yarn.lock": "",
      "infra/Pulumi.yaml": "name: shop\nruntime: nodejs\n",
      "infra/package.json": json({ name: "infra" }),
      "infra/index.ts": "",
      ...pulumi(),
    },
    from: "infra",
    fails: { "pulumi-apichat": /yarn add pulumi-apichat/ },
  },
  pnpm: {
    files: {
      ...project(),
      ...manifest(),
      "pnpm-lock.yaml": "",
      "index.ts": "",
      ...apichat("node_modules/.pnpm/pulumi-apichat@0.1.0/node_modules"),
      ...pulumi("node_modules/.pnpm/@pulumi+pulumi@3.270.0/node_modules"),
      "node_modules/pulumi-apichat": { link: ".pnpm/pulumi-apichat@0.1.0/node_modules/pulumi-apichat" },
      "node_modules/@pulumi/pulumi": {
        link: "../.pnpm/@pulumi+pulumi@3.270.0/node_modules/@pulumi/pulumi",
      },
    },
  },
  "pnpm, where only a component library depends on it": {
    files: {
      ...project(),
      ...manifest({ dependencies: { components: "*" } }),
      "pnpm-lock.yaml": "",
      "index.ts": "",
      ...pulumi(),
      ...apichat("node_modules/.pnpm/node_modules"),
    },
    fails: { "pulumi-apichat": /pnpm add pulumi-apichat/ },
  },
  "YAML on the plugin": { files: onPlugin("yaml") },
  "YAML before npm install": {
    files: project(`packages: { apichat: ${PLUGIN_PATH} }\n`, "yaml"),
    fails: { plugin: /npm install/ },
  },
  "Python on the plugin": { files: onPlugin(PYTHON, python("3.270.0", "0.1.0")) },
  "Python before pulumi install": {
    files: onPlugin(PYTHON),
    fails: { "virtual env": /venv.*pulumi install/s, SDK: /pulumi install|cannot be run/ },
  },
  "Python without the SDK": {
    files: onPlugin(PYTHON, python("3.270.0", "")),
    fails: { SDK: /pulumi_apichat is not installed.*pulumi install/s },
  },
  "Python with an old library": {
    files: onPlugin(PYTHON, python("3.100.0", "0.1.0")),
    fails: { SDK: /3\.100\.0.*requirements\.txt/s },
  },
  "Go on the plugin": { files: onPlugin("go", { "go.mod": GO_MOD + GO_REPLACE, "sdks/apichat/doc.go": "" }) },
  "Go before pulumi install": {
    files: onPlugin("go", { "go.mod": GO_MOD }),
    fails: { SDK: /replace.*pulumi install/s },
  },
  "Java on the plugin": { files: onPlugin("java", { "sdks/apichat/src/main/java/A.java": "" }) },
  "Java before pulumi install": { files: onPlugin("java"), fails: { SDK: /pulumi install/ } },
  "TypeScript on the plugin": {
    files: onPlugin("nodejs", {
      ...pulumi(),
      "index.ts": "",
      "node_modules/pulumi-apichat-sdk/package.json": json({ name: "pulumi-apichat-sdk", version: "0.1.0" }),
    }),
  },
  "TypeScript on the plugin before pulumi install": {
    files: onPlugin("nodejs", { ...pulumi(), "index.ts": "" }),
    fails: { SDK: /pulumi-apichat-sdk is not installed.*pulumi install/s },
  },
};

async function layOut(files: Files): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "doctor-project-"));
  afterTests(() => rm(folder, { recursive: true, force: true }));
  const all: Files = { ...files, "bin/pulumi": "#!/bin/sh\necho v3.259.0\n" };
  for (const [name, content] of Object.entries(all)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    if (typeof content !== "string") await symlink(content.link, path);
    else await writeFile(path, content);
    if (typeof content === "string" && /\bbin\//.test(name)) await chmod(path, 0o755);
  }
  return folder;
}

it.each(Object.entries(ROWS))("doctor is right about: %s", async (_, { files, from = ".", fails = {} }) => {
  const folder = await layOut(files);
  const checks = runChecks({
    folder: join(folder, from),
    environment: { PATH: join(folder, "bin") },
    credentials: new Credentials({}, () => undefined),
    webhookUrl: undefined,
    limitMs: 10_000,
    signal: new AbortController().signal,
  });
  const failed: Record<string, string> = {};
  for await (const { name, status, text, hint = "" } of checks) {
    if (status === "failed") failed[name] = `${text}\n${hint}`;
  }
  expect(failed).toEqual(
    Object.fromEntries(
      Object.entries(fails).map(([name, pattern]) => [name, expect.stringMatching(pattern)]),
    ),
  );
});
