import { validate, validateRead } from "../../protocol/check/validate.js";
import { defaultValidationLimits, type ValidationLimits } from "../../protocol/validation-limits.js";
import type { Version } from "../codec.js";
import { foreignNamesIn } from "../foreign-names.js";
import { jsonTexts, pageTexts } from "./json-texts.js";
import { versionOf } from "./version.js";

/** Creates version 1.0 with custom limits. */
export function createV1(limits: ValidationLimits = defaultValidationLimits): Version {
  return versionOf(limits, { validate, validateRead, foreignNamesIn, jsonTexts, pageTexts });
}

/** Version 1.0 with the default limits. */
export const v1: Version = createV1();
