import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeArchive } from "../../tools/release/archives.ts";
import type { Platform } from "../../tools/release/platforms.ts";
import { afterTests } from "./http.ts";

const certificate = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/certificates/${name}`, import.meta.url));

const platform = `${process.platform}-${process.arch.replace("x64", "amd64")}` as Platform;

/** A static server on loopback with the archive of the plugin for this machine, as a release contains it. */
export interface PluginServer {
  /** The value of `pluginDownloadURL`. */
  url: string;
  /** In hex. */
  sha256: string;
  /** The path of the archive on the server. */
  path: string;
  /** The paths that were requested. */
  downloads: string[];
  /** Variables that the engine needs to trust this server, and to download plugins. */
  environment: Record<string, string>;
}

/**
 * Uses HTTP/2, as release hosts do. Over HTTP/1.1, the engine would not hash an archive's last bytes, and
 * would find every checksum wrong. The server's folder `damaged` contains a shortened archive; its folder
 * `unsized` contains the whole archive, which is sent without Content-Length.
 */
export async function servePlugin(folder: string): Promise<PluginServer> {
  const outFolder = join(folder, "archives");
  await writeArchive(platform, { outFolder, signal: new AbortController().signal });
  const [name = ""] = await readdir(outFolder);
  const archive = await readFile(join(outFolder, name));
  const path = `/${name}`;
  const [key, cert] = await Promise.all(
    ["server.key", "good.crt"].map((file) => readFile(certificate(file))),
  );
  const downloads: string[] = [];
  const server = createSecureServer({ key: key ?? "", cert: cert ?? "" }, ({ url }, response) => {
    downloads.push(url);
    if (![path, `/damaged${path}`, `/unsized${path}`].includes(url)) return response.writeHead(404).end();
    const body = url === `/damaged${path}` ? archive.subarray(0, 1_000_000) : archive;
    if (url !== `/unsized${path}`) response.setHeader("content-length", body.length);
    return response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterTests(() => server.close());
  const environment = {
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "false",
    SSL_CERT_FILE: certificate("authority.crt"),
  };
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, sha256: hash("sha256", archive), path, downloads, environment };
}
