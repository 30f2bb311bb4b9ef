/** Single range of RFC 9110 §14.1.2: `first` to `last`, inclusive; or the last `suffix` bytes. */
export interface ByteRange {
  first?: number;
  last?: number;
  suffix?: number;
}

const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** Returns null for no Range, and for anything but a single byte range: it may be ignored (RFC 9110 §14.2). */
export function rangeOf(header: string | undefined): ByteRange | null {
  const [, first = '', last = ''] = ONE_RANGE.exec(header?.trim() ?? '') ?? [];
  if (first === '') return last === '' ? null : { suffix: Number(last) };
  if (last === '') return { first: Number(first) };
  return Number(last) < Number(first) ? null : { first: Number(first), last: Number(last) };
}
