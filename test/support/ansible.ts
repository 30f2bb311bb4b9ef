import type { PlaybookDeps } from '../../activities/playbook/on-host.ts';

type Ansible = ReturnType<PlaybookDeps['playbooks']['ansible']>;

/** What hosts of tests put into a guest: none, so that a test is the same on machines where set-up has made it. */
let ansible: Ansible = null;

export function ansibleOfTestHosts(): Ansible {
  return ansible;
}

/** @param given null: none again */
export function giveAnsible(given: Ansible): void {
  ansible = given;
}
