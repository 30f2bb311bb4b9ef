import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { FunctionSpec } from '../functions/function.ts';
import { type Attempt, eventMediaType, type RunRecord } from '../functions/run.ts';
import type { OutputStream, StreamSummary } from '../sandbox/command.ts';
import {
  artifactName,
  BUILD_TYPE,
  type Descriptor,
  EVENT_NAME,
  logName,
  PREDICATE_TYPE,
  proofName,
  RESULT_NAME,
  STATEMENT_TYPE,
  type Statement,
} from './in-toto.ts';

/** Facts about a retained output stream of a process. */
export interface LogFacts extends StreamSummary {
  /** SHA-256 of the retained output, hex. */
  digest: string;
}

/** Result of the inspection after a run's sandbox was destroyed. */
export interface ProofFacts {
  sandboxId: string;
  /** SHA-256 of the proof in canonical JSON, hex. */
  digest: string;
  provedAt: string;
  /** Reason why absence is not proved; null: proved. */
  unproved: string | null;
}

/** Inputs of a receipt. */
export interface ReceiptFacts {
  run: RunRecord;
  /** SHA-256 of the event as given to its process, hex; null: no longer stored. */
  eventDigest: string | null;
  /** Null: no longer stored. */
  spec: Pick<FunctionSpec, 'source' | 'snapshotId' | 'filesDigest'> | null;
  /** Known contents of its base disks by disk; `''`: all disks of a source. SHA-256, hex. */
  disks: Record<string, string>;
  /** Output of each attempt with a started process. */
  logs: { n: number; streams: Record<OutputStream, LogFacts> }[];
  /** Result for each sandbox of the run. */
  proofs: ProofFacts[];
  /** SHA-256 of its file changes, hex; null: not recorded. */
  diffDigest: string | null;
  /** Audit chain up to its last event; null: no chain. */
  auditHead: { entries: number; hash: string } | null;
  /** Id of the installation, a URI. */
  builder: string;
}

/** Builds the statement. Deterministic. */
export function buildStatement(facts: ReceiptFacts): Statement {
  const { run } = facts;
  const { function: name, version, versionDigest, event, startedAt, endedAt } = run;
  return {
    _type: STATEMENT_TYPE,
    subject: subjectsOf(run),
    predicateType: PREDICATE_TYPE,
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: {
          function: { name, version, digest: { sha256: versionDigest } },
          event: { ...event, ...(!run.isBatch && { sentDigest: { sha256: run.eventDigest } }) },
          ...(run.events.length > 0 && { events: run.events.map(({ bytes: _bytes, ...of }) => of) }),
        },
        internalParameters: { project: run.project, secrets: secretsOf(run) },
        resolvedDependencies: dependenciesOf(facts),
      },
      runDetails: {
        builder: { id: facts.builder },
        metadata: {
          invocationId: run.id,
          ...(startedAt !== null && { startedOn: startedAt }),
          ...(endedAt !== null && { finishedOn: endedAt }),
          mayfly_run: endOf(run),
          mayfly_auditHead: facts.auditHead,
        },
        byproducts: byproductsOf(facts),
      },
    },
  };
}

/** Lists the secret versions given to each process; never a value. */
function secretsOf({ attempts }: RunRecord) {
  return attempts.flatMap(({ n, secrets }) => secrets.map(({ name, version }) => ({ name, version, attempt: n })));
}

function endOf(run: RunRecord) {
  const { outcome, exitCode, signal, failure, cleanup, acceptedAt, admittedAt, attempts } = run;
  const { batch, supersededBy, replayOf, redriveOf } = run;
  const code = failure?.code ?? null;
  return {
    outcome,
    exitCode,
    signal,
    failure: code,
    cleanup,
    acceptedAt,
    admittedAt,
    batch,
    supersededBy,
    replayOf,
    redriveOf,
    attempts: attempts.map(attemptOf),
  };
}

function attemptOf({ n, sandboxId, commandId, outcome, startedAt, endedAt, cleanup }: Attempt) {
  return { n, sandboxId, commandId, outcome, startedAt, endedAt, cleanup };
}

/** Returns the subjects, of which a statement needs at least one: without outputs, the outcome of the run. */
function subjectsOf({ id, result, artifacts, outcome, exitCode, signal, endedAt }: RunRecord): Descriptor[] {
  const subjects = artifacts.map(({ path, digest }) => toDescriptor(artifactName(path), digest));
  if (result) {
    const { contentType: mediaType, digest, partial } = result;
    subjects.unshift({ ...toDescriptor(RESULT_NAME, digest), mediaType, ...(partial && { annotations: { partial } }) });
  }
  if (subjects.length > 0) return subjects;
  const end = utf8ToBytes(JSON.stringify({ run: id, outcome, exitCode, signal, endedAt }));
  const content = btoa(String.fromCharCode(...end));
  return [{ ...toDescriptor('outcome.json', bytesToHex(sha256(end))), content, mediaType: 'application/json' }];
}

function dependenciesOf({ run, eventDigest, spec, disks }: ReceiptFacts): Descriptor[] {
  const { project, function: name, version, versionDigest } = run;
  const uriOfVersion = urn('function', project, name, String(version));
  const dependencies: Descriptor[] = [{ ...toDescriptor('function', versionDigest), uri: uriOfVersion }];
  if (eventDigest !== null) {
    const mediaType = eventMediaType(run);
    dependencies.unshift({ ...toDescriptor(EVENT_NAME, eventDigest), mediaType });
  }
  if (!spec) return dependencies;
  if (spec.filesDigest !== null) dependencies.push(toDescriptor('files.tar', spec.filesDigest));
  const [kind, of] = spec.snapshotId === null ? ['source', spec.source ?? ''] : ['snapshot', spec.snapshotId];
  const known = Object.entries(disks).sort(([a], [b]) => (a < b ? -1 : 1));
  if (known.length === 0) return [...dependencies, { name: kind, uri: urn(kind, of) }];
  const uri = urn(kind, of);
  return [
    ...dependencies,
    ...known.map(([disk, digest]) => ({ ...toDescriptor(disk === '' ? kind : `${kind}/${disk}`, digest), uri })),
  ];
}

function byproductsOf({ logs, proofs, diffDigest }: ReceiptFacts): Descriptor[] {
  const byproducts = logs.flatMap(({ n, streams }) =>
    Object.entries(streams).map(([stream, { digest, bytes, kept }]): Descriptor => {
      return { ...toDescriptor(logName(n, stream), digest), annotations: { written: bytes, kept } };
    }),
  );
  if (diffDigest !== null) byproducts.push(toDescriptor('diff', diffDigest));
  for (const { sandboxId, digest, provedAt, unproved } of proofs) {
    const annotations = { provedAt, ...(unproved !== null && { unproved }) };
    byproducts.push({ ...toDescriptor(proofName(sandboxId), digest), mediaType: 'application/json', annotations });
  }
  return byproducts;
}

function toDescriptor(name: string, digest: string): Descriptor {
  return { name, digest: { sha256: digest } };
}

/** Formats a URN (RFC 8141); encodes other characters in the parts. */
function urn(...parts: string[]): string {
  return `urn:mayfly:${parts.map((part) => encodeURIComponent(part)).join(':')}`;
}
