/** Environment of `go test`, constant so that Go's cache of results works. Programs need no cgo. */
export const goTestEnv = { GOFLAGS: '-trimpath', CGO_ENABLED: '0', TMPDIR: '/tmp' };
