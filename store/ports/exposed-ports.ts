import { type ExposedPort, exposedPort } from '../../model/ports/exposed-port.ts';
import { repositoryOf } from '../repository/repository.ts';
import { assertSandboxId } from '../sandboxes/assert-sandbox-id.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';

type PortKey = Pick<ExposedPort, 'sandboxId' | 'port'>;

/** Ports of sandboxes that are open for HTTP, `_id` = `<sandbox>/<port>`. */
export class ExposedPorts extends repositoryOf({ collection: 'exposedPorts', noun: 'a port', model: exposedPort }) {
  /** Opens a port. @returns the existing one, unchanged; null when this one was opened */
  async open(port: ExposedPort): Promise<ExposedPort | null> {
    if (await this.insert({ _id: idOf(port), ...port })) return null;
    return (await this.get(port)) ?? this.open(port); // closed in between
  }

  async get(port: PortKey): Promise<ExposedPort | null> {
    return this.findById(idOf(port));
  }

  /** Lists a sandbox's open ports by number. @param unreadable collects the unreadable ones */
  async of(sandboxId: string, unreadable?: Unreadable[]): Promise<ExposedPort[]> {
    assertSandboxId(sandboxId);
    return (await this.find({ sandboxId }, { unreadable })).sort((a, b) => a.port - b.port);
  }

  /** Replaces the secret of a port. @returns false when it is not open */
  async resign(port: PortKey, secret: string): Promise<boolean> {
    return this.set({ _id: idOf(port) }, { secret });
  }

  /** @returns false when it was not open */
  async close(port: PortKey): Promise<boolean> {
    return this.deleteOne({ _id: idOf(port) });
  }

  async closeAll(sandboxId: string): Promise<void> {
    assertSandboxId(sandboxId);
    await this.deleteAll({ sandboxId });
  }
}

function idOf({ sandboxId, port }: PortKey): string {
  assertSandboxId(sandboxId);
  return `${sandboxId}/${port}`;
}
