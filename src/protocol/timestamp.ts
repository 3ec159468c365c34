import type { Timestamp } from "@bufbuild/protobuf/wkt";

// google.protobuf.Timestamp in its JSON form: `YYYY-MM-DDTHH:mm:ss.sssZ` (spec 6.5).

const pattern =
  /^(\d{4}-\d{2}-(\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;

/** Parses a time with any offset and 1 to 9 fractional digits. Returns `undefined` if it is invalid or out of range. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, local, day, , fraction, sign, hours, minutes] = match;
  const date = new Date(`${local}Z`);
  // V8 parses 30 February as 2 March.
  if (date.getUTCDate() !== Number(day)) return undefined;
  const offset = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * (sign === "+" ? 60 : -60);
  const seconds = date.getTime() / 1000 - offset;
  if (seconds < minSeconds || seconds > maxSeconds) return undefined;
  const nanos = fraction === undefined ? 0 : Number(fraction.padEnd(9, "0"));
  return { $typeName: "google.protobuf.Timestamp", seconds: BigInt(seconds), nanos };
}

/** Whether the time has a JSON form. */
export function isTimestampInRange(timestamp: Timestamp): boolean {
  const { seconds, nanos } = timestamp;
  return seconds >= minSeconds && seconds <= maxSeconds && nanos >= 0 && nanos <= 999_999_999;
}

// Many events share a second and formatting a date is expensive, so the text of the last second is kept.
let lastSeconds = 0n;
let lastText = "1970-01-01T00:00:00";

/** Formats a time in UTC with 3 fractional digits, or 6 or 9 if needed. Throws `RangeError` if it is out of range. */
export function formatTimestamp(timestamp: Timestamp): string {
  if (!isTimestampInRange(timestamp)) throw new RangeError("timestamp out of range: years 1 to 9999");
  const { seconds, nanos } = timestamp;
  if (seconds !== lastSeconds) {
    lastText = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
    lastSeconds = seconds;
  }
  return `${lastText}.${writeFraction(nanos)}Z`;
}

function writeFraction(nanos: number): string {
  if (nanos === 0) return "000";
  if (nanos % 1_000_000 === 0) return String(nanos / 1_000_000).padStart(3, "0");
  if (nanos % 1_000 === 0) return String(nanos / 1_000).padStart(6, "0");
  return String(nanos).padStart(9, "0");
}

const isoPattern =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?)?\s*([Zz]|[+-]\d{2}(?::?\d{2})?)?$/;

/**
 * Converts an ISO 8601 time of a peer to the JSON form of a timestamp. Returns `undefined` if the text is not a time.
 * Versions up to 0.3 do not specify the form, and agents of 1.0 deviate from it: many omit the zone and mean UTC, and
 * some send more digits than nanoseconds.
 */
export function isoTime(text: string): string | undefined {
  const match = isoPattern.exec(text.trim());
  if (match === null) return undefined;
  const [, date, time = "00:00", seconds = "00", fraction, zone = "Z"] = match;
  const digits = fraction === undefined ? "" : `.${fraction.slice(0, 9)}`;
  const modelTime = `${date}T${time}:${seconds}${digits}${readZone(zone)}`;
  return parseTimestamp(modelTime) === undefined ? undefined : modelTime;
}

function readZone(zone: string): string {
  if (zone.length === 1) return "Z";
  const [hours, minutes] = [zone.slice(0, 3), zone.slice(3).replace(":", "")];
  return `${hours}:${minutes === "" ? "00" : minutes}`;
}
