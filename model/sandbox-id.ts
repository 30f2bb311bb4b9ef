/** Apart from ids.ts, which makes ids and so needs digests: the package of client/ depends on nothing. */
export const SANDBOX_ID = /^sbx-[0-9a-hjkmnp-tv-z]{16}$/;

/** Whether `text` is a sandbox id, and nothing else (a path, an option, another kind of name). */
export function isSandboxId(text: string): boolean {
  return SANDBOX_ID.test(text);
}
