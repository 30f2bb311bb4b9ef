import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { AgentRequest, AgentSession } from '../../host/guest/agent-session.ts';
import { MayflyError } from '../../model/errors.ts';
import { buildArchivePart, finishArchive } from '../../model/playbook/archive.ts';
import { CHECK_FOLDER, checkFiles } from '../../model/playbook/check-program.ts';
import type { WrittenSummary } from '../../model/playbook/playbook.ts';

export class CheckFolder {
  constructor(
    private readonly agent: Pick<AgentSession, 'request'>,
    private readonly signal: AbortSignal,
  ) {}

  /** @param files part of an archive @throws MayflyError guest_failed */
  async putPlaybook(files: Uint8Array, variables: WrittenSummary['variables']): Promise<void> {
    const archive = Buffer.concat(finishArchive([files, buildArchivePart(checkFiles(variables))]));
    await this.#put('/v1/tar', 'application/x-tar', CHECK_FOLDER, archive);
  }

  /** @param archive path on the host @throws MayflyError guest_failed */
  async putAnsible(archive: string): Promise<void> {
    const to = `${CHECK_FOLDER}/ansible.tar.gz`;
    await this.#put('/v1/files', 'application/octet-stream', to, createReadStream(archive));
  }

  async #put(path: string, type: string, to: string, body: NonNullable<AgentRequest['body']>): Promise<void> {
    const query = `path=${Buffer.from(to).toString('base64url')}&parents=true&user=root`;
    const request = { method: 'PUT', path: `${path}?${query}`, headers: { 'content-type': type }, body } as const;
    const answer = await this.agent.request({ ...request, signal: this.signal });
    const said = await buffer(answer.body);
    if (answer.status < 300) return;
    const why = said.toString('utf8', 0, 200).replace(/[^\x20-\x7e]/g, '?');
    throw new MayflyError('guest_failed', `The guest answered ${answer.status} to ${path}: ${why}`);
  }
}
