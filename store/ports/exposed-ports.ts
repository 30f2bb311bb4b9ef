import { type ExposedPort, exposedPort } from '../../model/ports/exposed-port.ts';
import { repositoryOf } from '../repository/repository.ts';
import { assertSandboxId } from '../sandboxes/assert-sandbox-id.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';

type PortKey = Pick<ExposedPort, 'sandboxId' | 'port'>;

/** Ports of sandboxes that are open for HTTP, `_id` = `<sandbox>/<port>`. */
export class ExposedPorts extends repositoryOf({ collection: 'exposedPorts', noun: 'a port', model: exposedPort }) {
  /** Opens one. @returns the one that was open before, as it is; null: it is this one */
  async open(port: ExposedPort): Promise<ExposedPort | null> {
    if (await this.insert({ _id: idOf(port), ...port })) return null;
    return (await this.get(port)) ?? this.open(port); // closed meanwhile
  }

  async get(port: PortKey): Promise<ExposedPort | null> {
    return this.findById(idOf(port));
  }

  /** Those of a sandbox, by number. @param unreadable takes those that cannot be read */
  async of(sandboxId: string, unreadable?: Unreadable[]): Promise<ExposedPort[]> {
    assertSandboxId(sandboxId);
    return (await this.find({ sandboxId }, { unreadable })).sort((a, b) => a.port - b.port);
  }

  /** Gives it another secret. @returns whether it is open */
  async resign(port: PortKey, secret: string): Promise<boolean> {
    return this.set({ _id: idOf(port) }, { secret });
  }

  /** @returns whether it was open */
  async close(port: PortKey): Promise<boolean> {
    return this.deleteOne({ _id: idOf(port) });
  }

  /** Closes all of a sandbox. */
  async closeAll(sandboxId: string): Promise<void> {
    assertSandboxId(sandboxId);
    await this.deleteAll({ sandboxId });
  }
}

function idOf({ sandboxId, port }: PortKey): string {
  assertSandboxId(sandboxId);
  return `${sandboxId}/${port}`;
}
