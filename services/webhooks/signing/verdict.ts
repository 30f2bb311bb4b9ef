export type Verdict =
  | {
      verified: true;
      /** What the scheme says identifies the delivery, signed or not. */
      deliveryId: string | null;
      /** Seconds since 1970, when the scheme has a time. */
      timestamp: number | null;
      /** Which of the secrets. */
      secretIndex: number;
    }
  | {
      verified: false;
      /** For logs, never for the caller. It quotes neither a secret nor a header. */
      why: string;
    };

export function refused(why: string): Verdict {
  return { verified: false, why };
}

/** @param secretIndex null when no signature is of any secret */
export function verdictOf(secretIndex: number | null, deliveryId: string | null, timestamp: number | null): Verdict {
  if (secretIndex === null) return refused('no signature is of this body and one of the secrets');
  return { verified: true, deliveryId, timestamp, secretIndex };
}

/** How far a timestamp may be off, either way (Standard Webhooks, Stripe's libraries). */
const TOLERANCE_SECONDS = 300;

/** Plain decimal. Twelve digits are enough for 30,000 years, and too few for milliseconds. */
const SECONDS = /^(?:0|[1-9][0-9]{0,11})$/;

/**
 * Seconds since 1970, when they are near enough to now.
 * @param now milliseconds since 1970
 */
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

/** One attempt to deliver a webhook. */
export interface Delivery {
  /** The same in each attempt. */
  id: string;
  body: Uint8Array;
  /** When the attempt is made. Milliseconds since 1970. */
  now: number;
}

/** Visible ASCII without full stops: one would let an id run on into the timestamp (Standard Webhooks, "Signature scheme"). */
const ID = /^[\x21-\x2d\x2f-\x7e]{1,256}$/;

export function isDeliveryId(text: string): boolean {
  return ID.test(text);
}

export type Header = readonly [name: string, value: string];

export interface SignedRequest {
  /** Names in lower case, in the order in which they came; one that came twice stands here twice. */
  headers: readonly Header[];
  /** As it was sent, after transfer coding alone. */
  body: Uint8Array;
  /** Milliseconds since 1970. */
  now: number;
}

/** What of a request is looked at, at most. Node takes 16 KiB of headers altogether. */
const MAX_HEADER_CHARACTERS = 8192;
/** Signatures of a request that are compared. */
export const MAX_SIGNATURES = 20;
/** How often a body is read for one secret, whatever the headers ask for: 25 MiB and two keys are 0.7 s of Ed25519 so. */
export const MAX_PASSES = 4;

/** All values of a header, but for those that are too long. At most {@link MAX_SIGNATURES}. */
export function headersNamed(request: SignedRequest, name: string): string[] {
  return valuesOf(request, name)
    .filter((value) => value.length <= MAX_HEADER_CHARACTERS)
    .slice(0, MAX_SIGNATURES);
}

/** The value of a header that came once, null otherwise: which of two was signed would be a guess. */
export function onlyHeader(request: SignedRequest, name: string): string | null {
  const [value, ...more] = valuesOf(request, name);
  return value !== undefined && more.length === 0 && value.length <= MAX_HEADER_CHARACTERS ? value : null;
}

function valuesOf({ headers }: SignedRequest, name: string): string[] {
  const wanted = name.toLowerCase();
  return headers.filter(([given]) => given === wanted).map(([, value]) => value);
}
