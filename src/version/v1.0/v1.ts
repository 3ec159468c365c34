import { validate, validateRead } from "../../protocol/check/validate.js";
import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import type { Version } from "../codec.js";
import { foreignNamesIn } from "../foreign-names.js";
import type { VersionOptions } from "../options.js";
import { withGoCards } from "./go-requirements.js";
import { jsonTexts, pageTexts } from "./json-texts.js";
import { createVersion } from "./version.js";

/** Creates version 1.0. */
export function createV1({ limits = defaultValidationLimits, securityRequirements }: VersionOptions = {}): Version {
  const version = createVersion(limits, { validate, validateRead, foreignNamesIn, jsonTexts, pageTexts });
  return securityRequirements === "go" ? withGoCards(version) : version;
}

/** Version 1.0 with the default limits. */
export const v1: Version = createV1();
