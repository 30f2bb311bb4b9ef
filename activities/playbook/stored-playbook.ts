import { MayflyError } from '../../model/errors.ts';
import { buildArchivePart, listPlaybookFiles } from '../../model/playbook/archive.ts';
import type { PlaybookPart, WrittenSummary } from '../../model/playbook/playbook.ts';
import { formatReport, type Report } from '../../model/playbook/report.ts';
import type { WrittenPlaybook } from '../../model/playbook/write-playbook.ts';
import type { Store } from '../../store/connect.ts';

/** Playbook in the store, encrypted: each part replaces an earlier attempt's. */
export class StoredPlaybook {
  /** @param sandboxId sandbox with the changes */
  constructor(
    private readonly store: Pick<Store, 'playbookParts'>,
    private readonly id: string,
    private readonly sandboxId: string,
  ) {}

  /** @param known complete summary, for the check */
  async write(written: WrittenPlaybook, known: WrittenSummary): Promise<void> {
    await this.#put('playbook', buildArchivePart(listPlaybookFiles(written)));
    await this.#put('left', new TextEncoder().encode(JSON.stringify(known)));
    await this.report(known, { check: null, unchecked: null });
  }

  async report(written: WrittenSummary, how: Pick<Report, 'check' | 'unchecked'>): Promise<void> {
    const text = formatReport({ sandboxId: this.sandboxId, written, left: written.left, ...how });
    await this.#put('report', buildArchivePart([{ name: 'report.md', bytes: new TextEncoder().encode(text) }]));
  }

  /** Returns a part of an archive. @throws MayflyError playbook_failed: the playbook was deleted */
  files(): Promise<Uint8Array> {
    return this.#get('playbook');
  }

  /** @throws MayflyError playbook_failed: the playbook was deleted */
  async known(): Promise<WrittenSummary> {
    return JSON.parse(new TextDecoder().decode(await this.#get('left'))) as WrittenSummary;
  }

  #put(part: PlaybookPart, bytes: Uint8Array): Promise<void> {
    return this.store.playbookParts.put(this.id, part, bytes);
  }

  async #get(part: PlaybookPart): Promise<Uint8Array> {
    const bytes = await this.store.playbookParts.get(this.id, part);
    if (bytes) return bytes;
    throw new MayflyError('playbook_failed', `The playbook ${this.id} is not there any more.`);
  }
}
