import type { CardOptions } from "trivium";
import { supportedMediaTypes } from "./report.js";

const outputModes = ["text/markdown", "text/plain", "application/json"];

/** The card of the demo agent. */
export function analystCard(version: string): CardOptions {
  return {
    name: "Text Analyst",
    description:
      "Reports on texts and tables: a Markdown report that grows section by section, and its figures as JSON.",
    version,
    defaultInputModes: supportedMediaTypes,
    defaultOutputModes: outputModes,
    skills: [
      {
        id: "analyse-text",
        name: "Analyse a text",
        description:
          "Size, words, sentences, reading time, most frequent terms and readability of plain text or Markdown.",
        tags: ["text", "markdown", "statistics", "readability"],
        examples: ["The quick brown fox jumps over the lazy dog. It does so every day."],
        inputModes: ["text/plain", "text/markdown"],
      },
      {
        id: "profile-table",
        name: "Profile a table",
        description: "Columns, types, missing values and ranges of a CSV or JSON file, or of a JSON value.",
        tags: ["csv", "json", "data", "statistics"],
        examples: [
          "A file stations.csv with the lines: city,people / Oslo,709000 / Bergen,",
          '[{ "city": "Oslo", "people": 709000 }]',
        ],
        inputModes: ["text/csv", "application/json"],
      },
    ],
  };
}
