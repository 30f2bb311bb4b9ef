export type AuditProblemKind =
  | 'edited'
  | 'missing'
  | 'inserted'
  | 'truncated'
  | 'reordered'
  | 'forged-head'
  | 'no-chain'
  | 'gone'
  | 'unborn'
  | 'restarted'
  | 'rolled-back'
  | 'unrecorded'
  | 'time-went-back';

export interface AuditProblem {
  /** Number of the entry; null when the chain as a whole is concerned. */
  seq: number | null;
  kind: AuditProblemKind;
  detail: string;
}
