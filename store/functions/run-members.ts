import type { Attempt } from '../../model/functions/run.ts';
import { reaching } from '../mongo/failure.ts';
import type { SandboxDocument } from '../sandboxes/sandbox-document.ts';
import { RunRepository } from './run-document.ts';

/** An attempt that is under way: the run, and how many sandboxes were begun for it with this one. */
interface AttemptRef {
  runId: string;
  tries: number;
}

/** Which members of pools attempts ask for: each change is for one attempt, and from what it was; and what sandboxes runs have. */
export class RunMembers extends RunRepository {
  /** Writes down which member is asked for; null: none any more. @returns false: another goes on with the attempt, or it is over */
  ask({ runId, tries }: AttemptRef, from: string | null, to: string | null): Promise<boolean> {
    return this.set({ _id: this.checked(runId), tries, member: from }, { member: to });
  }

  /** It is the attempt's: that is its sandbox from here on. @returns false: as {@link ask} */
  settle({ runId, tries }: AttemptRef, member: string, attempts: Attempt[]): Promise<boolean> {
    const $set = this.encryption.sealed(runId, { attempts });
    return this.updateOne({ _id: this.checked(runId), tries, member }, { $set, $addToSet: { members: member } });
  }

  /** Sandboxes in which functions run, or have run, that were begun before then, their ids. @param before ISO 8601 */
  async sandboxes(before: string): Promise<string[]> {
    const found = await reaching('look for sandboxes of runs', () =>
      this.connection
        .collection<SandboxDocument>('sandboxes')
        .find({ builds: 'run', createdAt: { $lt: before } }, { projection: { _id: 1 } })
        .toArray(),
    );
    return found.map(({ _id }) => _id);
  }
}
