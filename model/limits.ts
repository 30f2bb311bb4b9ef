/** Bounds that the API enforces; units are in the names. */
export const LIMITS = {
  cpus: { min: 1, max: 64 },
  memoryMib: { min: 64, max: 262_144 },
  /** At most 30 days. `@default` 3600 */
  ttlSeconds: { min: 1, max: 2_592_000, default: 3_600 },
  /** Default: no idle timeout. */
  idleSeconds: { min: 1, max: 2_592_000 },
  metadata: { maxEntries: 32, maxKeyLength: 63, maxValueLength: 1_024 },
  agentId: { maxLength: 128 },
  sourceName: { maxLength: 128 },
  /** Maximum for 1 to n of `A-Za-z0-9._-`, the first a letter. */
  bakedSourceName: { maxLength: 63 },
  /** Projects that may clone one capture. */
  captureProjects: 100,
  /** Names in the allow-list of a project. */
  projectSources: 200,
  idempotencyKey: { maxLength: 255 },
  /** Retention of an idempotent answer. */
  idempotencyHours: 24,
  /** All headers of a request with its first line. Node's default. */
  headerBytes: 16_384,
  /** Request body. */
  bodyBytes: 1_048_576,
  /** `Prefer: wait=N`. */
  waitSeconds: { default: 60, max: 600 },
  page: { default: 50, max: 200 },
  mcp: {
    /** Message; the SDK's default. */
    bodyBytes: 4_194_304,
    /** Concurrent sessions of a project; one more ends the least recently used. */
    sessions: 100,
    /** Idle time after which a session ends. */
    idleSeconds: 3_600,
    /** Time during which the events of an interrupted stream can be replayed. */
    eventSeconds: 900,
  },
  command: {
    /** Characters of `command`, and bytes of all of `argv`: Linux allows 128 KiB for one argument (MAX_ARG_STRLEN). */
    maxLength: 131_071,
    maxArguments: 1_024,
    maxVariables: 256,
    /** Variable with its name and `=`: bound by MAX_ARG_STRLEN too. */
    maxVariableBytes: 131_071,
    timeoutSeconds: { min: 1, max: 2_592_000, default: 600 },
    maxOutputBytes: { min: 0, max: 1_073_741_824, default: 10_485_760 },
    /** Concurrent commands of one sandbox; one more gets 429. */
    running: 64,
    /** Single POST of standard input. */
    stdinBytes: 1_048_576,
    /** Between SIGTERM and SIGKILL when a command is cancelled or times out. */
    graceSeconds: 5,
  },
  /** Storage quota: from 64 MiB, the assumed usage of an unmeasured sandbox, to 1 PiB. */
  quotaBytes: { min: 67_108_864, max: 1_125_899_906_842_624 },
  /** Quotas of a project; 0 allows nothing. */
  projectLimits: { max: 1_000_000, maxMemoryMib: 1_073_741_824 },
  /** Event streams of one API process. */
  streams: {
    /** Each polls the store. */
    ofSandboxes: 64,
    /** Each polls the store. */
    ofApprovals: 64,
    /** Each polls the store. */
    ofRuns: 64,
    /** Each is a request to a guest, and polls the store while its host is away. */
    ofCommands: 512,
  },
  /** Maximum for 1 to n of `A-Za-z0-9._-`, the first no dot and no dash. */
  snapshotName: { maxLength: 63 },
  image: {
    dockerfileBytes: 1_048_576,
    /** Instructions of a Dockerfile, including unused stages. */
    instructions: 1_000,
    /** Variables set by ENV and ARG, LABEL or EXPOSE in one stage. */
    variables: 500,
    /** All variables of a step with their names. */
    variableBytes: 131_071,
    /** Total length of a Dockerfile's variables after substitution. */
    expandedChars: 4_194_304,
    /** All required stages together. */
    steps: 200,
    /** Required stages; each needs a sandbox, at worst all at once. */
    stages: 16,
    /** Files, folders and links of a context. */
    contextEntries: 10_000,
    /** Entries copied by all COPYs of a build; an entry counts once per copy. */
    copiedEntries: 100_000,
    /** Tar archive in the request: the most that one guest command accepts on standard input. */
    contextBytes: 4_194_304,
    /** Tar archive that is uploaded separately. */
    sentContextBytes: 2_147_483_648,
    /** Retained uploads of one project. */
    sentContextsBytes: 8_589_934_592,
    /** Retention of an upload that no build uses. */
    sentContextHours: 24,
    /** Retention of an incomplete upload, from the start of its last 16 MiB. */
    halfSentMinutes: 30,
    /** Request with Dockerfile, variables and context. */
    bodyBytes: 8_388_608,
    /** Command of `ready`, and the time during which it is retried. */
    readyBytes: 4_096,
    readySeconds: { min: 1, max: 300, default: 120 },
    /** Timeout of a step. */
    timeoutSeconds: 1_800,
    outputBytes: 10_485_760,
    args: 256,
    aliases: 64,
    secrets: 64,
    /** All secrets of a build. */
    secretBytes: 524_288,
  },
  playbook: {
    /** Files, folders and links that become tasks: Ansible takes a second for each in an emulated guest. */
    paths: 2_000,
    /** Single file; a larger one is only listed. */
    fileBytes: 10_485_760,
    /** All files together. */
    bundleBytes: 50_331_648,
    /** Differences that are examined. */
    changes: 500_000,
    /** Items in each list of a record; the report has all. */
    listed: 100,
    /** Timeout of a run of Ansible. */
    timeoutSeconds: 3_600,
    outputBytes: 1_048_576,
  },
  functions: {
    /** Functions of one project. */
    count: 1_000,
    /** Versions of one function; older inactive ones are deleted. */
    versions: 100,
    /** Files of a function as a tar archive in the request. */
    filesBytes: 16_777_216,
    /** Deployment with its files in base64 and all other fields. */
    deployBytes: 25_165_824,
    /** JSON schema of the input. */
    schemaBytes: 65_536,
    /** Single event. `@default` 3 MiB */
    eventBytes: { min: 1, max: 26_214_400, default: 3_145_728 },
    /** Replay with its edited event and all other fields. */
    replayBytes: 27_262_976,
    /** Event stored in the document of its run; a larger one is stored in separate parts. */
    inlineEventBytes: 65_536,
    timeoutSeconds: { min: 1, max: 2_592_000, default: 600 },
    graceSeconds: { min: 1, max: 600, default: 10 },
    /** Setup script of a function. */
    setupSeconds: { min: 1, max: 3_600, default: 600 },
    maxEventAgeSeconds: { min: 60, max: 1_209_600, default: 21_600 },
    delaySeconds: { min: 0, max: 31_536_000 },
    maxAttempts: { min: 1, max: 100, default: 1 },
    backoffSeconds: { min: 0, max: 86_400 },
    /** Per key, or all runs. `@default` limit of a function without rules */
    concurrency: { rules: 2, limit: { min: 1, max: 1_000, default: 100 } },
    throttle: { limit: { min: 1, max: 10_000 }, periodSeconds: { min: 1, max: 86_400 }, burst: { min: 1, max: 1_000 } },
    debounce: { periodSeconds: { min: 1, max: 86_400 }, maxWaitSeconds: { min: 1, max: 604_800 } },
    /** Events that one debounced run may combine; the last one closes it. */
    debounced: 1_000,
    batching: { maxSize: { min: 1, max: 100 }, maxWaitSeconds: { min: 1, max: 300 } },
    /** All events of a batch. */
    batchBytes: 26_214_400,
    /** Failed admissions, for reasons other than capacity, after which a queued run fails. */
    failedAdmissions: 5,
    /** Value of a key as JSON. */
    keyBytes: 256,
    /** Failures before the process starts, for reasons other than capacity, after which a run fails. */
    failedStarts: 5,
    envBytes: 131_072,
    resultBytes: { min: 0, max: 10_485_760, default: 10_485_760 },
    artifactBytes: { min: 0, max: 1_073_741_824, default: 1_073_741_824 },
    /** Files of one run. */
    artifacts: 1_000,
    /** Patterns, and characters of one. */
    globs: { max: 32, maxLength: 256 },
    logBytes: { min: 0, max: 10_485_760, default: 10_485_760 },
    retentionDays: { min: 7, max: 3_650, default: 30 },
    /** List of a process's file changes. */
    diffBytes: 10_485_760,
    /** Retention of a failed run's disk snapshot. */
    keepDays: { min: 1, max: 30, default: 7 },
    /**
     * Deduplication windows of a CloudEvent id, of an Idempotency-Key, and of requests derived from a run (the longest
     * possible retention).
     */
    dedupeHours: { event: 168, key: 24, run: 87_600 },
    /** Events of a request. */
    batch: 1_000,
    bulk: {
      /** Unfinished bulk actions of one function. */
      open: 10,
      /** Refused runs listed in the result. */
      refusals: 20,
      /** Retention of a finished bulk action. */
      keptDays: 30,
    },
    waitpoints: {
      /** Waitpoints of one run made by requests; its processes may make as many again. */
      count: 100,
      /** Tokens of a waitpoint. */
      tokens: 10,
      timeoutSeconds: { min: 1, max: 2_592_000, default: 86_400 },
      /** Wait after which the machine of a waiting process hibernates. */
      hibernateAfterSeconds: { min: 1, max: 86_400, default: 30 },
      /** Request that completes a waitpoint. */
      bodyBytes: 65_536,
      /** To one waitpoint, or to all that do not exist together. */
      requestsPerSecond: 20,
    },
    hooks: {
      /** Hooks of one function. */
      count: 100,
      /** During a rotation. */
      secrets: 2,
      /** Event received by a hook. */
      bodyBytes: 26_214_400,
      /** Bodies that one hook is receiving or answering. */
      heldBytes: 104_857_600,
      /** To one hook, or to all that do not exist together. */
      requestsPerSecond: 100,
      /** From the last byte of an event to its answer. */
      answerMs: 1_000,
      /** Additional time for schema validation; a validation that takes longer is deferred. */
      checkMs: 500,
      conditions: 16,
      /** Values of a condition, types of a filter, origins of a hook. */
      values: 64,
      valueLength: 256,
    },
    secrets: {
      /** Secrets of one project. */
      count: 1_000,
      /** Single value, and all values of a function. */
      bytes: 65_536,
      /** Secrets of one function. */
      ofFunction: 64,
      /** Listed versions of one secret; only the newest keeps its value. */
      versions: 100,
      /** Listed uses of one secret, newest first. */
      uses: 100,
    },
    /** Input or result embedded in a list of runs. */
    listedBytes: 16_384,
    schedules: {
      /** Schedules of one project. */
      count: 1_000,
      catchupWindowSeconds: { min: 10, max: 31_536_000, default: 3_600 },
      jitterSeconds: { min: 0, max: 86_400 },
      /** Data of the schedule's events as JSON. */
      dataBytes: 65_536,
      /** Times of one backfill. */
      backfill: 500,
      /** Pending requests of one schedule. */
      asks: 20,
      /** Changes of a schedule between two decisions about its due times. */
      past: 50,
      next: { min: 1, max: 100, default: 10 },
      /** Retention of the outcome of a due time. */
      timesDays: 30,
    },
    /** Queued runs of one project, and all of their events. Hooks are limited only by the disk. */
    queued: 1_000_000,
    queuedBytes: 68_719_476_736,
    /** Queued runs of one key of a function. */
    queuedOfKey: 200_000,
  },
  webhooks: {
    /** Endpoints of one project. */
    endpoints: 50,
    urlLength: 2_048,
    /** Overlap of the old and the new secret during a rotation. */
    rotationHours: 24,
    /** Concurrent signing secrets. */
    secrets: 4,
  },
  /** Members of one pool. */
  poolMembers: { min: 0, max: 100 },
  /** Sandboxes made from a snapshot by one request. */
  fork: { count: { min: 1, max: 100 } },
  path: { maxBytes: 4_095 },
  diff: {
    /** Changes in one JSON answer; NDJSON has all. */
    changes: { min: 1, max: 10_000, default: 1_000 },
    /** Characters of one JSON answer: extended attributes of one change can take 1 MiB. */
    changesLength: 8_388_608,
    /** Folders and files that a comparison is restricted to; bytes of all together. */
    paths: { max: 32, maxBytes: 8_192 },
    /** Each side of a text diff. */
    fileBytes: 1_048_576,
    /** Commands listed with a comparison. */
    commands: 200,
  },
  approvals: {
    /** Pending approvals of one project. */
    waiting: 100,
    /** Time until an approval can be neither decided nor used. `@default` 1 hour */
    expiresSeconds: { min: 1, max: 604_800, default: 3_600 },
    reasonLength: 1_000,
    /** Retention of an expired approval's record; its audit stays. */
    keptDays: 90,
    /** Rules of a policy. */
    rules: 100,
    ruleNameLength: 63,
    patternLength: 256,
  },
  ports: {
    /** Concurrent connections to one port of a sandbox; one more gets 429. */
    connections: 100,
    /** Ports of one sandbox open for HTTP. */
    open: 20,
    /** To one port; also the burst after a pause. One more gets 429. */
    requestsPerSecond: 100,
    /** From one address, to closed ports or with invalid tokens: each costs a lookup in the store. */
    guessesPerSecond: 100,
    /** Headers of a request or an answer with its first line: twice Node's limit, since cookies add to tokens. */
    headerBytes: 32_768,
    tokenSeconds: { min: 1, max: 86_400, default: 3_600 },
  },
  desktop: {
    /** Screens that one API process captures or controls at once, up to 34 MiB each. One more gets 429. */
    screens: 8,
    /** A coordinate beyond the screen means its edge. */
    coordinate: { min: 0, max: 32_767 },
    /** Typed text, in UTF-16 code units. */
    textLength: 10_000,
    /** Single scroll of the wheel. */
    wheelSteps: { min: -100, max: 100 },
  },
  /** Command on a source: read-only and short. */
  sourceCommand: { maxLength: 4_096, timeoutSeconds: { min: 1, max: 300, default: 30 }, maxOutputBytes: 1_048_576 },
  certificateSeconds: { min: 60, max: 3_600, default: 1_800 },
} as const;

