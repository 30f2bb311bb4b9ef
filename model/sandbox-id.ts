/** Separate from ids.ts, which needs digests: the package of client/ has no dependencies. */
export const SANDBOX_ID = /^sbx-[0-9a-hjkmnp-tv-z]{16}$/;

/** True when `text` is a sandbox id and nothing else (a path, an option, another kind of name). */
export function isSandboxId(text: string): boolean {
  return SANDBOX_ID.test(text);
}
