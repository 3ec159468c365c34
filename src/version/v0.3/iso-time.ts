import { parseTimestamp } from "../../protocol/timestamp.js";

const pattern =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?)?\s*([Zz]|[+-]\d{2}(?::?\d{2})?)?$/;

/**
 * Converts an ISO 8601 time to the model's JSON form. Returns `undefined` if the text is not a time. Versions up to 0.3
 * do not specify the form: many peers omit the zone and mean UTC, and some send more digits than nanoseconds.
 */
export function isoTime(text: string): string | undefined {
  const match = pattern.exec(text.trim());
  if (match === null) return undefined;
  const [, date, time = "00:00", seconds = "00", fraction, zone = "Z"] = match;
  const digits = fraction === undefined ? "" : `.${fraction.slice(0, 9)}`;
  const modelTime = `${date}T${time}:${seconds}${digits}${zoneOf(zone)}`;
  return parseTimestamp(modelTime) === undefined ? undefined : modelTime;
}

function zoneOf(zone: string): string {
  if (zone.length === 1) return "Z";
  const [hours, minutes] = [zone.slice(0, 3), zone.slice(3).replace(":", "")];
  return `${hours}:${minutes === "" ? "00" : minutes}`;
}
