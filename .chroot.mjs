// ../../../tmp/pb/chroot.ts
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync, copyFileSync, readFileSync as readFileSync5 } from "node:fs";
import { join as join21 } from "node:path";

// host/simulated/driver.ts
import { join as join18 } from "node:path";
import { setTimeout as sleep7 } from "node:timers/promises";

// model/errors/access-errors.ts
var ACCESS_ERRORS = {
  unauthenticated: {
    status: 401,
    retryable: false,
    title: "No valid API key",
    remedy: "Send `Authorization: Bearer <key>`; make one with `mayfly key create`."
  },
  forbidden: {
    status: 403,
    retryable: false,
    title: "This key may not do that",
    remedy: "Use a key with the scope that `detail` names."
  },
  project_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such project",
    remedy: "List them with `mayfly project list`."
  },
  project_exists: {
    status: 409,
    retryable: false,
    title: "A project has, or had, that id",
    remedy: "Choose another id; that of a deleted project is not given again."
  },
  project_in_use: {
    status: 409,
    retryable: false,
    title: "Something of the project is still there",
    remedy: "End its sandboxes and delete its snapshots, captures and baked sources first."
  },
  last_admin_key: {
    status: 409,
    retryable: false,
    title: "That is the last operator key that lasts",
    remedy: "Make another of scope operator with `mayfly key create`, then revoke this one. The key that `mayfly up` makes for its run does not count."
  },
  quota_exceeded: {
    status: 409,
    retryable: false,
    title: "A quota would be, or is, exceeded",
    remedy: "Delete what `detail` names, or have the quota raised with `mayfly key limit`, of a project with `mayfly project set`."
  },
  project_quota_exceeded: {
    status: 429,
    retryable: true,
    title: "The project has as much as it may for now",
    remedy: "Wait for Retry-After seconds, destroy sandboxes, or have an operator raise the quota with `mayfly project set`."
  },
  request_refused: {
    status: 403,
    retryable: false,
    title: "A process of this installation asked for what is not its own",
    remedy: 'Run the same version of all processes. Where `detail` names a key, see docs/operations.md, "Keys of the processes"; the log of the control worker has who asked.'
  },
  certificate_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such certificate",
    remedy: "List them with GET /v1/sandboxes/{id}/credentials."
  },
  public_key_refused: {
    status: 422,
    retryable: false,
    title: "That public key cannot be signed",
    remedy: "Send one line of an Ed25519, ECDSA or RSA (2048 bits or more) public key, without options."
  }
};

// model/errors/approval-errors.ts
var APPROVAL_ERRORS = {
  policy_denied: {
    status: 403,
    retryable: false,
    title: "The policy of the project denies it",
    remedy: "`detail` names the rules: `mayfly policy show` has them. Ask for something that they allow."
  },
  policy_changed: {
    status: 412,
    retryable: false,
    title: "The policy is not the one that is named any more",
    remedy: "Read it again with GET /v1/policies, and change what is there."
  },
  idempotency_key_required: {
    status: 400,
    retryable: false,
    title: "What needs an approval needs an Idempotency-Key",
    remedy: "Send the request with one, and the same one again when it is approved."
  },
  approval_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such approval",
    remedy: "List them with `mayfly approval list`."
  },
  approval_refused: {
    status: 403,
    retryable: false,
    title: "It was refused",
    remedy: "`detail` has the reason, if one was given. Ask for something else, with another Idempotency-Key."
  },
  approval_stale: {
    status: 409,
    retryable: false,
    title: "The approval is for something else than what would be done now",
    remedy: "Ask again with another Idempotency-Key; who decides sends the `digest` of what was shown."
  },
  approval_decided: {
    status: 409,
    retryable: false,
    title: "The approval has come to something else already",
    remedy: "`detail` says what. To ask again takes another Idempotency-Key."
  },
  approvals_full: {
    status: 429,
    retryable: true,
    title: "Too many requests of the project wait for approval",
    remedy: "Have those decided that wait (`mayfly approval list`), or withdraw some."
  }
};

// model/errors/capture-errors.ts
var CAPTURE_ERRORS = {
  capture_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such capture",
    remedy: "List them with GET /v1/sources/{name}/captures."
  },
  capture_not_ready: {
    status: 409,
    retryable: false,
    title: "The capture cannot be used",
    remedy: "Its `state` says why: only one that is `ready` can be cloned."
  },
  capture_in_use: {
    status: 409,
    retryable: false,
    title: "Something refers to the capture",
    remedy: "Remove what `detail` names first."
  },
  capture_failed: {
    status: 502,
    retryable: true,
    title: "The source could not be captured",
    remedy: "See `detail`; what was copied has been removed, and the source goes on."
  }
};

// model/errors/command-errors.ts
var COMMAND_ERRORS = {
  command_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such command",
    remedy: "List them with GET /v1/sandboxes/{id}/commands."
  },
  command_ended: {
    status: 409,
    retryable: false,
    title: "The command has ended",
    remedy: "Start another."
  },
  command_refused: {
    status: 422,
    retryable: false,
    title: "The guest cannot start that command",
    remedy: "Mend what `detail` names: a user or a working directory that the guest does not have."
  },
  program_not_found: {
    status: 422,
    retryable: false,
    title: "The guest has no such program",
    remedy: "Install it, or give the path of one that is there."
  },
  program_not_executable: {
    status: 422,
    retryable: false,
    title: "The guest cannot run that program",
    remedy: "Mend what `detail` names: its permissions, or what it is."
  },
  stdin_conflict: {
    status: 409,
    retryable: false,
    title: "Standard input is not at that offset, or is closed",
    remedy: "Go on from the offset in `detail`."
  }
};

// model/errors/file-errors.ts
var FILE_ERRORS = {
  file_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such file in the sandbox",
    remedy: "List its directory."
  },
  file_conflict: {
    status: 409,
    retryable: false,
    title: "Something else is at that path",
    remedy: "See `detail`: a directory where a file was meant, a file where a directory was, or a directory with content."
  },
  file_forbidden: {
    status: 403,
    retryable: false,
    title: "The guest does not allow that",
    remedy: "See `detail`: a read-only file system, an immutable file, or missing rights."
  },
  guest_disk_full: {
    status: 507,
    retryable: false,
    title: "The sandbox's disk is full",
    remedy: "Remove files, or create a sandbox with a larger source."
  }
};

// model/errors/host-errors.ts
var HOST_ERRORS = {
  capacity_exhausted: {
    status: 503,
    retryable: true,
    title: "No host has room",
    remedy: "Ask for less, destroy something, or try again later."
  },
  exceeds_hosts: {
    status: 422,
    retryable: false,
    title: "No host is so large",
    remedy: "Ask for no more than the largest host has in all: GET /v1/hosts says how much."
  },
  host_disk_full: {
    status: 507,
    retryable: true,
    title: "The host's disk is full",
    remedy: "Make room on the host: delete snapshots or sandboxes; docs/operations.md says what else can be done."
  },
  no_host: {
    status: 503,
    retryable: true,
    title: "No host is available",
    remedy: "Start a host worker; see GET /v1/hosts."
  },
  host_alive: {
    status: 409,
    retryable: true,
    title: "The worker of that host runs",
    remedy: "Drain it instead. One that is lost for good is forgotten 30 s after it was last heard of; stop its worker first."
  },
  host_unavailable: {
    status: 503,
    retryable: true,
    title: "The host does not answer",
    remedy: "Start its host worker or its libvirtd again; the saga goes on by itself."
  },
  host_taken: {
    status: 409,
    retryable: true,
    title: "Another worker serves that host",
    remedy: "Give each machine a host id of its own (MAYFLY_HOST_ID), and run one host worker for each."
  },
  another_installation: {
    status: 409,
    retryable: false,
    title: "Another machine than before",
    remedy: "Start the host worker on the machine, and with the settings, that it had; or give it a state folder of its own."
  },
  guest_unreachable: {
    status: 503,
    retryable: true,
    title: "The sandbox does not answer",
    remedy: "Try again; when it stays so, look at its state: its machine may be down."
  },
  guest_failed: {
    status: 502,
    retryable: false,
    title: "The guest answered in a way that makes no sense",
    remedy: "Its agent may have been tampered with; destroy the sandbox and create another."
  }
};

// model/errors/image-errors.ts
var IMAGE_ERRORS = {
  dockerfile_unsupported: {
    status: 422,
    retryable: false,
    title: "The Dockerfile asks for what is not done",
    remedy: "Change the line that `errors` names; docs/images.md lists what is done. Nothing of it was run."
  },
  image_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such image",
    remedy: "List them with GET /v1/images."
  },
  image_step_failed: {
    status: 422,
    retryable: false,
    title: "A step of the Dockerfile failed",
    remedy: "See `failure` of the image: its line, exit code and the end of its log."
  },
  image_failed: {
    status: 500,
    retryable: true,
    title: "An image could not be built",
    remedy: "See `failure` of the image. Asked for again, it begins at the last step that was done."
  }
};

// model/errors/playbook-errors.ts
var PLAYBOOK_ERRORS = {
  playbook_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such playbook",
    remedy: "List them with GET /v1/playbooks."
  },
  playbook_not_written: {
    status: 409,
    retryable: true,
    title: "The playbook is not written yet",
    remedy: "Read it (GET /v1/playbooks/{id}) until its state is `checked` or `unchecked`; of one that failed, `failure` says why."
  },
  playbook_failed: {
    status: 500,
    retryable: true,
    title: "A playbook could not be written",
    remedy: "See `failure` of the playbook. Nothing of it is left; ask again."
  }
};

// model/errors/port-errors.ts
var PORT_ERRORS = {
  port_closed: {
    status: 502,
    retryable: true,
    title: "Nothing answers at that port of the sandbox",
    remedy: "Start what is to listen there, on 127.0.0.1, ::1 or all addresses; `ss -ltn` in the sandbox shows who listens."
  },
  port_refused: {
    status: 422,
    retryable: false,
    title: "That port is not passed on",
    remedy: "Take another one: a sandbox's port 22 is Mayfly's own way in; `mayfly ssh` logs in."
  }
};

// model/errors/request-errors.ts
var REQUEST_ERRORS = {
  invalid_request: {
    status: 422,
    retryable: false,
    title: "The request is not valid",
    remedy: "Mend the fields named in `errors`."
  },
  invalid_json: {
    status: 400,
    retryable: false,
    title: "The body is not JSON",
    remedy: "Send one JSON object in UTF-8."
  },
  invalid_id: {
    status: 400,
    retryable: false,
    title: "That is not an id",
    remedy: "Use an id as this API returned it, or the name of a sandbox that lives."
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    title: "The body is of another media type",
    remedy: "Send `Content-Type: application/json`."
  },
  body_too_large: { status: 413, retryable: false, title: "The body is too large", remedy: "Send at most 1 MiB." },
  not_found: { status: 404, retryable: false, title: "There is no such thing", remedy: "Check the path and the id." },
  malformed_request: {
    status: 400,
    retryable: false,
    title: "That is not HTTP as it should be",
    remedy: "Send HTTP/1.1 with one `Host`, and a path that begins with `/`; see what stands between client and API."
  },
  headers_too_large: {
    status: 431,
    retryable: false,
    title: "The headers are too large",
    remedy: "Send at most 16 KiB of headers, with the first line."
  },
  request_timeout: {
    status: 408,
    retryable: true,
    title: "The request did not arrive in time",
    remedy: "Send it again: all its headers within 60 s, and a body that is no file within 60 s more."
  },
  expectation_failed: {
    status: 417,
    retryable: false,
    title: "That expectation cannot be met",
    remedy: "Send `Expect: 100-continue`, or no `Expect`."
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    title: "That method is not for this path",
    remedy: "See /openapi.json for what the path takes."
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    title: "This Idempotency-Key was used with another body",
    remedy: "Use a new key for a new request."
  },
  range_not_satisfiable: {
    status: 416,
    retryable: false,
    title: "The range is outside of the file",
    remedy: "See Content-Range for its size."
  },
  too_many_requests: {
    status: 429,
    retryable: true,
    title: "Too many at once",
    remedy: "Wait for Retry-After seconds."
  }
};

// model/errors/saga-errors.ts
var SAGA_ERRORS = {
  step_timeout: {
    status: 504,
    retryable: true,
    title: "A step took too long",
    remedy: "See `failure.step`; nothing was left behind."
  },
  stale_attempt: {
    status: 409,
    retryable: false,
    title: "A newer step has overtaken this one",
    remedy: "Nothing to do: the newer step decides."
  },
  fault_injected: { status: 500, retryable: false, title: "A failpoint fired", remedy: "Unset MAYFLY_FAILPOINTS." },
  store_unavailable: {
    status: 503,
    retryable: true,
    title: "The store does not answer",
    remedy: "Check MONGODB_URI and the server behind it."
  },
  temporal_unavailable: {
    status: 503,
    retryable: true,
    title: "Temporal does not answer",
    remedy: "Check TEMPORAL_ADDRESS and the server behind it."
  },
  payload_key_unusable: {
    status: 500,
    retryable: false,
    title: "What Temporal and the store keep cannot be encrypted or read with the keys of this process",
    remedy: "Give each process of the installation the same payload.key, readable by its user alone: it is beside the CA key of the control worker, and MAYFLY_PAYLOAD_KEY_FILE names it elsewhere."
  },
  record_damaged: {
    status: 500,
    retryable: false,
    title: "Something in the store is not as Mayfly wrote it",
    remedy: "Somebody wrote to the store past Mayfly, or its disk is faulty: put the document back from a backup, or remove it."
  },
  internal: { status: 500, retryable: false, title: "That is our fault", remedy: "Report it with the requestId." }
};

// model/errors/sandbox-errors.ts
var SANDBOX_ERRORS = {
  sandbox_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such sandbox",
    remedy: "List them with GET /v1/sandboxes."
  },
  name_taken: {
    status: 409,
    retryable: false,
    title: "A sandbox that lives has that name",
    remedy: "Use that one, choose another name, or end it first: its name is free when it has ended."
  },
  sandbox_ended: {
    status: 409,
    retryable: false,
    title: "The sandbox has ended or is ending",
    remedy: "Create another."
  },
  sandbox_not_running: {
    status: 409,
    retryable: true,
    title: "The sandbox is not running",
    remedy: "Wait until its state is `running` (GET /v1/sandboxes/{id}/events)."
  },
  sandbox_suspended: {
    status: 409,
    retryable: false,
    title: "The sandbox is paused or hibernated",
    remedy: "Let it go on (POST /v1/sandboxes/{id}/resume), or give it `autoResume`."
  },
  sandbox_busy: {
    status: 409,
    retryable: true,
    title: "Another operation of the sandbox is under way",
    remedy: "Wait until it has ended; `detail` names it."
  },
  clone_failed: {
    status: 502,
    retryable: true,
    title: "The disk could not be cloned",
    remedy: "See `detail` and the audit; the partial clone was removed."
  },
  boot_failed: {
    status: 502,
    retryable: true,
    title: "The machine did not start",
    remedy: "See `detail` and the audit; nothing was left behind."
  },
  ip_timeout: {
    status: 504,
    retryable: true,
    title: "The machine got no address in time",
    remedy: "Check that the source asks for DHCP and reads its seed."
  },
  ssh_timeout: {
    status: 504,
    retryable: true,
    title: "SSH was not verified in time",
    remedy: "Check that the source runs sshd and trusts the user CA given by its seed."
  },
  host_key_mismatch: {
    status: 502,
    retryable: false,
    title: "Another machine answered",
    remedy: "The host key differs from the pinned one; look for an address conflict."
  },
  address_conflict: {
    status: 409,
    retryable: true,
    title: "The address or MAC is already in use on the host",
    remedy: "Try again; a new id gives a new MAC."
  },
  machine_stopped: {
    status: 502,
    retryable: true,
    title: "The machine of the sandbox went off",
    remedy: "Its guest was shut down, or an operator ended it. Create another, or fork a snapshot of it."
  },
  machine_crashed: {
    status: 502,
    retryable: true,
    title: "The machine of the sandbox crashed",
    remedy: "Look into the host's log for a process that ran out of memory, then create another, or fork a snapshot of it."
  },
  machine_lost: {
    status: 502,
    retryable: true,
    title: "The machine of the sandbox is gone",
    remedy: "Something else than Mayfly removed it from its host. Create another, or fork a snapshot of it."
  },
  machine_io_error: {
    status: 502,
    retryable: true,
    title: "The disk of the sandbox failed",
    remedy: "See to the host's storage (`dmesg`), then create another, or fork a snapshot of it."
  },
  host_restarted: {
    status: 502,
    retryable: true,
    title: "The host of the sandbox restarted",
    remedy: "Create another, or fork a snapshot of it. Hibernated sandboxes and snapshots outlive a restart."
  },
  hibernation_unsupported: {
    status: 422,
    retryable: false,
    title: "This host cannot hibernate sandboxes",
    remedy: "Pause it instead, or use a host with virtual machines."
  },
  hibernate_failed: {
    status: 502,
    retryable: true,
    title: "The memory of the sandbox could not be saved",
    remedy: "See `detail`: it may be room on the host. The sandbox goes on."
  },
  wake_failed: {
    status: 502,
    retryable: true,
    title: "The hibernated sandbox could not be woken",
    remedy: "See `detail`; it stays hibernated, and nothing of it is given up until it is destroyed."
  },
  sandbox_lost: {
    status: 409,
    retryable: false,
    title: "The sandbox was lost",
    remedy: "Create another; `message` says what became of this one, and its proof that nothing of it is left."
  },
  host_forgotten: {
    status: 409,
    retryable: false,
    title: "Its host was forgotten, so its end is unproved",
    remedy: "What was on that host is only removed, and proved to be, should the host come back."
  },
  cleanup_incomplete: {
    status: 500,
    retryable: true,
    title: "Something is still there",
    remedy: "The saga goes on removing it; see `waitingFor` and `mayfly doctor`."
  }
};

// model/errors/snapshot-errors.ts
var SNAPSHOT_ERRORS = {
  snapshot_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such snapshot",
    remedy: "List them with GET /v1/sandboxes/{id}/snapshots."
  },
  snapshot_not_ready: {
    status: 409,
    retryable: false,
    title: "The snapshot cannot be used",
    remedy: "Its `state` says why: only one that is `ready` can be restored or forked."
  },
  snapshot_name_taken: {
    status: 409,
    retryable: false,
    title: "The sandbox has a snapshot of that name",
    remedy: "Choose another name, or delete that snapshot."
  },
  snapshot_unsupported: {
    status: 422,
    retryable: false,
    title: "That kind of snapshot cannot be taken here",
    remedy: "Take one of kind `disk`; `detail` says what stands in the other's way."
  },
  snapshot_failed: {
    status: 502,
    retryable: true,
    title: "The snapshot could not be taken",
    remedy: "See `detail` and the audit; what was saved of it has been removed, and the sandbox goes on."
  },
  restore_failed: {
    status: 502,
    retryable: true,
    title: "The sandbox could not be restored",
    remedy: "See `detail` and the audit; the sandbox's `state` says what it is now."
  },
  flatten_failed: {
    status: 502,
    retryable: true,
    title: "The chain of a sandbox's disks could not be shortened",
    remedy: "The sandbox goes on as it is, and this is tried again after its next snapshot; `detail` says what is missing."
  },
  diff_failed: {
    status: 422,
    retryable: false,
    title: "The file systems cannot be compared",
    remedy: "See `detail` for the snapshot and the reason: what cannot be read, or what is too much. `path` narrows it."
  }
};

// model/errors/source-errors.ts
var SOURCE_ERRORS = {
  readonly_refused: {
    status: 422,
    retryable: false,
    title: "That is not allowed on a source",
    remedy: "See `errors` for the position and the reason; docs/read-only.md lists what is allowed."
  },
  source_not_prepared: {
    status: 409,
    retryable: false,
    title: "The source is not prepared for looking",
    remedy: "POST /v1/sources/{name}/prepare first."
  },
  prepare_failed: {
    status: 502,
    retryable: false,
    title: "The source could not be prepared",
    remedy: "See `detail` for the step and the reason; what was changed has been taken back."
  },
  source_not_running: {
    status: 409,
    retryable: false,
    title: "The source is not running",
    remedy: "Start it (POST /v1/sources/{name}/start); only a running machine can be looked at or captured. One that is shut off is cloned as it is."
  },
  source_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such source",
    remedy: "List them with GET /v1/sources."
  },
  source_running: {
    status: 409,
    retryable: false,
    title: "The source is running",
    remedy: "Capture it (POST /v1/sources/{name}/captures), or stop it (POST \u2026/stop); a disk that is being written cannot be cloned."
  },
  source_busy: {
    status: 409,
    retryable: true,
    title: "The source is being captured or prepared, or that is being taken back",
    remedy: "Wait until that has ended; `detail` names it."
  },
  source_unsafe: {
    status: 409,
    retryable: false,
    title: "The source cannot be cloned safely",
    remedy: "Change what `detail` names in the source, or use another."
  },
  source_changed: {
    status: 409,
    retryable: false,
    title: "The source's disk has changed under its clones",
    remedy: "Restore the disk, or destroy the clones and register the new disk."
  },
  source_differs: {
    status: 409,
    retryable: false,
    title: "Hosts have different sources of that name",
    remedy: "Rename one of them, or drain its host (`mayfly host drain`); of captures, name one."
  },
  source_exists: {
    status: 409,
    retryable: false,
    title: "There is a source of that name",
    remedy: "Choose another name, or delete that source."
  },
  source_in_use: {
    status: 409,
    retryable: true,
    title: "Something refers to the source",
    remedy: "Destroy the sandboxes and delete the snapshots and captures that `detail` names; then the source can be deleted, or started. A machine to try things on is a sandbox of it."
  },
  source_not_baked: {
    status: 409,
    retryable: false,
    title: "Mayfly did not make that source",
    remedy: "Remove it where it was made: with virsh, for example."
  },
  source_read_only: {
    status: 409,
    retryable: false,
    title: "The source is an image of Mayfly, which must not change",
    remedy: "Make a sandbox of it; or bake a snapshot of one (POST /v1/sources), and start what was made of it."
  },
  source_start_failed: {
    status: 502,
    retryable: false,
    title: "The source did not start",
    remedy: "See `detail` for what its host said. To ask again is no second start."
  },
  source_stop_failed: {
    status: 502,
    retryable: false,
    title: "The source did not shut down",
    remedy: "It may still: ask again, or with `force`, which loses what it has not written yet."
  },
  bake_failed: {
    status: 502,
    retryable: true,
    title: "The source could not be baked",
    remedy: "See `detail` for the step and the reason; what was made of it has been removed."
  }
};

// model/errors/template-errors.ts
var TEMPLATE_ERRORS = {
  template_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such template",
    remedy: "List them with GET /v1/templates."
  },
  template_unavailable: {
    status: 409,
    retryable: true,
    title: "No template is ready for such a sandbox",
    remedy: "Make one (POST /v1/templates) and wait until it is `ready`, or ask with `boot: auto`, which boots cold instead."
  },
  template_failed: {
    status: 500,
    retryable: true,
    title: "A template could not be made",
    remedy: "See `reason` of the template; it is tried again at `retryAt`. Sandboxes boot cold meanwhile."
  },
  template_unsupported: {
    status: 422,
    retryable: false,
    title: "No templates are made of that",
    remedy: "Sandboxes of it boot cold; `detail` says which host was asked."
  },
  pool_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such pool",
    remedy: "List them with GET /v1/pools."
  }
};

// model/errors.ts
var ERRORS = {
  ...REQUEST_ERRORS,
  ...ACCESS_ERRORS,
  ...APPROVAL_ERRORS,
  ...SANDBOX_ERRORS,
  ...SNAPSHOT_ERRORS,
  ...COMMAND_ERRORS,
  ...FILE_ERRORS,
  ...PORT_ERRORS,
  ...SOURCE_ERRORS,
  ...CAPTURE_ERRORS,
  ...TEMPLATE_ERRORS,
  ...IMAGE_ERRORS,
  ...PLAYBOOK_ERRORS,
  ...HOST_ERRORS,
  ...SAGA_ERRORS
};
function isErrorCode(text2) {
  return Object.hasOwn(ERRORS, text2);
}
var MayflyError = class extends Error {
  constructor(code, message, options = {}) {
    super(message, "cause" in options ? { cause: options.cause } : void 0);
    this.code = code;
    this.options = options;
  }
  code;
  options;
  name = "MayflyError";
  get retryable() {
    return ERRORS[this.code].retryable;
  }
};

// host/disk/host-disk.ts
import { stat, statfs } from "node:fs/promises";

