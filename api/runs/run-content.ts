import type { Context } from 'hono';
import type { LeftContent } from '../../services/runs/run-content.ts';
import type { Env } from '../http/context.ts';

/** Never a page of ours, whatever a process has written. */
export const SAFE = {
  'Content-Disposition': 'attachment',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'private, no-cache',
};

/** Answers with what a run has left. @param partial whether it was left by a process that did not succeed */
export function answerContent(c: Context<Env>, { contentType, bytes, digest, body }: LeftContent, partial?: boolean) {
  if (partial !== undefined) c.header('Mayfly-Partial', String(partial));
  const length = { 'Content-Length': String(bytes), ETag: `"${digest}"` };
  return c.body(body, 200, { ...SAFE, ...length, 'Content-Type': contentType });
}
