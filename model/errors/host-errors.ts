import { errorTable } from './entry.ts';

/** Errors of hosts, their capacity, and access to guests. */
export const HOST_ERRORS = errorTable({
  capacity_exhausted: {
    status: 503,
    retryable: true,
    title: 'No host has room',
    remedy: 'Ask for less, destroy something, or try again later.',
  },
  exceeds_hosts: {
    status: 422,
    title: 'No host is so large',
    remedy: 'Ask for no more than the largest host has in all: GET /v1/hosts says how much.',
  },
  host_disk_full: {
    status: 507,
    retryable: true,
    title: "The host's disk is full",
    remedy: 'Make room on the host: delete snapshots or sandboxes; docs/monitoring.md says what else can be done.',
  },
  no_host: {
    status: 503,
    retryable: true,
    title: 'No host is available',
    remedy: 'Start a host worker; see GET /v1/hosts.',
  },
  host_alive: {
    status: 409,
    retryable: true,
    title: 'The worker of that host runs',
    remedy:
      'Drain it instead. One that is lost for good is forgotten 30 s after it was last heard of; stop its worker first.',
  },
  host_unavailable: {
    status: 503,
    retryable: true,
    title: 'The host does not answer',
    remedy: 'Start its host worker or its libvirtd again; the saga goes on by itself.',
  },
  host_taken: {
    status: 409,
    retryable: true,
    title: 'Another worker serves that host',
    remedy: 'Give each machine a host id of its own (MAYFLY_HOST_ID), and run one host worker for each.',
  },
  another_installation: {
    status: 409,
    title: 'Another machine than before',
    remedy:
      'Start the host worker on the machine, and with the settings, that it had; or give it a state folder of its own.',
  },
  state_folder_in_use: {
    status: 503,
    retryable: true,
    title: 'The state folder is taken',
    remedy:
      'Use the one that runs, or stop it. For a second one on this machine set MAYFLY_STATE_DIR, MAYFLY_API_PORT and MAYFLY_INGRESS_PORT to others; a port 0 takes any free one.',
  },
  port_unavailable: {
    status: 503,
    retryable: true,
    title: 'A port cannot be had',
    remedy:
      'Give the setting that is named another port, 0 for any free one; or stop what listens there: `ss -ltnp` shows it.',
  },
  guest_unreachable: {
    status: 503,
    retryable: true,
    title: 'The sandbox does not answer',
    remedy: 'Try again; when it stays so, look at its state: its machine may be down.',
  },
  guest_failed: {
    status: 502,
    title: 'The guest answered in a way that makes no sense',
    remedy: 'Its agent may have been tampered with; destroy the sandbox and create another.',
  },
});