// host/os/directory.ts
import { chmod, chown, mkdir, readdir } from "node:fs/promises";
async function entriesOf(path) {
  try {
    return await readdir(path);
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
function isNotFound(error) {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
async function makeClosed(path, group) {
  await mkdir(path, { recursive: true, mode: 448 });
  if (group !== void 0) await chown(path, process.geteuid?.() ?? 0, group);
  await chmod(path, group === void 0 ? 448 : 1480);
}

// host/os/absent.ts
async function orAbsent(look) {
  try {
    return await look;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

// host/disk/host-disk.ts
async function diskOf(folder2) {
  const { blocks, bavail, bsize } = await statfs(folder2);
  return { totalBytes: blocks * bsize, availableBytes: bavail * bsize };
}

// host/failpoints.ts
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
var WHERE = ["before", "during", "after"];
var POINT = /^(?:(?<id>[a-z]{3}-[0-9a-z]{16})\/)?(?<step>[A-Za-z][\w-]*)\.(?<where>\w+)=(?:(?<count>\d+)\*)?(?<verb>\w+)(?:\((?<argument>\w*)\))?$/;
var MAX_DELAY_MS = 36e5;
var Failpoints = class _Failpoints {
  constructor(points, file = null) {
    this.file = file;
    this.#points = points;
  }
  file;
  #points;
  /** What the file said when it was last read. */
  #said = null;
  /**
   * Replaces what is set; undefined: no faults. Tests arm a worker that runs.
   * @param id only what is set for it is replaced, by points that are written without it. `@default` everything is
   * @throws as {@link parse}
   */
  arm(text2, id) {
    if (id === void 0) {
      this.#points = _Failpoints.parse(text2).#points;
      return;
    }
    const parts2 = partsOf(text2).map((part) => `${id}/${part}`);
    const own = _Failpoints.parse(parts2.join(";")).#points;
    const others2 = [...this.#points].filter(([name]) => !name.startsWith(`${id}/`));
    this.#points = new Map([...others2, ...own]);
  }
  /**
   * @param text value of `MAYFLY_FAILPOINTS`; undefined or empty: no faults
   * @throws MayflyError invalid_request that names the point which cannot be understood
   */
  static parse(text2) {
    if (text2?.startsWith("@/")) return new _Failpoints(/* @__PURE__ */ new Map(), text2.slice(1));
    const points = /* @__PURE__ */ new Map();
    for (const part of partsOf(text2)) {
      const { name, failpoint } = parsePoint(part);
      if (points.has(name)) throw unclear(part, `${name} is set twice`);
      points.set(name, failpoint);
    }
    return new _Failpoints(points);
  }
  /** Whether any fault is set: worth a warning at start. */
  get armed() {
    return this.file !== null || this.#points.size > 0;
  }
  /**
   * Does what is set for this point, if anything is: for one of the ids first, then for the whole process.
   * @param about whom the step is about; one id, or all that it is given
   * @throws MayflyError the injected error; the signal's reason when it is aborted while hanging or delayed
   */
  async hit(step2, where, about, signal) {
    if (this.file !== null) this.#read(this.file);
    if (this.#points.size === 0) return;
    const point = `${step2}.${where}`;
    for (const name of [...[about].flat().map((id) => `${id}/${point}`), point]) {
      const failpoint = this.#points.get(name);
      if (!failpoint || failpoint.hitsLeft <= 0) continue;
      failpoint.hitsLeft--;
      return act(failpoint.action, name, signal);
    }
  }
  /** Hits are counted anew when the file says something else. */
  #read(file) {
    const said = readFileSync(file, "utf8").trim();
    if (said === this.#said) return;
    this.#points = _Failpoints.parse(said).#points;
    this.#said = said;
  }
};
async function act(action, name, signal) {
  switch (action.kind) {
    case "error":
      throw new MayflyError(action.code, `The failpoint ${name} injected ${action.code}.`);
    case "kill":
    case "stop":
      process.kill(process.pid, action.kind === "kill" ? "SIGKILL" : "SIGSTOP");
      return;
    case "delay":
      return wait(action.ms, signal);
    case "hang":
      for (; ; ) await wait(MAX_DELAY_MS, signal);
    case "deaf":
      for (; ; ) await sleep(MAX_DELAY_MS);
  }
}
async function wait(ms, signal) {
  try {
    await sleep(ms, void 0, signal && { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
function partsOf(text2) {
  return (text2 ?? "").split(";").map((part) => part.trim()).filter((part) => part !== "");
}
function parsePoint(part) {
  const fields = POINT.exec(part)?.groups;
  if (!fields) throw unclear(part, "expected step.where=action, or id/step.where=action");
  const where = WHERE.find((w2) => w2 === fields["where"]);
  if (!where) throw unclear(part, `"${fields["where"]}" is none of ${WHERE.join(", ")}`);
  const count = fields["count"] === void 0 ? Number.POSITIVE_INFINITY : Number(fields["count"]);
  if (count < 1) throw unclear(part, "a count is at least 1");
  const name = `${fields["step"]}.${where}`;
  return {
    name: fields["id"] === void 0 ? name : `${fields["id"]}/${name}`,
    failpoint: { action: parseAction(part, fields["verb"] ?? "", fields["argument"]), hitsLeft: count }
  };
}
function parseAction(part, verb, argument) {
  if (verb === "error" && argument === void 0) return { kind: "error", code: "fault_injected" };
  if (verb === "error" && argument !== void 0) {
    if (!isErrorCode(argument)) throw unclear(part, `"${argument}" is not in the error table`);
    return { kind: "error", code: argument };
  }
  if (verb === "delay" && argument !== void 0 && /^\d{1,7}$/.test(argument) && Number(argument) <= MAX_DELAY_MS) {
    return { kind: "delay", ms: Number(argument) };
  }
  if ((verb === "hang" || verb === "deaf" || verb === "kill" || verb === "stop") && argument === void 0)
    return { kind: verb };
  throw unclear(part, "the action is none of error, error(code), hang, delay(milliseconds), deaf, kill, stop");
}
function unclear(part, why) {
  return new MayflyError(
    "invalid_request",
    `MAYFLY_FAILPOINTS: cannot understand ${JSON.stringify(part)}: ${why}. Example: cloneDisk.after=2*error(clone_failed).`
  );
}

// host/templates.ts
var NO_TEMPLATES = {
  keyOf: () => Promise.resolve(null),
  settle: () => Promise.reject(new RangeError("this host makes no templates")),
  publish: () => Promise.reject(new RangeError("this host makes no templates")),
  retire: () => Promise.resolve(),
  uses: () => Promise.resolve([])
};

// host/simulated/capacity.ts
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
async function measureCapacity(folder2) {
  const memory = await readFile("/proc/meminfo", "utf8");
  const disk = await diskOf(folder2);
  return {
    cpus: availableParallelism(),
    memoryTotalMib: meminfoMib(memory, "MemTotal"),
    memoryAvailableMib: meminfoMib(memory, "MemAvailable"),
    diskTotalBytes: disk.totalBytes,
    diskAvailableBytes: disk.availableBytes
  };
}
function meminfoMib(text2, name) {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text2)?.[1];
  if (!kib) throw new Error(`/proc/meminfo has no ${name}`);
  return Math.floor(Number(kib) / 1024);
}

// host/simulated/disk/disk-usage.ts
import { setTimeout as sleep2 } from "node:timers/promises";

// host/os/exec.ts
import { execFile } from "node:child_process";

// telemetry/programs.ts
var observers = [];
function programBegins(program, args) {
  if (observers.length === 0) return () => {
  };
  const ends = observers.map((observe) => observe(program, args));
  return (failure) => {
    for (const end of ends) end(failure);
  };
}

// host/os/exec.ts
var ExecError = class extends Error {
  constructor(program, args, exitCode, stderr, stdout, cause) {
    super(`${program} ${args[0] ?? ""}: ${stderr.trim() || (cause instanceof Error ? cause.message : "failed")}`, {
      cause
    });
    this.program = program;
    this.args = args;
    this.exitCode = exitCode;
    this.stderr = stderr;
    this.stdout = stdout;
  }
  program;
  args;
  exitCode;
  stderr;
  stdout;
  name = "ExecError";
};
function exec(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const ended = programBegins(program, args);
    const child = execFile(
      "setpriv",
      ["--pdeathsig", "KILL", "--", program, ...args],
      {
        env: { ...process.env, ...options.env, LC_ALL: "C" },
        maxBuffer: 64 * 1024 * 1024,
        timeout: options.timeoutMs ?? 6e4,
        killSignal: "SIGKILL",
        ...options.signal && { signal: options.signal }
      },
      (error, stdout, stderr) => {
        if (!error) {
          ended(null);
          resolve({ stdout, stderr });
          return;
        }
        const exitCode = typeof error.code === "number" ? error.code : null;
        const failure = new ExecError(program, args, exitCode, stderr, stdout, error);
        ended(failure);
        reject(failure);
      }
    );
    child.stdin?.on("error", () => {
    });
    child.stdin?.end(options.input ?? "");
  });
}

// host/simulated/disk/disk-usage.ts
var GATHER_MS = 5;
var AT_ONCE = 100;
var ALWAYS = ["--summarize", "--block-size=1", "--one-file-system"];
var DiskUsage = class {
  #next = null;
  #last = Promise.resolve();
  /** Allocated, not apparent, size of everything in a workspace; 0 when there is none. Bytes. */
  async of(workspace) {
    if (await entriesOf(workspace) === null) return 0;
    this.#next ??= this.#begin();
    this.#next.workspaces.add(workspace);
    const bytes = (await this.#next.sizes).get(workspace);
    if (bytes !== void 0) return bytes;
    if (await entriesOf(workspace) === null) return 0;
    throw new Error(`du printed no size for ${workspace}`);
  }
  #begin() {
    const workspaces = /* @__PURE__ */ new Set();
    const before = this.#last;
    const sizes = sleep2(GATHER_MS).then(async () => {
      await before;
      this.#next = null;
      return sizesOf([...workspaces]);
    });
    this.#last = sizes.catch(() => void 0);
    return { workspaces, sizes };
  }
};
function allocatedBytes(folder2) {
  return measure(folder2, []);
}
function apparentBytes(folder2) {
  return measure(folder2, ["--apparent-size"]);
}
async function measure(folder2, options) {
  const { stdout } = await exec("du", [...ALWAYS, ...options, "--", folder2]);
  const bytes = sizesIn(stdout).get(folder2);
  if (bytes === void 0) throw new Error(`du printed no size for ${folder2}: ${JSON.stringify(stdout)}`);
  return bytes;
}
async function sizesOf(folders) {
  const sizes = [];
  for (let i = 0; i < folders.length; i += AT_ONCE) {
    sizes.push(...sizesIn(await duOf(folders.slice(i, i + AT_ONCE))));
  }
  return new Map(sizes);
}
async function duOf(folders) {
  try {
    return (await exec("du", [...ALWAYS, "--", ...folders])).stdout;
  } catch (error) {
    if (error instanceof ExecError && error.exitCode === 1) return error.stdout;
    throw error;
  }
}
function sizesIn(stdout) {
  const sizes = /* @__PURE__ */ new Map();
  for (const line of stdout.split("\n")) {
    const [, bytes, folder2] = /^(\d+)\t(.+)$/.exec(line) ?? [];
    if (bytes !== void 0 && folder2 !== void 0) sizes.set(folder2, Number(bytes));
  }
  return sizes;
}

// host/simulated/machine/domain.ts
import { spawn as spawn2 } from "node:child_process";
import { open, readFile as readFile5, stat as stat2 } from "node:fs/promises";
import { join as join4 } from "node:path";
import { setTimeout as sleep4 } from "node:timers/promises";

// host/os/one-line.ts
function oneLine(text2) {
  return text2.replace(/[^\x20-\x7e]+/g, " ").trim();
}

// host/os/proc.ts
import { readdirSync, readFileSync as readFileSync2 } from "node:fs";
function processNames() {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
}
function readOrGone(path) {
  try {
    return readFileSync2(path, "utf8");
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}
function isGone(error) {
  return error instanceof Error && "code" in error && ["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(String(error.code));
}
function sendSignal(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

// host/simulated/disk/tree.ts
import { createHash } from "node:crypto";
import { lstat, readFile as readFile2 } from "node:fs/promises";
import { join } from "node:path";

// host/simulated/disk/tar.ts
import { spawn } from "node:child_process";
var COMPLAINT_CHARACTERS = 500;
async function* tar(args, input, signal) {
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", "tar", ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], LC_ALL: "C" },
    killSignal: "SIGKILL",
    signal
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text2) => {
    complaint = `${complaint}${text2}`.slice(-COMPLAINT_CHARACTERS);
  });
  let failure = null;
  child.once("error", (error) => {
    failure = error;
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  child.stdout.on("readable", () => {
  });
  child.stdin.on("error", () => {
  });
  child.stdin.end(input);
  try {
    const output = child.stdout;
    yield* output;
    const status = await closed;
    if (failure) throw failure;
    if (status !== 0) throw new Error(oneLine(complaint) || `tar exited with ${status}`);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
}

// host/simulated/disk/tree.ts
var TAR = ["--create", "--file=-", "--format=gnu", "--sort=name", "--numeric-owner", "--mtime=@0"];
async function copyTree(from, to, signal) {
  try {
    await exec("cp", ["--archive", "--reflink=auto", "--", from, to], { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
async function removeTree(path) {
  if (await entriesOf(path) === null) return;
  const mounts = (await readFile2("/proc/self/mountinfo", "utf8")).split("\n").map((line) => line.split(" ")[4] ?? "");
  const inside = mounts.find((mount) => mount === path || mount.startsWith(`${path}/`));
  if (inside) {
    throw new MayflyError(
      "cleanup_incomplete",
      `${path} is not removed, because ${inside} is mounted there. Unmount it.`
    );
  }
  await exec("rm", ["-rf", "--one-file-system", "--", path]);
}
async function digestOfTree(root2, signal = new AbortController().signal) {
  const hash = createHash("sha256");
  try {
    for await (const piece of tar([...TAR, `--directory=${root2}`, "."], Buffer.alloc(0), signal)) hash.update(piece);
  } catch (cause) {
    signal.throwIfAborted();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`tar cannot read all of ${root2}: ${why}`, { cause });
  }
  return hash.digest("hex");
}
async function firstNotFolder(root2, folders) {
  for (const folder2 of folders) {
    const found = await orAbsent(lstat(join(root2, folder2)));
    if (found && !found.isDirectory()) return folder2;
  }
  return null;
}

// host/simulated/machine/image.ts
import { access, chmod as chmod2, chown as chown2, cp, mkdir as mkdir2, readdir as readdir2, readFile as readFile3, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join as join2 } from "node:path";
import { z } from "zod";
var DEFAULT_IMAGE = "golden-debian12";
var GUEST_USER = { name: "sandbox", uid: 1e3, gid: 1e3 };
var OWN_MEMORY_MIB = 8;
var IMAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
var SOURCE_FILE = "source.json";
var SourceFile = z.strictObject({
  cpus: z.int().min(1),
  memoryMib: z.int().min(1),
  diskBytes: z.int().min(1),
  content: z.string().nullable().default(null)
});
var DIRECTORIES = [
  "dev",
  "proc",
  "sys",
  "usr",
  "etc/ssh",
  "etc/alternatives",
  "run/sshd",
  "var/log",
  "home",
  "opt",
  "srv",
  "mnt"
];
var MERGED_USR = ["bin", "sbin", "lib", "lib32", "lib64"];
var COPIED_ETC = ["bash.bashrc", "ld.so.cache", "ld.so.conf", "profile", "protocols", "services"];
var PASSWD = `root:*:0:0:root:/root:/bin/bash
nobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
sshd:*:102:65534::/run/sshd:/usr/sbin/nologin
${GUEST_USER.name}:*:${GUEST_USER.uid}:${GUEST_USER.gid}:${GUEST_USER.name}:/home/${GUEST_USER.name}:/bin/bash
`;
var GROUP = `root:x:0:
tty:x:5:
utmp:x:43:
${GUEST_USER.name}:x:${GUEST_USER.gid}:
nogroup:x:65534:
`;
function imageRoot(images, name) {
  return join2(images, name, "root");
}
async function ensureDefaultImage(images) {
  await makeClosed(images);
  if ((await readdir2(images)).includes(DEFAULT_IMAGE)) return;
  const staging = join2(images, `.${DEFAULT_IMAGE}.new`);
  await rm(staging, { recursive: true, force: true });
  await makeTree(imageRoot(staging, "."));
  await describeImage(staging, 0, await digestOfTree(imageRoot(staging, ".")));
  await rename(staging, join2(images, DEFAULT_IMAGE));
}
async function describeImage(folder2, usedBytes, content) {
  const diskBytes = Math.max(usedBytes, 64 * 1024 * 1024);
  const about = { cpus: 1, memoryMib: OWN_MEMORY_MIB, diskBytes, content };
  await writeFile(join2(folder2, SOURCE_FILE), `${JSON.stringify(about)}
`);
}
async function listImages(images) {
  const names = (await readdir2(images)).filter((name) => IMAGE_NAME.test(name)).sort();
  return Promise.all(names.map((name) => readImage(images, name)));
}
async function readImage(images, name) {
  const missing = new MayflyError("source_not_found", `This host has no source named ${JSON.stringify(name)}.`);
  if (!IMAGE_NAME.test(name) || !(await readdir2(images)).includes(name)) throw missing;
  try {
    await access(imageRoot(images, name));
    const about = SourceFile.parse(JSON.parse(await readFile3(join2(images, name, SOURCE_FILE), "utf8")));
    return { name, cloneable: true, problem: null, ...about };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const problem = `${join2(images, name)} is not an image with root/ and ${SOURCE_FILE}: ${why}`;
    return { name, cloneable: false, problem, cpus: 0, memoryMib: 0, diskBytes: 0 };
  }
}
async function makeTree(root2) {
  for (const path of DIRECTORIES) await mkdir2(join2(root2, path), { recursive: true, mode: 493 });
  for (const name of MERGED_USR) await symlink(`usr/${name}`, join2(root2, name));
  await mkdir2(join2(root2, "root"), { mode: 448 });
  for (const name of ["tmp", "var/tmp"]) {
    await mkdir2(join2(root2, name));
    await chmod2(join2(root2, name), 1023);
  }
  const home = join2(root2, "home", GUEST_USER.name);
  await mkdir2(home, { mode: 493 });
  await writeFile(
    join2(home, "README"),
    "A simulated sandbox: a process tree with an sshd of its own. It isolates nothing.\n"
  );
  for (const path of [home, join2(home, "README")]) await chown2(path, GUEST_USER.uid, GUEST_USER.gid);
  const etc = join2(root2, "etc");
  for (const name of COPIED_ETC) await copyIfThere(join2("/etc", name), join2(etc, name));
  await writeFile(join2(etc, "passwd"), PASSWD);
  await writeFile(join2(etc, "group"), GROUP);
  await writeFile(join2(etc, "nsswitch.conf"), "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n");
  await symlink("../usr/lib/os-release", join2(etc, "os-release"));
}
async function copyIfThere(from, to) {
  try {
    await cp(from, to, { recursive: true, verbatimSymlinks: true });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

// host/simulated/machine/leases.ts
import { createHash as createHash2 } from "node:crypto";
import { readFile as readFile4, rename as rename2, writeFile as writeFile2 } from "node:fs/promises";
import { createServer } from "node:net";
import { Mutex } from "async-mutex";

// model/ids.ts
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";

// model/sandbox-id.ts
var SANDBOX_ID = /^sbx-[0-9a-hjkmnp-tv-z]{16}$/;
function isSandboxId(text2) {
  return SANDBOX_ID.test(text2);
}

// model/ids.ts
var CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
var SOURCE_ID = /^src-[0-9a-hjkmnp-tv-z]{16}$/;
var SNAPSHOT_ID = /^snp-[0-9a-hjkmnp-tv-z]{16}$/;
var CAPTURE_ID = /^cap-[0-9a-hjkmnp-tv-z]{16}$/;
var APPROVAL_ID = /^apr-[0-9a-hjkmnp-tv-z]{16}$/;
var IMAGE_ID = /^img-[0-9a-hjkmnp-tv-z]{16}$/;
var PLAYBOOK_ID = /^pbk-[0-9a-hjkmnp-tv-z]{16}$/;
var COMMAND_ID = /^cmd-[0-9a-hjkmnp-tv-z]{16}$/;
var HOST_ID = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
var ID_PATTERNS = {
  sandbox: SANDBOX_ID.source,
  source: SOURCE_ID.source,
  snapshot: SNAPSHOT_ID.source,
  capture: CAPTURE_ID.source,
  command: COMMAND_ID.source,
  approval: APPROVAL_ID.source,
  image: IMAGE_ID.source,
  playbook: PLAYBOOK_ID.source,
  host: HOST_ID.source
};
var ID_PREFIXES = ["sbx", "src", "snp", "cap", "opn", "cmd", "img", "pbk", "apr", "ins"];
var SANDBOX_NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
var LIKE_AN_ID = new RegExp(`^(?:${ID_PREFIXES.join("|")})-`);
var SANDBOX_NAME_PATTERNS = { is: SANDBOX_NAME.source, isNot: LIKE_AN_ID.source };
var UUID_NAMESPACE = hexToBytes("8f1d3c5a6b7e4f20918273645566aabb");
var ID_BYTES = 10;
function snapshotIdFrom(random) {
  return `snp-${crockford(random)}`;
}
function crockford(random, bytes = ID_BYTES) {
  if (random.length !== bytes) throw new RangeError(`an id needs ${bytes} random bytes`);
  let value = BigInt(`0x${bytesToHex(random)}`);
  let text2 = "";
  for (let i = 0; i < bytes * 8 / 5; i++) {
    text2 = CROCKFORD.charAt(Number(value & 31n)) + text2;
    value >>= 5n;
  }
  return text2;
}
function isSourceId(text2) {
  return SOURCE_ID.test(text2);
}
function isApprovalId(text2) {
  return APPROVAL_ID.test(text2);
}
function isAuditSubject(text2) {
  return isSandboxId(text2) || isSourceId(text2) || isApprovalId(text2);
}
function isSnapshotId(text2) {
  return SNAPSHOT_ID.test(text2);
}
function isCaptureId(text2) {
  return CAPTURE_ID.test(text2);
}
function macAddress(sandboxId, nic = 0) {
  const digest = sha256(utf8ToBytes(`${sandboxId}/nic/${nic}`));
  const tail = Array.from(digest.slice(0, 3), (byte) => byte.toString(16).padStart(2, "0"));
  return ["52", "54", "00", ...tail].join(":");
}

// host/simulated/machine/leases.ts
var GUEST_PORT = 2222;
var FIRST_ADDRESS = 2134900736;
var ADDRESS_COUNT = 2 ** 22;
var LINE = /^(?<mac>(?:[0-9a-f]{2}:){5}[0-9a-f]{2}) (?<address>127(?:\.\d{1,3}){3}) (?<id>\S+)$/;
var SimulatedLeases = class {
  /** @param path of the lease file */
  constructor(path) {
    this.path = path;
  }
  path;
  #mutex = new Mutex();
  /** The lease of a MAC; made when there is none. @throws MayflyError address_conflict when another sandbox has that MAC */
  acquire(macAddress2, sandboxId) {
    return this.#mutex.runExclusive(async () => {
      const leases = await this.list();
      const present2 = leases.find((lease2) => lease2.macAddress === macAddress2);
      if (present2 && present2.sandboxId !== sandboxId) {
        throw new MayflyError(
          "address_conflict",
          `The MAC ${macAddress2} of ${sandboxId} is leased to ${present2.sandboxId}.`
        );
      }
      if (present2) return present2;
      const taken = new Set(leases.map((lease2) => lease2.address));
      const lease = { macAddress: macAddress2, address: await freeAddress(macAddress2, taken), sandboxId };
      await this.#write([...leases, lease]);
      return lease;
    });
  }
  /** Gives back whatever is leased to a sandbox. */
  release(sandboxId) {
    return this.#mutex.runExclusive(async () => {
      const leases = await this.list();
      const kept = leases.filter((lease) => lease.sandboxId !== sandboxId);
      if (kept.length < leases.length) await this.#write(kept);
    });
  }
  /** @throws Error when a line is not one of ours: an address must not be given away twice */
  async list() {
    const lines = (await this.#read()).split("\n").filter((line) => line !== "");
    return lines.map((line) => {
      const { mac, address, id } = LINE.exec(line)?.groups ?? {};
      if (!mac || !address || !id || !isSandboxId(id)) {
        throw new Error(
          `${this.path} has a line that Mayfly did not write: ${JSON.stringify(line)}. Mend or remove it.`
        );
      }
      return { macAddress: mac, address, sandboxId: id };
    });
  }
  async #read() {
    try {
      return await readFile4(this.path, "utf8");
    } catch (error) {
      if (isNotFound(error)) return "";
      throw error;
    }
  }
  async #write(leases) {
    const lines = leases.map((lease) => `${lease.macAddress} ${lease.address} ${lease.sandboxId}
`);
    await writeFile2(`${this.path}.new`, lines.join(""), { mode: 384 });
    await rename2(`${this.path}.new`, this.path);
  }
};
function noticed({ address, macAddress: macAddress2 }) {
  return { address, port: GUEST_PORT, macAddress: macAddress2, noticedAt: (/* @__PURE__ */ new Date()).toISOString() };
}
async function freeAddress(key, taken) {
  const start = createHash2("sha256").update(key).digest().readUInt32BE() % ADDRESS_COUNT;
  for (let i = 0; i < ADDRESS_COUNT; i++) {
    const address = dotted(FIRST_ADDRESS + (start + i) % ADDRESS_COUNT);
    if (!taken.has(address) && await canListen(address)) return address;
  }
  throw new MayflyError("address_conflict", "Every address of 127.64.0.0/10 is in use on this host.");
}
function dotted(value) {
  return [24, 16, 8, 0].map((shift) => value >>> shift & 255).join(".");
}
function canListen(address) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => {
      if (error.code === "EADDRINUSE") resolve(false);
      else
        reject(new MayflyError("host_unavailable", `Cannot listen on ${address}: ${error.message}`, { cause: error }));
    });
    server.listen({ host: address, port: GUEST_PORT, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

// host/simulated/machine/processes.ts
import { readdirSync as readdirSync2, readFileSync as readFileSync3, readlinkSync } from "node:fs";
import { join as join3 } from "node:path";
import { setImmediate as others, setTimeout as sleep3 } from "node:timers/promises";
var GATHER_MS2 = 5;
var AT_ONCE2 = 50;
var PAGE_KIB = 4;
var ProcessTable = class {
  #sandboxes;
  #bootScript;
  /** One process of each sandbox that was seen to run. */
  #seen = /* @__PURE__ */ new Map();
  #next = null;
  /** @param sandboxes the folder of all workspaces, without symbolic links */
  constructor(sandboxes, bootScript) {
    this.#sandboxes = sandboxes;
    this.#bootScript = bootScript;
  }
  /** A look at /proc that begins after this call. Zombies do not count: they hold nothing. */
  look() {
    this.#next ??= sleep3(GATHER_MS2).then(() => {
      this.#next = null;
      return this.#read();
    });
    return this.#next;
  }
  async of(sandboxId) {
    return (await this.look()).get(sandboxId) ?? [];
  }
  /** Whether a sandbox has any. Of one that was seen to run only that process is looked at. */
  async runs(sandboxId) {
    const pid = this.#seen.get(sandboxId);
    if (pid !== void 0 && this.#ownerOf(join3("/proc", String(pid))) === sandboxId) return true;
    this.#seen.delete(sandboxId);
    return (await this.of(sandboxId)).length > 0;
  }
  /** Whether of a sandbox that was seen to run that process has ended, since this was last asked. Looks at those alone. */
  someEnded() {
    const ended = [...this.#seen].filter(([sandboxId, pid]) => this.#ownerOf(join3("/proc", String(pid))) !== sandboxId);
    for (const [sandboxId] of ended) this.#seen.delete(sandboxId);
    return ended.length > 0;
  }
  /** A process of a sandbox, which need not be its only one. */
  remember(sandboxId, pid) {
    this.#seen.set(sandboxId, pid);
  }
  async #read() {
    const found = /* @__PURE__ */ new Map();
    for (const [n, name] of processNames().entries()) {
      if (n % AT_ONCE2 === AT_ONCE2 - 1) await others();
      const sandboxId = this.#ownerOf(join3("/proc", name));
      if (!sandboxId) continue;
      const pids = found.get(sandboxId) ?? [];
      pids.push(Number(name));
      found.set(sandboxId, pids);
    }
    this.#seen = new Map([...found].map(([sandboxId, [first2 = 0]]) => [sandboxId, first2]));
    return found;
  }
  #ownerOf(proc) {
    try {
      const root2 = readlinkSync(join3(proc, "root"));
      if (root2 !== "/") return this.#idIn(root2);
      const args = readFileSync3(join3(proc, "cmdline"), "utf8").split("\0");
      if (!args.includes(this.#bootScript)) return null;
      return args.map((arg) => this.#idIn(arg)).find((id) => id !== null) ?? null;
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  }
  /** The id in `<sandboxes>/<id>/…`. */
  #idIn(path) {
    if (!path.startsWith(`${this.#sandboxes}/`)) return null;
    const id = path.slice(this.#sandboxes.length + 1).split("/")[0] ?? "";
    return isSandboxId(id) ? id : null;
  }
};
function processIds() {
  return processNames().map(Number);
}
function childOf(pid) {
  const children = readOrGone(`/proc/${pid}/task/${pid}/children`)?.trim().split(" ")[0];
  return children ? Number(children) : null;
}
function residentKib(pid) {
  const pages = readOrGone(`/proc/${pid}/statm`)?.split(" ")[1];
  return Number(pages ?? 0) * PAGE_KIB;
}
function isStopped(pid) {
  return tasksOf(pid).every((task2) => {
    const stat3 = readOrGone(`/proc/${pid}/task/${task2}/stat`) ?? "";
    return "TtZX".includes(stat3.charAt(stat3.lastIndexOf(")") + 2));
  });
}
function rootOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/root`);
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}
function tasksOf(pid) {
  try {
    return readdirSync2(`/proc/${pid}/task`);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

// host/simulated/machine/domain.ts
var BOOT_SCRIPT = `set -eu
mount --bind -o ro /usr "$1/usr"
if [ -d /etc/alternatives ]; then mount --bind -o ro /etc/alternatives "$1/etc/alternatives"; fi
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
printf %s "$2" > /proc/sys/kernel/hostname
if [ -n "$5" ]; then
  mkdir -p "$1/opt/mayfly"
  mount --bind -o ro "$5" "$1/opt/mayfly"
  until chroot "$1" /opt/mayfly/mayfly-agent serve --user "$6" --cgroup ''; do sleep 1; done &
fi
exec chroot "$1" /usr/sbin/sshd -D -e -o "ListenAddress=$3:$4"`;
var MOUNT_POINTS = ["usr", "etc", "etc/alternatives", "dev", "proc", "opt", "opt/mayfly"];
var NAMESPACES = ["--pid", "--fork", "--mount", "--uts", "--kill-child"];
var LOCKED = 75;
var POLL_MS = 5;
var START_TIMEOUT_MS = 3e4;
var KILL_TIMEOUT_MS = 1e4;
var CONSOLE_TAIL_CHARACTERS = 500;
async function startDomain(sandboxId, paths, address, processes, signal) {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let isNew = await orAbsent(stat2(lockOf(paths))) === null;
  while (isNew || !await processes.runs(sandboxId)) {
    isNew = false;
    signal.throwIfAborted();
    const wrong = await firstNotFolder(paths.root, MOUNT_POINTS);
    if (wrong) throw new MayflyError("boot_failed", `/${wrong} on the disk of ${sandboxId} is not a directory.`);
    const child = await spawnDomain(sandboxId, paths, address);
    const status = await inPlaceOrEnded(child, paths.root, deadline);
    if (typeof status === "object") return processes.remember(sandboxId, status.pid);
    if (status !== LOCKED) {
      throw new MayflyError(
        "boot_failed",
        `${sandboxId} ended with ${status} while it booted: ${await consoleTail(paths)}`
      );
    }
  }
}
async function killDomain(sandboxId, processes) {
  const deadline = Date.now() + KILL_TIMEOUT_MS;
  for (; ; ) {
    const pids = await processes.of(sandboxId);
    if (pids.length === 0) return;
    if (Date.now() > deadline) {
      throw new MayflyError("cleanup_incomplete", `Processes of ${sandboxId} survive SIGKILL: ${pids.join(", ")}.`);
    }
    for (const pid of pids) sendSignal(pid, "SIGKILL");
  }
}
async function consoleTail(paths) {
  try {
    const text2 = await readFile5(join4(paths.workspace, "console.log"), "utf8");
    return oneLine(text2.slice(-CONSOLE_TAIL_CHARACTERS)) || "its console is empty";
  } catch (error) {
    if (isNotFound(error)) return "it has no console";
    throw error;
  }
}
async function spawnDomain(sandboxId, paths, address) {
  const log = await open(join4(paths.workspace, "console.log"), "a", 384);
  try {
    const guest = [paths.root, sandboxId, address, String(GUEST_PORT), paths.agentFolder ?? "", GUEST_USER.name];
    const boot = ["sh", "-c", BOOT_SCRIPT, "sh", ...guest];
    const lock = ["--nonblock", "--conflict-exit-code", String(LOCKED), "--no-fork", lockOf(paths)];
    const child = spawn2("flock", [...lock, "unshare", ...NAMESPACES, ...boot], {
      cwd: "/",
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", LC_ALL: "C" }
    });
    child.unref();
    await new Promise((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) => {
        reject(new MayflyError("boot_failed", `flock(1) of util-linux cannot be run: ${cause.message}`, { cause }));
      });
    });
    return child;
  } finally {
    await log.close();
  }
}
function lockOf({ workspace }) {
  return join4(workspace, "domain.lock");
}
async function inPlaceOrEnded(child, root2, deadline) {
  for (; ; ) {
    const ended = child.exitCode ?? child.signalCode;
    if (ended !== null) return ended;
    const init = child.pid === void 0 ? null : childOf(child.pid);
    if (init !== null && rootOf(init) === root2) return { pid: init };
    if (Date.now() > deadline) {
      throw new MayflyError(
        "boot_failed",
        `The domain's first process did not start within ${START_TIMEOUT_MS / 1e3} s.`
      );
    }
    await sleep4(POLL_MS);
  }
}

// host/simulated/machine/workspace.ts
import { randomBytes as randomBytes2 } from "node:crypto";
import { chmod as chmod3, mkdir as mkdir3, readFile as readFile6, rename as rename4, rm as rm2, writeFile as writeFile3 } from "node:fs/promises";
import { join as join6 } from "node:path";
import { z as z2 } from "zod";

// host/os/atomic-file.ts
import { open as open2, rename as rename3 } from "node:fs/promises";
import { basename, dirname, join as join5 } from "node:path";
async function writeFileAtomic(path, text2, mode) {
  await writeFilesAtomic(dirname(path), [{ name: basename(path), text: text2, mode }]);
}
async function writeFilesAtomic(folder2, files) {
  await Promise.all(files.map(({ name, text: text2, mode }) => writeFileSynced(join5(folder2, `${name}.new`), text2, mode, "w")));
  for (const { name } of files) await rename3(join5(folder2, `${name}.new`), join5(folder2, name));
  await syncDirectory(folder2);
}
async function writeFileSynced(path, text2, mode, flags) {
  const file = await open2(path, flags, mode);
  try {
    await file.chmod(mode);
    await file.writeFile(text2);
    await file.sync();
  } finally {
    await file.close();
  }
}
async function syncDirectory(path) {
  const directory = await open2(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

// host/ssh/key-pair.ts
import { generateKeyPairSync, randomBytes } from "node:crypto";
var TYPE = "ssh-ed25519";
var BLOCK_BYTES = 8;
var LINE_CHARACTERS = 70;
function makeKeyPair(comment) {
  return keyPairFrom(generateKeyPairSync("ed25519").privateKey, comment);
}
function keyPairFrom(privateKey, comment) {
  const jwk = privateKey.export({ format: "jwk" });
  const seed2 = Buffer.from(jwk.d ?? "", "base64url");
  const point = Buffer.from(jwk.x ?? "", "base64url");
  const publicBlob = Buffer.concat([sshString(TYPE), sshString(point)]);
  const check2 = randomBytes(4);
  const secret = Buffer.concat([check2, check2, publicBlob, sshString(Buffer.concat([seed2, point])), sshString(comment)]);
  const padding = Buffer.from(
    Array.from({ length: (BLOCK_BYTES - secret.length % BLOCK_BYTES) % BLOCK_BYTES }, (_, i) => i + 1)
  );
  const body = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    sshString("none"),
    sshString("none"),
    sshString(""),
    uint32(1),
    sshString(publicBlob),
    sshString(Buffer.concat([secret, padding]))
  ]);
  return { publicKey: `${TYPE} ${publicBlob.toString("base64")} ${comment}`, privateKey: armoured(body) };
}
function sshString(bytes) {
  const content = Buffer.from(bytes);
  return Buffer.concat([uint32(content.length), content]);
}
function uint32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
function armoured(body) {
  const lines = body.toString("base64").match(new RegExp(`.{1,${LINE_CHARACTERS}}`, "g")) ?? [];
  return ["-----BEGIN OPENSSH PRIVATE KEY-----", ...lines, "-----END OPENSSH PRIVATE KEY-----", ""].join("\n");
}

// host/simulated/machine/workspace.ts
var CLONE_FILE = "clone.json";
var CloneFile = z2.strictObject({ hostKey: z2.string(), macAddress: z2.string(), user: z2.string() });
var SSHD_CONFIG = `Include /etc/ssh/sshd_config.d/*.conf
HostKey /etc/ssh/ssh_host_ed25519_key
TrustedUserCAKeys /etc/ssh/mayfly_user_ca.pub
AuthorizedPrincipalsFile /etc/ssh/mayfly_principals
RevokedKeys /etc/ssh/mayfly_revoked_keys
AuthorizedKeysFile none
AllowUsers ${GUEST_USER.name}
ExposeAuthInfo yes
AuthenticationMethods publickey
UsePAM no
UseDNS no
PermitRootLogin no
PidFile none
PrintMotd no
PrintLastLog no
DisableForwarding yes
MaxStartups 100
MaxSessions 64
Subsystem sftp internal-sftp
`;
function domainPaths(workspace) {
  return { workspace, root: join6(workspace, "root") };
}
async function readClone(workspace) {
  try {
    return CloneFile.parse(JSON.parse(await readFile6(join6(workspace, CLONE_FILE), "utf8")));
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
async function makeWorkspace(workspace, request, { copy, onCopied }, signal) {
  const staging = `${workspace}.new`;
  await removeTree(staging);
  await removeTree(workspace);
  await mkdir3(staging, { mode: 448 });
  const { root: root2 } = domainPaths(staging);
  await copyOrSay(copy, root2, request.sandboxId, signal);
  await onCopied();
  signal.throwIfAborted();
  const pair = makeKeyPair(request.sandboxId);
  await seed(root2, request, pair);
  const clone = { hostKey: pair.publicKey, macAddress: macAddress(request.sandboxId), user: GUEST_USER.name };
  await writeFile3(join6(staging, CLONE_FILE), `${JSON.stringify(clone)}
`, { mode: 384 });
  await rename4(staging, workspace);
  await syncDirectory(join6(workspace, ".."));
  return clone;
}
async function removeWorkspaceTrees(workspace) {
  await rm2(join6(workspace, CLONE_FILE), { force: true });
  await removeTree(workspace);
  await removeTree(`${workspace}.new`);
}
async function seed(root2, request, pair) {
  const etc = join6(root2, "etc");
  const files = [
    ["machine-id", `${randomBytes2(16).toString("hex")}
`, 292],
    ["hostname", `${request.sandboxId}
`, 420],
    ["hosts", `127.0.0.1 localhost ${request.sandboxId}
`, 420],
    ["ssh/sshd_config", SSHD_CONFIG, 420],
    ["ssh/ssh_host_ed25519_key", pair.privateKey, 384],
    ["ssh/ssh_host_ed25519_key.pub", `${pair.publicKey}
`, 420],
    ["ssh/mayfly_user_ca.pub", request.userCaKeys.map((key) => `${key.trim()}
`).join(""), 420],
    ["ssh/mayfly_principals", `${request.sandboxId}
`, 420],
    ["ssh/mayfly_revoked_keys", "", 420]
  ];
  const wrong = await firstNotFolder(root2, ["etc", "etc/ssh"]);
  if (wrong) throw new MayflyError("clone_failed", `/${wrong} on the disk to clone is not a directory.`);
  for (const [name, text2, mode] of files) await plant(join6(etc, name), text2, mode);
}
async function plant(path, text2, mode) {
  await rm2(path, { recursive: true, force: true });
  await writeFile3(path, text2, { mode, flag: "wx" });
  await chmod3(path, mode);
}
async function copyOrSay(copy, to, sandboxId, signal) {
  try {
    await copy(to, signal);
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    throw new MayflyError("clone_failed", `The disk could not be copied for ${sandboxId}: ${error.message}`, {
      cause: error
    });
  }
}

// host/simulated/machine.ts
import { readdir as readdir3, realpath } from "node:fs/promises";
import { basename as basename2, join as join8 } from "node:path";

// host/simulated/machine/suspension.ts
import { readFile as readFile7, rm as rm3 } from "node:fs/promises";
import { join as join7 } from "node:path";
import { setTimeout as sleep5 } from "node:timers/promises";
import { z as z3 } from "zod";
var StoppedFile = z3.strictObject({ why: z3.enum(["paused", "saving"]), already: z3.array(z3.int()) });
var STOP_TIMEOUT_MS = 1e4;
var ROUND_MS = 200;
var RELAX_MS = 5;
var QUIET_LOOKS = 2;
var Suspension = class {
  constructor(sandboxId, workspace, processes) {
    this.sandboxId = sandboxId;
    this.processes = processes;
    this.#path = join7(workspace, "stopped.json");
  }
  sandboxId;
  processes;
  #path;
  /** Whether it was paused and nothing of it moves. */
  async isPaused() {
    if ((await this.#read())?.why !== "paused") return false;
    return (await this.#pids()).every(isStopped);
  }
  /**
   * Stops the sandbox until {@link resume}.
   * @param onNoted called when it is written down and nothing is stopped yet
   * @throws MayflyError sandbox_not_running; Error when a process does not stop
   */
  async pause(onNoted) {
    await this.#refuseOff();
    const { already } = await this.#note("paused");
    await onNoted();
    await this.#stop(already);
  }
  /**
   * Ends whatever stopped it.
   * @param onContinued called when all go on and it is still written down that they do not
   * @throws MayflyError sandbox_not_running
   */
  async resume(onContinued) {
    await this.#refuseOff();
    const stopped = await this.#read();
    if (stopped) await this.#end(stopped, onContinued);
  }
  /** Runs a step while nothing of the sandbox moves. A paused one stays paused. @throws Error when a process does not stop */
  async during(step2) {
    const before = await this.#read();
    const { already } = before?.why === "paused" ? before : await this.#note("saving");
    try {
      await this.#stop(already);
      return await step2();
    } finally {
      await this.thaw();
    }
  }
  /** Ends what {@link during} left behind in a process that was killed. */
  async thaw() {
    const stopped = await this.#read();
    if (stopped?.why === "saving") await this.#end(stopped, async () => {
    });
  }
  /** For a sandbox that has no processes any more. */
  async forget() {
    await rm3(this.#path, { force: true });
  }
  #pids() {
    return this.processes.of(this.sandboxId);
  }
  async #refuseOff() {
    if ((await this.#pids()).length > 0) return;
    throw new MayflyError("sandbox_not_running", `${this.sandboxId} is off, or not on this host any more.`);
  }
  async #end({ already }, onContinued) {
    await this.#continue(already);
    await onContinued();
    await this.forget();
  }
  /** Writes down why, before anything is stopped. What another left stopped was not stopped by the sandbox itself. */
  async #note(why) {
    const before = await this.#read();
    const already = before?.already ?? (await this.#pids()).filter(isStopped);
    if (before?.why !== why) await writeFileAtomic(this.#path, `${JSON.stringify({ why, already })}
`, 384);
    return { why, already };
  }
  async #stop(already) {
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    let roundEnds = Date.now() + ROUND_MS;
    for (let quiet = 0; quiet < QUIET_LOOKS; ) {
      const moving = (await this.#pids()).filter((pid) => !isStopped(pid));
      quiet = moving.length === 0 ? quiet + 1 : 0;
      if (Date.now() > deadline) {
        throw new Error(`Processes of ${this.sandboxId} cannot be stopped: ${moving.join(", ")}.`);
      }
      if (moving.length > 0 && Date.now() > roundEnds) {
        await this.#continue(already);
        await sleep5(RELAX_MS);
        roundEnds = Date.now() + ROUND_MS;
      }
      for (const pid of moving) sendSignal(pid, "SIGSTOP");
    }
  }
  /** The youngest first: a shell that waits for a job shall not see it stopped. */
  async #continue(already) {
    for (const pid of (await this.#pids()).toReversed()) if (!already.includes(pid)) sendSignal(pid, "SIGCONT");
  }
  async #read() {
    const text2 = await orAbsent(readFile7(this.#path, "utf8"));
    return text2 === null ? null : StoppedFile.parse(JSON.parse(text2));
  }
};

// host/simulated/machine.ts
var SimulatedMachine = class {
  constructor(state2) {
    this.state = state2;
  }
  state;
  #processTable = null;
  /** @throws Error when there never was a host in this folder */
  async open() {
    this.#processTable = new ProcessTable(await realpath(this.state.sandboxes), BOOT_SCRIPT);
  }
  close() {
    this.#processTable = null;
  }
  /** @throws MayflyError host_unavailable */
  get processes() {
    if (this.#processTable) return this.#processTable;
    throw new MayflyError("host_unavailable", "The simulated host is not open.");
  }
  async isOn(sandboxId) {
    return this.processes.runs(sandboxId);
  }
  /** Whether one that was seen to run does not, since this was last asked. */
  someEnded() {
    return this.processes.someEnded();
  }
  async stop(sandboxId) {
    await killDomain(sandboxId, this.processes);
  }
  async suspension(sandboxId) {
    return new Suspension(sandboxId, await this.workspace(sandboxId), this.processes);
  }
  /** The folder of a sandbox, whether it is there or not: without symbolic links, as the kernel shows it in /proc. */
  async workspace(sandboxId) {
    return join8(await realpath(this.state.sandboxes), basename2(this.state.workspace(sandboxId)));
  }
  /** The sandboxes that have a workspace, whole or half made. */
  async stored() {
    return (await readdir3(this.state.sandboxes)).map((name) => name.replace(/\.new$/, "")).filter(isSandboxId);
  }
};

// model/host.ts
var RUNNING_PROBLEM = "It is running, so its disk is being written.";

// host/simulated/origins.ts
var Origins = class {
  constructor(deps) {
    this.deps = deps;
  }
  deps;
  async sources() {
    return Promise.all((await listImages(this.deps.images)).map((source) => this.#asItRuns(source)));
  }
  /** @throws MayflyError source_not_found */
  async source(name) {
    return this.#asItRuns(await readImage(this.deps.images, name));
  }
  /** @throws MayflyError source_not_found, source_running */
  async contentOf(name, signal) {
    const source = await this.source(name);
    if (source.problem === RUNNING_PROBLEM) throw running(source);
    return digestOfTree(imageRoot(this.deps.images, name), signal);
  }
  /** @throws MayflyError source_not_found, source_not_running */
  async running(name) {
    const { name: known } = await readImage(this.deps.images, name);
    return this.deps.running.running(known);
  }
  /** @throws MayflyError source_not_found, source_running, source_unsafe */
  async copierOf({ source: name, snapshotId, captureId }) {
    const { images, snapshots, captures } = this.deps;
    if (captureId) return (to, signal) => captures.copy(captureId, to, signal);
    if (snapshotId !== null) return (to, signal) => snapshots.copy(snapshotId, to, signal, null);
    const source = await this.source(name);
    if (source.problem === RUNNING_PROBLEM) throw running(source);
    if (!source.cloneable) throw new MayflyError("source_unsafe", source.problem ?? `${source.name} cannot be cloned.`);
    return async (to, signal) => {
      await copyTree(imageRoot(images, source.name), to, signal);
      if (await this.deps.running.isRunning(source.name)) throw running(source);
    };
  }
  async #asItRuns(source) {
    if (!source.cloneable || !await this.deps.running.isRunning(source.name)) return source;
    return { ...source, cloneable: false, problem: RUNNING_PROBLEM, content: null };
  }
};
function running({ name }) {
  return new MayflyError("source_running", `${name}: ${RUNNING_PROBLEM}`);
}

// host/simulated/residue.ts
var Residue = class {
  constructor(machine, leases) {
    this.machine = machine;
    this.leases = leases;
  }
  machine;
  leases;
  async look(sandboxId) {
    const workspace = await this.machine.workspace(sandboxId);
    const pids = await this.machine.processes.of(sandboxId);
    const leased = (await this.leases.list()).filter((lease) => lease.sandboxId === sandboxId);
    const addresses = leased.map((lease) => lease.address);
    const trees = [];
    for (const path of [workspace, `${workspace}.new`]) if (await entriesOf(path) !== null) trees.push(path);
    return [
      observed("domain", "/proc/*/root and /proc/*/cmdline", pids.map(String)),
      observed("lease", this.leases.path, addresses),
      observed("workspace", workspace, trees)
    ];
  }
  async marks() {
    const running2 = [...(await this.machine.processes.look()).keys()];
    const leased = (await this.leases.list()).map((lease) => lease.sandboxId);
    const looks = [.../* @__PURE__ */ new Set([...running2, ...leased, ...await this.machine.stored()])].map(async (sandboxId) => {
      const found = (await this.look(sandboxId)).filter((observation) => !observation.absent);
      return found.map((observation) => ({ sandboxId, observation }));
    });
    return (await Promise.all(looks)).flat();
  }
};
function observed(layer, lookedAt, found) {
  const at = (/* @__PURE__ */ new Date()).toISOString();
  if (found.length === 0) return { layer, lookedAt, absent: true, at };
  return { layer, lookedAt, absent: false, found: found.join(", "), at };
}

// host/simulated/snapshots.ts
import { chmod as chmod4, mkdir as mkdir4, rename as rename6 } from "node:fs/promises";
import { join as join11 } from "node:path";

// host/simulated/comparing.ts
import { constants } from "node:fs";
import { open as open3 } from "node:fs/promises";
import { Readable } from "node:stream";

// model/guest-name.ts
var decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
function guestNameOf(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString("base64") };
  }
}
function bytesOfGuestName(name) {
  return typeof name === "string" ? Buffer.from(name, "utf8") : Buffer.from(name.base64, "base64");
}
var NAMED = { "\n": "\\n", "	": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\" };
var AWKWARD = /[\p{Cc}"\\\u2028-\u202e\u2066-\u2069]/u;
function quotedPath(path) {
  if (typeof path === "string" && !AWKWARD.test(path)) return path;
  let quoted2 = "";
  for (const byte of bytesOfGuestName(path)) {
    const char = String.fromCharCode(byte);
    if (byte < 32 || byte > 126) quoted2 += NAMED[char] ?? `\\${byte.toString(8).padStart(3, "0")}`;
    else quoted2 += NAMED[char] ?? char;
  }
  return `"${quoted2}"`;
}

// host/disk/file-system-problem.ts
var FileSystemProblem = class extends Error {
  constructor(code, message, image, options) {
    super(message, options);
    this.code = code;
    this.image = image;
  }
  code;
  image;
  name = "FileSystemProblem";
};

// host/disk/diff-failure.ts
var CODES = { "not-found": "file_not_found", "not-a-file": "file_conflict" };
function asDiffFailure(error, sides) {
  if (!(error instanceof FileSystemProblem)) return error;
  const { code, image, message } = error;
  const which = image === null ? [.../* @__PURE__ */ new Set([sides.before, sides.after])].join(" and ") : sides[image];
  const told = CODES[code] ?? (code === "internal" ? "internal" : "diff_failed");
  return new MayflyError(told, `The file system of ${which}: ${message}`, { cause: error });
}

// host/simulated/saved/archive.ts
var OPTIONS = "--create --file=- --format=pax --pax-option=delete=atime,delete=ctime --sort=name --numeric-owner --xattrs --xattrs-include=* --null --verbatim-files-from --files-from=-";
function archiveOf(root2, names, { recursive }, signal) {
  const depth = recursive ? "--recursion" : "--no-recursion";
  const list = Buffer.from(names.map((name) => `${name}\0`).join(""), "latin1");
  return tar([`--directory=${root2}`, depth, ...OPTIONS.split(" ")], list, signal);
}

// host/simulated/saved/saved-tree.ts
import { lstat as lstat2 } from "node:fs/promises";

// host/disk/tar-entries.ts
import { createHash as createHash3 } from "node:crypto";
var BLOCK = 512;
var MAX_RECORDS = 16 * 1024 * 1024;
var TYPES = {
  0: "file",
  1: "file",
  2: "symlink",
  3: "char-device",
  4: "block-device",
  5: "directory",
  6: "fifo"
};
var XATTR = "SCHILY.xattr.";
async function* tarEntries(archive, sinkOf) {
  const reader = new Reader(archive);
  let records = /* @__PURE__ */ new Map();
  for (; ; ) {
    const header2 = await reader.take(BLOCK);
    if (header2.every((byte) => byte === 0)) return;
    if (header2.toString("latin1", 257, 262) !== "ustar") throw new Error("tar wrote a header that makes no sense");
    const flag = header2.toString("latin1", 156, 157);
    if (flag === "x") {
      const size = octal(header2, 124, 12);
      if (size > MAX_RECORDS) throw new Error("a file has more extended attributes than are read");
      records = recordsOf(await reader.take(size));
      await reader.pad(size);
      continue;
    }
    const entry = entryOf(header2, flag, records);
    records = /* @__PURE__ */ new Map();
    const hash = sinkOf ? null : createHash3("sha256");
    const sink = sinkOf?.(entry);
    for await (const piece of reader.pieces(entry.size)) {
      sink?.(piece);
      hash?.update(piece);
    }
    await reader.pad(entry.size);
    if (hash && entry.type === "file" && entry.sameAs === null) entry.digest = hash.digest("hex");
    yield entry;
  }
}
function entryOf(header2, flag, records) {
  const type = TYPES[flag];
  if (!type) throw new Error(`tar wrote an entry of the type ${JSON.stringify(flag)}`);
  const [prefix, short] = [text(header2, 345, 155), text(header2, 0, 100)];
  const named = records.get("path") ?? (prefix === "" ? short : `${prefix}/${short}`);
  const linked = records.get("linkpath") ?? text(header2, 157, 100);
  const number = (name, at, length) => Number(records.get(name) ?? octal(header2, at, length));
  return {
    path: rooted(named),
    type,
    size: flag === "0" ? number("size", 124, 12) : 0,
    mode: octal(header2, 100, 8) & 4095,
    uid: number("uid", 108, 8),
    gid: number("gid", 116, 8),
    mtime: nanoseconds(records.get("mtime") ?? String(octal(header2, 136, 12))),
    target: type === "symlink" ? linked : null,
    device: type.endsWith("-device") ? [octal(header2, 329, 8), octal(header2, 337, 8)] : null,
    xattrs: xattrsOf(records),
    digest: null,
    sameAs: flag === "1" ? rooted(linked) : null
  };
}
function xattrsOf(records) {
  const found = [...records].filter(([key]) => key.startsWith(XATTR));
  return new Map(
    found.map(([key, value]) => [key.slice(XATTR.length).replaceAll("%3D", "=").replaceAll("%25", "%"), value])
  );
}
function rooted(name) {
  return name.replace(/^\./, "").replace(/\/$/, "");
}
function recordsOf(bytes) {
  const all = bytes.toString("latin1");
  const records = /* @__PURE__ */ new Map();
  for (let at = 0; at < all.length; ) {
    const length = Number.parseInt(all.slice(at, at + 12), 10);
    const [begin, end] = [all.indexOf(" ", at) + 1, at + length - 1];
    const equals = all.indexOf("=", begin);
    if (!(length > 0) || all[end] !== "\n" || equals < begin || equals > end) throw new Error("a pax record is broken");
    records.set(all.slice(begin, equals), all.slice(equals + 1, end));
    at = end + 1;
  }
  return records;
}
function nanoseconds(seconds) {
  const [, sign, whole2, fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(seconds) ?? [];
  if (whole2 === void 0) throw new Error("tar wrote a time that makes no sense");
  const size = BigInt(whole2) * 1000000000n + BigInt(fraction.padEnd(9, "0").slice(0, 9));
  return sign === "-" ? -size : size;
}
function text(header2, at, length) {
  const field = header2.toString("latin1", at, at + length);
  const end = field.indexOf("\0");
  return end < 0 ? field : field.slice(0, end);
}
function octal(header2, at, length) {
  const digits = text(header2, at, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new Error("tar wrote a number that makes no sense");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}
var Reader = class {
  #chunks;
  #rest = Buffer.alloc(0);
  constructor(stream) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }
  async *pieces(count) {
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0) {
        const { done, value } = await this.#chunks.next();
        if (done) throw new Error("tar ended within an archive");
        this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      }
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }
  async take(count) {
    const pieces = [];
    for await (const piece of this.pieces(count)) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  /** Goes on to the next block. */
  async pad(size) {
    await this.take((BLOCK - size % BLOCK) % BLOCK);
  }
};

// host/simulated/saved/saved-tree.ts
var MAX_NAMES = 2 * 1024 * 1024;
var SavedTree = class {
  constructor(root2) {
    this.root = root2;
  }
  root;
  /** @param within absolute paths, bytes as Latin-1; [] for all. @throws FileSystemProblem */
  async files(within, signal) {
    const names = [];
    for (const path of outermost(within)) if (await this.find(path)) names.push(`.${path}`);
    const files = /* @__PURE__ */ new Map();
    if (names.length === 0) return files;
    const archive = archiveOf(this.root, names, { recursive: true }, signal);
    try {
      for await (const entry of tarEntries(archive)) {
        if (files.size >= MAX_NAMES)
          throw new FileSystemProblem("limit", `there are more than ${MAX_NAMES} files`, null);
        const first2 = entry.sameAs === null ? void 0 : files.get(entry.sameAs);
        files.set(entry.path, first2 ? { ...first2, path: entry.path } : entry);
      }
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof FileSystemProblem) throw cause;
      throw new FileSystemProblem("corrupt", cause instanceof Error ? cause.message : String(cause), null, { cause });
    }
    return files;
  }
  /** What is at a path, when all that leads there are folders of the tree; else null. */
  async find(path) {
    const names = partsOf2(path);
    if (names.includes(".") || names.includes("..") || path.includes("\0")) return null;
    let found = await lstat2(this.root);
    for (let depth = 1; depth <= names.length; depth += 1) {
      if (!found.isDirectory()) return null;
      const next = await orAbsent(lstat2(this.at(names.slice(0, depth).join("/"))));
      if (next === null) return null;
      found = next;
    }
    return found;
  }
  /** Bytes of where on the host a path of the tree is. */
  at(path) {
    return Buffer.concat([Buffer.from(`${this.root}/`), Buffer.from(path, "latin1")]);
  }
};
function partsOf2(path) {
  return path.split("/").filter((name) => name !== "");
}
function outermost(within) {
  if (within.length === 0) return [""];
  const paths = [
    ...new Set(
      within.map(
        (path) => partsOf2(path).map((name) => `/${name}`).join("")
      )
    )
  ];
  return paths.filter((path) => !paths.some((other) => other !== path && path.startsWith(`${other}/`)));
}

// host/simulated/saved/tree-differences.ts
import { isUtf8 } from "node:buffer";
import { isDeepStrictEqual } from "node:util";

// model/files/file-change.ts
var FILE_ASPECTS = ["content", "target", "device", "mode", "owner", "xattrs", "mtime"];

// host/simulated/saved/tree-differences.ts
function* differences(before, after3) {
  const names = [entriesOf2(before), entriesOf2(after3)];
  for (const path of [.../* @__PURE__ */ new Set([...before.keys(), ...after3.keys()])].sort(inOrder)) {
    const [old, now2] = [before.get(path) ?? null, after3.get(path) ?? null];
    if (old && now2 && old.type === now2.type) {
      const what = aspects(old, now2, names[0].get(path) === names[1].get(path));
      if (what.length > 0) yield { change: "changed", what, before: old, after: now2 };
      continue;
    }
    if (old) yield { change: "removed", what: [], before: old, after: null };
    if (now2) yield { change: "added", what: [], before: null, after: now2 };
  }
}
function aspects(old, now2, sameNames) {
  const differs = {
    content: old.digest !== now2.digest,
    target: old.target !== now2.target,
    device: String(old.device) !== String(now2.device),
    mode: old.mode !== now2.mode,
    owner: old.uid !== now2.uid || old.gid !== now2.gid,
    xattrs: !isDeepStrictEqual(old.xattrs, now2.xattrs),
    // It goes without saying that a directory changes when a name is added or removed.
    mtime: old.mtime !== now2.mtime && (now2.type !== "directory" || sameNames)
  };
  return FILE_ASPECTS.filter((aspect) => differs[aspect]);
}
function entriesOf2(files) {
  const found = /* @__PURE__ */ new Map();
  for (const { path, type } of files.values()) {
    const slash = path.lastIndexOf("/");
    if (slash < 0) continue;
    const folder2 = path.slice(0, slash);
    found.set(folder2, `${found.get(folder2) ?? ""}${path.slice(slash)} ${type}\0`);
  }
  return found;
}
function inOrder(a, b) {
  const [one, other] = [a.replaceAll("/", "\0"), b.replaceAll("/", "\0")];
  return one < other ? -1 : Number(one > other);
}
function describe(entry, links, digest) {
  const { type, size, mode, uid, gid, mtime, target, device, xattrs } = entry;
  return {
    type,
    size: type === "file" ? size : null,
    mode: mode.toString(8).padStart(4, "0"),
    uid,
    gid,
    mtime: iso(mtime),
    links,
    target: target === null ? null : nameOf(target),
    device,
    xattrs: [...xattrs].map(([name, value]) => ({
      name: nameOf(name),
      value: Buffer.from(value, "latin1").toString("base64")
    })),
    digest
  };
}
function nameOf(latin1) {
  const bytes = Buffer.from(latin1, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : { base64: bytes.toString("base64") };
}
function iso(nanoseconds2) {
  const below = (nanoseconds2 % 1000000000n + 1000000000n) % 1000000000n;
  const seconds = Number((nanoseconds2 - below) / 1000000000n);
  const fraction = below === 0n ? "" : `.${String(below).padStart(9, "0").replace(/0+$/, "")}`;
  return `${new Date(seconds * 1e3).toISOString().slice(0, -5)}${fraction}Z`;
}

// host/simulated/saved/whiteout.ts
var BLOCK2 = 512;
var PREFIX = ".wh.";
function isWhiteout(path) {
  return path.slice(path.lastIndexOf("/") + 1).startsWith(PREFIX);
}
function whiteout(path) {
  const slash = path.lastIndexOf("/");
  const record2 = recordOf(`path=.${path.slice(0, slash)}/${PREFIX}${path.slice(slash + 1)}`);
  const padding = Buffer.alloc((BLOCK2 - record2.length % BLOCK2) % BLOCK2);
  return Buffer.concat([header("x", record2.length), record2, padding, header("0", 0)]);
}
var END_OF_ARCHIVE = Buffer.alloc(2 * BLOCK2);
function recordOf(text2) {
  const rest = text2.length + 2;
  const digits = String(rest + String(rest).length).length;
  return Buffer.from(`${rest + digits} ${text2}
`, "latin1");
}
function header(flag, size) {
  const block = Buffer.alloc(BLOCK2);
  const fields = [
    [0, "whiteout"],
    [100, "0000600\0"],
    [108, "0000000\0"],
    [116, "0000000\0"],
    [124, `${size.toString(8).padStart(11, "0")}\0`],
    [136, "00000000000\0"],
    [148, "        "],
    [156, flag],
    [257, "ustar\x0000"]
  ];
  for (const [at, text2] of fields) block.write(text2, at, "latin1");
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

// host/simulated/comparing.ts
var GRANTED_MS = 12e4;
var Comparing = class {
  constructor(treeOf2) {
    this.treeOf = treeOf2;
  }
  treeOf;
  async *compare(comparison, signal) {
    const counts = { added: 0, changed: 0, removed: 0, renamed: 0 };
    try {
      const [before, after3] = await this.#trees(comparison);
      for (const difference of await this.#differences(before, after3, comparison, signal)) {
        counts[difference.change] += 1;
        yield await recordOf2(difference, before, after3);
      }
      await this.#trees(comparison);
    } catch (error) {
      throw asDiffFailure(error, comparison);
    }
    yield { line: "end", ...counts };
  }
  changesAsTar(comparison, signal) {
    return Readable.from(this.#archive(comparison, signal), { objectMode: false });
  }
  async readFile({ snapshotId, path, maxBytes }, signal) {
    const tree = new SavedTree(await this.treeOf(snapshotId));
    signal.throwIfAborted();
    const name = bytesOfGuestName(path).toString("latin1");
    try {
      return await firstBytes(tree, name, maxBytes);
    } catch (error) {
      throw asDiffFailure(error, { before: snapshotId, after: snapshotId });
    }
  }
  async *#archive(comparison, signal) {
    try {
      const [before, after3] = await this.#trees(comparison);
      const names = [];
      let gone = "/";
      for (const { change, before: old, after: now2 } of await this.#differences(before, after3, comparison, signal)) {
        if (now2 && isWhiteout(now2.path)) throw new FileSystemProblem("unsupported", notArchived(now2.path), "after");
        if (now2) names.push(`.${now2.path}`);
        if (change !== "removed" || !old || old.path.startsWith(`${gone}/`)) continue;
        gone = old.path;
        yield whiteout(gone);
      }
      if (names.length === 0) yield END_OF_ARCHIVE;
      else yield* archiveOf(after3.root, names, { recursive: false }, signal);
      await this.#trees(comparison);
    } catch (error) {
      throw asDiffFailure(error, comparison);
    }
  }
  async #differences(before, after3, { within }, signal) {
    const paths = within.map((path) => bytesOfGuestName(path).toString("latin1"));
    const granted = AbortSignal.timeout(GRANTED_MS);
    const either = AbortSignal.any([signal, granted]);
    try {
      return differences(await before.files(paths, either), await after3.files(paths, either));
    } catch (error) {
      signal.throwIfAborted();
      if (!granted.aborted) throw error;
      throw new FileSystemProblem("limit", `reading it takes longer than ${GRANTED_MS / 1e3} s`, null);
    }
  }
  async #trees({ before, after: after3 }) {
    return [new SavedTree(await this.treeOf(before)), new SavedTree(await this.treeOf(after3))];
  }
};
async function recordOf2(difference, before, after3) {
  const { change, what, before: old, after: now2 } = difference;
  const entry = now2 ?? old;
  if (!entry) throw new TypeError("a difference of nothing");
  const linksIn = async (tree) => (await tree.find(entry.path))?.nlink ?? 1;
  const described = describe(entry, await linksIn(now2 ? after3 : before), entry.digest);
  const earlier = old && now2 ? describe(old, await linksIn(before), null) : null;
  return { line: "change", change, path: nameOf(entry.path || "/"), from: null, what, ...described, before: earlier };
}
async function firstBytes(tree, path, maxBytes) {
  const found = await tree.find(path);
  if (found === null) throw new FileSystemProblem("not-found", `there is no ${shown(path)}`, null);
  if (!found.isFile()) throw new FileSystemProblem("not-a-file", `${shown(path)} is no regular file`, null);
  const file = await open3(tree.at(path), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const content = Buffer.alloc(Math.min(maxBytes, found.size));
    const { bytesRead } = await file.read(content, 0, content.length, 0);
    return { content: content.subarray(0, bytesRead), size: found.size };
  } finally {
    await file.close();
  }
}
function notArchived(path) {
  return `${shown(path)} cannot be in the archive, where such a name stands for what was removed`;
}
function shown(path) {
  return JSON.stringify(path).replace(/[^\x20-\x7e]/g, "?").slice(0, 200);
}

// host/simulated/machine/replaced-disk.ts
import { readFile as readFile8, rename as rename5 } from "node:fs/promises";
import { join as join9 } from "node:path";
import { z as z4 } from "zod";
var RestoredFile = z4.strictObject({ restoreId: z4.string() });
async function replaceDisk(workspace, restoreId, { isOff, copy, onStaged }) {
  const { root: root2 } = domainPaths(workspace);
  const marker = join9(workspace, "restored.json");
  const [staging, old] = [`${root2}.new`, `${root2}.old`];
  if (await lastRestore(marker) === restoreId) return removeTree(old);
  if (!await readClone(workspace)) throw new MayflyError("restore_failed", `There is no sandbox in ${workspace}.`);
  if (!await isOff()) throw new MayflyError("restore_failed", "It runs: its disk cannot be replaced.");
  await removeTree(staging);
  try {
    await copy(staging);
    await onStaged();
  } catch (error) {
    await removeTree(staging);
    throw error;
  }
  await removeTree(old);
  await orAbsent(rename5(root2, old));
  await rename5(staging, root2);
  await syncDirectory(workspace);
  await writeFileAtomic(marker, `${JSON.stringify({ restoreId })}
`, 384);
  await removeTree(old);
}
async function lastRestore(marker) {
  const text2 = await orAbsent(readFile8(marker, "utf8"));
  return text2 === null ? null : RestoredFile.parse(JSON.parse(text2)).restoreId;
}

// host/simulated/machine/step-failure.ts
function asFailure(code, what, error, signal) {
  if (signal.aborted) return signal.reason;
  if (error instanceof MayflyError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new MayflyError(code, `${what}: ${why}`, { cause: error });
}

// host/simulated/snapshot-spec.ts
import { readFile as readFile9, rm as rm4 } from "node:fs/promises";
import { join as join10 } from "node:path";
import { z as z5 } from "zod";
var SPEC_FILE = "spec.json";
var SnapshotSpec = z5.strictObject({
  sandboxId: z5.string().refine(isSandboxId),
  kind: z5.literal("disk"),
  /** When the sandbox stood still, ISO 8601. */
  savedAt: z5.iso.datetime(),
  /** Of the tree, hex, as it was first verified; null: not yet. */
  sha256: z5.hex().length(64).nullable()
});
async function readSpec(folder2) {
  const path = join10(folder2, SPEC_FILE);
  const text2 = await orAbsent(readFile9(path, "utf8"));
  if (text2 === null) return null;
  try {
    return SnapshotSpec.parse(JSON.parse(text2));
  } catch (cause) {
    throw new Error(`${path} is not what Mayfly wrote; look at it, then delete the snapshot.`, { cause });
  }
}
async function writeSpec(folder2, spec) {
  await writeFileAtomic(join10(folder2, SPEC_FILE), `${JSON.stringify(spec)}
`, 256);
}
async function removeSpec(folder2) {
  await rm4(join10(folder2, SPEC_FILE), { force: true });
}

// host/simulated/snapshots.ts
var SimulatedSnapshots = class {
  constructor(deps) {
    this.deps = deps;
    this.#comparing = new Comparing(async (snapshotId) => {
      const folder2 = deps.state.snapshot(snapshotId);
      await wholeOne(folder2, snapshotId);
      return diskOf2(folder2);
    });
  }
  deps;
  #comparing;
  async save({ snapshotId, sandboxId, kind }, { signal }) {
    signal.throwIfAborted();
    const { state: state2, machine, failpoints } = this.deps;
    if (kind !== "disk") {
      throw new MayflyError("snapshot_unsupported", "A simulated host has no memory to save: take one of kind `disk`.");
    }
    const folder2 = state2.snapshot(snapshotId);
    const present2 = await readSpec(folder2);
    if (present2 && present2.sandboxId !== sandboxId) {
      throw new MayflyError("snapshot_failed", `${snapshotId} is a snapshot of ${present2.sandboxId} already.`);
    }
    if (present2) return;
    if (!await machine.isOn(sandboxId)) {
      throw new MayflyError("sandbox_not_running", `${sandboxId} is off, so its disk may be half written. Start it.`);
    }
    const staging = await this.#stage(folder2);
    const suspension = await machine.suspension(sandboxId);
    const disk = diskOf2(await machine.workspace(sandboxId));
    try {
      const savedAt = await suspension.during(async () => {
        const stoppedAt = (/* @__PURE__ */ new Date()).toISOString();
        await copyTree(disk, diskOf2(staging), signal);
        await failpoints.hit("saveSnapshot", "during", [snapshotId, sandboxId], signal);
        return stoppedAt;
      });
      await writeSpec(staging, { sandboxId, kind, savedAt, sha256: null });
    } catch (error) {
      throw asFailure("snapshot_failed", `${sandboxId} could not be saved`, error, signal);
    }
    await rename6(staging, folder2);
    await syncDirectory(state2.snapshots);
  }
  async thaw(sandboxId) {
    await (await this.deps.machine.suspension(sandboxId)).thaw();
  }
  async verify(snapshotId, { signal }) {
    signal.throwIfAborted();
    const folder2 = this.deps.state.snapshot(snapshotId);
    const spec = await readSpec(folder2);
    if (!spec) throw new MayflyError("snapshot_failed", `${snapshotId} is not on this host, or only half of it is.`);
    try {
      const sha2562 = await digestOfTree(diskOf2(folder2), signal);
      if (spec.sha256 !== null && spec.sha256 !== sha2562) {
        const why = `its digest was ${spec.sha256} and is ${sha2562}`;
        throw new MayflyError("snapshot_failed", `${snapshotId} has changed since it was saved: ${why}. Delete it.`);
      }
      await this.deps.failpoints.hit("verifySnapshot", "during", [snapshotId, spec.sandboxId], signal);
      if (spec.sha256 === null) await writeSpec(folder2, { ...spec, sha256: sha2562 });
      await chmod4(folder2, 320);
      return await describe2(diskOf2(folder2), spec, sha2562);
    } catch (error) {
      throw asFailure("snapshot_failed", `${snapshotId} could not be verified`, error, signal);
    }
  }
  async remove(snapshotId) {
    const folder2 = this.deps.state.snapshot(snapshotId);
    await removeSpec(folder2);
    await this.deps.failpoints.hit("removeSnapshot", "during", snapshotId);
    await removeTree(folder2);
    await removeTree(`${folder2}.new`);
    return { keptFor: null };
  }
  async revert({ sandboxId, snapshotId, restoreId }, { signal }) {
    signal.throwIfAborted();
    const { machine, failpoints } = this.deps;
    const copy = (to) => this.copy(snapshotId, to, signal, sandboxId);
    try {
      const isOff = async () => !await machine.isOn(sandboxId);
      const onStaged = () => failpoints.hit("revertDisk", "during", [snapshotId, sandboxId], signal);
      await replaceDisk(await machine.workspace(sandboxId), restoreId, { isOff, copy, onStaged });
    } catch (error) {
      throw asFailure("restore_failed", `${sandboxId} could not be given ${snapshotId}`, error, signal);
    }
  }
  /**
   * Copies the disk of a whole snapshot.
   * @param onlyOf the sandbox whose identity is wanted with it; null: the identity will be replaced
   * @throws MayflyError snapshot_not_found, restore_failed when it is another's; ExecError; the signal's reason
   */
  async copy(snapshotId, to, signal, onlyOf) {
    const folder2 = this.deps.state.snapshot(snapshotId);
    const { sandboxId } = await wholeOne(folder2, snapshotId);
    if (onlyOf !== null && sandboxId !== onlyOf) {
      throw new MayflyError("restore_failed", `${snapshotId} is of ${sandboxId}: its identity cannot be ${onlyOf}'s.`);
    }
    await copyTree(diskOf2(folder2), to, signal);
    await wholeOne(folder2, snapshotId);
  }
  /** Copies refer to nothing. */
  async chainLength() {
    return 0;
  }
  async flatten() {
  }
  async mergeDeleted() {
    return 0;
  }
  compare(comparison, signal) {
    return this.#comparing.compare(comparison, signal);
  }
  async readFile(request, signal) {
    return this.#comparing.readFile(request, signal);
  }
  changesAsTar(comparison, signal) {
    return this.#comparing.changesAsTar(comparison, signal);
  }
  /** A tree has no machine. */
  async resources() {
    return null;
  }
  async list() {
    const { state: state2 } = this.deps;
    const names = (await entriesOf(state2.snapshots) ?? []).map((name) => name.replace(/\.new$/, ""));
    const ids = [...new Set(names.filter(isSnapshotId))].sort();
    return Promise.all(
      ids.map(async (snapshotId) => {
        const spec = await readSpec(state2.snapshot(snapshotId));
        return { snapshotId, state: spec ? "whole" : "half" };
      })
    );
  }
  /** An empty folder beside the snapshot's own, which becomes it when all is there. */
  async #stage(folder2) {
    const staging = `${folder2}.new`;
    await makeClosed(this.deps.state.snapshots);
    await removeTree(staging);
    await removeTree(folder2);
    await mkdir4(staging, { mode: 448 });
    return staging;
  }
};
function diskOf2(folder2) {
  return join11(folder2, "root");
}
async function wholeOne(folder2, snapshotId) {
  const spec = await readSpec(folder2);
  if (spec) return spec;
  throw new MayflyError("snapshot_not_found", `${snapshotId} is not on this host, or only half of it is.`);
}
async function describe2(disk, spec, sha2562) {
  const [virtualBytes, storedBytes] = [await apparentBytes(disk), await allocatedBytes(disk)];
  return {
    kind: spec.kind,
    disks: [{ target: "root", sha256: sha2562, virtualBytes, storedBytes }],
    memoryBytes: null,
    sizeBytes: storedBytes,
    quiesced: true,
    // nothing of the sandbox moved, and what it had written is in its tree at once
    savedAt: spec.savedAt
  };
}

// host/simulated/source/baking.ts
import { rm as rm7 } from "node:fs/promises";
import { join as join14 } from "node:path";

// host/disk/baked-folder.ts
import { mkdir as mkdir5, readFile as readFile10, rename as rename7, rm as rm5 } from "node:fs/promises";
import { join as join12 } from "node:path";
import { z as z6 } from "zod";
var ABOUT = "baked.json";
var Disk = z6.strictObject({
  target: z6.string(),
  sha256: z6.string(),
  virtualBytes: z6.number(),
  storedBytes: z6.number()
});
var About = z6.strictObject({
  bakeId: z6.string(),
  sourceId: z6.string(),
  snapshotId: z6.string(),
  /** What was made, and checked; null until it was. */
  image: z6.strictObject({ disks: z6.array(Disk), sizeBytes: z6.number() }).nullable()
});
var SEARCHABLE = 457;
var BakedFolder = class {
  /** @param parent the folder of all of them; @param name as `isBakedSourceName` allows it */
  constructor(parent, name) {
    this.parent = parent;
    this.name = name;
    this.path = join12(parent, name);
    this.staging = join12(parent, `.${name}.new`);
    this.#gone = join12(parent, `.${name}.gone`);
  }
  parent;
  name;
  path;
  staging;
  #gone;
  /** What says that Mayfly made it; null when nothing, or something else, has the name. */
  async about() {
    return readAbout(this.path);
  }
  /** Whether that bake has come to its end. */
  async isOf(bakeId) {
    return (await this.about())?.bakeId === bakeId;
  }
  /** What that bake has made, under either name; null until all of it was. */
  async imageOf({ bakeId }) {
    for (const about of [await this.about(), await readAbout(this.staging)]) {
      if (about?.bakeId === bakeId && about.image) return about.image;
    }
    return null;
  }
  /** Makes the temporary folder; what another bake has left there goes. @throws MayflyError source_exists */
  async stage({ bakeId, sourceId, snapshotId }) {
    await mkdir5(this.parent, { recursive: true, mode: SEARCHABLE });
    await this.sweep();
    if (await this.isOf(bakeId)) return;
    await this.#refuseTaken();
    if ((await readAbout(this.staging))?.bakeId === bakeId) return;
    await rm5(this.staging, { recursive: true, force: true });
    await mkdir5(this.staging, { mode: SEARCHABLE });
    await this.#write({ bakeId, sourceId, snapshotId, image: null });
  }
  /**
   * Fills the temporary folder, unless that was done.
   * @throws MayflyError bake_failed when it is not that bake's
   */
  async fill(request, make) {
    const made = await this.imageOf(request);
    if (made) return made;
    const about = await readAbout(this.staging);
    if (about?.bakeId !== request.bakeId) {
      throw new MayflyError("bake_failed", `${this.staging} is not there any more.`);
    }
    const image = await make(this.staging);
    await this.#write({ ...about, image });
    return image;
  }
  /** @throws MayflyError source_exists; bake_failed when it was not filled */
  async publish({ bakeId }) {
    if (await this.isOf(bakeId)) return;
    await this.#refuseTaken();
    const about = await readAbout(this.staging);
    if (about?.bakeId !== bakeId || !about.image) {
      throw new MayflyError("bake_failed", `${this.staging} does not hold the images of this bake.`);
    }
    await rename7(this.staging, this.path);
    await syncDirectory(this.parent);
  }
  async discard({ bakeId }) {
    const about = await readAbout(this.staging);
    if (about !== null && about.bakeId !== bakeId) return;
    await rm5(this.staging, { recursive: true, force: true });
  }
  /** Whether it is there to be removed. @throws MayflyError source_not_baked when something else has its name */
  async isThere(sourceId) {
    if (!(await entriesOf(this.parent))?.includes(this.name)) return false;
    if ((await this.about())?.sourceId === sourceId) return true;
    throw new MayflyError("source_not_baked", `${this.path} is not of this Mayfly's making, and stays.`);
  }
  /** Its name is free at once; the rest follows. */
  async drop() {
    await this.sweep();
    if (await orAbsent(rename7(this.path, this.#gone).then(() => true))) await syncDirectory(this.parent);
    await this.sweep();
  }
  /** Removes what a crash left of a {@link drop}. */
  async sweep() {
    await rm5(this.#gone, { recursive: true, force: true });
  }
  async #refuseTaken() {
    if (!(await entriesOf(this.parent))?.includes(this.name)) return;
    throw new MayflyError("source_exists", `This host has images named ${JSON.stringify(this.name)}.`);
  }
  async #write(about) {
    await writeFileAtomic(join12(this.staging, ABOUT), `${JSON.stringify(about)}
`, 384);
  }
};
async function readAbout(folder2) {
  const text2 = await orAbsent(readFile10(join12(folder2, ABOUT), "utf8"));
  return text2 === null ? null : About.parse(JSON.parse(text2));
}

// host/simulated/machine/identity.ts
import { lstat as lstat3, readdir as readdir4, rm as rm6 } from "node:fs/promises";
import { dirname as dirname2, join as join13 } from "node:path";
var OWN = [
  "etc/machine-id",
  "etc/hostname",
  "etc/hosts",
  "etc/ssh/sshd_config",
  "etc/ssh/mayfly",
  "etc/ssh/sshd_config.d/00-mayfly.conf",
  "var/lib/dbus/machine-id",
  "var/lib/systemd/random-seed",
  "var/lib/mayfly"
];
var EMPTIED = ["tmp", "var/tmp", "var/log", "var/lib/cloud", "var/lib/dhcp", "var/lib/NetworkManager", "run/mayfly"];
var OWN_IN_SSH = /^(?:ssh_host_|mayfly_)/;
var HISTORY = /^\.(?:\w+_history|histfile|lesshst|viminfo)$/;
async function cleanTree(root2) {
  for (const path of OWN) await removeInside(root2, path);
  for (const folder2 of EMPTIED) await removeMatching(root2, folder2, /^/);
  await removeMatching(root2, "etc/ssh", OWN_IN_SSH);
  for (const home of ["root", ...(await folderIn(root2, "home")).map((name) => join13("home", name))]) {
    await removeMatching(root2, home, HISTORY);
  }
}
async function removeMatching(root2, folder2, names) {
  for (const name of await folderIn(root2, folder2)) {
    if (names.test(name)) await removeInside(root2, join13(folder2, name));
  }
}
async function folderIn(root2, folder2) {
  if (!await leadsInside(root2, folder2)) return [];
  const found = await orAbsent(lstat3(join13(root2, folder2)));
  return found?.isDirectory() ? readdir4(join13(root2, folder2)) : [];
}
async function removeInside(root2, path) {
  if (await leadsInside(root2, path)) await rm6(join13(root2, path), { recursive: true, force: true });
}
async function leadsInside(root2, path) {
  const above = [];
  for (let folder2 = dirname2(path); folder2 !== "."; folder2 = dirname2(folder2)) above.unshift(folder2);
  return await firstNotFolder(root2, above) === null;
}

// host/simulated/source/baking.ts
var SimulatedBaking = class {
  constructor(deps) {
    this.deps = deps;
  }
  deps;
  async claim(request) {
    await this.#folder(request.name).stage(request);
  }
  /** Nothing yet: what the host cleans afterwards, its guest need not. */
  async clean({ builderId }, { signal }) {
    signal.throwIfAborted();
    if (await this.deps.builder.isOn(builderId)) return;
    throw new MayflyError("bake_failed", `${builderId} does not run any more, so it cannot be cleaned.`);
  }
  async shutDown({ builderId }) {
    await this.deps.builder.stop(builderId);
  }
  async sizeOf(request) {
    if (await this.#folder(request.name).imageOf(request)) return 0;
    const root2 = join14(await this.deps.builder.workspace(request.builderId), "root");
    return await entriesOf(root2) === null ? 0 : allocatedBytes(root2);
  }
  async flatten(request, { signal }) {
    const { builder, failpoints } = this.deps;
    if (await builder.isOn(request.builderId)) {
      throw new MayflyError("bake_failed", `${request.builderId} runs, so its disk is being written.`);
    }
    const from = join14(await builder.workspace(request.builderId), "root");
    try {
      return await this.#folder(request.name).fill(request, async (folder2) => {
        const root2 = join14(folder2, "root");
        await rm7(root2, { recursive: true, force: true });
        await copyTree(from, root2, signal);
        await failpoints.hit("flattenDisks", "during", idsOf(request), signal);
        await cleanTree(root2);
        const [virtualBytes, storedBytes] = [await apparentBytes(root2), await allocatedBytes(root2)];
        const sha2562 = await digestOfTree(root2, signal);
        await describeImage(folder2, virtualBytes, sha2562);
        return { disks: [{ target: "root", sha256: sha2562, virtualBytes, storedBytes }], sizeBytes: storedBytes };
      });
    } catch (error) {
      throw asFailure("bake_failed", `The disk of ${request.builderId} could not be copied`, error, signal);
    }
  }
  async publish(request, { signal }) {
    await this.deps.failpoints.hit("publishSource", "during", idsOf(request), signal);
    await this.#folder(request.name).publish(request);
  }
  async retract({ name, bakeId }) {
    const folder2 = this.#folder(name);
    if (await folder2.isOf(bakeId)) await folder2.drop();
  }
  async discard(request) {
    await this.#folder(request.name).discard(request);
  }
  /** Clones are copies: nothing refers to it. */
  async remove({ sourceId, name }) {
    const folder2 = this.#folder(name);
    if (!await folder2.isThere(sourceId)) return folder2.sweep();
    if (await this.deps.sources.isRunning(name))
      throw new MayflyError("source_running", `${name} runs: stop it first.`);
    await this.deps.failpoints.hit("removeSource", "during", sourceId);
    await folder2.drop();
  }
  #folder(name) {
    return new BakedFolder(this.deps.state.images, name);
  }
};
function idsOf({ bakeId, sourceId, builderId, snapshotId }) {
  return [bakeId, sourceId, builderId, snapshotId];
}

// host/simulated/source/captures.ts
import { mkdir as mkdir6, rename as rename8 } from "node:fs/promises";
import { join as join16 } from "node:path";

// host/simulated/source/capture-folder.ts
import { readFile as readFile11 } from "node:fs/promises";
import { join as join15 } from "node:path";
import { z as z7 } from "zod";
var Spec = z7.strictObject({
  source: z7.string(),
  /** When the source stood still, ISO 8601; null: not all is copied. */
  capturedAt: z7.iso.datetime().nullable(),
  /** Of the tree, hex; null: not checked yet. */
  sha256: z7.hex().length(64).nullable()
});
var CaptureFolder = class {
  path;
  making;
  constructor(state2, captureId) {
    this.path = state2.capture(captureId);
    this.making = `${this.path}.new`;
  }
  /** Of the one that is being made; null: none is. */
  async unfinished() {
    return readSpec2(this.making);
  }
  /** Of the one that has its final name. */
  async whole() {
    return readSpec2(this.path);
  }
  async write(spec) {
    await writeFileAtomic(join15(this.making, "spec.json"), `${JSON.stringify(spec)}
`, 256);
  }
};
function treeOf(folder2) {
  return join15(folder2, "root");
}
async function captureIds(state2) {
  const names = (await entriesOf(state2.captures) ?? []).map((name) => name.replace(/\.new$/, ""));
  return [...new Set(names.filter(isCaptureId))].sort();
}
async function readSpec2(folder2) {
  const text2 = await orAbsent(readFile11(join15(folder2, "spec.json"), "utf8"));
  return text2 === null ? null : Spec.parse(JSON.parse(text2));
}

// host/simulated/source/captures.ts
var SimulatedCaptures = class {
  constructor(deps) {
    this.deps = deps;
  }
  deps;
  async sizeOf(source) {
    await this.deps.sources.running(source);
    return allocatedBytes(imageRoot(this.deps.state.images, source));
  }
  async begin({ captureId, source }, { signal }) {
    signal.throwIfAborted();
    const { state: state2, failpoints, sources } = this.deps;
    const folder2 = new CaptureFolder(state2, captureId);
    if (await folder2.whole() ?? (await folder2.unfinished())?.capturedAt) return await this.thaw(captureId);
    await sources.running(source);
    await removeTree(treeOf(folder2.making));
    await mkdir6(folder2.making, { recursive: true, mode: 448 });
    await folder2.write({ source, capturedAt: null, sha256: null });
    const capturedAt = await this.#suspension(source).during(async () => {
      const stoppedAt = (/* @__PURE__ */ new Date()).toISOString();
      await copied(() => copyTree(imageRoot(state2.images, source), treeOf(folder2.making), signal), source, signal);
      await failpoints.hit("beginCapture", "during", captureId, signal);
      return stoppedAt;
    });
    await folder2.write({ source, capturedAt, sha256: null });
  }
  async thaw(captureId) {
    const spec = await new CaptureFolder(this.deps.state, captureId).unfinished();
    if (spec) await this.#suspension(spec.source).thaw();
  }
  async wait(captureId, { signal }) {
    await this.deps.failpoints.hit("awaitCapture", "during", captureId, signal);
  }
  async verify(captureId, { signal }) {
    signal.throwIfAborted();
    const folder2 = new CaptureFolder(this.deps.state, captureId);
    const spec = await folder2.whole() ?? await folder2.unfinished();
    if (!spec?.capturedAt) throw new MayflyError("capture_failed", `${captureId} is not copied on this host.`);
    const tree = treeOf(await folder2.whole() ? folder2.path : folder2.making);
    const sha2562 = await digestOfTree(tree, signal);
    await this.deps.failpoints.hit("verifyCapture", "during", captureId, signal);
    if (spec.sha256 === null) await folder2.write({ ...spec, sha256: sha2562 });
    const [virtualBytes, storedBytes] = [await apparentBytes(tree), await allocatedBytes(tree)];
    return {
      disks: [{ target: "root", sha256: sha2562, virtualBytes, storedBytes }],
      sizeBytes: storedBytes,
      quiesced: true,
      // nothing of the source moved, and what it had written is in its tree at once
      capturedAt: spec.capturedAt,
      parentId: null,
      fullBecause: "a simulated host copies trees as a whole"
    };
  }
  async keep(captureId) {
    const folder2 = new CaptureFolder(this.deps.state, captureId);
    if (await folder2.whole()) return;
    if (!(await folder2.unfinished())?.sha256) {
      throw new MayflyError("capture_failed", `${captureId} has not been checked on this host.`);
    }
    await rename8(folder2.making, folder2.path);
    await syncDirectory(this.deps.state.captures);
  }
  async abort() {
  }
  // what copies it ends with its step
  async remove(captureId) {
    const folder2 = new CaptureFolder(this.deps.state, captureId);
    await this.thaw(captureId);
    if (await folder2.whole()) {
      await removeTree(folder2.making);
      await rename8(folder2.path, folder2.making);
    }
    await this.deps.failpoints.hit("removeCapture", "during", captureId);
    await removeTree(folder2.making);
  }
  async list() {
    const { state: state2 } = this.deps;
    return Promise.all(
      (await captureIds(state2)).map(async (captureId) => ({
        captureId,
        state: await new CaptureFolder(state2, captureId).whole() ? "whole" : "half"
      }))
    );
  }
  /** Copies the disk of a whole capture. @throws MayflyError capture_not_found; ExecError; the signal's reason */
  async copy(captureId, to, signal) {
    const folder2 = new CaptureFolder(this.deps.state, captureId);
    const refuseAbsent = async () => {
      if (await folder2.whole()) return;
      throw new MayflyError("capture_not_found", `${captureId} is not on this host, or has been deleted.`);
    };
    await refuseAbsent();
    await copyTree(treeOf(folder2.path), to, signal);
    await refuseAbsent();
  }
  /** What made one has been killed: its source shall not stand still until its saga comes by. */
  async thawAll() {
    for (const id of await captureIds(this.deps.state)) await this.thaw(id);
  }
  #suspension(source) {
    const { state: state2, sources } = this.deps;
    return new Suspension(source, join16(state2.images, source), { of: () => sources.processesOf(source) });
  }
};
async function copied(copy, source, signal) {
  try {
    await copy();
  } catch (cause) {
    signal.throwIfAborted();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MayflyError("capture_failed", `${source} could not be copied: ${why}`, { cause });
  }
}

// host/simulated/source/running-source.ts
import { spawn as spawn4 } from "node:child_process";
import { createHash as createHash4 } from "node:crypto";
import { mkdir as mkdir7, open as open4, readFile as readFile12, realpath as realpath2, rename as rename9, rm as rm8, writeFile as writeFile4 } from "node:fs/promises";
import { connect } from "node:net";
import { join as join17 } from "node:path";
import { setTimeout as sleep6 } from "node:timers/promises";
import { z as z8 } from "zod";

// host/simulated/source/source-console.ts
import { spawn as spawn3 } from "node:child_process";
import { once } from "node:events";

// host/console.ts
var CONSOLE_TIMEOUT_MS = 15e4;
var REFUSED = 65;
var PRELUDE = `set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
export PATH LC_ALL
umask 022
fail() { echo "$1" >&2; exit ${REFUSED}; }
[ -d /etc/ssh ] || fail 'it has no folder /etc/ssh: no OpenSSH server'
command -v flock >/dev/null || fail 'it has no program flock; install util-linux'
exec 9</etc/ssh
flock -w 60 9 || fail 'an earlier step is still running on it'
`;

// host/simulated/source/source-console.ts
var NamespaceConsole = class {
  /** @param pid of that process */
  constructor(pid) {
    this.pid = pid;
  }
  pid;
  async run(argv, options = {}) {
    const { stdin, signal, timeoutMs = CONSOLE_TIMEOUT_MS } = options;
    try {
      const { stdout, stderr } = await exec("nsenter", this.#enter(argv), {
        timeoutMs,
        ...stdin !== void 0 && { input: stdin },
        ...signal && { signal }
      });
      return { exitCode: 0, stdout, stderr };
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof ExecError)) throw error;
      if (rootOf(this.pid) === null) throw new MayflyError("source_not_running", "It was stopped meanwhile.");
      return { exitCode: error.exitCode, stdout: error.stdout, stderr: error.stderr };
    }
  }
  async writeFile(path, bytes, signal) {
    const child = spawn3("nsenter", this.#enter(["/usr/bin/dd", `of=${path}`, "bs=64k", "status=none"]), {
      stdio: ["pipe", "ignore", "ignore"],
      ...signal && { signal }
    });
    child.stdin.on("error", () => {
    });
    child.stdin.end(bytes);
    const [status] = await once(child, "exit");
    if (status !== 0)
      throw new MayflyError("prepare_failed", `${path} cannot be written in it (dd ended with ${status}).`);
  }
  #enter(argv) {
    return [
      `--target=${this.pid}`,
      "--mount",
      "--uts",
      "--pid",
      "--root",
      "--wd=/",
      "--",
      "/usr/bin/env",
      "-i",
      ...argv
    ];
  }
};

// host/simulated/source/running-source.ts
var SSHD_CONFIG2 = `Include /etc/ssh/sshd_config.d/*.conf
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin no
UsePAM no
UseDNS no
PidFile none
Subsystem sftp internal-sftp
`;
var BOOT_SOURCE = `set -eu
mount --bind -o ro /usr "$1/usr"
mount --bind "$2" "$1/usr/local/lib"
if [ -d /etc/alternatives ]; then mount --bind -o ro /etc/alternatives "$1/etc/alternatives"; fi
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
printf %s "$3" > /proc/sys/kernel/hostname
chroot "$1" /bin/sh -euc '
mkdir -p /etc/ssh/sshd_config.d /var/lib /run/sshd
[ -s /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N "" -C "$1" -f /etc/ssh/ssh_host_ed25519_key
[ -s /etc/ssh/sshd_config ] || printf %s "$2" >/etc/ssh/sshd_config' sh "$3" "$6"
exec chroot "$1" /usr/sbin/sshd -D -e -o "ListenAddress=$4:$5"`;
var RunningFile = z8.strictObject({ pid: z8.int().min(1), address: z8.string() });
var START_MS = 3e4;
var POLL_MS2 = 5;
var KILLED = { by: "SIGKILL", withinMs: START_MS };
var SimulatedSources = class {
  /** @param images the folder of all images */
  constructor(images) {
    this.images = images;
  }
  images;
  /** Makes an image as an ordinary server would be: the default one with a host key and an sshd_config of its own. */
  async make(name, sshdConfig = SSHD_CONFIG2) {
    const folder2 = join17(this.images, name);
    const staging = join17(this.images, `.${name}.new`);
    await rm8(staging, { recursive: true, force: true });
    await exec("cp", ["--archive", "--", join17(this.images, DEFAULT_IMAGE), staging]);
    const etc = join17(staging, "root", "etc", "ssh");
    await mkdir7(join17(etc, "sshd_config.d"), { recursive: true });
    await mkdir7(join17(staging, "root", "var", "lib"), { recursive: true });
    await mkdir7(join17(staging, "local-lib"));
    const pair = makeKeyPair(name);
    await writeFile4(join17(etc, "sshd_config"), sshdConfig, { mode: 420 });
    await writeFile4(join17(etc, "ssh_host_ed25519_key"), pair.privateKey, { mode: 384 });
    await writeFile4(join17(etc, "ssh_host_ed25519_key.pub"), `${pair.publicKey}
`, { mode: 420 });
    await rename9(staging, folder2);
  }
  /** Boots a source, unless it runs. Its processes outlive this one: {@link stop} it. */
  async start(name) {
    if (await this.#running(name)) return;
    await this.#endForgotten(name);
    const address = await freeAddress(`source/${createHash4("sha256").update(name).digest("hex")}`, /* @__PURE__ */ new Set());
    const folder2 = await realpath2(join17(this.images, name));
    const root2 = join17(folder2, "root");
    await mkdir7(join17(folder2, "local-lib"), { recursive: true });
    const log = await open4(join17(folder2, "console.log"), "a", 384);
    try {
      const given = [root2, join17(folder2, "local-lib"), name, address, String(GUEST_PORT), SSHD_CONFIG2];
      const boot = ["sh", "-c", BOOT_SOURCE, "sh", ...given];
      const child = spawn4("unshare", ["--pid", "--fork", "--mount", "--uts", "--kill-child", ...boot], {
        cwd: "/",
        detached: true,
        stdio: ["ignore", log.fd, log.fd],
        env: { PATH: "/usr/sbin:/usr/bin", LC_ALL: "C" }
      });
      child.unref();
      const pid = await firstProcess(child, root2);
      await answering(child, address);
      await writeFile4(join17(folder2, "running.json"), `${JSON.stringify({ pid, address })}
`);
    } catch (error) {
      await this.#endForgotten(name);
      throw error;
    } finally {
      await log.close();
    }
  }
  /**
   * Ends a source with all that runs in it.
   * @param how by SIGTERM is what its first process may take its time for, or not hear
   * @throws MayflyError source_stop_failed; the reason of its signal
   */
  async stop(name, how = KILLED) {
    const running2 = await this.#running(name);
    if (!running2) return this.#endForgotten(name);
    process.kill(running2.pid, how.by);
    const deadline = Date.now() + how.withinMs;
    while (await this.#running(name)) {
      if (Date.now() > deadline) {
        const why = `it was told to, and runs after ${how.withinMs / 1e3} s`;
        throw new MayflyError("source_stop_failed", `${JSON.stringify(name)} did not stop: ${why}.`);
      }
      how.signal?.throwIfAborted();
      await sleep6(POLL_MS2);
    }
    await rm8(join17(this.images, name, "running.json"), { force: true });
  }
  async isRunning(name) {
    return await this.#running(name) !== null;
  }
  /** @throws MayflyError source_not_running */
  async running(name) {
    const running2 = await this.#running(name);
    if (!running2) throw new MayflyError("source_not_running", `${JSON.stringify(name)} is a stopped image.`);
    return {
      console: new NamespaceConsole(running2.pid),
      addresses: async () => [{ address: running2.address, port: GUEST_PORT }]
    };
  }
  /** The processes that have the source's tree as their root. */
  async processesOf(name) {
    const root2 = await realpath2(imageRoot(this.images, name));
    return processIds().filter((pid) => rootOf(pid) === root2);
  }
  /** Of a start whose process was killed before it could write down what it had started, or that failed. */
  async #endForgotten(name) {
    const deadline = Date.now() + START_MS;
    for (let left = await this.#present(name); left.length > 0; left = await this.#present(name)) {
      for (const pid of left) sendSignal(pid, "SIGKILL");
      if (Date.now() > deadline) throw new Error(`what is left of the simulated source ${name} survives SIGKILL`);
      await sleep6(POLL_MS2);
    }
  }
  async #present(name) {
    return await orAbsent(this.processesOf(name)) ?? [];
  }
  async #running(name) {
    try {
      const file = await readFile12(join17(this.images, name, "running.json"), "utf8");
      const running2 = RunningFile.parse(JSON.parse(file));
      return rootOf(running2.pid) === await realpath2(imageRoot(this.images, name)) ? running2 : null;
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }
};
async function firstProcess(child, root2) {
  const deadline = Date.now() + START_MS;
  for (; ; ) {
    const init = child.pid === void 0 ? null : childOf(child.pid);
    if (init !== null && rootOf(init) === root2) return init;
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`the simulated source in ${root2} does not start`);
    await sleep6(POLL_MS2);
  }
}
async function answering(child, address) {
  const deadline = Date.now() + START_MS;
  for (; ; ) {
    const socket = connect({ host: address, port: GUEST_PORT });
    const isOpen = await new Promise((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`no sshd answers on ${address}`);
    await sleep6(POLL_MS2);
  }
}

// host/simulated/source/source-power.ts
var SimulatedSourcePower = class {
  constructor(deps) {
    this.deps = deps;
  }
  deps;
  /** Its console is the kernel's: there is no guest agent to wait for, and who comes in by it is answered. */
  async start({ sourceId, source }, { signal }) {
    const { images, sources, failpoints } = this.deps;
    const { name, problem } = await readImage(images, source);
    if (name === DEFAULT_IMAGE) throw readOnly(name);
    if (problem !== null) throw startFailed(name, problem);
    signal.throwIfAborted();
    try {
      await sources.start(name);
    } catch (error) {
      if (error instanceof MayflyError || !(error instanceof Error)) throw error;
      throw startFailed(name, error.message, error);
    }
    await failpoints.hit("startSource", "during", sourceId, signal);
    return { guestAnswers: true };
  }
  async stop({ sourceId, source, force, withinMs }, { signal }) {
    const { images, sources, failpoints } = this.deps;
    const { name } = await readImage(images, source);
    await failpoints.hit("stopSource", "during", sourceId, signal);
    await (force ? sources.stop(name) : sources.stop(name, { by: "SIGTERM", withinMs, signal }));
  }
};
function readOnly(name) {
  return new MayflyError("source_read_only", `${name} is what every simulated host has, and must not change.`);
}
function startFailed(name, why, cause) {
  return new MayflyError("source_start_failed", `${JSON.stringify(name)} did not start: ${why}.`, { cause });
}

// host/simulated/driver.ts
var SIMULATED_WARNING = "SIMULATED HOST: its sandboxes are process trees on this machine, not virtual machines. They isolate NOTHING: they share the kernel, the network, the devices and the host's /usr. Never run code there that you do not trust.";
var POLL_MS3 = 50;
var WATCH_MS = 500;
var SimulatedHypervisor = class {
  kind = "simulated";
  isolation = "none";
  uri = null;
  warning = SIMULATED_WARNING;
  /** For tests and demonstrations: starts and stops sources. */
  runningSources;
  snapshots;
  baking;
  templates = NO_TEMPLATES;
  captures;
  power;
  #state;
  #failpoints;
  #agentFolder;
  #leases;
  #machine;
  #origins;
  #residue;
  #diskUsage = new DiskUsage();
  constructor(options) {
    const { state: state2, failpoints = Failpoints.parse(void 0), agentFolder = null } = options;
    this.#state = state2;
    this.#failpoints = failpoints;
    this.#agentFolder = agentFolder;
    const machine = new SimulatedMachine(state2);
    const running2 = new SimulatedSources(state2.images);
    const snapshots = new SimulatedSnapshots({ state: state2, failpoints, machine });
    const captures = new SimulatedCaptures({ state: state2, failpoints, sources: running2 });
    this.#machine = machine;
    this.runningSources = running2;
    this.snapshots = snapshots;
    this.captures = captures;
    this.power = new SimulatedSourcePower({ images: state2.images, sources: running2, failpoints });
    this.baking = new SimulatedBaking({ state: state2, failpoints, builder: machine, sources: running2 });
    this.#origins = new Origins({ images: state2.images, running: running2, snapshots, captures });
    this.#leases = new SimulatedLeases(join18(state2.root, "simulated.leases"));
    this.#residue = new Residue(machine, this.#leases);
  }
  async open() {
    if (process.getuid?.() !== 0) {
      throw new MayflyError(
        "host_unavailable",
        "A simulated host makes namespaces and mounts: run its worker as root."
      );
    }
    await makeClosed(this.#state.sandboxes);
    await ensureDefaultImage(this.#state.images);
    await this.#leases.list();
    await this.openToLook();
    for (const sandboxId of await this.#machine.stored()) await this.snapshots.thaw(sandboxId);
    await this.captures.thawAll();
  }
  /** Enough for {@link look} and {@link marks}: makes nothing. @throws Error when there never was a host in this folder */
  async openToLook() {
    await this.#machine.open();
  }
  async close() {
    this.#machine.close();
  }
  leaseFiles() {
    return [this.#leases.path];
  }
  async capacity() {
    return measureCapacity(this.#state.root);
  }
  async disk() {
    return diskOf(this.#state.root);
  }
  async sources() {
    return this.#origins.sources();
  }
  async source(name) {
    return this.#origins.source(name);
  }
  async contentOf(name, { signal }) {
    return this.#origins.contentOf(name, signal);
  }
  async runningSource(name) {
    return this.#origins.running(name);
  }
  async residentMib(sandboxId) {
    return residentMibOf(await this.#machine.processes.of(sandboxId));
  }
  async residentMibOfAll() {
    const running2 = await this.#machine.processes.look();
    return new Map([...running2].map(([sandboxId, pids]) => [sandboxId, residentMibOf(pids)]));
  }
  async diskBytes(sandboxId) {
    return this.#diskUsage.of(await this.#machine.workspace(sandboxId));
  }
  /** Here snapshots are whole trees, to which nothing refers. */
  async heldBytes() {
    return /* @__PURE__ */ new Map();
  }
  /** Here no sandbox is hibernated. */
  async savedMemoryBytes() {
    return 0;
  }
  /** Here a write that finds no room fails in the guest, and is its own to repeat. */
  async stopped() {
    return [];
  }
  async cloneDisk(request, { signal }) {
    signal.throwIfAborted();
    const workspace = await this.#machine.workspace(request.sandboxId);
    const present2 = await readClone(workspace);
    if (present2) return present2;
    const copy = await this.#origins.copierOf(request);
    const onCopied = () => this.#failpoints.hit("cloneDisk", "during", request.sandboxId, signal);
    return makeWorkspace(workspace, request, { copy, onCopied }, signal);
  }
  bootOf() {
    return Promise.resolve(null);
  }
  async bootDomain(sandboxId, { signal }) {
    signal.throwIfAborted();
    const workspace = await this.#machine.workspace(sandboxId);
    const clone = await readClone(workspace);
    if (!clone)
      throw new MayflyError("boot_failed", `${sandboxId} has no disk on this host: it was removed, or never made.`);
    const lease = await this.#leases.acquire(clone.macAddress, sandboxId);
    await this.#failpoints.hit("bootDomain", "during", sandboxId, signal);
    const paths = { ...domainPaths(workspace), agentFolder: this.#agentFolder };
    await startDomain(sandboxId, paths, lease.address, this.#machine.processes, signal);
  }
  async awaitLease(sandboxId, context) {
    const { signal } = context;
    const workspace = await this.#machine.workspace(sandboxId);
    for (; ; ) {
      signal.throwIfAborted();
      if (!await this.#machine.isOn(sandboxId)) {
        const tail = await consoleTail(domainPaths(workspace));
        throw new MayflyError("boot_failed", `${sandboxId} does not run any more: ${tail}`);
      }
      const lease = (await this.#leases.list()).find((entry) => entry.sandboxId === sandboxId);
      if (lease) return noticed(lease);
      context.alive(`no lease of ${sandboxId} in ${this.#leases.path} yet`);
      await sleep7(POLL_MS3, void 0, { signal }).catch(() => signal.throwIfAborted());
    }
  }
  /** Nobody sees the status of a process tree that has ended: one that crashed is `stopped` too. */
  async machines(sandboxIds) {
    const states = sandboxIds.map(async (sandboxId) => {
      if (await this.#machine.isOn(sandboxId)) return [sandboxId, "on"];
      return [sandboxId, await readClone(await this.#machine.workspace(sandboxId)) ? "stopped" : "lost"];
    });
    return new Map(await Promise.all(states));
  }
  /** The kernel tells nobody but a parent that a process has ended, so this looks. */
  async *watch(signal) {
    while (!signal.aborted) {
      await sleep7(WATCH_MS, void 0, { signal }).catch(() => void 0);
      if (!signal.aborted && this.#machine.someEnded()) yield;
    }
  }
  async whereabouts(sandboxId) {
    const clone = await readClone(await this.#machine.workspace(sandboxId));
    if (!clone) return { domain: "absent", lease: null };
    const [leases, isOn] = await Promise.all([this.#leases.list(), this.#machine.isOn(sandboxId)]);
    const leased = leases.find((entry) => entry.macAddress === clone.macAddress && entry.sandboxId === sandboxId);
    const lease = leased ? noticed(leased) : null;
    if (!isOn) return { domain: "off", lease };
    const isPaused = await (await this.#machine.suspension(sandboxId)).isPaused();
    return { domain: isPaused ? "paused" : "running", lease };
  }
  async pause(sandboxId) {
    const suspension = await this.#machine.suspension(sandboxId);
    await suspension.pause(() => this.#failpoints.hit("pause", "during", sandboxId));
  }
  async resume(sandboxId) {
    const suspension = await this.#machine.suspension(sandboxId);
    await suspension.resume(() => this.#failpoints.hit("resume", "during", sandboxId));
  }
  async hibernate(sandboxId) {
    throw new MayflyError(
      "hibernation_unsupported",
      `${sandboxId} is a process tree on a simulated host: it has no memory that could be saved.`
    );
  }
  /** None is hibernated here, so there is only what is paused. */
  async wake(sandboxId, wished) {
    await (wished === "paused" ? this.pause(sandboxId) : this.resume(sandboxId));
  }
  async removeDomain(sandboxId) {
    await this.#machine.stop(sandboxId);
    await (await this.#machine.suspension(sandboxId)).forget();
    await this.#failpoints.hit("removeDomain", "during", sandboxId);
  }
  async releaseLease(sandboxId) {
    await this.#leases.release(sandboxId);
  }
  async removeWorkspace(sandboxId) {
    await this.#failpoints.hit("removeWorkspace", "during", sandboxId);
    await removeWorkspaceTrees(await this.#machine.workspace(sandboxId));
  }
  async look(sandboxId) {
    return this.#residue.look(sandboxId);
  }
  async marks() {
    return this.#residue.marks();
  }
};
function residentMibOf(pids) {
  const kib = pids.reduce((sum, pid) => sum + residentKib(pid), 0);
  return Math.ceil(kib / 1024);
}

// host/state-dir.ts
import { join as join19 } from "node:path";
var StateDir = class {
  /** @param root absolute path, e.g. `/var/lib/mayfly` */
  constructor(root2) {
    this.root = root2;
  }
  root;
  get images() {
    return join19(this.root, "images");
  }
  get sandboxes() {
    return join19(this.root, "sandboxes");
  }
  get credentials() {
    return join19(this.root, "credentials");
  }
  get reservations() {
    return join19(this.root, "reservations");
  }
  get snapshots() {
    return join19(this.root, "snapshots");
  }
  /** The list of templates; what they are is among the snapshots. */
  get templates() {
    return join19(this.root, "templates.json");
  }
  /** Documents on their way to a program. */
  get scratch() {
    return join19(this.root, "scratch");
  }
  workspace(sandboxId) {
    return join19(this.sandboxes, checked(sandboxId));
  }
  snapshot(snapshotId) {
    if (!isSnapshotId(snapshotId)) throw new RangeError(`not a snapshot id: ${JSON.stringify(snapshotId)}`);
    return join19(this.snapshots, snapshotId);
  }
  get captures() {
    return join19(this.root, "captures");
  }
  capture(captureId) {
    if (!isCaptureId(captureId)) throw new RangeError(`not a capture id: ${JSON.stringify(captureId)}`);
    return join19(this.captures, captureId);
  }
  /** @param id of a sandbox, or of a source that is looked at */
  credentialsOf(id) {
    if (!isAuditSubject(id)) throw new RangeError(`neither a sandbox id nor a source id: ${JSON.stringify(id)}`);
    return join19(this.credentials, id);
  }
  /** @param id of a sandbox or of a capture */
  reservationOf(id) {
    return join19(this.reservations, `${isCaptureId(id) ? id : checked(id)}.json`);
  }
};
function checked(sandboxId) {
  if (!isSandboxId(sandboxId)) throw new RangeError(`not a sandbox id: ${JSON.stringify(sandboxId)}`);
  return sandboxId;
}

// ../../../tmp/pb/chroot.ts
import { randomBytes as randomBytes3 } from "node:crypto";

// activities/playbook/on-host.ts
import { createReadStream } from "node:fs";
import { buffer } from "node:stream/consumers";

// model/limits.ts
var LIMITS = {
  cpus: { min: 1, max: 64 },
  memoryMib: { min: 64, max: 262144 },
  /** `@default` 3600. At least 1 s (tests and one-shot jobs), at most 30 days. */
  ttlSeconds: { min: 1, max: 2592e3, default: 3600 },
  /** No idle time-out unless asked for. */
  idleSeconds: { min: 1, max: 2592e3 },
  metadata: { maxEntries: 32, maxKeyLength: 63, maxValueLength: 1024 },
  agentId: { maxLength: 128 },
  sourceName: { maxLength: 128 },
  /** 1 to so many of `A-Za-z0-9._-`, the first a letter. */
  bakedSourceName: { maxLength: 63 },
  /** Projects that may clone one capture. */
  captureProjects: 100,
  /** Names in the allow-list of a project. */
  projectSources: 200,
  idempotencyKey: { maxLength: 255 },
  /** How long an idempotent answer is kept. */
  idempotencyHours: 24,
  /** The headers of a request together, with its first line. Node's own default. */
  headerBytes: 16384,
  /** A request body may not be larger. */
  bodyBytes: 1048576,
  /** `Prefer: wait=N`. */
  waitSeconds: { default: 60, max: 600 },
  page: { default: 50, max: 200 },
  mcp: {
    /** Of one message. The SDK's own default. */
    bodyBytes: 4194304,
    /** Of a project, at once; one more ends that which was used the longest ago. */
    sessions: 100,
    /** Without use until a session ends. */
    idleSeconds: 3600,
    /** How long the events of a stream that was cut can be had again. */
    eventSeconds: 900
  },
  command: {
    /** Characters of `command`, and bytes of all of `argv`: one argument may have 128 KiB in Linux (MAX_ARG_STRLEN). */
    maxLength: 131071,
    maxArguments: 1024,
    maxVariables: 256,
    maxVariableBytes: 131071,
    timeoutSeconds: { min: 1, max: 2592e3, default: 600 },
    maxOutputBytes: { min: 0, max: 1073741824, default: 10485760 },
    /** Running at once in one sandbox; one more is refused with 429. */
    running: 64,
    /** One POST of standard input, bytes. */
    stdinBytes: 1048576,
    /** From SIGTERM to SIGKILL, when a command is cancelled or its time is over. Seconds. */
    graceSeconds: 5
  },
  /** Of a storage quota: from 64 MiB, what a sandbox counts as until it is measured, to 1 PiB. */
  quotaBytes: { min: 67108864, max: 1125899906842624 },
  /** Of what a project may have at once, or make in a minute; 0: nothing more. */
  projectLimits: { max: 1e6, maxMemoryMib: 1073741824 },
  /** Event streams of one API process. */
  streams: {
    /** Of sandboxes: each is a poll of the store. */
    ofSandboxes: 64,
    /** Of commands: each is a request of a guest, and a poll of the store while its host is away. */
    ofCommands: 512
  },
  /** 1 to so many of `A-Za-z0-9._-`, the first no dot and no dash. */
  snapshotName: { maxLength: 63 },
  image: {
    dockerfileBytes: 1048576,
    /** Of all stages that are needed. */
    steps: 200,
    /** Files, folders and links of a context. */
    contextEntries: 5e3,
    /** As a tar archive: it is what one command of a guest may be given on its standard input. */
    contextBytes: 4194304,
    /** A request with its Dockerfile, variables and context. */
    bodyBytes: 8388608,
    /** Of one step. */
    timeoutSeconds: 1800,
    outputBytes: 10485760,
    args: 256,
    aliases: 64
  },
  playbook: {
    /** Files, folders and links that are tasks: each takes Ansible a second in an emulated guest. */
    paths: 2e3,
    /** Of one file, bytes; a larger one is listed. */
    fileBytes: 10485760,
    /** Of all files together, bytes. */
    bundleBytes: 50331648,
    /** Differences that are looked at. */
    changes: 5e5,
    /** That a record has of each of its lists; the report has all. */
    listed: 100,
    /** Of one run of Ansible. */
    timeoutSeconds: 3600,
    outputBytes: 1048576
  },
  /** Members of one pool. */
  poolMembers: { min: 0, max: 100 },
  /** Sandboxes made from a snapshot by one request. */
  fork: { count: { min: 1, max: 100 } },
  path: { maxBytes: 4095 },
  diff: {
    /** Changes of one JSON answer; NDJSON has them all. */
    changes: { min: 1, max: 1e4, default: 1e3 },
    /** Of one JSON answer, characters: a change can have a mebibyte of extended attributes. */
    changesLength: 8388608,
    /** Folders and files that a comparison is narrowed to; all of them together, bytes. */
    paths: { max: 32, maxBytes: 8192 },
    /** Of each side of a file whose text is compared, bytes. */
    fileBytes: 1048576,
    /** Commands that are listed with a comparison. */
    commands: 200
  },
  approvals: {
    /** Of one project, at once. */
    waiting: 100,
    /** From when one is asked for until it can be neither decided nor used. `@default` an hour */
    expiresSeconds: { min: 1, max: 604800, default: 3600 },
    reasonLength: 1e3,
    /** Since it expired, until its record is removed; the audit tells of it still. */
    keptDays: 90,
    /** Of a policy. */
    rules: 100,
    ruleNameLength: 63,
    patternLength: 256
  },
  ports: {
    /** Open to one port of a sandbox at once; one more is refused with 429. */
    connections: 100
  },
  /** A command on a source: read-only, and brief. */
  sourceCommand: { maxLength: 4096, timeoutSeconds: { min: 1, max: 300, default: 30 }, maxOutputBytes: 1048576 },
  certificateSeconds: { min: 60, max: 3600, default: 1800 }
};

// model/image/tar.ts
var BLOCK3 = 512;
var LETTER = { file: "0", directory: "5", symlink: "2" };
function tarOf(entries) {
  const blocks = [];
  for (const { path, type, mode, bytes, link } of entries) {
    const records = [record("path", path), ...link === null ? [] : [record("linkpath", link)]].join("");
    const pax = new TextEncoder().encode(records);
    blocks.push(headerOf("pax", "x", 420, pax.length), padded(pax));
    const content = type === "file" ? bytes : new Uint8Array();
    blocks.push(headerOf("entry", LETTER[type], mode, content.length), padded(content));
  }
  blocks.push(new Uint8Array(2 * BLOCK3));
  const all = new Uint8Array(blocks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const block of blocks) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}
function record(key, value) {
  const rest = new TextEncoder().encode(` ${key}=${value}
`).length;
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length = rest + String(length).length;
  return `${length} ${key}=${value}
`;
}
function headerOf(name, letter, mode, size) {
  const header2 = new Uint8Array(BLOCK3);
  const put2 = (at, value) => header2.set(new TextEncoder().encode(value), at);
  put2(0, name);
  put2(100, `${mode.toString(8).padStart(7, "0")}\0`);
  put2(108, "0000000\0");
  put2(116, "0000000\0");
  put2(124, `${size.toString(8).padStart(11, "0")}\0`);
  put2(136, "00000000000\0");
  put2(148, "        ");
  put2(156, letter);
  put2(257, "ustar\x0000");
  const sum = header2.reduce((all, byte) => all + byte, 0);
  put2(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return header2;
}
function padded(bytes) {
  const all = new Uint8Array(Math.ceil(bytes.length / BLOCK3) * BLOCK3);
  all.set(bytes);
  return all;
}

// model/playbook/accounts.ts
function accountsOf({ passwd, group, shadow }) {
  const passwords = new Map(linesOf(shadow, 9).map(([name = "", password = ""]) => [name, password]));
  const groups2 = /* @__PURE__ */ new Map();
  for (const [name = "", , gid = "", members = ""] of linesOf(group, 4)) {
    if (!isNumber(gid)) continue;
    groups2.set(name, { name, gid: Number(gid), members: members.split(",").filter(Boolean).sort() });
  }
  const users = /* @__PURE__ */ new Map();
  for (const [name = "", field = "", uid = "", gid = "", comment = "", home = "", shell = ""] of linesOf(passwd, 7)) {
    if (!isNumber(uid) || !isNumber(gid)) continue;
    const password = field === "x" ? passwords.get(name) ?? null : field;
    const of = [...groups2.values()].filter(({ members }) => members.includes(name)).map((one) => one.name);
    users.set(name, { name, uid: Number(uid), gid: Number(gid), comment, home, shell, password, groups: of.sort() });
  }
  return { users, groups: groups2 };
}
function isHash(password) {
  return password !== null && /[^*!]/.test(password);
}
function isAccountName(name) {
  return /^[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?$/.test(name);
}
function userDifference(one, other) {
  if (!one || !other) return one === other ? null : "it is in one alone";
  const differing = ["uid", "gid", "comment", "home", "shell"].filter(
    (field) => one[field] !== other[field]
  );
  const all = [...differing, ...one.groups.join() === other.groups.join() ? [] : ["groups"]];
  return all.length === 0 ? null : all.join(", ");
}
function linesOf(text2, fields) {
  return text2.split("\n").map((line) => line.split(":")).filter((parts2) => parts2.length === fields && parts2[0] !== "");
}
function isNumber(text2) {
  return /^\d{1,10}$/.test(text2);
}

// model/playbook/yaml.ts
var Unsafe = class {
  constructor(text2) {
    this.text = text2;
  }
  text;
};
var LINE2 = 96;
function yamlOf(value, indent = 0) {
  const margin = " ".repeat(indent);
  if (value instanceof Unsafe) return `!unsafe ${quoted(value.text, indent)}`;
  if (typeof value === "string") return quoted(value, indent);
  if (typeof value !== "object") return String(value);
  if (isList(value)) {
    if (value.length === 0) return "[]";
    return value.map((each) => `
${margin}- ${yamlOf(each, indent + 2).trimStart()}`).join("");
  }
  const fields = Object.entries(value);
  if (fields.length === 0) return "{}";
  return fields.map(([name, each]) => `
${margin}${name}:${after(yamlOf(each, indent + 2))}`).join("");
}
function after(text2) {
  return text2.startsWith("\n") ? text2 : ` ${text2}`;
}
function isList(value) {
  return Array.isArray(value);
}
function quoted(text2, indent) {
  const pieces = [];
  let line = "";
  for (const char of text2) {
    if (line.length >= LINE2) {
      pieces.push(line);
      line = "";
    }
    const next = escaped(char);
    line += line === "" && pieces.length > 0 && next === " " ? "\\ " : next;
  }
  return `"${[...pieces, line].join(`\\
${" ".repeat(indent + 2)}`)}"`;
}
var NAMED2 = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "	": "\\t", "\r": "\\r" };
function escaped(char) {
  if (char in NAMED2) return NAMED2[char] ?? char;
  const code = char.codePointAt(0) ?? 0;
  if (code >= 32 && code < 127) return char;
  return code > 65535 ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
function commentOf(text2) {
  const [line = ""] = [[...text2].map(escaped).join("")];
  return line.length > 140 ? `# ${line.slice(0, 137)}...` : `# ${line}`.trimEnd();
}

// model/playbook/tasks.ts
function task(what, said, module, args, more = {}) {
  const about = /^[\w/.@+,: -]{1,120}$/.test(said) ? `${what} ${said}` : `${what} (its name is below)`;
  const tagged = said.includes("	") ? { tags: ["skip_ansible_lint"] } : {};
  return { name: about, [`ansible.builtin.${module}`]: args, ...more, ...tagged };
}
function literal(text2) {
  return new Unsafe(text2);
}
function whyNotPath(path) {
  if (/\$(?:\w|\{)/.test(path)) return "Ansible takes a `$` in a path for a variable of the environment";
  if (path.length > 3e3) return "its path is too long";
  return null;
}

// model/playbook/account-tasks.ts
function accountTasks({ before, after: after3 }) {
  const [old, now2] = [accountsOf(before), accountsOf(after3)];
  const written = { tasks: [], variables: [], left: [] };
  const uids = [...now2.users.values()].map(({ uid }) => uid);
  for (const { name } of old.users.values()) if (!now2.users.has(name)) written.tasks.push(...absent("user", name));
  for (const { name } of old.groups.values()) if (!now2.groups.has(name)) written.tasks.push(...absent("group", name));
  for (const group of now2.groups.values()) {
    if (old.groups.get(group.name)?.gid !== group.gid) addGroup(written, group, now2.groups);
  }
  for (const user of now2.users.values()) {
    const was = old.users.get(user.name);
    const isOther = was?.password !== user.password;
    if (was === void 0 || isOther || userDifference(was, user) !== null) addUser(written, user, uids, isOther);
  }
  return written;
}
function absent(kind, name) {
  if (!isAccountName(name)) return [];
  return [task(`Remove the ${kind}`, name, kind, { name: literal(name), state: "absent" })];
}
function addGroup({ tasks, left }, { name, gid }, all) {
  if (!isAccountName(name)) {
    left.push({ path: "/etc/group", why: `the group ${JSON.stringify(name)} has a name that groupadd does not take` });
    return;
  }
  const isShared = [...all.values()].filter((other) => other.gid === gid).length > 1;
  tasks.push(
    task("Have the group", name, "group", { name: literal(name), gid, ...isShared && { non_unique: true } })
  );
}
function addUser(written, user, uids, isOther) {
  const { name, uid, gid, comment, home, shell, groups: groups2, password } = user;
  if (!isAccountName(name)) {
    const why = `the user ${JSON.stringify(name)} has a name that useradd does not take`;
    written.left.push({ path: "/etc/passwd", why });
    return;
  }
  const args = {
    name: literal(name),
    uid,
    group: String(gid),
    groups: groups2.map(literal),
    append: false,
    comment: literal(comment),
    home: literal(home),
    shell: literal(shell),
    create_home: false,
    ...uids.filter((other) => other === uid).length > 1 && { non_unique: true }
  };
  const secret = isHash(password) ? variableOf(name) : null;
  if (secret) written.variables.push({ name: secret, of: name, kind: "password hash" });
  const given = secret ? `{{ ${secret} }}` : literal(password ?? "!");
  written.tasks.push(
    task("Have the user", name, "user", { ...args, ...isOther && password !== null && { password: given } })
  );
}
function variableOf(user) {
  return `mayfly_password_${user.toLowerCase().replace(/[^a-z0-9]/g, "_")}`;
}

// model/playbook/change.ts
function keyOf(name) {
  return typeof name === "string" ? name : `base64:${name.base64}`;
}

// model/redaction/known-text.ts
var WHOLE = [
  /\bmfk_[0-9a-f]{12}_[\w-]{20,43}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bgithub_pat_\w{20,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bsk-[\w-]{20,}/g,
  /\bey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?/g,
  /(?<=\bhttps?:\/\/[^\s"'`]{1,256}\/(?:web)?hooks?\/)[\w./=+-]{12,}/g
];
var AFTER = [
  /\b(?:Bearer|Basic|ApiKey)\s{1,3}([\w.~+/-]{8,}=*)/gi,
  /\bAuthorization\b["'`]?\s{0,3}[:=]\s{0,3}["'`]?Token\s{1,3}([^\s"'`]+)/gi,
  /\bpass:([^\s"'`]+)/g
];
var KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
var KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
var AUTHORITY = /(https?)?:\/\/([^\s/?#"'`<>\\]+)/gi;
var TOKEN_LENGTH = 16;
function spansByLooks(text2) {
  return [...privateKeys(text2), ...userInfo(text2), ...WHOLE.flatMap((each) => whole(text2, each)), ...groups(text2)];
}
function* privateKeys(text2) {
  let at = 0;
  for (const { 0: begin, index } of text2.matchAll(KEY_BEGIN)) {
    if (index < at) continue;
    KEY_END.lastIndex = index + begin.length;
    const end = KEY_END.exec(text2);
    at = end ? end.index + end[0].length : text2.length;
    yield { start: index, end: at };
  }
}
function* userInfo(text2) {
  for (const { 0: found, 1: http, 2: authority = "", index } of text2.matchAll(AUTHORITY)) {
    const end = authority.lastIndexOf("@");
    if (end === -1) continue;
    const colon = authority.slice(0, end).indexOf(":");
    const start = index + found.length - authority.length;
    if (colon !== -1) yield { start: start + colon + 1, end: start + end };
    else if (http && end >= TOKEN_LENGTH) yield { start, end: start + end };
  }
}
function whole(text2, pattern) {
  return [...text2.matchAll(pattern)].map(({ 0: found, index }) => ({ start: index, end: index + found.length }));
}
function* groups(text2) {
  for (const pattern of AFTER) {
    for (const { 0: found, 1: secret = "", index } of text2.matchAll(pattern)) {
      const end = index + found.length;
      yield { start: end - secret.length, end };
    }
  }
}

// model/redaction/secret-name.ts
var TELLING = /passw(?:or)?d|passphrase|passcode|secret|token|credential|authorization|apikey|privatekey|accesskey/;
var LAST = /* @__PURE__ */ new Set(["pass", "pwd", "auth", "cookie", "pat", "sig", "jwt"]);
var ABOUT2 = new Set(
  "id ids name names file files path dir url uri endpoint type kind size length count bytes budget limit min max used seconds ms ttl at expiry expires expiration version env algorithm fingerprint serial".split(" ")
);
var OPEN_KEYS = new Set(
  "public pub primary foreign sort partition cache host idempotency group map object row index natural".split(" ")
);
var KEYS = new Set(
  "api access secret private auth encryption signing master account storage service shared session license".split(" ")
);
function isSecretName(name) {
  if (name.length > MOST || name === "PWD" || name === "OLDPWD") return false;
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z\d]+/).filter((word) => word !== "");
  const last = words.at(-1) ?? "";
  if (ABOUT2.has(last) || last === "tokens") return false;
  if (words.some((word) => TELLING.test(word)) || LAST.has(last)) return true;
  const before = words.at(-2);
  if (last !== "key" && last !== "keys" || before === void 0) return false;
  return KEYS.has(before) || /^[A-Z\d_]+$/.test(name) && !OPEN_KEYS.has(before);
}
var MOST = 128;

// model/redaction/value.ts
var QUOTE = /\\*["'`]/y;
var WORD = /(?:[^\s"'`&;\\]|\\[^"'`])+/y;
var LINE3 = /[^\r\n"'`]+/y;
var CLOSING = /[,)}\]]+$/;
function valueAt(text2, at, isLine = false) {
  QUOTE.lastIndex = at;
  const quote = QUOTE.exec(text2)?.[0];
  if (quote === void 0) return plainAt(text2, at, isLine);
  const start = at + quote.length;
  const close = closeOf(text2, quote, start);
  if (close === -1) return { start, end: text2.length };
  const after3 = plainAt(text2, close + quote.length, false);
  return { start, end: after3.end > after3.start ? after3.end : close };
}
function plainAt(text2, at, isLine) {
  const pattern = isLine ? LINE3 : WORD;
  pattern.lastIndex = at;
  const word = pattern.exec(text2)?.[0] ?? "";
  return { start: at, end: at + word.replace(CLOSING, "").length };
}
function closeOf(text2, quote, from) {
  for (let at = text2.indexOf(quote, from); at !== -1; at = text2.indexOf(quote, at + 1)) {
    if (text2[at - 1] !== "\\" || quote.startsWith("\\")) return at;
  }
  return -1;
}

// model/redaction/named-text.ts
var ASSIGNMENT = /(?<![\w.-])([\w.-]{1,128})(?:\\{0,3}["'`])?\s{0,3}(?::=|=>|[=:]|%3[AaDd])\s{0,3}/g;
var FLAG = /(?<![\w.-])--?([A-Za-z][\w.-]{1,63})\s{1,3}(?![\s-])/g;
var HEADER = /(?:authorization|cookie)$/i;
function spansAfterNames(text2) {
  return [...after2(text2, ASSIGNMENT), ...after2(text2, FLAG)];
}
function* after2(text2, pattern) {
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text2); found; found = pattern.exec(text2)) {
    const { 0: all, 1: name = "", index } = found;
    if (!isSecretName(name)) continue;
    const value = valueAt(text2, index + all.length, HEADER.test(name));
    yield value;
    pattern.lastIndex = Math.max(value.end, index + all.length);
  }
}

// model/redaction/program-flags.ts
var PROGRAMS = [
  { names: "mysql\\w*|mariadb[\\w-]*|mycli|7za?|7zr", flag: "p", isJoined: true },
  { names: "sshpass|mongo\\w*|docker|podman|helm|oras|nerdctl|az|cf|rabbitmqadmin", flag: "p" },
  { names: "redis-cli|valkey-cli|https?", flag: "a" },
  { names: "ldap\\w+", flag: "w" },
  { names: "zip|unzip|sqlcmd|bcp|ipmitool", flag: "P" }
];
var NO_SECRET = /^(?:\d{1,5}(?::\d{1,5}){0,2}(?:\/(?:tcp|udp))?|\d{1,3}(?:\.\d{1,3}){3}:.*)$/;
var PATTERNS = PROGRAMS.map(({ names, flag, isJoined = false }) => ({
  program: new RegExp(`(?<![\\w.-])(?:${names})(?=\\s)[^\\n;|&]{0,1000}`, "g"),
  name: new RegExp(`^(?:${names})$`),
  flag: new RegExp(isJoined ? `(?<!\\S)-${flag}(?=\\S)` : `(?<!\\S)-${flag}(?:\\s{1,3}|=|(?=["']))(?!-)`, "g"),
  alone: isJoined ? null : `-${flag}`,
  joined: isJoined ? `-${flag}` : null
}));
var USER = /(?<!\S)(?:-u|-U|--user|--proxy-user)(?:=|\s{1,3}|(?=[^\s-]))/g;
function spansAfterFlags(text2) {
  const spans = [];
  if (!/(?<!\S)-/.test(text2)) return spans;
  for (const { program, flag } of PATTERNS) {
    for (const { 0: line, index } of text2.matchAll(program)) {
      for (const found of line.matchAll(flag)) {
        const value = valueAt(text2, index + found.index + found[0].length);
        if (!NO_SECRET.test(text2.slice(value.start, value.end))) spans.push(value);
      }
    }
  }
  for (const { 0: found, index } of text2.matchAll(USER)) {
    const value = valueAt(text2, index + found.length);
    const password = passwordOf(text2.slice(value.start, value.end));
    if (password !== null) spans.push({ start: value.start + password, end: value.end });
  }
  return spans;
}
function secretFrom(program, before, argument) {
  if (/^(?:-u|-U|--user|--proxy-user)$/.test(before)) return passwordOf(argument);
  const base2 = program.slice(program.lastIndexOf("/") + 1);
  const known = PATTERNS.filter(({ name }) => name.test(base2));
  if (known.some(({ alone }) => alone === before) && !NO_SECRET.test(argument)) return 0;
  const joined = known.find((each) => each.joined !== null && argument.startsWith(each.joined))?.joined;
  return joined === void 0 || joined === null || argument.length === joined.length ? null : joined.length;
}
function passwordOf(user) {
  const colon = user.indexOf(":");
  return colon <= 0 || colon === user.length - 1 ? null : colon + 1;
}

// model/redaction/scanner-rules.json
var scanner_rules_default = { about: { from: "gitleaks v8.30.1, config/gitleaks.toml", license: "MIT, Copyright (c) 2019 Zachary Rice" }, rules: [
  { id: "1password-secret-key", keywords: ["a3-"], pattern: "\\bA3-[A-Z0-9]{6}-(?:(?:[A-Z0-9]{11})|(?:[A-Z0-9]{6}-[A-Z0-9]{5}))-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\\b" },
  { id: "1password-service-account-token", keywords: ["ops_"], pattern: "ops_eyJ[a-zA-Z0-9+/]{250,}={0,3}" },
  { id: "adafruit-api-key", keywords: ["adafruit"], pattern: `(?:[aA][dD][aA][fF][rR][uU][iI][tT])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9_-]{32})(?!\\w)` },
  { id: "adobe-client-id", keywords: ["adobe"], pattern: `(?:[aA][dD][oO][bB][eE])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{32})(?!\\w)` },
  { id: "adobe-client-secret", keywords: ["p8e-"], pattern: "\\b(p8e-[a-zA-Z0-9]{32})(?!\\w)" },
  { id: "age-secret-key", keywords: ["age-secret-key-1"], pattern: "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}" },
  { id: "airtable-api-key", keywords: ["airtable"], pattern: `(?:[aA][iI][rR][tT][aA][bB][lL][eE])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{17})(?!\\w)` },
  { id: "airtable-personnal-access-token", keywords: ["airtable"], pattern: "\\b(pat[a-zA-Z0-9]{14}\\.[a-f0-9]{64})\\b" },
  { id: "algolia-api-key", keywords: ["algolia"], pattern: `(?:[aA][lL][gG][oO][lL][iI][aA])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{32})(?!\\w)` },
  { id: "alibaba-access-key-id", keywords: ["ltai"], pattern: "\\b(LTAI[a-zA-Z0-9]{20})(?!\\w)" },
  { id: "alibaba-secret-key", keywords: ["alibaba"], pattern: `(?:[aA][lL][iI][bB][aA][bB][aA])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{30})(?!\\w)` },
  { id: "anthropic-admin-api-key", keywords: ["sk-ant-admin01"], pattern: "\\b(sk-ant-admin01-[a-zA-Z0-9_\\-]{93}AA)(?!\\w)" },
  { id: "anthropic-api-key", keywords: ["sk-ant-api03"], pattern: "\\b(sk-ant-api03-[a-zA-Z0-9_\\-]{93}AA)(?!\\w)" },
  { id: "artifactory-api-key", keywords: ["akcp"], pattern: "\\bAKCp[A-Za-z0-9]{69}\\b" },
  { id: "artifactory-reference-token", keywords: ["cmvmd"], pattern: "\\bcmVmd[A-Za-z0-9]{59}\\b" },
  { id: "asana-client-id", keywords: ["asana"], pattern: `(?:[aA][sS][aA][nN][aA])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9]{16})(?!\\w)` },
  { id: "asana-client-secret", keywords: ["asana"], pattern: `(?:[aA][sS][aA][nN][aA])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{32})(?!\\w)` },
  { id: "atlassian-api-token", keywords: ["atatt3", "atlassian", "confluence", "jira"], pattern: `(?:(?:ATLASSIAN|[Aa]tlassian)|(?:CONFLUENCE|[Cc]onfluence)|(?:JIRA|[Jj]ira))(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{20}[a-fA-F0-9]{4})(?!\\w)|\\b([aA][tT][aA][tT][tT]3[A-Za-zA-Z0-9_\\-=]{186})(?!\\w)` },
  { id: "authress-service-client-access-key", keywords: ["authress_", "ext_", "sc_", "scauth_"], pattern: "\\b((?:sc|ext|scauth|authress)_[a-zA-Z0-9]{5,30}\\.[a-zA-Z0-9]{4,6}\\.(?:acc)[_-][a-zA-Z0-9-]{10,32}\\.[a-zA-Z0-9+/_=-]{30,120})(?!\\w)" },
  { id: "aws-access-token", keywords: ["a3t", "abia", "acca", "akia", "asia"], pattern: "\\b((?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\\b" },
  { id: "aws-amazon-bedrock-api-key-long-lived", keywords: ["absk"], pattern: "\\b(ABSK[A-Za-z0-9+/]{109,269}={0,2})(?!\\w)" },
  { id: "aws-amazon-bedrock-api-key-short-lived", keywords: ["bedrock-api-key-"], pattern: "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t" },
  { id: "azure-ad-client-secret", keywords: ["q~"], pattern: `(?:^|[\\\\'"\\x60\\s>=:(,)])([a-zA-Z0-9_~.]{3}\\dQ~[a-zA-Z0-9_~.-]{31,34})(?:$|[\\\\'"\\x60\\s<),])` },
  { id: "beamer-api-token", keywords: ["beamer"], pattern: `(?:[bB][eE][aA][mM][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([bB]_[a-zA-Z0-9=_\\-]{44})(?!\\w)` },
  { id: "bitbucket-client-id", keywords: ["bitbucket"], pattern: `(?:[bB][iI][tT][bB][uU][cC][kK][eE][tT])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{32})(?!\\w)` },
  { id: "bitbucket-client-secret", keywords: ["bitbucket"], pattern: `(?:[bB][iI][tT][bB][uU][cC][kK][eE][tT])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9=_\\-]{64})(?!\\w)` },
  { id: "bittrex-access-key", keywords: ["bittrex"], pattern: `(?:[bB][iI][tT][tT][rR][eE][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{32})(?!\\w)` },
  { id: "bittrex-secret-key", keywords: ["bittrex"], pattern: `(?:[bB][iI][tT][tT][rR][eE][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{32})(?!\\w)` },
  { id: "cisco-meraki-api-key", keywords: ["meraki"], pattern: `(?:(?:(?:[Mm]eraki|MERAKI))(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9a-f]{40})(?!\\w)` },
  { id: "clickhouse-cloud-api-secret-key", keywords: ["4b1d"], pattern: "\\b(4b1d[A-Za-z0-9]{38})\\b" },
  { id: "clojars-api-token", keywords: ["clojars_"], pattern: "[cC][lL][oO][jJ][aA][rR][sS]_[a-zA-Z0-9]{60}" },
  { id: "cloudflare-api-key", keywords: ["cloudflare"], pattern: `(?:[cC][lL][oO][uU][dD][fF][lL][aA][rR][eE])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9_-]{40})(?!\\w)` },
  { id: "cloudflare-global-api-key", keywords: ["cloudflare"], pattern: `(?:[cC][lL][oO][uU][dD][fF][lL][aA][rR][eE])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{37})(?!\\w)` },
  { id: "cloudflare-origin-ca-key", keywords: ["cloudflare", "v1.0-"], pattern: "\\b(v1\\.0-[a-f0-9]{24}-[a-f0-9]{146})(?!\\w)" },
  { id: "codecov-access-token", keywords: ["codecov"], pattern: `(?:[cC][oO][dD][eE][cC][oO][vV])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{32})(?!\\w)` },
  { id: "cohere-api-token", keywords: ["co_api_key", "cohere"], pattern: `(?:(?:[cC][oO][hH][eE][rR][eE]|[cC][oO]_[aA][pP][iI]_[kK][eE][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{40})(?!\\w)` },
  { id: "coinbase-access-token", keywords: ["coinbase"], pattern: `(?:[cC][oO][iI][nN][bB][aA][sS][eE])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9_-]{64})(?!\\w)` },
  { id: "confluent-access-token", keywords: ["confluent"], pattern: `(?:[cC][oO][nN][fF][lL][uU][eE][nN][tT])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{16})(?!\\w)` },
  { id: "confluent-secret-key", keywords: ["confluent"], pattern: `(?:[cC][oO][nN][fF][lL][uU][eE][nN][tT])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{64})(?!\\w)` },
  { id: "contentful-delivery-api-token", keywords: ["contentful"], pattern: `(?:[cC][oO][nN][tT][eE][nN][tT][fF][uU][lL])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9=_\\-]{43})(?!\\w)` },
  { id: "databricks-api-token", keywords: ["dapi"], pattern: "\\b(dapi[a-f0-9]{32}(?:-\\d)?)(?!\\w)" },
  { id: "datadog-access-token", keywords: ["datadog"], pattern: `(?:[dD][aA][tT][aA][dD][oO][gG])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{40})(?!\\w)` },
  { id: "defined-networking-api-token", keywords: ["dnkey"], pattern: `(?:[dD][nN][kK][eE][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([dD][nN][kK][eE][yY]-[a-zA-Z0-9=_\\-]{26}-[a-zA-Z0-9=_\\-]{52})(?!\\w)` },
  { id: "digitalocean-access-token", keywords: ["doo_v1_"], pattern: "\\b(doo_v1_[a-f0-9]{64})(?!\\w)" },
  { id: "digitalocean-pat", keywords: ["dop_v1_"], pattern: "\\b(dop_v1_[a-f0-9]{64})(?!\\w)" },
  { id: "digitalocean-refresh-token", keywords: ["dor_v1_"], pattern: "\\b([dD][oO][rR]_[vV]1_[a-fA-F0-9]{64})(?!\\w)" },
  { id: "discord-api-token", keywords: ["discord"], pattern: `(?:[dD][iI][sS][cC][oO][rR][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{64})(?!\\w)` },
  { id: "discord-client-id", keywords: ["discord"], pattern: `(?:[dD][iI][sS][cC][oO][rR][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9]{18})(?!\\w)` },
  { id: "discord-client-secret", keywords: ["discord"], pattern: `(?:[dD][iI][sS][cC][oO][rR][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9=_\\-]{32})(?!\\w)` },
  { id: "doppler-api-token", keywords: ["dp.pt."], pattern: "dp\\.pt\\.[a-zA-Z0-9]{43}" },
  { id: "droneci-access-token", keywords: ["droneci"], pattern: `(?:[dD][rR][oO][nN][eE][cC][iI])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{32})(?!\\w)` },
  { id: "dropbox-api-token", keywords: ["dropbox"], pattern: `(?:[dD][rR][oO][pP][bB][oO][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{15})(?!\\w)` },
  { id: "dropbox-long-lived-api-token", keywords: ["dropbox"], pattern: `(?:[dD][rR][oO][pP][bB][oO][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{11}([aA][aA][aA][aA][aA][aA][aA][aA][aA][aA])[a-zA-Z0-9\\-_=]{43})(?!\\w)` },
  { id: "dropbox-short-lived-api-token", keywords: ["dropbox"], pattern: `(?:[dD][rR][oO][pP][bB][oO][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([sS][lL]\\.[a-zA-Z0-9\\-=_]{135})(?!\\w)` },
  { id: "duffel-api-token", keywords: ["duffel_"], pattern: "duffel_(?:test|live)_[a-zA-Z0-9_\\-=]{43}" },
  { id: "dynatrace-api-token", keywords: ["dt0c01."], pattern: "dt0c01\\.[a-zA-Z0-9]{24}\\.[a-zA-Z0-9]{64}" },
  { id: "easypost-api-token", keywords: ["ezak"], pattern: "\\bEZAK[a-zA-Z0-9]{54}\\b" },
  { id: "easypost-test-api-token", keywords: ["eztk"], pattern: "\\bEZTK[a-zA-Z0-9]{54}\\b" },
  { id: "etsy-access-token", keywords: ["etsy"], pattern: `(?:(?:ETSY|[Ee]tsy))(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{24})(?!\\w)` },
  { id: "facebook-access-token", keywords: ["facebook"], pattern: "\\b(\\d{15,16}(\\||%)[0-9a-zA-Z\\-_]{27,40})(?!\\w)" },
  { id: "facebook-page-access-token", keywords: ["eaac", "eaam"], pattern: "\\b(EAA[MC][a-zA-Z0-9]{100,})(?!\\w)" },
  { id: "facebook-secret", keywords: ["facebook"], pattern: `(?:[fF][aA][cC][eE][bB][oO][oO][kK])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{32})(?!\\w)` },
  { id: "fastly-api-token", keywords: ["fastly"], pattern: `(?:[fF][aA][sS][tT][lL][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9=_\\-]{32})(?!\\w)` },
  { id: "finicity-api-token", keywords: ["finicity"], pattern: `(?:[fF][iI][nN][iI][cC][iI][tT][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{32})(?!\\w)` },
  { id: "finicity-client-secret", keywords: ["finicity"], pattern: `(?:[fF][iI][nN][iI][cC][iI][tT][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{20})(?!\\w)` },
  { id: "finnhub-access-token", keywords: ["finnhub"], pattern: `(?:[fF][iI][nN][nN][hH][uU][bB])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{20})(?!\\w)` },
  { id: "flickr-access-token", keywords: ["flickr"], pattern: `(?:[fF][lL][iI][cC][kK][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{32})(?!\\w)` },
  { id: "flutterwave-encryption-key", keywords: ["flwseck_test"], pattern: "FLWSECK_TEST-[a-hA-H0-9]{12}" },
  { id: "flutterwave-public-key", keywords: ["flwpubk_test"], pattern: "FLWPUBK_TEST-[a-hA-H0-9]{32}-[xX]" },
  { id: "flutterwave-secret-key", keywords: ["flwseck_test"], pattern: "FLWSECK_TEST-[a-hA-H0-9]{32}-[xX]" },
  { id: "flyio-access-token", keywords: ["fm1", "fm2_", "fo1_"], pattern: "\\b((?:fo1_[\\w-]{43}|fm1[ar]_[a-zA-Z0-9+\\/]{100,}={0,3}|fm2_[a-zA-Z0-9+\\/]{100,}={0,3}))(?!\\w)" },
  { id: "frameio-api-token", keywords: ["fio-u-"], pattern: "fio-u-[a-zA-Z0-9\\-_=]{64}" },
  { id: "freemius-secret-key", keywords: ["secret_key"], pattern: `["'][sS][eE][cC][rR][eE][tT]_[kK][eE][yY]["']\\s*=>\\s*["']([sS][kK]_[\\S]{29})["']` },
  { id: "freshbooks-access-token", keywords: ["freshbooks"], pattern: `(?:[fF][rR][eE][sS][hH][bB][oO][oO][kK][sS])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{64})(?!\\w)` },
  { id: "gcp-api-key", keywords: ["aiza"], pattern: "\\b(AIza[\\w-]{35})(?!\\w)" },
  { id: "github-app-token", keywords: ["ghs_", "ghu_"], pattern: "(?:ghu|ghs)_[0-9a-zA-Z]{36}" },
  { id: "github-fine-grained-pat", keywords: ["github_pat_"], pattern: "github_pat_\\w{82}" },
  { id: "github-oauth", keywords: ["gho_"], pattern: "gho_[0-9a-zA-Z]{36}" },
  { id: "github-pat", keywords: ["ghp_"], pattern: "ghp_[0-9a-zA-Z]{36}" },
  { id: "github-refresh-token", keywords: ["ghr_"], pattern: "ghr_[0-9a-zA-Z]{36}" },
  { id: "gitlab-cicd-job-token", keywords: ["glcbt-"], pattern: "glcbt-[0-9a-zA-Z]{1,5}_[0-9a-zA-Z_-]{20}" },
  { id: "gitlab-deploy-token", keywords: ["gldt-"], pattern: "gldt-[0-9a-zA-Z_\\-]{20}" },
  { id: "gitlab-feature-flag-client-token", keywords: ["glffct-"], pattern: "glffct-[0-9a-zA-Z_\\-]{20}" },
  { id: "gitlab-feed-token", keywords: ["glft-"], pattern: "glft-[0-9a-zA-Z_\\-]{20}" },
  { id: "gitlab-incoming-mail-token", keywords: ["glimt-"], pattern: "glimt-[0-9a-zA-Z_\\-]{25}" },
  { id: "gitlab-kubernetes-agent-token", keywords: ["glagent-"], pattern: "glagent-[0-9a-zA-Z_\\-]{50}" },
  { id: "gitlab-oauth-app-secret", keywords: ["gloas-"], pattern: "gloas-[0-9a-zA-Z_\\-]{64}" },
  { id: "gitlab-pat", keywords: ["glpat-"], pattern: "glpat-[\\w-]{20}" },
  { id: "gitlab-pat-routable", keywords: ["glpat-"], pattern: "\\bglpat-[0-9a-zA-Z_-]{27,300}\\.[0-9a-z]{2}[0-9a-z]{7}\\b" },
  { id: "gitlab-ptt", keywords: ["glptt-"], pattern: "glptt-[0-9a-f]{40}" },
  { id: "gitlab-rrt", keywords: ["gr1348941"], pattern: "GR1348941[\\w-]{20}" },
  { id: "gitlab-runner-authentication-token", keywords: ["glrt-"], pattern: "glrt-[0-9a-zA-Z_\\-]{20}" },
  { id: "gitlab-runner-authentication-token-routable", keywords: ["glrt-"], pattern: "\\bglrt-t\\d_[0-9a-zA-Z_\\-]{27,300}\\.[0-9a-z]{2}[0-9a-z]{7}\\b" },
  { id: "gitlab-scim-token", keywords: ["glsoat-"], pattern: "glsoat-[0-9a-zA-Z_\\-]{20}" },
  { id: "gitlab-session-cookie", keywords: ["_gitlab_session="], pattern: "_gitlab_session=[0-9a-z]{32}" },
  { id: "gitter-access-token", keywords: ["gitter"], pattern: `(?:[gG][iI][tT][tT][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9_-]{40})(?!\\w)` },
  { id: "gocardless-api-token", keywords: ["gocardless", "live_"], pattern: `(?:[gG][oO][cC][aA][rR][dD][lL][eE][sS][sS])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([lL][iI][vV][eE]_[a-zA-Z0-9\\-_=]{40})(?!\\w)` },
  { id: "grafana-api-key", keywords: ["eyjrijoi"], pattern: "\\b([eE][yY][jJ][rR][iI][jJ][oO][iI][A-Za-zA-Z0-9]{70,400}={0,3})(?!\\w)" },
  { id: "grafana-cloud-api-token", keywords: ["glc_"], pattern: "\\b([gG][lL][cC]_[A-Za-zA-Z0-9+/]{32,400}={0,3})(?!\\w)" },
  { id: "grafana-service-account-token", keywords: ["glsa_"], pattern: "\\b([gG][lL][sS][aA]_[A-Za-zA-Z0-9]{32}_[A-Fa-fA-F0-9]{8})(?!\\w)" },
  { id: "harness-api-key", keywords: ["pat.", "sat."], pattern: "(?:pat|sat)\\.[a-zA-Z0-9_-]{22}\\.[a-zA-Z0-9]{24}\\.[a-zA-Z0-9]{20}" },
  { id: "hashicorp-tf-api-token", keywords: ["atlasv1"], pattern: "[a-zA-Z0-9]{14}\\.(?:atlasv1)\\.[a-zA-Z0-9\\-_=]{60,70}" },
  { id: "hashicorp-tf-password", keywords: ["administrator_login_password", "password"], pattern: `(?:[aA][dD][mM][iI][nN][iI][sS][tT][rR][aA][tT][oO][rR]_[lL][oO][gG][iI][nN]_[pP][aA][sS][sS][wW][oO][rR][dD]|[pP][aA][sS][sS][wW][oO][rR][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}("[a-zA-Z0-9=_\\-]{8,20}")(?!\\w)` },
  { id: "heroku-api-key", keywords: ["heroku"], pattern: `(?:[hH][eE][rR][oO][kK][uU])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?!\\w)` },
  { id: "heroku-api-key-v2", keywords: ["hrku-aa"], pattern: "\\b((HRKU-AA[0-9a-zA-Z_-]{58}))(?!\\w)" },
  { id: "hubspot-api-key", keywords: ["hubspot"], pattern: `(?:[hH][uU][bB][sS][pP][oO][tT])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})(?!\\w)` },
  { id: "huggingface-access-token", keywords: ["hf_"], pattern: "\\b(hf_(?:[a-zA-Z]{34}))(?!\\w)" },
  { id: "huggingface-organization-api-token", keywords: ["api_org_"], pattern: "\\b(api_org_(?:[a-zA-Z]{34}))(?!\\w)" },
  { id: "infracost-api-token", keywords: ["ico-"], pattern: "\\b(ico-[a-zA-Z0-9]{32})(?!\\w)" },
  { id: "intercom-api-key", keywords: ["intercom"], pattern: `(?:[iI][nN][tT][eE][rR][cC][oO][mM])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9=_\\-]{60})(?!\\w)` },
  { id: "intra42-client-secret", keywords: ["intra", "s-s4t2af-", "s-s4t2ud-"], pattern: "\\b(s-s4t2(?:ud|af)-[abcdef0123456789ABCDEF]{64})(?!\\w)" },
  { id: "jfrog-api-key", keywords: ["artifactory", "bintray", "jfrog", "xray"], pattern: `(?:[jJ][fF][rR][oO][gG]|[aA][rR][tT][iI][fF][aA][cC][tT][oO][rR][yY]|[bB][iI][nN][tT][rR][aA][yY]|[xX][rR][aA][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{73})(?!\\w)` },
  { id: "jfrog-identity-token", keywords: ["artifactory", "bintray", "jfrog", "xray"], pattern: `(?:[jJ][fF][rR][oO][gG]|[aA][rR][tT][iI][fF][aA][cC][tT][oO][rR][yY]|[bB][iI][nN][tT][rR][aA][yY]|[xX][rR][aA][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{64})(?!\\w)` },
  { id: "jwt", keywords: ["ey"], pattern: "\\b(ey[a-zA-Z0-9]{17,}\\.ey[a-zA-Z0-9\\/\\\\_-]{17,}\\.(?:[a-zA-Z0-9\\/\\\\_-]{10,}={0,2})?)(?!\\w)" },
  { id: "jwt-base64", keywords: ["zxlk"], pattern: "\\bZXlK(?:(aGJHY2lPaU)|(aGNIVWlPaU)|(aGNIWWlPaU)|(aGRXUWlPaU)|(aU5qUWlP)|(amNtbDBJanBi)|(amRIa2lPaU)|(bGNHc2lPbn)|(bGJtTWlPaU)|(cWEzVWlPaU)|(cWQyc2lPb)|(cGMzTWlPaU)|(cGRpSTZJ)|(cmFXUWlP)|(clpYbGZiM0J6SWpwY)|(cmRIa2lPaUp)|(dWIyNWpaU0k2)|(d01tTWlP)|(d01uTWlPaU)|(d2NIUWlPaU)|(emRXSWlPaU)|(emRuUWlP)|(MFlXY2lPaU)|(MGVYQWlPaUp)|(MWNtd2l)|(MWMyVWlPaUp)|(MlpYSWlPaU)|(MlpYSnphVzl1SWpv)|(NElqb2)|(NE5XTWlP)|(NE5YUWlPaU)|(NE5YUWpVekkxTmlJNkl)|(NE5YVWlPaU)|(NmFYQWlPaU))[a-zA-Z0-9\\/\\\\_+\\-\\r\\n]{40,}={0,2}" },
  { id: "kraken-access-token", keywords: ["kraken"], pattern: `(?:[kK][rR][aA][kK][eE][nN])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9\\/=_\\+\\-]{80,90})(?!\\w)` },
  { id: "kucoin-access-token", keywords: ["kucoin"], pattern: `(?:[kK][uU][cC][oO][iI][nN])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{24})(?!\\w)` },
  { id: "kucoin-secret-key", keywords: ["kucoin"], pattern: `(?:[kK][uU][cC][oO][iI][nN])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?!\\w)` },
  { id: "launchdarkly-access-token", keywords: ["launchdarkly"], pattern: `(?:[lL][aA][uU][nN][cC][hH][dD][aA][rR][kK][lL][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9=_\\-]{40})(?!\\w)` },
  { id: "linear-api-key", keywords: ["lin_api_"], pattern: "lin_api_[a-zA-Z0-9]{40}" },
  { id: "linear-client-secret", keywords: ["linear"], pattern: `(?:[lL][iI][nN][eE][aA][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{32})(?!\\w)` },
  { id: "linkedin-client-id", keywords: ["linked-in", "linked_in", "linkedin"], pattern: `(?:[lL][iI][nN][kK][eE][dD][_-]?[iI][nN])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{14})(?!\\w)` },
  { id: "linkedin-client-secret", keywords: ["linked-in", "linked_in", "linkedin"], pattern: `(?:[lL][iI][nN][kK][eE][dD][_-]?[iI][nN])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{16})(?!\\w)` },
  { id: "lob-api-key", keywords: ["live_", "test_"], pattern: `(?:[lL][oO][bB])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}(([lL][iI][vV][eE]|[tT][eE][sS][tT])_[a-fA-F0-9]{35})(?!\\w)` },
  { id: "lob-pub-api-key", keywords: ["_pub", "live_pub", "test_pub"], pattern: `(?:[lL][oO][bB])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}(([tT][eE][sS][tT]|[lL][iI][vV][eE])_[pP][uU][bB]_[a-fA-F0-9]{31})(?!\\w)` },
  { id: "looker-client-id", keywords: ["looker"], pattern: `(?:[lL][oO][oO][kK][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{20})(?!\\w)` },
  { id: "looker-client-secret", keywords: ["looker"], pattern: `(?:[lL][oO][oO][kK][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{24})(?!\\w)` },
  { id: "mailchimp-api-key", keywords: ["mailchimp"], pattern: `(?:[mM][aA][iI][lL][cC][hH][iI][mM][pP][sS][dD][kK].[iI][nN][iI][tT][iI][aA][lL][iI][zZ][eE]|[mM][aA][iI][lL][cC][hH][iI][mM][pP])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{32}-[uU][sS]\\d\\d)(?!\\w)` },
  { id: "mailgun-private-api-token", keywords: ["mailgun"], pattern: `(?:[mM][aA][iI][lL][gG][uU][nN])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([kK][eE][yY]-[a-fA-F0-9]{32})(?!\\w)` },
  { id: "mailgun-pub-key", keywords: ["mailgun"], pattern: `(?:[mM][aA][iI][lL][gG][uU][nN])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([pP][uU][bB][kK][eE][yY]-[a-fA-F0-9]{32})(?!\\w)` },
  { id: "mailgun-signing-key", keywords: ["mailgun"], pattern: `(?:[mM][aA][iI][lL][gG][uU][nN])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-hA-H0-9]{32}-[a-hA-H0-9]{8}-[a-hA-H0-9]{8})(?!\\w)` },
  { id: "mapbox-api-token", keywords: ["mapbox"], pattern: `(?:[mM][aA][pP][bB][oO][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([pP][kK]\\.[a-zA-Z0-9]{60}\\.[a-zA-Z0-9]{22})(?!\\w)` },
  { id: "mattermost-access-token", keywords: ["mattermost"], pattern: `(?:[mM][aA][tT][tT][eE][rR][mM][oO][sS][tT])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{26})(?!\\w)` },
  { id: "maxmind-license-key", keywords: ["_mmk"], pattern: "\\b([A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?!\\w)" },
  { id: "messagebird-api-token", keywords: ["message-bird", "message_bird", "messagebird"], pattern: `(?:[mM][eE][sS][sS][aA][gG][eE][_-]?[bB][iI][rR][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{25})(?!\\w)` },
  { id: "messagebird-client-id", keywords: ["message-bird", "message_bird", "messagebird"], pattern: `(?:[mM][eE][sS][sS][aA][gG][eE][_-]?[bB][iI][rR][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?!\\w)` },
  { id: "microsoft-teams-webhook", keywords: ["incomingwebhook", "webhook.office.com", "webhookb2"], pattern: "https://[a-z0-9]+\\.webhook\\.office\\.com/webhookb2/[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}@[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}" },
  { id: "netlify-access-token", keywords: ["netlify"], pattern: `(?:[nN][eE][tT][lL][iI][fF][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9=_\\-]{40,46})(?!\\w)` },
  { id: "new-relic-browser-api-token", keywords: ["nrjs-"], pattern: `(?:[nN][eE][wW]-[rR][eE][lL][iI][cC]|[nN][eE][wW][rR][eE][lL][iI][cC]|[nN][eE][wW]_[rR][eE][lL][iI][cC])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([nN][rR][jJ][sS]-[a-fA-F0-9]{19})(?!\\w)` },
  { id: "new-relic-insert-key", keywords: ["nrii-"], pattern: `(?:[nN][eE][wW]-[rR][eE][lL][iI][cC]|[nN][eE][wW][rR][eE][lL][iI][cC]|[nN][eE][wW]_[rR][eE][lL][iI][cC])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([nN][rR][iI][iI]-[a-zA-Z0-9-]{32})(?!\\w)` },
  { id: "new-relic-user-api-id", keywords: ["new-relic", "new_relic", "newrelic"], pattern: `(?:[nN][eE][wW]-[rR][eE][lL][iI][cC]|[nN][eE][wW][rR][eE][lL][iI][cC]|[nN][eE][wW]_[rR][eE][lL][iI][cC])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{64})(?!\\w)` },
  { id: "new-relic-user-api-key", keywords: ["nrak"], pattern: `(?:[nN][eE][wW]-[rR][eE][lL][iI][cC]|[nN][eE][wW][rR][eE][lL][iI][cC]|[nN][eE][wW]_[rR][eE][lL][iI][cC])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([nN][rR][aA][kK]-[a-zA-Z0-9]{27})(?!\\w)` },
  { id: "notion-api-token", keywords: ["ntn_"], pattern: "\\b(ntn_[0-9]{11}[A-Za-z0-9]{32}[A-Za-z0-9]{3})(?!\\w)" },
  { id: "npm-access-token", keywords: ["npm_"], pattern: "\\b([nN][pP][mM]_[a-zA-Z0-9]{36})(?!\\w)" },
  { id: "nuget-config-password", keywords: ["<add key="], pattern: '<[aA][dD][dD] [kK][eE][yY]=\\"(?:(?:[cC][lL][eE][aA][rR][tT][eE][xX][tT])?[pP][aA][sS][sS][wW][oO][rR][dD])\\"\\s*[vV][aA][lL][uU][eE]=\\"(.{8,})\\"\\s*/>' },
  { id: "nytimes-access-token", keywords: ["new-york-times", "newyorktimes", "nytimes"], pattern: `(?:[nN][yY][tT][iI][mM][eE][sS]|[nN][eE][wW]-[yY][oO][rR][kK]-[tT][iI][mM][eE][sS],|[nN][eE][wW][yY][oO][rR][kK][tT][iI][mM][eE][sS])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9=_\\-]{32})(?!\\w)` },
  { id: "octopus-deploy-api-key", keywords: ["api-"], pattern: "\\b(API-[A-Z0-9]{26})(?!\\w)" },
  { id: "okta-access-token", keywords: ["okta"], pattern: `(?:(?:(?:[Oo]kta|OKTA))(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}(00[\\w=\\-]{40})(?!\\w)` },
  { id: "openai-api-key", keywords: ["t3blbkfj"], pattern: "\\b(sk-(?:proj|svcacct|admin)-(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})T3BlbkFJ(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})\\b|sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20})(?!\\w)" },
  { id: "openshift-user-token", keywords: ["sha256~"], pattern: "\\b(sha256~[\\w-]{43})(?:[^\\w-]|$)" },
  { id: "perplexity-api-key", keywords: ["pplx-"], pattern: `\\b(pplx-[a-zA-Z0-9]{48})(?:[\\x60'"\\s;]|\\\\[nr]|$|\\b)` },
  { id: "plaid-api-token", keywords: ["plaid"], pattern: `(?:[pP][lL][aA][iI][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([aA][cC][cC][eE][sS][sS]-(?:[sS][aA][nN][dD][bB][oO][xX]|[dD][eE][vV][eE][lL][oO][pP][mM][eE][nN][tT]|[pP][rR][oO][dD][uU][cC][tT][iI][oO][nN])-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?!\\w)` },
  { id: "plaid-client-id", keywords: ["plaid"], pattern: `(?:[pP][lL][aA][iI][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{24})(?!\\w)` },
  { id: "plaid-secret-key", keywords: ["plaid"], pattern: `(?:[pP][lL][aA][iI][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{30})(?!\\w)` },
  { id: "planetscale-api-token", keywords: ["pscale_tkn_"], pattern: "\\b(pscale_tkn_[\\w=\\.-]{32,64})(?!\\w)" },
  { id: "planetscale-oauth-token", keywords: ["pscale_oauth_"], pattern: "\\b(pscale_oauth_[\\w=\\.-]{32,64})(?!\\w)" },
  { id: "planetscale-password", keywords: ["pscale_pw_"], pattern: "\\b([pP][sS][cC][aA][lL][eE]_[pP][wW]_[\\w=\\.-]{32,64})(?!\\w)" },
  { id: "postman-api-token", keywords: ["pmak-"], pattern: "\\b(PMAK-[a-fA-F0-9]{24}\\-[a-fA-F0-9]{34})(?!\\w)" },
  { id: "prefect-api-token", keywords: ["pnu_"], pattern: "\\b(pnu_[a-zA-Z0-9]{36})(?!\\w)" },
  { id: "privateai-api-token", keywords: ["private-ai", "private_ai", "privateai"], pattern: `(?:(?:[pP][rR][iI][vV][aA][tT][eE][_-]?[aA][iI])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-z0-9]{32})(?!\\w)` },
  { id: "pulumi-api-token", keywords: ["pul-"], pattern: "\\b(pul-[a-f0-9]{40})(?!\\w)" },
  { id: "pypi-upload-token", keywords: ["pypi-ageichlwas5vcmc"], pattern: "pypi-AgEIcHlwaS5vcmc[\\w-]{50,1000}" },
  { id: "rapidapi-access-token", keywords: ["rapidapi"], pattern: `(?:[rR][aA][pP][iI][dD][aA][pP][iI])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9_-]{50})(?!\\w)` },
  { id: "readme-api-token", keywords: ["rdme_"], pattern: "\\b(rdme_[a-z0-9]{70})(?!\\w)" },
  { id: "rubygems-api-token", keywords: ["rubygems_"], pattern: "\\b(rubygems_[a-f0-9]{48})(?!\\w)" },
  { id: "scalingo-api-token", keywords: ["tk-us-"], pattern: "\\b(tk-us-[\\w-]{48})(?!\\w)" },
  { id: "sendbird-access-id", keywords: ["sendbird"], pattern: `(?:[sS][eE][nN][dD][bB][iI][rR][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?!\\w)` },
  { id: "sendbird-access-token", keywords: ["sendbird"], pattern: `(?:[sS][eE][nN][dD][bB][iI][rR][dD])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{40})(?!\\w)` },
  { id: "sendgrid-api-token", keywords: ["sg."], pattern: "\\b(SG\\.[a-zA-Z0-9=_\\-\\.]{66})(?!\\w)" },
  { id: "sendinblue-api-token", keywords: ["xkeysib-"], pattern: "\\b(xkeysib-[a-f0-9]{64}\\-[a-zA-Z0-9]{16})(?!\\w)" },
  { id: "sentry-access-token", keywords: ["sentry"], pattern: `(?:[sS][eE][nN][tT][rR][yY])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{64})(?!\\w)` },
  { id: "sentry-org-token", keywords: ["sntrys_eyjpyxqio"], pattern: "\\bsntrys_eyJpYXQiO[a-zA-Z0-9+/]{10,200}(?:LCJyZWdpb25fdXJs|InJlZ2lvbl91cmwi|cmVnaW9uX3VybCI6)[a-zA-Z0-9+/]{10,200}={0,2}_[a-zA-Z0-9+/]{43}(?:[^a-zA-Z0-9+/]|$)" },
  { id: "sentry-user-token", keywords: ["sntryu_"], pattern: "\\b(sntryu_[a-f0-9]{64})(?!\\w)" },
  { id: "settlemint-application-access-token", keywords: ["sm_aat"], pattern: "\\b(sm_aat_[a-zA-Z0-9]{16})(?!\\w)" },
  { id: "settlemint-personal-access-token", keywords: ["sm_pat"], pattern: "\\b(sm_pat_[a-zA-Z0-9]{16})(?!\\w)" },
  { id: "settlemint-service-access-token", keywords: ["sm_sat"], pattern: "\\b(sm_sat_[a-zA-Z0-9]{16})(?!\\w)" },
  { id: "shippo-api-token", keywords: ["shippo_"], pattern: "\\b(shippo_(?:live|test)_[a-fA-F0-9]{40})(?!\\w)" },
  { id: "shopify-access-token", keywords: ["shpat_"], pattern: "shpat_[a-fA-F0-9]{32}" },
  { id: "shopify-custom-access-token", keywords: ["shpca_"], pattern: "shpca_[a-fA-F0-9]{32}" },
  { id: "shopify-private-app-access-token", keywords: ["shppa_"], pattern: "shppa_[a-fA-F0-9]{32}" },
  { id: "shopify-shared-secret", keywords: ["shpss_"], pattern: "shpss_[a-fA-F0-9]{32}" },
  { id: "sidekiq-secret", keywords: ["bundle_enterprise__contribsys__com", "bundle_gems__contribsys__com"], pattern: `(?:[bB][uU][nN][dD][lL][eE]_[eE][nN][tT][eE][rR][pP][rR][iI][sS][eE]__[cC][oO][nN][tT][rR][iI][bB][sS][yY][sS]__[cC][oO][mM]|[bB][uU][nN][dD][lL][eE]_[gG][eE][mM][sS]__[cC][oO][nN][tT][rR][iI][bB][sS][yY][sS]__[cC][oO][mM])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-fA-F0-9]{8}:[a-fA-F0-9]{8})(?!\\w)` },
  { id: "sidekiq-sensitive-url", keywords: ["enterprise.contribsys.com", "gems.contribsys.com"], pattern: "\\b[hH][tT][tT][pP][sS]?://([a-fA-F0-9]{8}:[a-fA-F0-9]{8})@(?:[gG][eE][mM][sS].[cC][oO][nN][tT][rR][iI][bB][sS][yY][sS].[cC][oO][mM]|[eE][nN][tT][eE][rR][pP][rR][iI][sS][eE].[cC][oO][nN][tT][rR][iI][bB][sS][yY][sS].[cC][oO][mM])(?:[\\/|\\#|\\?|:]|$)" },
  { id: "slack-app-token", keywords: ["xapp"], pattern: "[xX][aA][pP][pP]-\\d-[A-Za-z0-9]+-\\d+-[a-zA-Z0-9]+" },
  { id: "slack-bot-token", keywords: ["xoxb"], pattern: "xoxb-[0-9]{10,13}-[0-9]{10,13}[a-zA-Z0-9-]*" },
  { id: "slack-config-access-token", keywords: ["xoxe.xoxb-", "xoxe.xoxp-"], pattern: "[xX][oO][xX][eE].[xX][oO][xX][bpBP]-\\d-[A-Za-z0-9]{163,166}" },
  { id: "slack-config-refresh-token", keywords: ["xoxe-"], pattern: "[xX][oO][xX][eE]-\\d-[A-Za-z0-9]{146}" },
  { id: "slack-legacy-bot-token", keywords: ["xoxb"], pattern: "xoxb-[0-9]{8,14}-[a-zA-Z0-9]{18,26}" },
  { id: "slack-legacy-token", keywords: ["xoxo", "xoxs"], pattern: "xox[os]-\\d+-\\d+-\\d+-[a-fA-F\\d]+" },
  { id: "slack-legacy-workspace-token", keywords: ["xoxa", "xoxr"], pattern: "xox[ar]-(?:\\d-)?[0-9a-zA-Z]{8,48}" },
  { id: "slack-user-token", keywords: ["xoxe-", "xoxp-"], pattern: "xox[pe](?:-[0-9]{10,13}){3}-[a-zA-Z0-9-]{28,34}" },
  { id: "slack-webhook-url", keywords: ["hooks.slack.com"], pattern: "(?:https?://)?hooks.slack.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}" },
  { id: "snyk-api-token", keywords: ["snyk"], pattern: `(?:[sS][nN][yY][kK][_.-]?(?:(?:[aA][pP][iI]|[oO][aA][uU][tT][hH])[_.-]?)?(?:[kK][eE][yY]|[tT][oO][kK][eE][nN]))(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?!\\w)` },
  { id: "sonar-api-token", keywords: ["sonar"], pattern: `(?:[sS][oO][nN][aA][rR][_.-]?([lL][oO][gG][iI][nN]|[tT][oO][kK][eE][nN]))(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}((?:[sS][qQ][uU]_|[sS][qQ][pP]_|[sS][qQ][aA]_)?[a-zA-Z0-9=_\\-]{40})(?!\\w)`, group: 2 },
  { id: "sourcegraph-access-token", keywords: ["sgp_", "sourcegraph"], pattern: "\\b(\\b([sS][gG][pP]_(?:[a-fA-FA-F0-9]{16}|[lL][oO][cC][aA][lL])_[a-fA-FA-F0-9]{40}|[sS][gG][pP]_[a-fA-FA-F0-9]{40}|[a-fA-FA-F0-9]{40})\\b)(?!\\w)" },
  { id: "square-access-token", keywords: ["eaaa", "sq0atp-"], pattern: "\\b((?:EAAA|sq0atp-)[\\w-]{22,60})(?!\\w)" },
  { id: "squarespace-access-token", keywords: ["squarespace"], pattern: `(?:[sS][qQ][uU][aA][rR][eE][sS][pP][aA][cC][eE])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?!\\w)` },
  { id: "stripe-access-token", keywords: ["rk_live", "rk_prod", "rk_test", "sk_live", "sk_prod", "sk_test"], pattern: "\\b((?:sk|rk)_(?:test|live|prod)_[a-zA-Z0-9]{10,99})(?!\\w)" },
  { id: "sumologic-access-id", keywords: ["sumo"], pattern: `(?:(?:(?:[Ss]umo|SUMO))(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3})(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}(su[a-zA-Z0-9]{12})(?!\\w)` },
  { id: "sumologic-access-token", keywords: ["sumo"], pattern: `(?:(?:[Ss]umo|SUMO))(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{64})(?!\\w)` },
  { id: "telegram-bot-api-token", keywords: ["telegr"], pattern: `(?:[tT][eE][lL][eE][gG][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9]{5,16}:(?:A)[a-zA-Z0-9_\\-]{34})(?!\\w)` },
  { id: "travisci-access-token", keywords: ["travis"], pattern: `(?:[tT][rR][aA][vV][iI][sS])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{22})(?!\\w)` },
  { id: "twilio-api-key", keywords: ["sk"], pattern: "SK[0-9a-fA-F]{32}" },
  { id: "twitch-api-token", keywords: ["twitch"], pattern: `(?:[tT][wW][iI][tT][cC][hH])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{30})(?!\\w)` },
  { id: "twitter-access-secret", keywords: ["twitter"], pattern: `(?:[tT][wW][iI][tT][tT][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{45})(?!\\w)` },
  { id: "twitter-access-token", keywords: ["twitter"], pattern: `(?:[tT][wW][iI][tT][tT][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([0-9]{15,25}-[a-zA-ZA-Z0-9]{20,40})(?!\\w)` },
  { id: "twitter-api-key", keywords: ["twitter"], pattern: `(?:[tT][wW][iI][tT][tT][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{25})(?!\\w)` },
  { id: "twitter-api-secret", keywords: ["twitter"], pattern: `(?:[tT][wW][iI][tT][tT][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{50})(?!\\w)` },
  { id: "twitter-bearer-token", keywords: ["twitter"], pattern: `(?:[tT][wW][iI][tT][tT][eE][rR])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([aA]{22}[a-zA-ZA-Z0-9%]{80,100})(?!\\w)` },
  { id: "typeform-api-token", keywords: ["tfp_"], pattern: `(?:[tT][yY][pP][eE][fF][oO][rR][mM])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([tT][fF][pP]_[a-zA-Z0-9\\-_\\.=]{59})(?!\\w)` },
  { id: "vault-batch-token", keywords: ["hvb."], pattern: "\\b(hvb\\.[\\w-]{138,300})(?!\\w)" },
  { id: "vault-service-token", keywords: ["hvs.", "s."], pattern: "\\b((?:hvs\\.[\\w-]{90,120}|s\\.(?:[a-zA-Z0-9]{24})))(?!\\w)" },
  { id: "yandex-access-token", keywords: ["yandex"], pattern: `(?:[yY][aA][nN][dD][eE][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([tT]1\\.[A-Za-z0-9a-zA-Z_-]+[=]{0,2}\\.[A-Za-z0-9a-zA-Z_-]{86}[=]{0,2})(?!\\w)` },
  { id: "yandex-api-key", keywords: ["yandex"], pattern: `(?:[yY][aA][nN][dD][eE][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([aA][qQ][vV][nN][A-Za-zA-Z0-9_\\-]{35,38})(?!\\w)` },
  { id: "yandex-aws-access-token", keywords: ["yandex"], pattern: `(?:[yY][aA][nN][dD][eE][xX])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([yY][cC][a-zA-ZA-Z0-9_\\-]{38})(?!\\w)` },
  { id: "zendesk-secret-key", keywords: ["zendesk"], pattern: `(?:[zZ][eE][nN][dD][eE][sS][kK])(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60'"\\s=]{0,5}([a-zA-Z0-9]{40})(?!\\w)` }
] };

// model/redaction/scanner.ts
var RULES = /* @__PURE__ */ new Map();
for (const { keywords, pattern, group } of scanner_rules_default.rules) {
  const rule = { pattern: new RegExp(pattern, "g"), group };
  for (const keyword of keywords) RULES.set(keyword, [...RULES.get(keyword) ?? [], rule]);
}
var KEYWORDS = [...RULES.keys()].sort((a, b) => b.length - a.length);
var OF_KEYWORD = new Map(
  KEYWORDS.map((found) => [
    found,
    KEYWORDS.filter((each) => found.startsWith(each)).flatMap((each) => RULES.get(each) ?? [])
  ])
);
var ANY_KEYWORD = new RegExp(
  `(?=(${KEYWORDS.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")}))`,
  "g"
);
function spansOfScanner(text2) {
  const rules = /* @__PURE__ */ new Set();
  for (const [, keyword = ""] of text2.toLowerCase().matchAll(ANY_KEYWORD)) {
    for (const rule of OF_KEYWORD.get(keyword) ?? []) rules.add(rule);
  }
  return [...rules].flatMap((rule) => spansOf(text2, rule));
}
function spansOf(text2, { pattern, group }) {
  return [...text2.matchAll(pattern)].map((found) => {
    const groups2 = group === void 0 ? found.slice(1) : [found[group]];
    const secret = groups2.find(Boolean) ?? found[0];
    const start = found.index + found[0].lastIndexOf(secret);
    return { start, end: start + secret.length };
  });
}

// model/redaction/span.ts
var REDACTED = "[redacted]";
function withoutSpans(text2, spans) {
  if (spans.length === 0) return text2;
  let kept = "";
  let at = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (end <= at || start === end) continue;
    if (start >= at && !text2.startsWith(REDACTED, start)) kept += text2.slice(at, start) + REDACTED;
    else if (start >= at) kept += text2.slice(at, end);
    at = end;
  }
  return kept + text2.slice(at);
}

// model/redaction/redact.ts
var FLAG2 = /^--?([A-Za-z][\w.-]{1,63})$/;
var ASSIGNED = /^([\w.-]{1,128})=/;
function redactText(text2) {
  return withoutSpans(text2, secretSpans(text2));
}
function secretSpans(text2) {
  if (PLAIN.test(text2)) return [];
  return [...spansByLooks(text2), ...spansAfterNames(text2), ...spansAfterFlags(text2), ...spansOfScanner(text2)];
}
function redactArgv(argv) {
  const program = argv[0] ?? "";
  return argv.map((argument, at) => {
    const before = argv[at - 1] ?? "";
    const flag = FLAG2.exec(before)?.[1];
    if (flag !== void 0 && isSecretName(flag) && !argument.startsWith("-")) return REDACTED;
    const from = at === 0 ? null : assignedFrom(argument) ?? secretFrom(program, before, argument);
    return from === null ? redactText(argument) : argument.slice(0, from) + REDACTED;
  });
}
function assignedFrom(argument) {
  const [assigned, name = ""] = ASSIGNED.exec(argument) ?? [];
  return assigned && assigned.length < argument.length && isSecretName(name) ? assigned.length : null;
}
var PLAIN = /^[\w.]{0,15}$/;

// model/playbook/secrets.ts
var PLACES = /\/\.ssh\/(?!authorized_keys|known_hosts|config)[^/]+(?<!\.pub)$|\/\.gnupg\/(?:private-keys|secring)|^\/etc\/ssl\/private\/|\/\.(?:netrc|pgpass|my\.cnf|npmrc|pypirc|git-credentials)$|\/\.(?:aws|docker|kube|azure)\/(?:credentials|config(?:\.json)?)$|\.(?:key|p12|pfx|jks|kdbx|keytab)$/;
function isSecretFile(path, bytes) {
  if (bytes.length === 0) return false;
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (PLACES.test(path) || isSecretName(name)) return true;
  const text2 = new TextDecoder("latin1").decode(bytes);
  return /[\u0000]/.test(text2.slice(0, 8e3)) ? /-----BEGIN [A-Z ]{0,40}PRIVATE KEY/.test(text2) : secretSpans(text2).length > 0;
}
function isSecretPath(path) {
  return redactText(path) !== path;
}

// model/playbook/file-tasks.ts
var RELOADED = /^\/(?:etc|usr\/local\/lib|usr\/lib)\/systemd\/system\//;
var RELOAD = "Reload systemd";
var XATTRS = {
  "security.capability": "capabilities",
  "system.posix_acl_access": "an access control list",
  "system.posix_acl_default": "a default access control list"
};
function fileTasks(change) {
  const written = { first: [], last: [], files: [], variables: [], left: [] };
  const there = new Set(change.entries.map(({ path }) => keyOf(path)));
  for (const path of change.gone) remove(written, path, there.has(keyOf(path)) ? entryAt(change, path) : null);
  let count = 0;
  for (const entry of change.entries) {
    if (typeof entry.path === "string" && change.packaged.has(entry.path)) continue;
    const why = whyNot(entry) ?? (count >= LIMITS.playbook.paths ? `there are more than ${LIMITS.playbook.paths}` : null);
    if (why !== null) {
      written.left.push({ path: entry.path, why });
      continue;
    }
    count += 1;
    add(written, entry, isBehind(entry, change.listed));
  }
  return written;
}
function entryAt({ entries }, path) {
  return entries.find((entry) => keyOf(entry.path) === keyOf(path)) ?? null;
}
function isBehind({ path }, listed2) {
  if (typeof path !== "string") return false;
  for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) if (listed2.has(at)) return true;
  return false;
}
function whyNot({ path, type, target, bytes, isKept, sameAs, why }) {
  if (typeof path !== "string") return "its name is not UTF-8, which YAML cannot say";
  if (isSecretPath(path)) return "its name looks like a secret";
  const unusable = whyNotPath(path) ?? whyOfPip(path);
  if (unusable !== null) return unusable;
  if (type === "symlink") {
    if (typeof target !== "string") return "it points to a name that is not UTF-8";
    return whyNotPath(target) ?? (/^~|^$/.test(target) ? "Ansible takes a `~` that a link points to for a home" : null);
  }
  if (type !== "file" && type !== "directory") return `it is a ${type}, which no module of ansible.builtin makes`;
  if (type === "file" && !isKept && sameAs === null && bytes === null) return why ?? "its content was not read";
  return null;
}
function whyOfPip(path) {
  const [, inside] = /\/(?:site|dist)-packages\/(.+)$/.exec(path) ?? [];
  if (inside === void 0) return null;
  const [, name, version] = /^([^/]+)-([^/-]+)\.dist-info$/.exec(inside) ?? [];
  return name ? `the package ${name} ${version} of pip is not expressed` : "it is of a package of pip, which is not expressed";
}
function remove(written, path, other) {
  if (typeof path !== "string") {
    written.left.push({ path, why: "it is no more, and its name is not UTF-8" });
    return;
  }
  const why = whyNotPath(path) ?? (isSecretPath(path) ? "its name looks like a secret" : null);
  if (why !== null) {
    written.left.push({ path, why });
    return;
  }
  const absent3 = { path: literal(path), state: "absent" };
  if (other === null) {
    written.first.push(task("Remove", path, "file", absent3));
    return;
  }
  const result = "mayfly_there";
  const is = { directory: "isdir", symlink: "islnk" }[other.type] ?? "isreg";
  const condition = [`${result}.stat.exists`, `not ${result}.stat.${is}`];
  written.first.push(
    task("Look at", path, "stat", { path: literal(path), follow: false }, { register: result }),
    task("Make way at", path, "file", absent3, { when: condition })
  );
}
function add(written, entry, isBehind2) {
  const path = entry.path;
  for (const name of entry.xattrs)
    written.left.push({ path, why: `${XATTRS[name] ?? `the extended attribute ${name}`} is not expressed` });
  const tasks = isBehind2 ? written.last : written.first;
  const more = RELOADED.test(path) ? { notify: RELOAD } : {};
  tasks.push(taskOf(written, entry, path, more));
}
function taskOf(written, entry, path, more) {
  const { type, target, mode, uid, gid, sameAs, isKept, bytes } = entry;
  const owned = { owner: String(uid), group: String(gid), follow: false };
  const all = { ...owned, mode: mode.toString(8).padStart(4, "0") };
  if (type === "symlink") {
    const args = { src: literal(String(target)), path: literal(path), state: "link", force: true, ...owned };
    return task(unitName(path, String(target)) ?? "Link", path, "file", args, more);
  }
  if (type === "directory")
    return task("Have the folder", path, "file", { path: literal(path), state: "directory", ...all }, more);
  if (typeof sameAs === "string") {
    return task(
      "Give another name",
      path,
      "file",
      { src: literal(sameAs), path: literal(path), state: "hard", ...all },
      more
    );
  }
  if (isKept) return task("Have mode and owner of", path, "file", { path: literal(path), state: "file", ...all }, more);
  return task(
    "Write",
    path,
    "copy",
    { src: sourceOf(written, path, bytes ?? new Uint8Array()), dest: literal(path), ...all },
    more
  );
}
function unitName(path, target) {
  if (!path.startsWith("/etc/systemd/system/")) return null;
  if (target === "/dev/null") return "Mask the unit";
  return /\.(?:wants|requires|upholds)\/[^/]+$/.test(path) ? "Enable the unit" : null;
}
function sourceOf(written, path, bytes) {
  if (isSecretFile(path, bytes)) {
    const name2 = `mayfly_secret_${written.variables.length + 1}`;
    written.variables.push({ name: name2, of: path, kind: "file" });
    return `{{ ${name2} }}`;
  }
  const name = `files/${String(written.files.length + 1).padStart(4, "0")}`;
  written.files.push({ name, bytes });
  return name;
}

// model/playbook/packages.ts
function packageChange(before, after3) {
  const [old, now2] = [knownIn(before), knownIn(after3)];
  const all = [...now2.packages.values()];
  const removed = [...old.packages.keys()].filter((name) => !now2.packages.has(name));
  const purged = [...old.configured].filter((name) => !now2.packages.has(name) && !now2.configured.has(name));
  return {
    installed: all.filter(({ name }) => !old.packages.has(name)),
    changed: all.filter(({ name, version }) => (old.packages.get(name)?.version ?? version) !== version),
    removed: [...removed, ...purged].map((name) => ({ name, purge: !now2.configured.has(name) })),
    marked: all.filter(({ name, isAuto }) => (old.packages.get(name)?.isAuto ?? isAuto) !== isAuto)
  };
}
function knownIn({ status, extended }) {
  const native = paragraphsOf(status).find(({ Package: name }) => name === "dpkg")?.["Architecture"];
  const idOf = ({ Package: name = "", Architecture: of }) => of === void 0 || of === "all" || of === native ? name : `${name}:${of}`;
  const automatic = new Set(
    paragraphsOf(extended).filter((one) => one["Auto-Installed"] === "1").map(idOf)
  );
  const known = { packages: /* @__PURE__ */ new Map(), configured: /* @__PURE__ */ new Set() };
  for (const one of paragraphsOf(status)) {
    const name = idOf(one);
    const state2 = one["Status"]?.split(" ")[2];
    if (state2 === "config-files") known.configured.add(name);
    if (state2 !== "installed") continue;
    const conffiles = new Map(
      (one["Conffiles"] ?? "").split("\n").flatMap((line) => {
        const [path = "", md5 = ""] = line.trim().split(" ");
        return path.startsWith("/") ? [[path, md5]] : [];
      })
    );
    known.packages.set(name, { name, version: one["Version"] ?? "", isAuto: automatic.has(name), conffiles });
  }
  return known;
}
function paragraphsOf(text2) {
  return text2.split(/\n{2,}/).flatMap((paragraph) => {
    const fields = /* @__PURE__ */ Object.create(null);
    let last = "";
    for (const line of paragraph.split("\n")) {
      if (/^[ \t]/.test(line)) fields[last] = `${fields[last] ?? ""}
${line}`;
      else {
        const colon = line.indexOf(":");
        last = line.slice(0, Math.max(colon, 0));
        if (colon > 0) fields[last] = line.slice(colon + 1).trim();
      }
    }
    return fields["Package"] === void 0 ? [] : [fields];
  });
}
function isPackage({ name, version }) {
  return /^[a-z0-9][a-z0-9+.-]{1,127}(?::[a-z0-9-]{1,32})?$/.test(name) && (version === void 0 || /^[0-9][A-Za-z0-9.+:~-]{0,127}$/.test(version));
}
function mergedPath(path) {
  return /^\/(?:bin|sbin|lib(?:32|64|x32)?)\//.test(path) ? `/usr${path}` : path;
}

// model/playbook/package-tasks.ts
function packageTasks({ before, after: after3, foreign }) {
  const { installed, changed, removed, marked } = packageChange(before, after3);
  const wanted = [...installed, ...changed];
  const left = wanted.flatMap((one) => leftOf(one, foreign));
  const had = wanted.filter((one) => isPackage(one) && !foreign.has(one.name));
  const gone = (isPurge) => removed.filter((one) => one.purge === isPurge && isPackage(one)).map(({ name }) => name);
  const automatic = [...had, ...marked.filter(isPackage)].filter(({ isAuto }) => isAuto).map(({ name }) => name);
  const manual = marked.filter((one) => isPackage(one) && !one.isAuto).map(({ name }) => name);
  const tasks = [
    ...absent2("Remove packages", gone(false), false),
    ...absent2("Purge packages", gone(true), true),
    ...had.length === 0 ? [] : [present(had)],
    ...mark("auto", automatic),
    ...mark("manual", manual)
  ];
  return {
    tasks,
    said: [
      ...installed.map(({ name, version }) => ({ name, version, change: "installed" })),
      ...changed.map(({ name, version }) => ({ name, version, change: "changed" })),
      ...removed.map(({ name, purge }) => ({
        name,
        version: null,
        change: purge ? "purged" : "removed"
      }))
    ],
    left
  };
}
function leftOf(one, foreign) {
  const path = "/var/lib/dpkg/status";
  if (!isPackage(one))
    return [{ path, why: `the package ${JSON.stringify(one.name)} has a name or version that dpkg does not take` }];
  if (!foreign.has(one.name)) return [];
  return [
    {
      path,
      why: `the package ${one.name} ${one.version} is in no repository that this machine knows: its file was installed by hand`
    }
  ];
}
function present(packages) {
  const args = {
    name: packages.map(({ name, version }) => `${name}=${version}`),
    state: "present",
    install_recommends: false,
    allow_downgrade: true,
    update_cache: true
  };
  return task("Install", packages.length === 1 ? "a package" : `${packages.length} packages`, "apt", args);
}
function absent2(what, names, purge) {
  if (names.length === 0) return [];
  return [task(what, "that are no more", "apt", { name: names, state: "absent", ...purge && { purge } })];
}
function mark(as, names) {
  if (names.length === 0) return [];
  const result = `mayfly_marked_${as}`;
  const said = as === "auto" ? "automatically" : "manually";
  return [
    task(
      "Say which packages were installed",
      said,
      "command",
      { argv: ["apt-mark", as, ...names] },
      {
        register: result,
        changed_when: `${result}.stdout is search('(?m)^[^ ]+ set to ${said}')`
      }
    )
  ];
}

// model/playbook/write-playbook.ts
function writePlaybook(change) {
  const accounts = accountTasks(change);
  const packages = packageTasks(change);
  const files = fileTasks(change);
  const tasks = [...accounts.tasks, ...files.first, ...packages.tasks, ...files.last];
  const variables = [...accounts.variables, ...files.variables];
  return {
    text: textOf(change, tasks, variables),
    files: files.files,
    variables,
    packages: packages.said,
    left: [...accounts.left, ...packages.left, ...files.left],
    tasks: tasks.length
  };
}
function textOf(change, tasks, variables) {
  const reload = [
    {
      name: RELOAD,
      "ansible.builtin.systemd_service": { daemon_reload: true }
    }
  ];
  const isNotified = tasks.some(({ notify }) => notify === RELOAD);
  const play = [
    {
      name: `What changed in ${change.sandboxId}`,
      hosts: "all",
      gather_facts: false,
      become: true,
      ...tasks.length > 0 && { tasks },
      ...isNotified && { handlers: reload }
    }
  ];
  return `${[...headOf(change, variables), "---"].join("\n")}${yamlOf(play)}
`;
}
function headOf({ sandboxId, base: base2, commands }, variables) {
  const needed = variables.map(
    ({ name, of, kind }) => commentOf(`  ${name}: ${kind === "file" ? "path of a file with the content" : kind} of ${of}`)
  );
  return [
    commentOf(
      `What makes of ${base2} what ${sandboxId} is. Written by Mayfly; report.md says what it does not bring about.`
    ),
    ...needed.length > 0 ? [commentOf("It needs these variables (vars.example.yml):"), ...needed] : [],
    ...commands.length > 0 ? [commentOf("The commands that led there:"), ...commands.map((one) => commentOf(`  $ ${one}`))] : []
  ];
}
function exampleOf(variables) {
  const lines = variables.flatMap(({ name, of, kind }) => {
    const value = kind === "file" ? new Unsafe(`/path/to/${name}`) : new Unsafe("*");
    return [commentOf(`${kind} of ${of}`), `${name}: ${yamlOf(value)}`];
  });
  return ["---", ...lines, ""].join("\n");
}

// model/playbook/archive.ts
var END = 1024;
function partOf(files) {
  const entries = files.map(
    ({ name, bytes }) => ({ path: name, type: "file", mode: 420, bytes, link: null })
  );
  return tarOf(entries).subarray(0, -END);
}
function filesOf({ text: text2, files, variables }) {
  const encoder = new TextEncoder();
  return [
    { name: "playbook.yml", bytes: encoder.encode(text2) },
    ...variables.length > 0 ? [{ name: "vars.example.yml", bytes: encoder.encode(exampleOf(variables)) }] : [],
    ...files
  ];
}

// model/playbook/check-program.ts
var CHECK_FOLDER = "/var/lib/mayfly/check";
var CALLBACK = `import json
from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'stdout'
    CALLBACK_NAME = 'mayfly'

    def __init__(self):
        super().__init__()
        self.message = None
        self.first = True

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if self.message is None and not ignore_errors:
            said = result._result.get('msg') or result._result.get('stderr') or 'it does not say why'
            self.message = str(result._task.get_name())[:200] + ': ' + str(said)[:1000]

    v2_runner_on_unreachable = v2_runner_on_failed

    def v2_playbook_on_stats(self, stats):
        of = stats.summarize('localhost')
        failed = of['failures'] + of['unreachable']
        print(json.dumps({'changed': of['changed'], 'failed': failed, 'message': self.message}), flush=True)
`;
var SCRIPT = `set -eu
cd "$1"
tar -xzf ansible.tar.gz
rm ansible.tar.gz
export LC_ALL=C.UTF-8 HOME="$1/home" ANSIBLE_HOME="$1/home" ANSIBLE_LOCAL_TEMP="$1/tmp" ANSIBLE_REMOTE_TEMP="$1/tmp"
export ANSIBLE_CALLBACK_PLUGINS="$1/callback" ANSIBLE_STDOUT_CALLBACK=mayfly ANSIBLE_NOCOLOR=1
export ANSIBLE_LOCALHOST_WARNING=False ANSIBLE_INVENTORY_UNPARSED_WARNING=False ANSIBLE_PIPELINING=True
mkdir -p home tmp
for run in 1 2; do
  echo "run $run" >&2
  ansible/python -m ansible playbook -i localhost, -c local -e ansible_python_interpreter="$1/ansible/python" \\
    -e @vars.check.yml playbook.yml || exit 0
done`;
var CHECK_ARGV = ["/bin/sh", "-c", SCRIPT, "mayfly-check", CHECK_FOLDER];
function checkFiles(variables) {
  const encoder = new TextEncoder();
  const values = variables.map(({ name, kind }) => {
    const value = kind === "file" ? new Unsafe(`${CHECK_FOLDER}/placeholder`) : new Unsafe("*");
    return `${name}: ${yamlOf(value)}`;
  });
  return [
    { name: "vars.check.yml", bytes: encoder.encode(["---", ...values, "mayfly_is_tried: true", ""].join("\n")) },
    { name: "placeholder", bytes: encoder.encode("in the place of a secret\n") },
    { name: "callback/mayfly.py", bytes: encoder.encode(CALLBACK) }
  ];
}
function runsIn(stdout) {
  return stdout.split("\n").flatMap((line) => {
    const said = parsed(line);
    if (typeof said?.changed !== "number" || typeof said.failed !== "number") return [];
    const message = typeof said.message === "string" ? said.message : null;
    return [{ changed: said.changed, failed: said.failed, message }];
  });
}
function parsed(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

// model/playbook/compare-check.ts
function compareCheck({ wanted, remaining, texts, known, variables }) {
  const whys = new Map(known.map(({ path, why }) => [keyOf(path), why]));
  for (const { name, of, kind } of variables) if (kind === "file") whys.set(of, `its content is the variable ${name}`);
  const left = [];
  for (const [key, changes] of wanted) {
    const rest = remaining.get(key);
    const [first2] = changes;
    if (rest && first2) left.push({ path: first2.path, why: whys.get(key) ?? differenceOf(rest) });
  }
  const beyond = [...remaining].flatMap(([key, [first2]]) => wanted.has(key) || !first2 ? [] : [first2.path]);
  const broughtAbout = wanted.size - left.length;
  return { broughtAbout, paths: wanted.size, left: [...left, ...ofPackages(texts), ...ofAccounts(texts)], beyond };
}
function differenceOf(changes) {
  const said = { added: "it is still there", removed: "it is not there", changed: "it differs", renamed: "it differs" };
  return changes.map(({ change, what }) => what.length > 0 ? `${said[change]}: ${what.join(", ")}` : said[change]).join("; ");
}
function ofPackages({ fresh: fresh2, now: now2, applied: applied2 }) {
  const [before, wanted, found] = [knownIn(fresh2).packages, knownIn(now2).packages, knownIn(applied2).packages];
  const names = /* @__PURE__ */ new Set([...before.keys(), ...wanted.keys(), ...found.keys()]);
  return [...names].flatMap((name) => {
    const [want, have] = [wanted.get(name), found.get(name)];
    const path = "/var/lib/dpkg/status";
    if (want?.version !== have?.version) {
      return [{ path, why: `the package ${name} is ${have?.version ?? "not there"}, not ${want?.version ?? "gone"}` }];
    }
    if (want?.isAuto === have?.isAuto) return [];
    return [{ path, why: `the package ${name} is marked as installed ${have?.isAuto ? "automatically" : "manually"}` }];
  });
}
function ofAccounts({ now: now2, applied: applied2 }) {
  const [want, have] = [accountsOf(now2), accountsOf(applied2)];
  const users = [.../* @__PURE__ */ new Set([...want.users.keys(), ...have.users.keys()])].flatMap((name) => {
    const difference = userDifference(want.users.get(name), have.users.get(name));
    return difference === null ? [] : [{ path: "/etc/passwd", why: `the user ${JSON.stringify(name)} differs: ${difference}` }];
  });
  const groups2 = [.../* @__PURE__ */ new Set([...want.groups.keys(), ...have.groups.keys()])].flatMap((name) => {
    if (want.groups.get(name)?.gid === have.groups.get(name)?.gid) return [];
    return [{ path: "/etc/group", why: `the group ${JSON.stringify(name)} differs` }];
  });
  return [...users, ...groups2];
}

// model/playbook/report.ts
function reportOf({ sandboxId, written, left, check: check2, unchecked }) {
  const { paths, noise, tasks, packages, variables } = written;
  return [
    `# The playbook of ${sandboxId}`,
    "",
    `${paths} paths changed, ${noise} more that change in every machine by themselves. ${tasks} tasks.`,
    ...checkLines(check2, unchecked),
    ...section(
      "Packages",
      packages.map(({ name, version, change }) => `${name} ${version ?? ""} ${change}`)
    ),
    ...section(
      "Variables that it needs",
      variables.map(({ name, of, kind }) => `${name}: ${kind} of ${shown2(of)}`)
    ),
    ...section("Not expressed", left.map(lineOf)),
    ...section("Not brought about when it was tried", (check2?.left ?? []).map(lineOf)),
    ...section("Changed besides when it was tried", (check2?.beyond ?? []).map(shown2)),
    ""
  ].join("\n");
}
function checkLines(check2, unchecked) {
  if (unchecked !== null) return ["", `**Not checked**: ${oneLine2(unchecked)}`];
  if (!check2) return ["", "**Not checked yet.**"];
  const second = check2.runs[1];
  return [
    "",
    `Checked with ansible-core ${check2.ansible} in a fresh sandbox: ${check2.broughtAbout} of ${check2.paths} paths are as they were. The second run changed ${second?.changed ?? "nothing that is known"}.`
  ];
}
function section(title, lines) {
  return lines.length === 0 ? [] : ["", `## ${title}`, "", ...lines.map((line) => `* ${line.trim()}`)];
}
function lineOf({ path, why }) {
  return `${shown2(path)}: ${oneLine2(why)}`;
}
function shown2(path) {
  return `\`${plainPath(path).replaceAll("`", "'")}\``;
}
function plainPath(path) {
  return redactText(quotedPath(path));
}
function oneLine2(text2) {
  return redactText(text2).replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, " ");
}

// activities/step/step-context.ts
import { AsyncLocalStorage } from "node:async_hooks";
import { Context } from "@temporalio/activity";
var current = new AsyncLocalStorage();
function asStep(context, run) {
  return current.run(context, run);
}
function stepContext() {
  const step2 = current.getStore();
  if (step2) return step2;
  const context = Context.current();
  return { signal: context.cancellationSignal, alive: (detail) => context.heartbeat(detail) };
}

// activities/playbook/change-on-host.ts
import { createHash as createHash5 } from "node:crypto";

// model/playbook/noise.ts
var NOISE = [
  {
    what: "what is there only while the machine runs",
    pattern: /^\/(?:run|proc|sys|dev|tmp|var\/tmp|var\/run)(?:\/|$)/
  },
  { what: "logs, histories and who has logged in", pattern: /^\/var\/log\/|^\/(?:root|home\/[^/]+)\/\.\w+_history$/ },
  { what: "caches", pattern: /^\/var\/cache\/|^\/(?:root|home\/[^/]+)\/\.cache(?:\/|$)|\/__pycache__(?:\/|$)|\.pyc$/ },
  { what: "lists of packages that apt fetches", pattern: /^\/var\/lib\/apt\/(?:lists|periodic)(?:\/|$)/ },
  {
    what: "dpkg's and apt's own record, which is compared as packages",
    pattern: /^\/var\/lib\/(?:dpkg|apt|pam|ucf)(?:\/|$)/
  },
  {
    what: "the accounts, which are compared as users and groups",
    pattern: /^\/etc\/(?:(?:passwd|group|shadow|gshadow|subuid|subgid)-?|\.pwd\.lock)$/
  },
  {
    what: "who the machine is: machine-id, host name, its SSH host keys and what its host told it",
    pattern: /^\/etc\/(?:machine-id|hostname|hosts|resolv\.conf|adjtime|ssh\/(?:ssh_host_\w+_key(?:\.pub)?|mayfly_\w+|sshd_config\.d\/mayfly[^/]*))$|^\/var\/lib\/(?:dbus\/machine-id|mayfly(?:\/|$))|^\/opt\/mayfly(?:\/|$)/
  },
  {
    what: "what systemd and the dynamic linker keep for themselves",
    pattern: /^\/var\/lib\/(?:systemd|private|dhcp|NetworkManager)(?:\/|$)|^\/etc\/(?:ld\.so\.cache|\.updated)$|^\/var\/\.updated$|^\/lost\+found$/
  },
  { what: "what Ansible leaves", pattern: /^\/(?:root|home\/[^/]+)\/\.ansible(?:\/|$)/ }
];
function isNoise(path) {
  return NOISE.some(({ pattern }) => pattern.test(path));
}

// activities/playbook/differences.ts
async function differencesOf(snapshots, sides, { signal, alive }) {
  const found = { changes: /* @__PURE__ */ new Map(), ignored: /* @__PURE__ */ new Set(), noise: 0 };
  let count = 0;
  for await (const record2 of snapshots.compare({ ...sides, within: [] }, signal)) {
    if (record2.line === "end") return found;
    if (++count > LIMITS.playbook.changes) {
      throw new MayflyError("playbook_failed", `More than ${LIMITS.playbook.changes} files differ.`);
    }
    if (count % 1e3 === 0) alive(`${count} differences`);
    const key = keyOf(record2.path);
    const names = [record2.path, record2.from].filter((name) => name !== null);
    if (record2.path === "/" || names.every(isIgnored) || isOfTimeAlone(record2)) {
      found.ignored.add(key);
      if (!isOfTimeAlone(record2)) found.noise += 1;
    } else found.changes.set(key, [...found.changes.get(key) ?? [], record2]);
  }
  throw new MayflyError("diff_failed", "The comparison ended before its end.");
}
function isIgnored(name) {
  return isNoise(bytesOfGuestName(name).toString("latin1"));
}
function isOfTimeAlone({ change, what, type }) {
  return type === "socket" || change === "changed" && what.every((aspect) => aspect === "mtime");
}

// activities/playbook/system-texts.ts
var MOST2 = 67108864;
var PLACES2 = {
  status: "/var/lib/dpkg/status",
  extended: "/var/lib/apt/extended_states",
  passwd: "/etc/passwd",
  group: "/etc/group",
  shadow: "/etc/shadow"
};
async function systemTexts(snapshots, snapshotId, signal) {
  const texts = { status: "", extended: "", passwd: "", group: "", shadow: "" };
  for (const name of Object.keys(PLACES2)) {
    texts[name] = await textOf2(snapshots, snapshotId, PLACES2[name], signal);
  }
  return texts;
}
async function textOf2(snapshots, snapshotId, path, signal) {
  try {
    const { content, size } = await snapshots.readFile({ snapshotId, path, maxBytes: MOST2 }, signal);
    if (size > MOST2) throw new MayflyError("playbook_failed", `${path} is ${size} bytes long: it is not read.`);
    return content.toString("utf8");
  } catch (error) {
    const isNone = error instanceof MayflyError && (error.code === "file_not_found" || error.code === "file_conflict");
    if (isNone) return "";
    throw error;
  }
}

// activities/playbook/package-files.ts
var INFO = "/var/lib/dpkg/info";
var MOST_LISTS = 40;
var PLAIN2 = /^[a-z0-9][a-z0-9+.-]*(?::[a-z0-9-]+)?$/;
async function packageFiles(snapshots, sides, texts, signal) {
  const change = packageChange(texts.before, texts.after);
  const files = { brought: /* @__PURE__ */ new Map(), taken: /* @__PURE__ */ new Set(), foreign: /* @__PURE__ */ new Set() };
  for (const one of [...change.installed, ...change.changed].filter(({ name }) => PLAIN2.test(name))) {
    const info = (of) => infoOf(snapshots, sides.after, one.name, of, signal);
    for (const path of linesOf2(await info("list"))) files.brought.set(mergedPath(path), null);
    for (const line of linesOf2(await info("md5sums"))) {
      const [, md5 = "", path = ""] = /^([0-9a-f]{32}) +(.+)$/.exec(line) ?? [];
      if (path !== "") files.brought.set(mergedPath(`/${path}`), md5);
    }
    for (const [path, md5] of one.conffiles) files.brought.set(mergedPath(path), md5);
  }
  const went = [...change.removed, ...change.changed].filter(({ name }) => PLAIN2.test(name));
  for (const { name } of went) {
    for (const path of linesOf2(await infoOf(snapshots, sides.before, name, "list", signal)))
      files.taken.add(mergedPath(path));
  }
  files.foreign = await foreignAmong(snapshots, sides.after, change, await listsIn(snapshots, sides, signal), signal);
  return files;
}
async function infoOf(snapshots, snapshotId, name, of, signal) {
  const plain = await textOf2(snapshots, snapshotId, `${INFO}/${name}.${of}`, signal);
  if (plain !== "" || name.includes(":")) return plain;
  return textOf2(snapshots, snapshotId, `${INFO}/${name}:amd64.${of}`, signal);
}
function linesOf2(text2) {
  return text2.split("\n").filter((line) => line !== "" && line !== "/.");
}
async function listsIn(snapshots, sides, signal) {
  const paths = [];
  for await (const record2 of snapshots.compare({ ...sides, within: ["/var/lib/apt/lists"] }, signal)) {
    if (record2.line === "end" || record2.change === "removed" || typeof record2.path !== "string") continue;
    if (!record2.path.endsWith("_Packages")) continue;
    const at = record2.type === "symlink" ? record2.target : record2.path;
    if (typeof at === "string" && at.startsWith("/") && paths.length < MOST_LISTS)
      paths.push(at.replaceAll("/./", "/"));
  }
  return paths;
}
async function foreignAmong(snapshots, snapshotId, { installed, changed }, lists, signal) {
  if (lists.length === 0) return /* @__PURE__ */ new Set();
  const wanted = new Map(
    [...installed, ...changed].map(({ name, version }) => [name.replace(/:.*/, ""), { name, version }])
  );
  for (const path of lists) {
    let name = "";
    for (const line of (await textOf2(snapshots, snapshotId, path, signal)).split("\n")) {
      if (line.startsWith("Package: ")) name = line.slice(9);
      else if (line.startsWith("Version: ") && wanted.get(name)?.version === line.slice(9)) wanted.delete(name);
    }
  }
  return new Set([...wanted.values()].map((one) => one.name));
}

// activities/playbook/change-on-host.ts
async function changeOnHost(snapshots, sides, context) {
  const { signal, alive } = context;
  const differences2 = await differencesOf(snapshots, sides, context);
  alive("reading what its packages say");
  const before = await systemTexts(snapshots, sides.before, signal);
  const after3 = await systemTexts(snapshots, sides.after, signal);
  const files = await packageFiles(snapshots, sides, { before, after: after3 }, signal);
  alive("reading its files");
  const { entries, packaged } = await entriesOf3(snapshots, sides, differences2, files, context);
  const changed = [...differences2.changes.keys()];
  const listed2 = new Set(changed.filter((key) => files.brought.has(key) || files.taken.has(key)));
  return {
    entries,
    gone: goneIn(differences2, files),
    before,
    after: after3,
    listed: listed2,
    packaged,
    foreign: files.foreign,
    paths: differences2.changes.size,
    noise: differences2.noise
  };
}
function goneIn({ changes }, { taken }) {
  const gone = [];
  let folder2 = null;
  for (const change of [...changes.values()].flat()) {
    const name = change.change === "removed" ? change.path : change.from;
    if (name === null || taken.has(keyOf(name))) continue;
    const bytes = bytesOfGuestName(name).toString("latin1");
    if (folder2 !== null && bytes.startsWith(`${folder2}/`)) continue;
    folder2 = bytes;
    gone.push(name);
  }
  return gone;
}
async function entriesOf3(snapshots, sides, { changes, ignored }, { brought }, { signal, alive }) {
  const entries = [];
  const packaged = /* @__PURE__ */ new Set();
  let left = LIMITS.playbook.bundleBytes;
  let content = [];
  const isWanted = (path, key) => key !== "" && !ignored.has(key) && !isNoise(path) && !isWhiteout2(path);
  const sinkOf = (entry) => {
    content = [];
    const key = keyOf(nameOf2(entry.path));
    const isRead = isWanted(entry.path, key) && entry.type === "file" && entry.size <= LIMITS.playbook.fileBytes && left > 0;
    return isRead ? (piece) => void content.push(Buffer.from(piece)) : null;
  };
  for await (const found of tarEntries(snapshots.changesAsTar({ ...sides, within: [] }, signal), sinkOf)) {
    const path = nameOf2(found.path);
    const key = keyOf(path);
    if (!isWanted(found.path, key)) continue;
    const change = changes.get(key)?.find((one) => one.change !== "removed") ?? null;
    const entry = entryOf2(found, path, change, Buffer.concat(content));
    const md5 = brought.get(key);
    if (md5 !== void 0 && isAsBrought(entry, md5, content)) packaged.add(key);
    else left -= entry.bytes?.length ?? 0;
    entries.push(packaged.has(key) ? { ...entry, bytes: null } : withinBounds(entry, left));
    if (entries.length % 500 === 0) alive(`${entries.length} files`);
  }
  return { entries, packaged };
}
function isWhiteout2(path) {
  return path.slice(path.lastIndexOf("/") + 1).startsWith(".wh.");
}
function nameOf2(latin1) {
  return guestNameOf(Buffer.from(latin1, "latin1"));
}
function isAsBrought({ type, size }, md5, content) {
  if (type !== "file" || md5 === null) return true;
  if (size > LIMITS.playbook.fileBytes) return true;
  const hash = createHash5("md5");
  for (const piece of content) hash.update(piece);
  return hash.digest("hex") === md5;
}
function withinBounds(entry, left) {
  if (left >= 0 || entry.bytes === null) return entry;
  const why = `all files together are more than ${LIMITS.playbook.bundleBytes} bytes`;
  return { ...entry, bytes: null, why };
}
function entryOf2(found, path, change, content) {
  const { type, mode, uid, gid, size, target, sameAs, xattrs } = found;
  const isKept = type === "file" && change?.change === "changed" && change.before?.type === "file" && !change.what.includes("content");
  const isTooLarge = size > LIMITS.playbook.fileBytes;
  return {
    path,
    type,
    mode,
    uid,
    gid,
    size,
    target: target === null ? null : nameOf2(target),
    sameAs: sameAs === null ? null : nameOf2(sameAs),
    xattrs: [...xattrs.keys()].filter((name) => !name.startsWith("security.selinux")),
    isKept,
    bytes: type === "file" && sameAs === null && !isKept && !isTooLarge ? content : null,
    why: isTooLarge ? `it is ${size} bytes long, more than ${LIMITS.playbook.fileBytes}` : null
  };
}

// activities/playbook/on-host.ts
var { listed } = LIMITS.playbook;
function createPlaybookHostActivities({ hypervisor, guests, playbooks }) {
  const { snapshots } = hypervisor;
  const { store: store2 } = playbooks;
  return {
    /** Writes it, in place of what an earlier attempt wrote. @throws MayflyError playbook_failed, diff_failed */
    async writePlaybook({ playbookId, describedId, since, base: base2, before, after: after3 }) {
      const context = stepContext();
      const { paths, noise, ...change } = await changeOnHost(snapshots, { before, after: after3 }, context);
      const to = (/* @__PURE__ */ new Date()).toISOString();
      const ran = await store2.commands.between({
        sandboxId: describedId,
        from: since,
        to,
        limit: LIMITS.diff.commands
      });
      const whole2 = { ...change, sandboxId: describedId, base: base2, commands: ran.map(commandText) };
      const written = writePlaybook(whole2);
      const packages = written.packages;
      const variables = written.variables.map((one) => ({ ...one, of: redactText(one.of) }));
      const summary = { tasks: written.tasks, paths, noise, packages: [...packages], packageCount: packages.length };
      const all = { ...summary, variables, left: written.left, leftCount: written.left.length };
      await store2.playbookParts.put(playbookId, "playbook", partOf(filesOf(written)));
      await store2.playbookParts.put(playbookId, "left", new TextEncoder().encode(JSON.stringify(all)));
      const report = { sandboxId: describedId, written: all, left: written.left, check: null, unchecked: null };
      await store2.playbookParts.put(playbookId, "report", reportPart(reportOf(report)));
      return shortened(all);
    },
    /** Puts the playbook and Ansible into the fresh sandbox. @returns the version of Ansible; null: this host has none */
    async placePlaybook({ playbookId, checkerId }) {
      const ansible = playbooks.ansible();
      if (ansible === null) return { ansible: null };
      const context = stepContext();
      const part = await store2.playbookParts.get(playbookId, "playbook");
      if (!part) throw new MayflyError("playbook_failed", `The playbook ${playbookId} is not there any more.`);
      const { variables } = await writtenIn(store2, playbookId);
      const agent = await guests.agent(checkerId, context);
      const archive = Buffer.concat([part, partOf(checkFiles(variables)), new Uint8Array(1024)]);
      await put(agent, "/v1/tar", CHECK_FOLDER, archive, context.signal);
      const body = createReadStream(ansible.archive);
      await put(agent, "/v1/files", `${CHECK_FOLDER}/ansible.tar.gz`, body, context.signal);
      return { ansible: ansible.version };
    },
    /** Says what the playbook has brought about in the fresh sandbox. @throws MayflyError playbook_failed, diff_failed */
    async comparePlaybook(input) {
      const { playbookId, describedId, fresh: fresh2, now: now2, applied: applied2, ansible, runs } = input;
      const context = stepContext();
      const wanted = await differencesOf(snapshots, { before: fresh2, after: now2 }, context);
      const remaining = await differencesOf(snapshots, { before: now2, after: applied2 }, context);
      const [a, b, c2] = [fresh2, now2, applied2].map((id) => systemTexts(snapshots, id, context.signal));
      const none = { status: "", extended: "", passwd: "", group: "", shadow: "" };
      const texts = { fresh: await a ?? none, now: await b ?? none, applied: await c2 ?? none };
      const written = await writtenIn(store2, playbookId);
      const known = written.left;
      const outcome = compareCheck({
        wanted: wanted.changes,
        remaining: remaining.changes,
        texts,
        known,
        variables: written.variables
      });
      const { left, beyond } = outcome;
      const check2 = { ansible, runs, ...outcome, leftCount: left.length, beyondCount: beyond.length };
      const report = reportOf({ sandboxId: describedId, written, left: known, check: check2, unchecked: null });
      await store2.playbookParts.put(playbookId, "report", reportPart(report));
      return { ...check2, left: first(left), beyond: beyond.slice(0, listed).map(brief) };
    },
    /** Says in the report why it was not checked. */
    async explainPlaybook({
      playbookId,
      describedId,
      why
    }) {
      const written = await writtenIn(store2, playbookId);
      const report = { sandboxId: describedId, written, left: written.left, check: null, unchecked: why };
      await store2.playbookParts.put(playbookId, "report", reportPart(reportOf(report)));
    }
  };
}
async function writtenIn(store2, playbookId) {
  const all = await store2.playbookParts.get(playbookId, "left");
  if (!all) throw new MayflyError("playbook_failed", `The playbook ${playbookId} is not there any more.`);
  return JSON.parse(new TextDecoder().decode(all));
}
function reportPart(report) {
  return partOf([{ name: "report.md", bytes: new TextEncoder().encode(report) }]);
}
function shortened(all) {
  const { packages, variables, left } = all;
  return { ...all, packages: packages.slice(0, listed), variables: variables.slice(0, listed), left: first(left) };
}
function first(left) {
  return left.slice(0, listed).map(({ path, why }) => ({ path: brief(path), why: redactText(why).slice(0, 400) }));
}
function brief(path) {
  return plainPath(path).slice(0, 400);
}
function commandText({ spec }) {
  if (spec.command !== null) return redactText(spec.command);
  return redactArgv(spec.argv ?? []).map((one) => /^[\w@%+=:,./-]+$/.test(one) ? one : JSON.stringify(one)).join(" ");
}
async function put(agent, path, to, body, signal) {
  const query = `path=${Buffer.from(to).toString("base64url")}&parents=true&user=root`;
  const type = path === "/v1/tar" ? "application/x-tar" : "application/octet-stream";
  const headers = { "content-type": type };
  const answer = await agent.request({ method: "PUT", path: `${path}?${query}`, headers, body, signal });
  const said = await buffer(answer.body);
  if (answer.status < 300) return;
  throw new MayflyError(
    "guest_failed",
    `The guest answered ${answer.status} to ${path}: ${said.toString("utf8", 0, 200).replace(/[^\x20-\x7e]/g, "?")}`
  );
}

// worker/config/artifacts.mjs
import { createHash as createHash6 } from "node:crypto";
import { accessSync, constants as constants2, existsSync, readdirSync as readdirSync3, readFileSync as readFileSync4, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname as dirname3, join as join20, relative } from "node:path";
import { fileURLToPath } from "node:url";
var repository = dirname3(dirname3(dirname3(fileURLToPath(import.meta.url))));
var imageNames = (
  /** @type {const} */
  ["golden-debian12", "golden-agent"]
);
var pulledImages = imageNames.slice(1);
function cacheDir() {
  return join20(process.env["XDG_CACHE_HOME"] || join20(homedir(), ".cache"), "mayfly");
}
function ansibleCachePath() {
  const digest = createHash6("sha256").update(readFileSync4(join20(repository, "scripts", "setup", "ansible.sh")));
  return join20(cacheDir(), "ansible", digest.digest("hex").slice(0, 16));
}
function ansibleArchive() {
  const archive = ifThere(join20(ansibleCachePath(), "ansible.tar.gz"));
  if (archive === null) return null;
  return { archive, version: readFileSync4(join20(ansibleCachePath(), "version"), "utf8").trim() };
}
function ifThere(path) {
  return existsSync(path) ? path : null;
}

// ../../../tmp/pb/chroot.ts
var src = readFileSync5("/work/h/playbooks/test/worker/playbook.e2e.test.ts", "utf8");
var CHANGES = new Function(src.slice(src.indexOf("const REPOSITORY"), src.indexOf("async function written")).replace(/^const REPOSITORY/, "const REPOSITORY") + "; return CHANGES;")();
var root = "/tmp/pb/state";
rmSync(root, { recursive: true, force: true });
mkdirSync(root);
var state = new StateDir(root);
mkdirSync(state.snapshots, { recursive: true });
var host = new SimulatedHypervisor({ state });
var sh = (tree, argv) => {
  const r2 = spawnSync("unshare", ["--mount", "--pid", "--fork", "--mount-proc=" + tree + "/proc", "chroot", tree, ...argv], { encoding: "buffer", env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", DEBIAN_FRONTEND: "noninteractive" } });
  return r2;
};
async function save(tree) {
  const id = snapshotIdFrom(randomBytes3(10));
  mkdirSync(state.snapshot(id));
  execFileSync("cp", ["-a", tree, join21(state.snapshot(id), "root")]);
  await writeSpec(state.snapshot(id), { sandboxId: "sbx-0123456789abcdef", kind: "disk", savedAt: (/* @__PURE__ */ new Date()).toISOString(), sha256: null });
  return id;
}
var base = "/tmp/pb/base";
var work = "/tmp/pb/work";
var check = "/tmp/pb/checkroot";
for (const t2 of [work, check]) {
  rmSync(t2, { recursive: true, force: true });
  execFileSync("cp", ["-a", base, t2]);
}
var fresh = await save(base);
for (const [kind, c2] of Object.entries(CHANGES)) {
  const r2 = sh(work, ["/bin/bash", "-lc", c2]);
  if (r2.status) console.log(kind, r2.status, r2.stderr.toString());
}
var now = await save(work);
var parts = /* @__PURE__ */ new Map();
var store = { commands: { between: async () => [] }, playbookParts: { put: async (i, p, b) => void parts.set(p, b), get: async (_i, p) => parts.get(p) ?? null } };
var act2 = createPlaybookHostActivities({ hypervisor: host, guests: null, playbooks: { store, ansible: ansibleArchive } });
var step = (f) => asStep({ signal: AbortSignal.timeout(6e5), alive: () => {
} }, f);
var t = { sandboxId: "pbk-0123456789abcdef", generation: 1, playbookId: "pbk-0123456789abcdef", describedId: "sbx-0123456789abcdef" };
var w = await step(() => act2.writePlaybook({ ...t, since: "", base: "golden", before: fresh, after: now }));
var folder = check + CHECK_FOLDER;
mkdirSync(folder, { recursive: true });
writeFileSync("/tmp/pb/part.tar", Buffer.concat([parts.get("playbook"), new Uint8Array(1024)]));
execFileSync("tar", ["-xf", "/tmp/pb/part.tar", "-C", folder]);
rmSync("/tmp/pb/gen2", { recursive: true, force: true });
mkdirSync("/tmp/pb/gen2");
execFileSync("tar", ["-xf", "/tmp/pb/part.tar", "-C", "/tmp/pb/gen2"]);
for (const f of checkFiles(w.variables)) {
  mkdirSync(join21(folder, f.name, ".."), { recursive: true });
  writeFileSync(join21(folder, f.name), f.bytes);
}
copyFileSync(ansibleArchive().archive, join21(folder, "ansible.tar.gz"));
var began = Date.now();
var r = sh(check, CHECK_ARGV);
console.log("ran", r.status, Date.now() - began, "ms", r.stdout.toString(), r.stderr.toString().slice(-1500));
var applied = await save(check);
var c = await step(() => act2.comparePlaybook({ ...t, fresh, now, applied, ansible: "x", runs: runsIn(r.stdout.toString()) }));
console.log(Buffer.from(parts.get("report")).toString().replace(/\0/g, ""));
console.log(c.broughtAbout, c.paths);
