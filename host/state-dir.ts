import { join } from 'node:path';
import { isAuditSubject, isCaptureId, isSnapshotId } from '../model/ids.ts';
import { isSandboxId } from '../model/sandbox-id.ts';

/**
 * Folder of a host's state. One folder per installation; below it, one per kind of thing, whose entries are named by
 * id. QEMU runs as another user, so the path to a workspace is searchable (0711).
 */
export class StateDir {
  /** @param root absolute path, e.g. `/var/lib/mayfly` */
  constructor(readonly root: string) {}

  get images(): string {
    return join(this.root, 'images');
  }
  get sandboxes(): string {
    return join(this.root, 'sandboxes');
  }
  get credentials(): string {
    return join(this.root, 'credentials');
  }
  get reservations(): string {
    return join(this.root, 'reservations');
  }
  get snapshots(): string {
    return join(this.root, 'snapshots');
  }
  /** Index of the templates; their contents are among the snapshots. */
  get templates(): string {
    return join(this.root, 'templates.json');
  }
  /** Temporary documents passed to programs. */
  get scratch(): string {
    return join(this.root, 'scratch');
  }
  workspace(sandboxId: string): string {
    return join(this.sandboxes, assertSandboxId(sandboxId));
  }
  snapshot(snapshotId: string): string {
    if (!isSnapshotId(snapshotId)) throw new RangeError(`not a snapshot id: ${JSON.stringify(snapshotId)}`);
    return join(this.snapshots, snapshotId);
  }
  get captures(): string {
    return join(this.root, 'captures');
  }
  capture(captureId: string): string {
    if (!isCaptureId(captureId)) throw new RangeError(`not a capture id: ${JSON.stringify(captureId)}`);
    return join(this.captures, captureId);
  }
  /** @param id of a sandbox, or of a source under inspection */
  credentialsOf(id: string): string {
    if (!isAuditSubject(id)) throw new RangeError(`neither a sandbox id nor a source id: ${JSON.stringify(id)}`);
    return join(this.credentials, id);
  }
  /** @param id of a sandbox or of a capture */
  reservationOf(id: string): string {
    return join(this.reservations, `${isCaptureId(id) ? id : assertSandboxId(id)}.json`);
  }
}

/** Asserts a real id before it becomes part of a path: anything else is a bug, or an attack that got past the API. */
function assertSandboxId(sandboxId: string): string {
  if (!isSandboxId(sandboxId)) throw new RangeError(`not a sandbox id: ${JSON.stringify(sandboxId)}`);
  return sandboxId;
}
