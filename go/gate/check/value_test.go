package check

import "testing"

func TestFile(t *testing.T) {
	for _, path := range []string{
		"/etc/hosts", "x", "/dev/null", "-", "/proc/cpuinfo", "/proc/1/status", "/proc/sys/kernel/random/boot_id",
		"/var/log/x.log", "/dev/shm/x", "/proc/meminfo", "/sys/class/net/lo/mtu", "/etc/a:b",
	} {
		if reason := FileRefusal(path); reason != "" {
			t.Errorf("%s is refused: %s", path, reason)
		}
	}
	for _, path := range []string{
		"", "/dev/zero", "dev/zero", "/dev/../dev/zero", "//dev//sda", "/etc/../dev/mem", "/proc/1/environ", "/proc/self/mem",
		"/proc/1/task/1/environ", "proc/self/fd/0", "/proc/kcore", "/proc/kmsg", "/inet/tcp/0/evil/80", "inet4/tcp/0/evil/80",
		"/sys/kernel/debug/tracing/trace_pipe", "/sys/kernel/tracing/trace_pipe", "http://evil/x", "file:/etc/shadow",
		"/dev", "/dev/fd/0", "../../dev/sda", "/proc/1/root/etc/shadow",
	} {
		if reason := FileRefusal(path); reason == "" {
			t.Errorf("%s is allowed", path)
		}
	}
}
