import { printNote } from "../print.js";
import { openInBrowser } from "./browser.js";

/** Which page to show, and why. */
export interface Page {
  /** A sentence without the URL. */
  readonly text: string;
  readonly url: string;
  /** Opened instead of `url`, such as the same page with the code filled in. */
  readonly opened?: string | undefined;
}

/** Prints a page on stderr and opens it, unless the user wants no browser. */
export async function showPage({ text, url, opened = url }: Page, browser: boolean): Promise<void> {
  const isOpened = browser && (await openInBrowser(opened));
  // A text of several lines could pass for another page.
  printNote(`${text.replace(/\s+/gu, " ")}\n${isOpened ? "Opened in your browser" : "Open in a browser"}: ${url}`);
}