/** Limits of one guest on its host, for any workload. Only a guest that harms others should reach them. */
export const GUEST_LIMITS = {
  network: {
    /** Bandwidth of a gigabit port each way, and the packet rate of a busy host with small packets. */
    frames: { perSecond: 50_000, burst: 50_000, bytesPerSecond: 125_000_000 },
    /** A guest resolves only its gateway: one request at a time, each with some retries. */
    arp: { perSecond: 20, burst: 100 },
    /** A boot needs two to six messages; each lease start or end runs libvirt's helper on the host. */
    dhcp: { perSecond: 1, burst: 20 },
    /** Connections opened by the guest and tracked by the host: 1/64 of Linux's table (`nf_conntrack_max`, 262,144). */
    connections: 4_096,
  },
  /** All disks of one guest together. */
  disk: {
    /** At the burst rate, a host's reserve (`reserveOf`) lasts for two polls of the storage watch. */
    bytesPerSecond: 200_000_000,
    burstBytesPerSecond: 400_000_000,
    /** A write costs QEMU 9 to 31 µs of processor time: at most 1/6 of a CPU, in a burst 2/3. */
    operationsPerSecond: 5_000,
    burstOperationsPerSecond: 20_000,
    burstSeconds: 10,
  },
  cpu: {
    /** Default of cgroup v2 (`cpu.weight`) for each vCPU: guests share a busy host in proportion to their vCPUs. */
    weightPerCpu: 100,
    /** CPUs for QEMU's own work: one thread serves the devices, the others wait for disks. */
    besideCpus: 1,
  },
} as const;
