import { expect } from 'vitest';
import type { Playbook, WritePlaybook } from '../../clients/typescript/http/openapi.ts';
import { tarEntries } from '../../model/image/tar-scanner.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import type { TestDoor } from './door.ts';
import { eventually } from './eventually.ts';
import type { MayflyCase } from './mayfly-case.ts';

export class TestPlaybooks {
  constructor(
    private readonly mayfly: MayflyCase,
    private readonly door: TestDoor,
  ) {}

  async begin(sandboxId: string, wish: WritePlaybook = {}): Promise<Playbook> {
    const response = await this.door.call('POST', `/v1/sandboxes/${sandboxId}/playbook`, wish);
    const playbook = (await response.json()) as Playbook;
    expect({ status: response.status, playbook }).toMatchObject({ status: 202 });
    this.mayfly.own(playbook.checkerId);
    return playbook;
  }

  async get(id: string): Promise<Playbook> {
    return (await (await this.door.call('GET', `/v1/playbooks/${id}`)).json()) as Playbook;
  }

  async until(id: string, wish: (playbook: Playbook) => boolean): Promise<Playbook> {
    const playbook = await eventually(
      () => this.get(id),
      (seen) => wish(seen) || isPlaybookOver(seen.state),
    );
    if (!wish(playbook)) throw new Error(`never came: ${JSON.stringify(playbook)}`);
    return playbook;
  }

  /** Waits until its command runs in the fresh sandbox. */
  async tried({ checkerId }: Playbook): Promise<void> {
    await eventually(
      async () => (await this.mayfly.store.commands.list({ sandboxId: checkerId, limit: 1 })).items[0]?.state,
      'running',
    );
  }

  over({ id }: Playbook): Promise<Playbook> {
    return this.until(id, ({ state }) => isPlaybookOver(state));
  }

  async write(sandboxId: string, wish: WritePlaybook = {}): Promise<Playbook> {
    return this.over(await this.begin(sandboxId, wish));
  }

  async files({ id }: Playbook): Promise<Record<string, Buffer>> {
    const response = await this.door.call('GET', `/v1/playbooks/${id}/archive`);
    const entries = tarEntries(new Uint8Array(await response.arrayBuffer()));
    return Object.fromEntries(entries.map(({ path, bytes }) => [path, Buffer.from(bytes)]));
  }
}
