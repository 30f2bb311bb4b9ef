/** Every bound the API enforces; units are in the names. Sources: design §7 and §8. */
export const LIMITS = {
  cpus: { min: 1, max: 64 },
  memoryMib: { min: 64, max: 262_144 },
  /** `@default` 3600. At least 1 s (tests and one-shot jobs), at most 30 days. */
  ttlSeconds: { min: 1, max: 2_592_000, default: 3_600 },
  /** No idle time-out unless asked for. */
  idleSeconds: { min: 1, max: 2_592_000 },
  metadata: { maxEntries: 32, maxKeyLength: 63, maxValueLength: 1_024 },
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
  headerBytes: 16_384,
  /** A request body may not be larger. */
  bodyBytes: 1_048_576,
  /** `Prefer: wait=N`. */
  waitSeconds: { default: 60, max: 600 },
  page: { default: 50, max: 200 },
  mcp: {
    /** Of one message. The SDK's own default. */
    bodyBytes: 4_194_304,
    /** Of a project, at once; one more ends that which was used the longest ago. */
    sessions: 100,
    /** Without use until a session ends. */
    idleSeconds: 3_600,
    /** How long the events of a stream that was cut can be had again. */
    eventSeconds: 900,
  },
  command: {
    /** Characters of `command`, and bytes of all of `argv`: one argument may have 128 KiB in Linux (MAX_ARG_STRLEN). */
    maxLength: 131_071,
    maxArguments: 1_024,
    maxVariables: 256,
    /** Of a variable with its name and `=`, which is a string of Linux as an argument is. */
    maxVariableBytes: 131_071,
    timeoutSeconds: { min: 1, max: 2_592_000, default: 600 },
    maxOutputBytes: { min: 0, max: 1_073_741_824, default: 10_485_760 },
    /** Running at once in one sandbox; one more is refused with 429. */
    running: 64,
    /** One POST of standard input, bytes. */
    stdinBytes: 1_048_576,
    /** From SIGTERM to SIGKILL, when a command is cancelled or its time is over. Seconds. */
    graceSeconds: 5,
  },
  /** Of a storage quota: from 64 MiB, what a sandbox counts as until it is measured, to 1 PiB. */
  quotaBytes: { min: 67_108_864, max: 1_125_899_906_842_624 },
  /** Of what a project may have at once, or make in a minute; 0: nothing more. */
  projectLimits: { max: 1_000_000, maxMemoryMib: 1_073_741_824 },
  /** Event streams of one API process. */
  streams: {
    /** Of sandboxes: each is a poll of the store. */
    ofSandboxes: 64,
    /** Of approvals: each is a poll of the store. */
    ofApprovals: 64,
    /** Of runs of functions: each is a poll of the store. */
    ofRuns: 64,
    /** Of commands: each is a request of a guest, and a poll of the store while its host is away. */
    ofCommands: 512,
  },
  /** 1 to so many of `A-Za-z0-9._-`, the first no dot and no dash. */
  snapshotName: { maxLength: 63 },
  image: {
    dockerfileBytes: 1_048_576,
    /** Of a Dockerfile, those of stages that are not needed too. */
    instructions: 1_000,
    /** That ENV and ARG, LABEL or EXPOSE set in one stage. */
    variables: 500,
    /** Of all variables of a step, with their names. */
    variableBytes: 131_071,
    /** Characters that the variables of a Dockerfile come to, all in all. */
    expandedChars: 4_194_304,
    /** Of all stages that are needed. */
    steps: 200,
    /** Which need a sandbox each, one beside the other at worst. */
    stages: 16,
    /** Files, folders and links of a context. */
    contextEntries: 10_000,
    /** Of a context, that all COPYs of a build put somewhere; each counts as often as it is copied. */
    copiedEntries: 100_000,
    /** As a tar archive in the request: it is what one command of a guest may be given on its standard input. */
    contextBytes: 4_194_304,
    /** As a tar archive that is sent by itself. */
    sentContextBytes: 2_147_483_648,
    /** Of all that a project has sent and nobody has forgotten yet. */
    sentContextsBytes: 8_589_934_592,
    /** How long one is kept that no build uses. */
    sentContextHours: 24,
    /** How long what was not sent to its end is kept, since its last 16 MiB began. */
    halfSentMinutes: 30,
    /** A request with its Dockerfile, variables and context. */
    bodyBytes: 8_388_608,
    /** Of what `ready` runs, and how long it is asked again. */
    readyBytes: 4_096,
    readySeconds: { min: 1, max: 300, default: 120 },
    /** Of one step. */
    timeoutSeconds: 1_800,
    outputBytes: 10_485_760,
    args: 256,
    aliases: 64,
    secrets: 64,
    /** Of all secrets of a build. */
    secretBytes: 524_288,
  },
  playbook: {
    /** Files, folders and links that are tasks: each takes Ansible a second in an emulated guest. */
    paths: 2_000,
    /** Of one file, bytes; a larger one is listed. */
    fileBytes: 10_485_760,
    /** Of all files together, bytes. */
    bundleBytes: 50_331_648,
    /** Differences that are looked at. */
    changes: 500_000,
    /** That a record has of each of its lists; the report has all. */
    listed: 100,
    /** Of one run of Ansible. */
    timeoutSeconds: 3_600,
    outputBytes: 1_048_576,
  },
  functions: {
    /** Of one project. */
    count: 1_000,
    /** Of one function; older ones that are not active go. */
    versions: 100,
    /** Of its files, as a tar archive in the request. */
    filesBytes: 16_777_216,
    /** A deployment with its files in base64, and what else it says. */
    deployBytes: 25_165_824,
    /** The schema of its input, as JSON. */
    schemaBytes: 65_536,
    /** Of one event. `@default` 3 MiB */
    eventBytes: { min: 1, max: 26_214_400, default: 3_145_728 },
    /** A replay with its edited event, and what else it says. */
    replayBytes: 27_262_976,
    /** An event that is kept in its run's own document; a larger one has parts of its own. */
    inlineEventBytes: 65_536,
    timeoutSeconds: { min: 1, max: 2_592_000, default: 600 },
    graceSeconds: { min: 1, max: 600, default: 10 },
    /** Of the script that is run before any run. */
    setupSeconds: { min: 1, max: 3_600, default: 600 },
    maxEventAgeSeconds: { min: 60, max: 1_209_600, default: 21_600 },
    delaySeconds: { min: 0, max: 31_536_000 },
    maxAttempts: { min: 1, max: 100, default: 1 },
    backoffSeconds: { min: 0, max: 86_400 },
    /** Of one key, or of all runs. `@default` what a function has that names none */
    concurrency: { rules: 2, limit: { min: 1, max: 1_000, default: 100 } },
    throttle: { limit: { min: 1, max: 10_000 }, periodSeconds: { min: 1, max: 86_400 }, burst: { min: 1, max: 1_000 } },
    debounce: { periodSeconds: { min: 1, max: 86_400 }, maxWaitSeconds: { min: 1, max: 604_800 } },
    /** Events that one run stands for: then their time is over. */
    debounced: 1_000,
    batching: { maxSize: { min: 1, max: 100 }, maxWaitSeconds: { min: 1, max: 300 } },
    /** Of all events of a batch. */
    batchBytes: 26_214_400,
    /** That fail, for another reason than room, until a run that waits is given up. */
    failedAdmissions: 5,
    /** Of the value of a key, as JSON. */
    keyBytes: 256,
    /** That fail before the process is started, for another reason than room, until a run is given up. */
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
    /** The list of what a process changed. */
    diffBytes: 10_485_760,
    /** How long what failed is kept. */
    keepDays: { min: 1, max: 30, default: 7 },
    /**
     * How long the same CloudEvent is the same run, the same Idempotency-Key, and what is made once of a run: as long as that
     * can be kept.
     */
    dedupeHours: { event: 168, key: 24, run: 87_600 },
    /** Of one request. */
    batch: 1_000,
    bulk: {
      /** That are not over, of one function. */
      open: 10,
      /** Of those that were refused, so many are told. */
      refusals: 20,
      /** How long one that is over can be read. */
      keptDays: 30,
    },
    waitpoints: {
      /** Of one run, that were made by requests; and as many again that its processes asked for. */
      count: 100,
      /** Of one. */
      tokens: 10,
      timeoutSeconds: { min: 1, max: 2_592_000, default: 86_400 },
      /** A process that waits for so long has its machine hibernated. */
      hibernateAfterSeconds: { min: 1, max: 86_400, default: 30 },
      /** Of a request that completes one. */
      bodyBytes: 65_536,
      /** To one, or to those that are not there together, a second. */
      requestsPerSecond: 20,
    },
    hooks: {
      /** Of one function. */
      count: 100,
      /** While one is rotated. */
      secrets: 2,
      /** Of one event that comes by a hook. */
      bodyBytes: 26_214_400,
      /** Of bodies that come to one hook, or are being answered, at once. */
      heldBytes: 104_857_600,
      /** To one hook, or to those that are not there together, a second. */
      requestsPerSecond: 100,
      /** Until an event is answered that has come whole; milliseconds. */
      answerMs: 1_000,
      /** So much more of that for its check by a schema, which is made later where that is over; milliseconds. */
      checkMs: 500,
      conditions: 16,
      /** Values of a condition, types of a filter, origins of a hook. */
      values: 64,
      valueLength: 256,
    },
    secrets: {
      /** Of one project. */
      count: 1_000,
      /** Of one value, and of all values that a function is given. */
      bytes: 65_536,
      /** Of one function. */
      ofFunction: 64,
      /** That are told of one; only the newest has a value. */
      versions: 100,
      /** Of one, the newest, that are told. */
      uses: 100,
    },
    /** Of an input, or of a result, that a list of runs has with it. */
    listedBytes: 16_384,
    schedules: {
      /** Of one project. */
      count: 1_000,
      catchupWindowSeconds: { min: 10, max: 31_536_000, default: 3_600 },
      jitterSeconds: { min: 0, max: 86_400 },
      /** The data of its events, as JSON. */
      dataBytes: 65_536,
      /** Times of one backfill. */
      backfill: 500,
      /** What may be asked for and not yet be done. */
      asks: 20,
      /** How often it may be set before the times that were due are decided. */
      past: 50,
      next: { min: 1, max: 100, default: 10 },
      /** How long what became of a time can be read. */
      timesDays: 30,
    },
    /** Runs of one project that wait, and all of their events. A hook is bounded by the disk alone. */
    queued: 1_000_000,
    queuedBytes: 68_719_476_736,
    /** Of one key of a function, those that are queued. */
    queuedOfKey: 200_000,
  },
  webhooks: {
    /** Of one project. */
    endpoints: 50,
    urlLength: 2_048,
    /** How long both sign while a secret is rotated. */
    rotationHours: 24,
    /** That sign at once. */
    secrets: 4,
  },
  /** Members of one pool. */
  poolMembers: { min: 0, max: 100 },
  /** Sandboxes made from a snapshot by one request. */
  fork: { count: { min: 1, max: 100 } },
  path: { maxBytes: 4_095 },
  diff: {
    /** Changes of one JSON answer; NDJSON has them all. */
    changes: { min: 1, max: 10_000, default: 1_000 },
    /** Of one JSON answer, characters: a change can have a mebibyte of extended attributes. */
    changesLength: 8_388_608,
    /** Folders and files that a comparison is narrowed to; all of them together, bytes. */
    paths: { max: 32, maxBytes: 8_192 },
    /** Of each side of a file whose text is compared, bytes. */
    fileBytes: 1_048_576,
    /** Commands that are listed with a comparison. */
    commands: 200,
  },
  approvals: {
    /** Of one project, at once. */
    waiting: 100,
    /** From when one is asked for until it can be neither decided nor used. `@default` an hour */
    expiresSeconds: { min: 1, max: 604_800, default: 3_600 },
    reasonLength: 1_000,
    /** Since it expired, until its record is removed; the audit tells of it still. */
    keptDays: 90,
    /** Of a policy. */
    rules: 100,
    ruleNameLength: 63,
    patternLength: 256,
  },
  ports: {
    /** Open to one port of a sandbox at once; one more is refused with 429. */
    connections: 100,
    /** Open for HTTP in one sandbox. */
    open: 20,
    /** To one port, a second; who comes after a pause may ask for as many at once. One more is refused with 429. */
    requestsPerSecond: 100,
    /** From one address, for what is not open, or with a token that does not hold: each is looked for in the store. */
    guessesPerSecond: 100,
    /** Of a request or an answer, with its first line: twice what Node takes, since cookies come to what tokens add. */
    headerBytes: 32_768,
    tokenSeconds: { min: 1, max: 86_400, default: 3_600 },
  },
  desktop: {
    /** Screens that one API process looks at or acts on at once: each may take 34 MiB. One more is refused with 429. */
    screens: 8,
    /** From 0; a place beyond the screen is its edge. */
    coordinate: { min: 0, max: 32_767 },
    /** Of one text that is typed. Characters of UTF-16. */
    textLength: 10_000,
    /** Of one turn of a wheel. */
    wheelSteps: { min: -100, max: 100 },
  },
  /** A command on a source: read-only, and brief. */
  sourceCommand: { maxLength: 4_096, timeoutSeconds: { min: 1, max: 300, default: 30 }, maxOutputBytes: 1_048_576 },
  certificateSeconds: { min: 60, max: 3_600, default: 1_800 },
} as const;

