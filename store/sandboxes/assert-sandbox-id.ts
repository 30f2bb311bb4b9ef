import { MayflyError } from '../../model/errors.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';

/** @throws MayflyError invalid_id */
export function assertSandboxId(id: string): void {
  if (typeof id !== 'string' || !isSandboxId(id)) throw new MayflyError('invalid_id', 'That is not a sandbox id.');
}
