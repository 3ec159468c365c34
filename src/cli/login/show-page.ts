import { printNote } from "../print.js";
import { openInBrowser } from "./browser.js";

/** A page to show, with the reason. */
export interface Page {
  /** A sentence without the URL. */
  readonly text: string;
  readonly url: string;
  /** Opened instead of `url`, such as the same page with the code filled in. */
  readonly urlToOpen?: string | undefined;
}

/** Prints a page on stderr and opens it, unless the user wants no browser. */
export async function showPage({ text, url, urlToOpen = url }: Page, browser: boolean): Promise<void> {
  const isOpened = browser && (await openInBrowser(urlToOpen));
  // A text of several lines could pass for another page.
  printNote(`${text.replace(/\s+/gu, " ")}\n${isOpened ? "Opened in your browser" : "Open in a browser"}: ${url}`);
}
