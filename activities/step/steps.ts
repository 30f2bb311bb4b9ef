import type { Observation } from '../../model/sandbox/proof.ts';
import type { Egress, RequestedBoot, SshEndpoint } from '../../model/sandbox/sandbox.ts';

/** Sandbox and generation of a step: a host refuses steps older than the newest it has seen. */
export interface StepTarget {
  sandboxId: string;
  /**
   * Generation of the create, then of each operation and its compensations, then of the cleanup: a newer one stops
   * running older attempts.
   */
  generation: number;
}

export interface ReserveInput extends StepTarget {
  source: string;
  /** Snapshot to fork; absent: the source. */
  snapshotId?: string | null;
  memoryMib: number | null;
}

export interface CloneDiskInput extends StepTarget {
  source: string;
  snapshotId: string | null;
  captureId?: string | null;
  cpus: number | null;
  memoryMib: number | null;
  egress: Egress;
  userCaKeys: string[];
  /** Permission to wake from a template. `@default` cold */
  boot?: RequestedBoot;
  /** Project of the template. `@default` none */
  project?: string;
  /** True when its network link is always down. `@default` false */
  isOffline?: boolean;
  /** Expected digest of the source, when several hosts have it. `@default` any */
  content?: string;
}

export interface VerifySshInput extends StepTarget {
  endpoint: SshEndpoint;
  /** OpenSSH certificate line; public. */
  certificate: string;
}

export interface InspectionResult {
  observations: Observation[];
}
