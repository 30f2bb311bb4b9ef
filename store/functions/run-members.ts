import type { Attempt } from '../../model/functions/run.ts';
import { withStoreErrors } from '../mongo/failure.ts';
import type { SandboxDocument } from '../sandboxes/sandbox-document.ts';
import { RunRepository } from './run-document.ts';

/** Attempt under way: its run, and the number of sandboxes started for it, including this one. */
interface AttemptRef {
  runId: string;
  tries: number;
}

/**
 * Pool members that attempts claim, and the sandboxes of runs. Each change is conditional on the attempt and its former
 * member.
 */
export class RunMembers extends RunRepository {
  /**
   * Records the member that is being claimed; null for none. @returns false when another process continues the attempt,
   * or it has ended
   */
  ask({ runId, tries }: AttemptRef, from: string | null, to: string | null): Promise<boolean> {
    return this.set({ _id: this.checked(runId), tries, member: from }, { member: to });
  }

  /** Records a claimed member as the attempt's sandbox. @returns false as {@link ask} */
  settle({ runId, tries }: AttemptRef, member: string, attempts: Attempt[]): Promise<boolean> {
    const $set = this.encryption.sealed(runId, { attempts });
    return this.updateOne({ _id: this.checked(runId), tries, member }, { $set, $addToSet: { members: member } });
  }

  /** Returns the ids of sandboxes of runs that were created before then. @param before ISO 8601 */
  async sandboxes(before: string): Promise<string[]> {
    const found = await withStoreErrors('look for sandboxes of runs', () =>
      this.connection
        .collection<SandboxDocument>('sandboxes')
        .find({ builds: 'run', createdAt: { $lt: before } }, { projection: { _id: 1 } })
        .toArray(),
    );
    return found.map(({ _id }) => _id);
  }
}
