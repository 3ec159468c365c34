import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { AgentCard } from "../../protocol/model.js";
import { readCard } from "../../version/v1.0/card.js";
import { readExtendedCardsBy } from "../../version/v1.0/json.js";
import type { KnownVersions } from "../versions.js";

export type ReadCard = (json: JsonValue | undefined) => Promise<AgentCard>;

/** Reads cards of every version. Throws `invalidAgentResponse` for anything else. */
export function cardReader(versions: KnownVersions): ReadCard {
  return async (value) => {
    const json = isJsonObject(value) && value["securitySchemes"] ? await withMessageForms(value) : value;
    if (isJsonObject(json) && hasOlderForm(json)) {
      const { readOlderCard } = await import("./read-older-card.js");
      return readOlderCard(json, versions);
    }
    try {
      return readCard(json, () => []);
    } catch (error) {
      const { findFaults } = await import("./card-faults.js").catch(() => {
        throw error;
      });
      return readCard(json, findFaults);
    }
  };
}

async function withMessageForms(json: JsonObject): Promise<JsonObject> {
  const forms = await import("../../version/v1.0/sdk-forms.js");
  readExtendedCardsBy(forms.withMessageForms);
  return forms.withMessageForms(json);
}

// A URL of the agent, or one version for the whole card: cards of 1.0 have neither.
function hasOlderForm(json: { readonly [member: string]: JsonValue | undefined }): boolean {
  return ["url", "protocolVersion", "additionalInterfaces"].some((name) => (json[name] ?? undefined) !== undefined);
}
