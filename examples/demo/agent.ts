import type { JsonValue } from "@bufbuild/protobuf";
import { type Agent, artifact, data, inputRequired, text, working } from "trivium";
import { type Document, documentsOf, unreadable } from "./documents.js";
import { mediaTypeOf, type Section, sections } from "./report.js";
import { UnreadableFile } from "./unreadable-file.js";

/** Works figures out of text and files, offline: a report that grows section by section, and the same as data. */
export const textAnalyst: Agent = async function* ({ message, configuration }) {
  const documents = documentsOf(message.parts);
  if (documents.length === 0) {
    yield inputRequired("What shall I analyse? Send a text, or a text, Markdown, CSV or JSON file.");
    return;
  }
  const analyses = documents.map(analysisOf);
  const forms = formsFor(configuration?.acceptedOutputModes ?? []);
  yield working();
  const figures: Figures[] = documents.map(({ name, mediaType }) => ({ name, mediaType, sections: [] }));
  for (const { item, isFirst, isLast } of markEnds(numberSections(analyses))) {
    figures[item.document]?.sections.push({ title: item.section.title, figures: item.section.figures });
    if (forms.report === undefined) continue;
    const chunk = text(chunkOf(item, documents.length), { mediaType: forms.report });
    yield artifact(chunk, { artifactId: "report", name: "report.md", append: !isFirst, lastChunk: isLast });
  }
  if (!forms.figures) return;
  const all = data({ documents: figures.map(({ name = null, ...rest }) => ({ name, ...rest })) });
  yield artifact(all, { artifactId: "figures", name: "figures.json", lastChunk: true });
};

interface Figures {
  readonly name: string | undefined;
  readonly mediaType: string;
  readonly sections: { title: string; figures: Record<string, JsonValue> }[];
}

function analysisOf(document: Document): Iterable<Section> {
  try {
    return sections(document);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw unreadable(document.field, error.message, error);
  }
}

/** A section, and which document it is of. */
interface NumberedSection {
  readonly section: Section;
  readonly document: number;
  readonly opens: boolean;
}

function* numberSections(analyses: readonly Iterable<Section>[]): Generator<NumberedSection> {
  for (const [document, analysis] of analyses.entries()) {
    let opens = true;
    for (const section of analysis) {
      yield { section, document, opens };
      opens = false;
    }
  }
}

function chunkOf({ section, document, opens }: NumberedSection, documents: number): string {
  const which = documents > 1 ? `, document ${document + 1} of ${documents}` : "";
  const heading = opens ? `${document > 0 ? "\n" : ""}# Text analysis${which}\n` : "";
  return `${heading}\n## ${section.title}\n\n${section.markdown}\n`;
}

/** Reads one item ahead, since the last chunk of an artifact must be marked as the last. */
function* markEnds<T>(items: Iterable<T>): Generator<{ item: T; isFirst: boolean; isLast: boolean }> {
  let previous: { item: T; isFirst: boolean } | undefined;
  for (const item of items) {
    if (previous !== undefined) yield { ...previous, isLast: false };
    previous = { item, isFirst: previous === undefined };
  }
  if (previous !== undefined) yield { ...previous, isLast: true };
}

/** The forms that the caller accepts; Markdown is plain text as well. A caller that accepts neither gets both. */
function formsFor(acceptedTypes: readonly string[]): {
  readonly report: string | undefined;
  readonly figures: boolean;
} {
  const modes = acceptedTypes.map((mode) => mediaTypeOf(undefined, mode));
  const takes = (type: string): boolean =>
    modes.length === 0 ||
    modes.some((mode) => mode === "*/*" || mode === type || mode === `${type.slice(0, type.indexOf("/"))}/*`);
  const report = ["text/markdown", "text/plain"].find(takes);
  const figures = takes("application/json");
  return report === undefined && !figures ? { report: "text/markdown", figures: true } : { report, figures };
}
