/** ResourceDescriptor of in-toto's attestation framework v1. Its name is that of the file that `mayfly receipt get --save` writes. */
export interface Descriptor {
  name: string;
  uri?: string;
  digest?: { sha256: string };
  /** Base64. */
  content?: string;
  mediaType?: string;
  annotations?: Record<string, unknown>;
}

/** What is said of a run: an in-toto Statement v1, whose predicate is SLSA Provenance v1. */
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
/** What the predicate's parameters mean: docs/receipts.md. */
export const BUILD_TYPE = 'urn:mayfly:run:1';

export const RESULT_NAME = 'result';
export const EVENT_NAME = 'event.json';

export function artifactName(path: string): string {
  return `artifacts/${path}`;
}

/** Of what the process of an attempt printed. */
export function logName(n: number, stream: string): string {
  return `attempt-${n}/${stream}`;
}

export function proofName(sandboxId: string): string {
  return `proofs/${sandboxId}.json`;
}

/** All that a statement says the digest of. */
export function describedBy({ subject, predicate: { buildDefinition, runDetails } }: Statement): Descriptor[] {
  const all = [...subject, ...buildDefinition.resolvedDependencies, ...runDetails.byproducts];
  return all.filter(({ digest }) => digest !== undefined);
}

/** What is signed: DSSE v1, "PAE". */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}
