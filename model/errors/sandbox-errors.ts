import { errorTable, notFound } from './entry.ts';

/** Errors of sandboxes and their operations. */
export const SANDBOX_ERRORS = errorTable({
  sandbox_not_found: notFound('sandbox', 'GET /v1/sandboxes'),
  name_taken: {
    status: 409,
    title: 'A sandbox that lives has that name',
    remedy: 'Use that one, choose another name, or end it first: its name is free when it has ended.',
  },
  sandbox_ended: {
    status: 409,
    title: 'The sandbox has ended or is ending',
    remedy: 'Create another.',
  },
  sandbox_not_running: {
    status: 409,
    retryable: true,
    title: 'The sandbox is not running',
    remedy: 'Wait until its state is `running` (GET /v1/sandboxes/{id}/events).',
  },
  sandbox_suspended: {
    status: 409,
    title: 'The sandbox is paused or hibernated',
    remedy: 'Let it go on (POST /v1/sandboxes/{id}/resume), or give it `autoResume`.',
  },
  sandbox_busy: {
    status: 409,
    retryable: true,
    title: 'Another operation of the sandbox is under way',
    remedy: 'Wait until it has ended; `detail` names it.',
  },
  clone_failed: {
    status: 502,
    retryable: true,
    title: 'The disk could not be cloned',
    remedy: 'See `detail` and the audit; the partial clone was removed.',
  },
  boot_failed: {
    status: 502,
    retryable: true,
    title: 'The machine did not start',
    remedy: 'See `detail` and the audit; nothing was left behind.',
  },
  ip_timeout: {
    status: 504,
    retryable: true,
    title: 'The machine got no address in time',
    remedy: 'Check that the source asks for DHCP and reads its seed.',
  },
  ssh_timeout: {
    status: 504,
    retryable: true,
    title: 'SSH was not verified in time',
    remedy: 'Check that the source runs sshd and trusts the user CA given by its seed.',
  },
  host_key_mismatch: {
    status: 502,
    title: 'Another machine answered',
    remedy: 'The host key differs from the pinned one; look for an address conflict.',
  },
  address_conflict: {
    status: 409,
    retryable: true,
    title: 'The address or MAC is already in use on the host',
    remedy: 'Try again; a new id gives a new MAC.',
  },
  machine_stopped: {
    status: 502,
    retryable: true,
    title: 'The machine of the sandbox went off',
    remedy: 'Its guest was shut down, or an operator ended it. Create another, or fork a snapshot of it.',
  },
  machine_crashed: {
    status: 502,
    retryable: true,
    title: 'The machine of the sandbox crashed',
    remedy:
      "Look into the host's log for a process that ran out of memory, then create another, or fork a snapshot of it.",
  },
  machine_lost: {
    status: 502,
    retryable: true,
    title: 'The machine of the sandbox is gone',
    remedy: 'Something else than Mayfly removed it from its host. Create another, or fork a snapshot of it.',
  },
  machine_io_error: {
    status: 502,
    retryable: true,
    title: 'The disk of the sandbox failed',
    remedy: "See to the host's storage (`dmesg`), then create another, or fork a snapshot of it.",
  },
  host_restarted: {
    status: 502,
    retryable: true,
    title: 'The host of the sandbox restarted',
    remedy: 'Create another, or fork a snapshot of it. Hibernated sandboxes and snapshots outlive a restart.',
  },
  hibernation_unsupported: {
    status: 422,
    title: 'This host cannot hibernate sandboxes',
    remedy: 'Pause it instead, or use a host with virtual machines.',
  },
  hibernate_failed: {
    status: 502,
    retryable: true,
    title: 'The memory of the sandbox could not be saved',
    remedy: 'See `detail`: it may be room on the host. The sandbox goes on.',
  },
  wake_failed: {
    status: 502,
    retryable: true,
    title: 'The hibernated sandbox could not be woken',
    remedy: 'See `detail`; it stays hibernated, and nothing of it is given up until it is destroyed.',
  },
  sandbox_lost: {
    status: 409,
    title: 'The sandbox was lost',
    remedy: 'Create another; `message` says what became of this one, and its proof that nothing of it is left.',
  },
  host_forgotten: {
    status: 409,
    title: 'Its host was forgotten, so its end is unproved',
    remedy: 'What was on that host is only removed, and proved to be, should the host come back.',
  },
  cleanup_incomplete: {
    status: 500,
    retryable: true,
    title: 'Something is still there',
    remedy: 'The saga goes on removing it; see `waitingFor` and `mayfly doctor`.',
  },
});