/** What one guest may take of its host, whatever it runs. Meant to be felt by nobody but who harms others. */
export const GUEST_LIMITS = {
  network: {
    /** A gigabit port's bytes each way, and as many packets as small ones are sent on it by who is busy. */
    frames: { perSecond: 50_000, burst: 50_000, bytesPerSecond: 125_000_000 },
    /** A guest speaks to its gateway alone: one request at a time, each repeated some times. */
    arp: { perSecond: 20, burst: 100 },
    /** A boot needs two to six messages, and each lease that is begun or ended runs libvirt's helper on the host. */
    dhcp: { perSecond: 1, burst: 20 },
    /** That it has begun and the host keeps track of: a sixty-fourth of Linux's table (`nf_conntrack_max`, 262,144). */
    connections: 4_096,
  },
  /** Of all disks of one guest together. */
  disk: {
    /** A host's reserve (`reserveOf`) lasts for two looks of the watch at the faster one; it may be written at for so long. */
    bytesPerSecond: 200_000_000,
    burstBytesPerSecond: 400_000_000,
    /** A write costs QEMU 9 to 31 µs of processor time: a sixth of a CPU at most, or in a burst two thirds. */
    operationsPerSecond: 5_000,
    burstOperationsPerSecond: 20_000,
    burstSeconds: 10,
  },
  cpu: {
    /** cgroup v2's own default (`cpu.weight`), for each vCPU: guests share a busy host by the vCPUs that they have. */
    weightPerCpu: 100,
    /** What else QEMU does for its guest, in CPUs: one thread serves the devices, those beside it wait for disks. */
    besideCpus: 1,
  },
} as const;
