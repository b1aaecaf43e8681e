import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
} from "node:fs";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { type Browser, chromium } from "playwright-core";
import { REPOSITORY } from "../../harness/modules";

const PACKAGE = path.join(REPOSITORY, "node_modules/@sparticuz/chromium");

/** Starts a browser: the Chromium in a devDependency on Linux, or an installed Chrome. Without one, the warning stands out. */
export async function startBrowser(): Promise<Browser | undefined> {
  const isPackaged = process.platform === "linux" && process.arch === "x64";
  try {
    if (!isPackaged) return await chromium.launch({ channel: "chrome" });
    return await chromium.launch({ executablePath: await packagedBrowser(), chromiumSandbox: false });
  } catch (error) {
    console.warn(`!!! No browser starts: the emulator's page is NOT tested in one. !!!\n${error}`);
    return undefined;
  }
}

/** Unpacks the browser, unless an earlier run did. Runs in parallel may both do so. */
async function packagedBrowser(): Promise<string> {
  const { version }: { version?: unknown } = JSON.parse(
    readFileSync(path.join(PACKAGE, "package.json"), "utf8"),
  );
  const folder = path.join(REPOSITORY, "node_modules/.cache/pulumi-cloudinfra");
  const file = path.join(folder, `chromium-${version}`);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const unfinished = `${file}-${process.pid}`;
  const source = createReadStream(path.join(PACKAGE, "bin/chromium.br"));
  await pipeline(source, createBrotliDecompress(), createWriteStream(unfinished, { mode: 0o755 }));
  renameSync(unfinished, file);
  return file;
}
