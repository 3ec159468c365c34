import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { validateRead } from "../../../protocol/check/validate.js";
import { readJson } from "../../../protocol/codec/json/reader.js";
import { invalidParams } from "../../../protocol/errors.js";
import { type Operation, type OperationName, operations } from "../../../protocol/operations.js";
import type { ValidationLimits } from "../../../protocol/validation-limits.js";
import { mergeViolations } from "../../../protocol/violations.js";
import type { OperationCodec } from "../../codec.js";
import { throwMissing } from "../../codec-errors.js";
import { foreignNamesIn } from "../../foreign-names.js";
import { readCard, writeCard } from "../card.js";
import type { CardForm } from "./card.js";
import { withCamelNames } from "./names.js";
import { oldViolation } from "./paths.js";
import { replyForms } from "./reply.js";
import { paramsForms } from "./request.js";
import type { UpgradeContext } from "./upgrade.js";

// The JSON of 0.2 and 0.3, whose objects name their type in `kind`.

/**
 * Creates the kind-JSON codecs of all operations. `cards` is the form of the extended card; default: that of 0.3. The
 * codec of an operation that these versions lack throws `unsupportedOperation`, and streaming operations have no reply
 * codec.
 */
export function kindJsonCodecs(
  limits: ValidationLimits,
  cards: CardForm = { writeCard, readCard },
): (operation: Operation) => OperationCodec {
  const replies: Forms<ReplyCodec> = replyForms(cards) as Forms<ReplyCodec>;
  const codecs = new Map(
    operations.map((operation) => [operation.name, createCodec(operation, limits, replies[operation.name])]),
  );
  return ({ name }) => codecs.get(name) ?? throwMissing(name);
}

// Without the types of each operation, which a loop over all of them cannot preserve.
type Forms<F> = { readonly [K in OperationName]?: F };

interface ParamsCodec {
  upgrade(params: JsonValue, context: UpgradeContext): JsonValue;
  write(request: AnyMessage): JsonValue | undefined;
  readonly optional?: readonly string[];
}

interface ReplyCodec {
  read(json: JsonValue | undefined, request: AnyMessage | undefined): AnyMessage;
  write(reply: AnyMessage, request: AnyMessage): JsonValue;
}

function createCodec(operation: Operation, limits: ValidationLimits, reply: ReplyCodec | undefined): OperationCodec {
  const { name } = operation;
  const params = (paramsForms as Forms<ParamsCodec>)[name];
  return {
    readRequest: (json) => readRequest(operation, json, { ...(params ?? throwMissing(name)), limits }),
    writeRequest: (request) => (params ?? throwMissing(name)).write(request),
    readReply: (json, request) => (reply ?? throwMissing(name)).read(json, request),
    writeReply: (answer, request) => (reply ?? throwMissing(name)).write(answer, request),
  };
}

function readRequest(
  { name, input }: Operation,
  json: JsonValue | undefined,
  { upgrade, optional = [], limits }: ParamsCodec & { readonly limits: ValidationLimits },
): AnyMessage {
  const context: UpgradeContext = { lenient: false, violations: [] };
  const params = withCamelNames(json ?? {});
  const requestJson = upgrade(params, context);
  const { message, violations } = readJson(input, requestJson, { maxDepth: limits.jsonDepthMax });
  const modelViolations = validateRead(input, message, limits);
  const invalid = modelViolations.filter(
    ({ field, description }) => !(optional.includes(field) && description === "is required"),
  );
  const foreign = foreignNamesIn("0.3", name, params);
  if (context.violations.length + violations.length + invalid.length + foreign.length === 0) return message;
  const oldViolations = mergeViolations(violations, invalid).map((violation) => oldViolation(violation, name));
  throw invalidParams(...foreign, ...mergeViolations(context.violations, oldViolations));
}
