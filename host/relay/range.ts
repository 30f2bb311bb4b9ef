/** One range of RFC 9110 §14.1.2: `first` to `last`, both in it; or the last `suffix` bytes. */
export interface ByteRange {
  first?: number;
  last?: number;
  suffix?: number;
}

const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** Null for no Range, and for one that is not a single range of bytes: such may be ignored (RFC 9110 §14.2). */
export function rangeOf(header: string | undefined): ByteRange | null {
  const [, first = '', last = ''] = ONE_RANGE.exec(header?.trim() ?? '') ?? [];
  if (first === '') return last === '' ? null : { suffix: Number(last) };
  if (last === '') return { first: Number(first) };
  return Number(last) < Number(first) ? null : { first: Number(first), last: Number(last) };
}
