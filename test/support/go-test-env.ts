/** Environment of `go test`: what changes each run is left out, so that Go's cache of results works. Programs need no cgo. */
export const goTestEnv = { GOFLAGS: '-trimpath', CGO_ENABLED: '0', TMPDIR: '/tmp' };
