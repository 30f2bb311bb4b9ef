import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isSandboxId } from '../../model/ids.ts';
import { type ExposedPort, PORT_HOSTS, PORT_VISIBILITIES } from '../../model/ports/exposed-port.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NUMBER, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields, Unreadable } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface PortDocument extends ExposedPort {
  _id: string;
}

type PortKey = Pick<ExposedPort, 'sandboxId' | 'port'>;

/** Ports of sandboxes that are open for HTTP, `_id` = `<sandbox>/<port>`. */
export class ExposedPorts {
  readonly #model: Model<PortDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('exposedPorts');
    const schema = strictSchema<PortDocument>({
      _id: NAME,
      sandboxId: NAME,
      port: NUMBER,
      project: NAME,
      visibility: { type: String, required: true, enum: PORT_VISIBILITIES },
      host: { type: String, required: true, enum: PORT_HOSTS },
      cors: { type: Boolean, required: true },
      wake: { type: Boolean, required: true },
      secret: SEALED,
      openedBy: { type: actorPart(), required: true },
      openedAt: NAME,
    });
    this.#model = connection.model<PortDocument>('ExposedPort', schema, 'exposedPorts');
  }

  /** Opens one. @returns the one that was open before, as it is; null: it is this one */
  async open(port: ExposedPort): Promise<ExposedPort | null> {
    const _id = idOf(port);
    try {
      await reaching('open a port', () => this.#model.create(this.#fields.sealed(_id, { _id, ...port })));
      return null;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return (await this.get(port)) ?? this.open(port); // closed meanwhile
    }
  }

  async get(port: PortKey): Promise<ExposedPort | null> {
    const found = await reaching('read a port', () => this.#model.findById(idOf(port)).lean<PortDocument>());
    return found && this.#record(found);
  }

  /** Those of a sandbox, by number. @param unreadable takes those that cannot be read */
  async of(sandboxId: string, unreadable?: Unreadable[]): Promise<ExposedPort[]> {
    checkId(sandboxId);
    const found = await reaching('list ports', () => this.#model.find({ sandboxId }).lean<PortDocument[]>());
    return this.#fields.records(found, recordOf, unreadable).sort((a, b) => a.port - b.port);
  }

  /** Gives it another secret. @returns whether it is open */
  async resign(port: PortKey, secret: string): Promise<boolean> {
    const _id = idOf(port);
    const set = this.#fields.sealed(_id, { secret });
    const { matchedCount } = await reaching('void the tokens of a port', () =>
      this.#model.updateOne({ _id }, { $set: set }),
    );
    return matchedCount > 0;
  }

  /** @returns whether it was open */
  async close(port: PortKey): Promise<boolean> {
    const _id = idOf(port);
    return reaching('close a port', async () => (await this.#model.deleteOne({ _id })).deletedCount > 0);
  }

  /** Closes all of a sandbox. */
  async closeAll(sandboxId: string): Promise<void> {
    checkId(sandboxId);
    await reaching('close the ports of a sandbox', () => this.#model.deleteMany({ sandboxId }));
  }

  #record(document: PortDocument): ExposedPort {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, ...port }: PortDocument): ExposedPort {
  return port;
}

function idOf({ sandboxId, port }: PortKey): string {
  checkId(sandboxId);
  return `${sandboxId}/${port}`;
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isSandboxId(id)) throw new MayflyError('invalid_id', 'That is not a sandbox id.');
}
