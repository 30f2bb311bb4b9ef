import type { SandboxInput } from '../../model/sagas/messages.ts';
import { control } from '../saga/control.ts';

/** Returns the input of a builder that starts from another builder's latest snapshot, on its host. */
export async function inputFromSnapshot(builder: SandboxInput, snapshotId: string): Promise<SandboxInput> {
  const { snapshot, host } = await control.imageSnapshot({ snapshotId });
  const { content: _content, ...input } = builder;
  return { ...input, spec: { ...builder.spec, source: snapshot.source, snapshotId }, hosts: [host] };
}
