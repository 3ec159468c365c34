/** Figures of prose: plain text, or Markdown with its markup set aside. ICU says where words and sentences end. */

export type TextFormat = "plain" | "markdown";

export interface SizeFigures {
  /** Length in UTF-8. */
  readonly bytes: number;
  /** What a reader sees as one character: an emoji with its modifiers counts once. */
  readonly characters: number;
  readonly lines: number;
}

export interface MarkdownFigures {
  readonly headings: number;
  readonly links: number;
  /** Fenced blocks; their content is not counted as words. */
  readonly codeBlocks: number;
}

export interface Prose {
  /** Paragraphs, list items and headings, each ended by U+2029. */
  readonly text: string;
  readonly paragraphs: number;
  readonly markdown?: MarkdownFigures;
}

export interface WordFigures {
  readonly words: number;
  readonly sentences: number;
  /** Occurrences of each word, in lower case. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface TermCount {
  readonly term: string;
  readonly count: number;
}

export interface ReadingEase {
  /** Flesch reading ease: mostly 0 to 100, higher is easier; very long or very short sentences leave that range. */
  readonly score: number;
  readonly level: string;
  readonly syllables: number;
}

const wordsPerMinute = 200;
const maxTermLength = 40;
const minLatinShare = 0.8;

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const wordSegments = new Intl.Segmenter("en", { granularity: "word" });
const sentenceSegments = new Intl.Segmenter("en", { granularity: "sentence" });

const stopWords: ReadonlySet<string> = new Set(
  `a about above after again against all also am an and any are aren't as at be because been before being below between
  both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each either else even
  ever every few for from further get got had hadn't has hasn't have haven't having he he'd he'll he's her here here's
  hers herself him himself his how however i i'd i'll i'm i've if in into is isn't it it's its itself just let let's may
  me might more most much must mustn't my myself neither no nor not now of off on once one only onto or other our ours
  ourselves out over own per rather same shall shan't she she'd she'll she's should shouldn't since so some such than
  that that's the their theirs them themselves then there there's these they they'd they'll they're they've this those
  though through thus to too under until up upon us very via was wasn't we we'd we'll we're we've were weren't what
  what's when where whether which while who who's whom whose why will with within without won't would wouldn't yet you
  you'd you'll you're you've your yours yourself yourselves`.split(/\s+/u),
);

export function sizeFigures(content: string): SizeFigures {
  const lines = content.split("\n");
  let characters = lines.length - 1;
  lines.forEach((line, index) => {
    // CR LF is one character, and the LF is counted already.
    characters += countGraphemes(index < lines.length - 1 && line.endsWith("\r") ? line.slice(0, -1) : line);
  });
  const open = lines.at(-1) === "" ? 1 : 0;
  return { bytes: Buffer.byteLength(content), characters, lines: lines.length - open };
}

function countGraphemes(line: string): number {
  if (/^\p{ASCII}*$/u.test(line)) return line.length;
  let count = 0;
  for (const _ of graphemes.segment(line)) count += 1;
  return count;
}

export function proseOf(content: string, format: TextFormat): Prose {
  const text = content.replace(/^\uFEFF/u, "").replace(/\r\n?/gu, "\n");
  const source = format === "markdown" ? stripMarkdown(text) : { text };
  const blocks = source.text.split(/\n\s*\n/u).map((block) => block.trim());
  const textBlocks = blocks.filter((block) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(block));
  // After stripping, only a heading starts with "# ".
  const headings = format === "markdown" ? textBlocks.filter((block) => block.startsWith("# ")).length : 0;
  return { ...source, text: textBlocks.map(unwrap).join("\u2029"), paragraphs: textBlocks.length - headings };
}

/** Joins wrapped lines, so that a line end is no sentence end; list items and table rows stay apart. */
function unwrap(block: string): string {
  return block.replace(/\n(?=[^\S\n]*(?:[-*+•|]|\d{1,3}[.)])[^\S\n])/gu, "\u2029").replaceAll("\n", " ");
}

