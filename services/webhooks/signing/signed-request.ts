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
/** Secrets of a hook that are tried: while one is rotated, the new one and the old. */
export const MAX_SECRETS = 2;
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
