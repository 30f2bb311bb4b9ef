import type { AgentSession } from '../../host/guest/agent-session.ts';
import type { StepContext } from '../../host/step-context.ts';
import { MayflyError } from '../../model/errors.ts';
import { FILES_FOLDER, GUEST_FOLDER } from '../../model/functions/guest-layout.ts';
import { deriveSetupTry } from '../../model/functions/setup/setup.ts';
import type { SetupRef } from '../../model/functions/setup/setup-saga.ts';
import { buildTar } from '../../model/image/tar.ts';
import type { Store } from '../../store/connect.ts';
import { GuestRequests } from '../function/guest-requests.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

export interface SetupHostDeps {
  guests: { agent(sandboxId: string, context: StepContext): Promise<Pick<AgentSession, 'request'>> };
  functions: { store: Pick<Store, 'functionSetups' | 'functionFiles'> };
}

/** Target of a setup's steps; `sandboxId` is its snapshot's id, whose steps are queued like a sandbox's. */
interface SetupTarget extends StepTarget, SetupRef {
  /** Sandbox of the attempt. */
  attemptId: string;
}

const FILES = {
  path: FILES_FOLDER.slice(GUEST_FOLDER.length + 1),
  type: 'directory',
  mode: 0o755,
  bytes: new Uint8Array(),
  link: null,
} as const;

export function createSetupHostActivities({ guests, functions: { store } }: SetupHostDeps) {
  return {
    /** Places the function's files, at the same path as in runs. */
    async placeSetupFiles({ project, setupKey: key, attemptId }: SetupTarget): Promise<void> {
      const found = await store.functionSetups.get({ project, key });
      if (!found || deriveSetupTry(found, found.tries).sandboxId !== attemptId) {
        throw new MayflyError('setup_not_ready', `${attemptId} is not of the setup ${key}.`);
      }
      const { user, filesDigest } = found.wish;
      const context = stepContext();
      const guest = new GuestRequests(await guests.agent(attemptId, context), context.signal);
      context.alive('putting its files into the guest');
      await guest.putTar(GUEST_FOLDER, buildTar([FILES]), user);
      if (filesDigest === null) return;
      const files = await store.functionFiles.get(project, filesDigest);
      if (!files) throw new MayflyError('function_gone', 'The files of the function are not there any more.');
      await guest.putTar(FILES_FOLDER, files, user);
    },
  };
}
