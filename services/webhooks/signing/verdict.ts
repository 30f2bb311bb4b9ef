export type Verdict =
  | {
      verified: true;
      /** Id of the delivery in the scheme, signed or not. */
      deliveryId: string | null;
      /** Seconds since 1970, when the scheme has a time. */
      timestamp: number | null;
      /** Index of the matching secret. */
      secretIndex: number;
    }
  | {
      verified: false;
      /** Reason for logs, never for the caller. Quotes neither a secret nor a header. */
      why: string;
    };

export function unverified(why: string): Verdict {
  return { verified: false, why };
}

/** @param secretIndex null when no signature matches a secret */
export function verdictOf(secretIndex: number | null, deliveryId: string | null, timestamp: number | null): Verdict {
  if (secretIndex === null) return unverified('no signature is of this body and one of the secrets');
  return { verified: true, deliveryId, timestamp, secretIndex };
}

/** Tolerance of a timestamp, either way (Standard Webhooks, Stripe's libraries). */
const TOLERANCE_SECONDS = 300;

/** Plain decimal. Twelve digits are enough for 30,000 years, and too few for milliseconds. */
const SECONDS = /^(?:0|[1-9][0-9]{0,11})$/;

/** Returns seconds since 1970 that are near enough to now. @param now ms since 1970 */
export function readTimestamp(text: string | null, now: number): { seconds: number } | { why: string } {
  if (text === null) return { why: 'the timestamp is missing, or there are two' };
  if (!SECONDS.test(text)) return { why: 'the timestamp is not a plain number of seconds' };
  const seconds = Number(text);
  const age = secondsOf(now) - seconds;
  if (Math.abs(age) <= TOLERANCE_SECONDS) return { seconds };
  return { why: `the timestamp is ${age} s old, and may be ${TOLERANCE_SECONDS} s off` };
}

/** @param now milliseconds since 1970 */
export function secondsOf(now: number): number {
  return Math.floor(now / 1000);
}

/** Attempt to deliver a webhook. */
export interface Delivery {
  /** Same in each attempt. */
  id: string;
  body: Uint8Array;
  /** Time of the attempt, ms since 1970. */
  now: number;
}

/** Visible ASCII without full stops, which separate id and timestamp (Standard Webhooks, "Signature scheme"). */
const ID = /^[\x21-\x2d\x2f-\x7e]{1,256}$/;

export function isDeliveryId(text: string): boolean {
  return ID.test(text);
}

export type Header = readonly [name: string, value: string];

export interface SignedRequest {
  /** Names in lower case, in their order of arrival, with repetitions. */
  headers: readonly Header[];
  /** Bytes as sent, without transfer coding. */
  body: Uint8Array;
  /** Milliseconds since 1970. */
  now: number;
}

/** Limit of a header value that is read. Node accepts 16 KiB of headers in all. */
const MAX_HEADER_CHARACTERS = 8192;
/** Limit of compared signatures per request. */
export const MAX_SIGNATURES = 20;
/** Limit of reads of a body per secret, independent of the headers: 25 MiB and two keys take 0.7 s of Ed25519. */
export const MAX_PASSES = 4;

/** Returns the values of a header, without those that are too long; at most {@link MAX_SIGNATURES}. */
export function headersNamed(request: SignedRequest, name: string): string[] {
  return valuesOf(request, name)
    .filter((value) => value.length <= MAX_HEADER_CHARACTERS)
    .slice(0, MAX_SIGNATURES);
}

/** Returns the value of a header that occurs once, else null: which of two was signed would be a guess. */
export function onlyHeader(request: SignedRequest, name: string): string | null {
  const [value, ...more] = valuesOf(request, name);
  return value !== undefined && more.length === 0 && value.length <= MAX_HEADER_CHARACTERS ? value : null;
}

function valuesOf({ headers }: SignedRequest, name: string): string[] {
  const wanted = name.toLowerCase();
  return headers.filter(([given]) => given === wanted).map(([, value]) => value);
}
