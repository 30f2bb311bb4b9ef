import type { Connection, Model } from 'mongoose';
import type { Attempt } from '../../model/functions/run.ts';
import { reaching } from '../mongo/failure.ts';
import type { SandboxDocument } from '../sandboxes/sandbox-document.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import type { RunDocument } from './run-document.ts';
import { checked } from './run-id.ts';

/** An attempt that is under way: the run, and how many sandboxes were begun for it with this one. */
export interface AttemptRef {
  runId: string;
  tries: number;
}

/** Which members of pools attempts ask for: each change is for one attempt, and from what it was; and what sandboxes runs have. */
export class RunMembers {
  readonly #connection: Connection;
  readonly #model: Model<RunDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#connection = connection;
    this.#fields = sealing.of('runs');
    this.#model = connection.model<RunDocument>('Run');
  }

  /** Writes down which member is asked for; null: none any more. @returns false: another goes on with the attempt, or it is over */
  ask({ runId, tries }: AttemptRef, from: string | null, to: string | null): Promise<boolean> {
    return this.#update({ _id: checked(runId), tries, member: from }, { $set: { member: to } });
  }

  /** It is the attempt's: that is its sandbox from here on. @returns false: as {@link ask} */
  settle({ runId, tries }: AttemptRef, member: string, attempts: Attempt[]): Promise<boolean> {
    const set = this.#fields.sealed(runId, { attempts });
    return this.#update({ _id: checked(runId), tries, member }, { $set: set, $addToSet: { members: member } });
  }

  /** Sandboxes in which functions run, or have run, that were begun before then, their ids. @param before ISO 8601 */
  async sandboxes(before: string): Promise<string[]> {
    const found = await reaching('look for sandboxes of runs', () =>
      this.#connection
        .collection<SandboxDocument>('sandboxes')
        .find({ builds: 'run', createdAt: { $lt: before } }, { projection: { _id: 1 } })
        .toArray(),
    );
    return found.map(({ _id }) => _id);
  }

  async #update(filter: Record<string, unknown>, update: Record<string, unknown>): Promise<boolean> {
    const { matchedCount } = await reaching('write down which member a run asks for', () =>
      this.#model.updateOne(filter, update, { runValidators: true }),
    );
    return matchedCount > 0;
  }
}
