import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { grants } from '../../model/scopes.ts';
import type { Env } from '../http/context.ts';

/** Whether the caller sees all approvals of the project; who only asks sees his own. */
export function seesAll(c: Context<Env>): boolean {
  const { scopes } = c.get('apiKey');
  return grants(scopes, 'sandboxes:read') || grants(scopes, 'approvals:decide');
}

/** @throws MayflyError forbidden */
export function requireSeesAll(c: Context<Env>): void {
  if (!seesAll(c)) throw new MayflyError('forbidden', 'The API key lacks the scope `approvals:decide`.');
}
