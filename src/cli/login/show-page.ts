import { spawn } from "node:child_process";
import { createInterface } from "node:readline/promises";
import { noop } from "../../protocol/async/noop.js";
import { printable, printNote } from "../print.js";

/** A page to show, with the reason. */
export interface Page {
  /** A sentence without the URL. */
  readonly text: string;
  readonly url: string;
  /** Opened instead of `url`, such as the same page with the code filled in. */
  readonly urlToOpen?: string | undefined;
}

/** Which pages open without a question. */
export interface PageOptions {
  /** Whether the user wants a browser. */
  readonly browser: boolean;
  /** Origins that the user trusts, on the internet or not. */
  readonly trust?: readonly string[] | undefined;
}

/**
 * Prints the URL of a page on stderr and opens it, unless the user wants no browser. An agent or a card chose the URL, and
 * the browser runs on this machine. So a page that is not on the internet opens only if the user agrees.
 */
export async function showPage({ text, url, urlToOpen = url }: Page, { browser, trust }: PageOptions): Promise<void> {
  // A text of several lines could pass for another page.
  const show = (note: string, shown = url): void => printNote(`${text.replace(/\s+/gu, " ")}\n${note}: ${shown}`);
  const page = URL.parse(urlToOpen);
  const canOpen = browser && findOpener(process.platform, process.env) !== undefined;
  // Other schemes start other programs.
  if (!canOpen || page === null || !/^https?:$/.test(page.protocol)) return show("Open in a browser");
  if (trust?.some((origin) => URL.parse(origin)?.origin === page.origin) || (await isPublic(page.hostname))) {
    return show((await openInBrowser(page.href)) ? "Opened in your browser" : "Open in a browser");
  }
  show(`Not opened, since it is not on the internet (--trust ${page.origin} opens it)`, page.href);
  // The command continues meanwhile: the user may open the page elsewhere.
  if (process.stdin.isTTY && process.stderr.isTTY) void askToOpen(page).catch(noop);
}

/** Time limit for resolving a name, in milliseconds. */
const lookupMs = 5_000;

/** Whether a host, in the form of `URL.hostname`, has only public addresses. */
async function isPublic(host: string): Promise<boolean> {
  const { addressPolicy, allowedAddresses } = await import("../../binding/fetch/address-policy.js");
  // A name that cannot be resolved does not count as public.
  const late = new Promise<readonly string[]>((resolve) => setTimeout(resolve, lookupMs, []).unref());
  const lookup = allowedAddresses(host, addressPolicy("public", "--trust")).catch(() => []);
  return (await Promise.race([lookup, late])).length > 0;
}

/** One question at a time. */
let lastQuestion: Promise<unknown> = Promise.resolve();

function askToOpen(page: URL): Promise<void> {
  const question = async (): Promise<void> => {
    // Not in raw mode: Ctrl-C stays a signal.
    const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
    // A question does not keep the command running.
    process.stdin.unref();
    const answer = await terminal.question(printable(`Open ${page.origin} in your browser? [y/N] `));
    terminal.close();
    if (/^y(?:es)?$/i.test(answer.trim())) await openInBrowser(page.href);
  };
  const asked = lastQuestion.then(question, question);
  lastQuestion = asked;
  return asked;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The program that opens a URL on this machine, with its arguments. `undefined` without a desktop. */
export function findOpener(platform: NodeJS.Platform, env: Environment): readonly [string, ...string[]] | undefined {
  const program = env["BROWSER"];
  if (program !== undefined && program !== "") return [program];
  if (platform === "darwin") return ["open"];
  // A shell would read the URL.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] === undefined && env["WAYLAND_DISPLAY"] === undefined ? undefined : ["xdg-open"];
}

/** Opens a page in the user's browser. Resolves with false when no program for it could be started. */
async function openInBrowser(url: string): Promise<boolean> {
  const [program, ...args] = findOpener(process.platform, process.env) ?? [];
  if (program === undefined) return false;
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.unref();
  return new Promise((resolve) => {
    child.once("spawn", () => resolve(true));
    child.once("error", () => resolve(false));
  });
}
