import { condition, setHandler } from '@temporalio/workflow';
import { isSameHost } from '../../model/host.ts';
import { TEMPORAL_OPERATOR } from '../../model/sagas/cancellation.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { isCreateFinished, isFinal } from '../../model/sandbox/sandbox-state.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { accepted, destroy, hostDecommissioned, restoreRecord, settled } from '../saga/messages.ts';
import { addSubscriber, handleSubscriptions } from '../saga/subscription.ts';
import type { SandboxEntity } from './entity.ts';

/** Handles messages that a sandbox takes in every state. */
export function handleMessages(entity: SandboxEntity): void {
  const validator = () => entity.checkOpen();
  handleSubscriptions(entity.state.subscribers);
  setHandler(accepted, async () => entity.begun, { validator });
  setHandler(settled, () => awaitSettled(entity), { validator });
  const restore = async () => {
    await entity.begun;
    if (!isFinal(entity.record.state)) await entity.recordChange('sandbox.state'); // which checks the store's
  };
  setHandler(restoreRecord, restore, { validator });
  setHandler(hostDecommissioned, ({ hostId, actor }) => {
    const { record, state } = entity;
    const candidates = record.askedHosts.filter((host) => host.hostId === hostId);
    if (candidates.some((host) => isSameHost(record, host))) {
      entity.terminate({ reason: 'host-forgotten', actor, failure: null });
    }
    state.decommissioned.push(...candidates);
  });
  const stop = (actor: Actor) => entity.terminate({ reason: 'deleted', actor, failure: null });
  setHandler(destroy, ({ actor, subscriber }) => {
    if (subscriber !== undefined) addSubscriber(entity.state.subscribers, subscriber);
    stop(actor);
  });
  whenCancelled(() => stop(TEMPORAL_OPERATOR));
}

async function awaitSettled(entity: SandboxEntity): Promise<void> {
  await entity.begun;
  await condition(() => isCreateFinished(entity.record.state) || entity.isClosing);
  if (!isCreateFinished(entity.record.state)) entity.checkOpen();
}
