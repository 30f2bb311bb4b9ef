/**
 * ResourceDescriptor of in-toto's attestation framework v1. Its name is that of the file written by `mayfly receipt get
 * --save`.
 */
export interface Descriptor {
  name: string;
  uri?: string;
  digest?: { sha256: string };
  /** Base64. */
  content?: string;
  mediaType?: string;
  annotations?: Record<string, unknown>;
}

/** Statement about a run: in-toto Statement v1 with the predicate SLSA Provenance v1. */
export interface Statement {
  _type: string;
  subject: Descriptor[];
  predicateType: string;
  predicate: {
    buildDefinition: {
      buildType: string;
      externalParameters: Record<string, unknown>;
      internalParameters: Record<string, unknown>;
      resolvedDependencies: Descriptor[];
    };
    runDetails: {
      builder: { id: string };
      metadata: { invocationId: string; startedOn?: string; finishedOn?: string } & Record<`mayfly_${string}`, unknown>;
      byproducts: Descriptor[];
    };
  };
}

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
export const PREDICATE_TYPE = 'https://slsa.dev/provenance/v1';
/** Build type that defines the predicate's parameters: docs/receipts-audit.md. */
export const BUILD_TYPE = 'urn:mayfly:run:1';

export const RESULT_NAME = 'result';
export const EVENT_NAME = 'event.json';

export function artifactName(path: string): string {
  return `artifacts/${path}`;
}

/** Name of an attempt's output stream. */
export function logName(n: number, stream: string): string {
  return `attempt-${n}/${stream}`;
}

export function proofName(sandboxId: string): string {
  return `proofs/${sandboxId}.json`;
}

/** Lists all descriptors of a statement that have a digest. */
export function listDescriptors({ subject, predicate: { buildDefinition, runDetails } }: Statement): Descriptor[] {
  const all = [...subject, ...buildDefinition.resolvedDependencies, ...runDetails.byproducts];
  return all.filter(({ digest }) => digest !== undefined);
}

/** Encodes the bytes to sign: "PAE" of DSSE v1. */
export function encodePreAuth(payloadType: string, payload: Uint8Array): Uint8Array {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}