// Every pattern below takes linear time on hostile input: no class may run over the mark that starts the pattern.
function stripMarkdown(text: string): { text: string; markdown: MarkdownFigures } {
  const blocks = stripBlocks(withoutFrontMatter(text).split("\n"));
  let links = 0;
  const link = (_all: string, label = ""): string => {
    links += 1;
    return label;
  };
  const plainLines = blocks.lines
    .join("\n")
    .replace(/(?<!`)(`{1,3})(?!`)([^`\n]+)\1(?!`)/gu, (_all, _ticks, code: string) => code.replace(/[[\]<>*!&]/gu, " "))
    .replace(/<!--(?:[^<]|<(?!!--))*?-->/gu, "")
    .replace(/\[\^[^[\]\s]+\]:?/gu, "")
    .replace(/^ {0,3}\[[^[\]\n]+\]:.*$/gmu, "")
    .replace(/!\[([^[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^[\]]*\])/gu, "$1")
    .replace(/\[([^[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^[\]]*\])/gu, link)
    .replace(/<?\bhttps?:\/\/[^\s<>()]+>?/giu, () => link(""))
    .replace(/<\/?[a-z][^<>]*>/giu, "")
    .replace(/&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/giu, " ")
    .replace(/[*~`]+|\\(?=[!-/:-@[-`{-~])/gu, "")
    .replace(/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, "");
  return { text: plainLines, markdown: { headings: blocks.headings, links, codeBlocks: blocks.codeBlocks } };
}

function withoutFrontMatter(text: string): string {
  const end = /^---\n[\w-]+:/u.test(text) ? text.indexOf("\n---\n", 3) : -1;
  return end < 0 ? text : text.slice(end + 5);
}

interface StrippedBlocks {
  readonly lines: readonly string[];
  readonly headings: number;
  readonly codeBlocks: number;
}

/** Drops fenced code, sets headings apart as "# …" and writes every list marker as "• ". */
function stripBlocks(source: readonly string[]): StrippedBlocks {
  const lines: string[] = [];
  let headings = 0;
  let codeBlocks = 0;
  let fence: string | undefined;
  const heading = (text: string): void => {
    headings += 1;
    lines.push("", `# ${text}`, "");
  };
  for (const rawText of source) {
    const line = rawText.replace(/^(?: {0,3}>)+ ?/u, "");
    const mark = /^\s*(`{3,}(?=[^`]*$)|~{3,})/u.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
    } else if (mark !== undefined) {
      codeBlocks += 1;
      fence = mark;
      lines.push("");
    } else if (/^ {0,3}#{1,6}(?:\s|$)/u.test(line)) {
      heading(line.replace(/^[ #]+/u, ""));
    } else if (/^ {0,3}(?:=+|-+)\s*$/u.test(line) && /^[^\s•|]/u.test(lines.at(-1) ?? "")) {
      heading(lines.pop() ?? "");
    } else {
      lines.push(line.replace(/^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ x]\]\s)?/iu, "• "));
    }
  }
  return { lines, headings, codeBlocks };
}

export function wordFigures(prose: Prose): WordFigures {
  const counts = new Map<string, number>();
  let words = 0;
  for (const { segment, isWordLike } of wordSegments.segment(prose.text)) {
    if (!isWordLike) continue;
    const word = segment.normalize("NFC").toLowerCase().replaceAll("’", "'");
    counts.set(word, (counts.get(word) ?? 0) + 1);
    words += 1;
  }
  return { words, sentences: countSentences(prose.text), counts };
}

function countSentences(text: string): number {
  let sentences = 0;
  let pending = false;
  for (const { segment } of sentenceSegments.segment(text)) {
    pending ||= /[\p{L}\p{N}]/u.test(segment);
    // ICU ends a sentence after "Dr." and after an initial; the next segment carries on.
    const abbreviation = /(?:^|[\s(])(?:[A-HJ-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e)\. ?$/u;
    if (!pending || abbreviation.test(segment.slice(-8))) continue;
    sentences += 1;
    pending = false;
  }
  return sentences + (pending ? 1 : 0);
}

/** Seconds to read that many words at 200 words a minute, rounded up. */
export function readingSeconds(words: number): number {
  return Math.ceil((words * 60) / wordsPerMinute);
}

/** The most frequent words that are no English stop words, numbers or single Latin letters; ties in code unit order. */
export function frequentTerms(figures: WordFigures, limit = 10): readonly TermCount[] {
  const terms = new Map<string, number>();
  for (const [word, count] of figures.counts) {
    const term = word.replace(/'s$/u, "");
    if (stopWords.has(word) || stopWords.has(term) || !/\p{L}/u.test(term) || /^[a-z]$/u.test(term)) continue;
    terms.set(term, (terms.get(term) ?? 0) + count);
  }
  return [...terms]
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, limit)
    .map(([term, count]) => ({ term: Array.from(term).slice(0, maxTermLength).join(""), count }));
}

/** The Flesch score, made for English; undefined where hardly any word is in Latin script. */
export function readingEase(figures: WordFigures): ReadingEase | undefined {
  let syllables = 0;
  let latin = 0;
  let letterWords = 0;
  for (const [word, count] of figures.counts) {
    syllables += syllablesOf(word) * count;
    if (/\p{Script=Latin}/u.test(word)) latin += count;
    if (/\p{L}/u.test(word)) letterWords += count;
  }
  if (latin === 0 || latin / letterWords < minLatinShare) return undefined;
  const rawScore =
    206.835 - 1.015 * (figures.words / Math.max(1, figures.sentences)) - 84.6 * (syllables / figures.words);
  const score = Math.round(rawScore * 10) / 10;
  return { score, level: levelOf(score), syllables };
}

/** Counts vowel groups, less a silent final "e", "es" or "ed". */
function syllablesOf(word: string): number {
  const letters = word.normalize("NFD").replace(/\p{M}/gu, "");
  const silent =
    /[^aeiouy](?:e|es|ed)$/u.test(letters) && !/(?:[^aeiouy]le[sd]?|[td]ed|(?:[sxz]|[cs]h|[cg])es)$/u.test(letters);
  return Math.max(1, (letters.match(/[aeiouy]+/gu)?.length ?? 0) - (silent ? 1 : 0));
}

const levels = [
  [90, "very easy"],
  [80, "easy"],
  [70, "fairly easy"],
  [60, "plain English"],
  [50, "fairly difficult"],
  [30, "difficult"],
] as const;

function levelOf(score: number): string {
  return levels.find(([floor]) => score >= floor)?.[1] ?? "very difficult";
}
