/** Each process that is started prints the random nonces of all that were started in its sandbox: its own last. */
export const SAYS_ITS_NONCE = 'cat /proc/sys/kernel/random/uuid >> ~/began; cat ~/began';

/** Those in what was printed. */
export function noncesIn(printed: string): string[] {
  return printed.match(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/gm) ?? [];
}
