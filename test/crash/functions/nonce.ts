/** Prints the random nonces of all processes started in the sandbox, this one's last. */
export const SAYS_ITS_NONCE = 'cat /proc/sys/kernel/random/uuid >> ~/began; cat ~/began';

export function noncesIn(printed: string): string[] {
  return printed.match(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/gm) ?? [];
}
