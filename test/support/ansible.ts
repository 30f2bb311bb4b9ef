import type { PlaybookDeps } from '../../activities/playbook/on-host.ts';

type Ansible = ReturnType<PlaybookDeps['playbooks']['ansible']>;

/** Ansible in guests of test hosts; none, so that tests don't depend on this machine's set-up. */
let ansible: Ansible = null;

export function ansibleOfTestHosts(): Ansible {
  return ansible;
}

/** Sets it. @param given null: none */
export function giveAnsible(given: Ansible): void {
  ansible = given;
}
