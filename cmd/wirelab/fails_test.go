package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
)

// No command ends with 0 where its argument is wrong, its file is not there or no server answers, but with the code
// that "wirelab help exit-codes" has for it.
func TestNothingThatFailsEndsWithZero(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	absent, below := filepath.Join(dir, "absent"), filepath.Join(file, "below")
	stored, _ := storing(t)
	kept := "--results " + stored.env["WIRELAB_STORE"] + " "
	const away = "postgres://me@127.0.0.1:1/x"
	const get = "-w routeguide.GetFeature "
	unread := map[string]int{
		absent + "/x": desk.ExitUsage, file: desk.ExitUsage, "nope": desk.ExitUsage,
		"latest --results " + away: desk.ExitFailed,
	}
	with := func(more map[string]int) map[string]int {
		for args, code := range unread {
			if _, own := more[args]; !own {
				more[args] = code
			}
		}
		return more
	}
	clitest.Fails(t, newRootCommand(newApp(cli.Terminal{}, nil, func(string) string { return "" })),
		map[string]map[string]int{
			"arrivals make": {below: desk.ExitFailed, "a b": desk.ExitUsage},
			"arrivals show": {absent: desk.ExitUsage, file: desk.ExitUsage},
			"audit": {
				"": desk.ExitUsage, "--tool {target} --inject nope": desk.ExitUsage,
				"--tool nothing-to-call": desk.ExitUsage,
			},
			"call": {
				"nope": desk.ExitUsage,
				"routeguide.GetFeature --protocol grpc --target 127.0.0.1:1": desk.ExitFailed,
			},
			"capacity": {
				"grpc " + get + "--slo nope":                      desk.ExitUsage,
				"grpc " + get + "--slo p99<1ms --results " + away: desk.ExitFailed,
			},
			"chaos logging": {"nope": desk.ExitUsage, "log-grpc --fault nope": desk.ExitUsage},
			"compare": {
				"grpc nope " + get: desk.ExitUsage,
				"grpc http1-json " + get + "--results " + away: desk.ExitFailed,
				"grpc " + get + "--results " + below:           desk.ExitFailed,
			},
			"curve": {
				"grpc " + get + "--rates nope":              desk.ExitUsage,
				"grpc " + get + "--to 1k --results " + away: desk.ExitFailed,
			},
			"db seed":   {"--accounts 0": desk.ExitUsage, "": desk.ExitUsage},
			"db start":  {"nope": desk.ExitUsage},
			"db status": {"nope": desk.ExitUsage},
			"db stop":   {"nope": desk.ExitUsage, "--keep --discard": desk.ExitUsage},
			"decide":    with(map[string]int{"latest --chaos " + absent: desk.ExitUsage}),
			"doctor": {
				"--burst 1ms": desk.ExitUsage, "--results " + away: desk.ExitFailed,
				"--results " + below: desk.ExitFailed,
			},
			"explain": with(map[string]int{}),
			"host": {
				"": desk.ExitUsage, "--join http://127.0.0.1": desk.ExitUsage, "--join nats://10.1.2.3": desk.ExitUsage,
				"--join nats://127.0.0.1 --name A": desk.ExitUsage, "--join nats://127.0.0.1 --role cook": desk.ExitUsage,
				"--join nats://127.0.0.1 --key " + absent: desk.ExitUsage,
			},
			"hosts": {
				"": desk.ExitUsage, "--hosts nats://127.0.0.1:1": desk.ExitFailed, "--hosts nope": desk.ExitUsage,
				"--hosts nats://127.0.0.1:1 --listen 127.0.0.1:0": desk.ExitUsage, "--listen nope": desk.ExitUsage,
				"--listen 127.0.0.1:0": desk.ExitUsage,
			},
			"load": {
				"nope": desk.ExitUsage, "http://127.0.0.1:1/": desk.ExitFailed,
				"http://127.0.0.1:1/ --slo nope": desk.ExitUsage,
			},
			"matrix":    {"nope": desk.ExitUsage},
			"own check": {absent: desk.ExitUsage, file: desk.ExitUsage},
			"own init":  {absent: desk.ExitUsage, "grpc://127.0.0.1:1": desk.ExitFailed},
			"presets":   {"nope": desk.ExitUsage},
			"relay": {
				"--network nope --to 127.0.0.1:1":                     desk.ExitUsage,
				"--network lan --to 127.0.0.1:1 --listen 192.0.2.1:1": desk.ExitFailed,
			},
			"replay": with(map[string]int{"latest --rounds -1": desk.ExitUsage}),
			"report": with(map[string]int{"latest --format nope": desk.ExitUsage}),
			"results check": with(map[string]int{
				"latest":                   desk.ExitUsage,
				"nope --fail-if p99>1ms":   desk.ExitUsage,
				"latest --results " + away: desk.ExitUsage,
			}),
			"results export": {"nope": desk.ExitUsage, "latest --results " + away: desk.ExitFailed},
			"results import": {absent: desk.ExitUsage, file: desk.ExitUsage},
			"results list": {
				"--since nope": desk.ExitUsage, "--results " + absent: desk.ExitUsage,
				"--results " + away: desk.ExitFailed,
			},
			"results name": {"nope mine": desk.ExitUsage, "latest mine --results " + away: desk.ExitFailed},
			"results pull": {
				"--all --from " + absent: desk.ExitUsage,
				"--all --from " + away:   desk.ExitFailed,
				"--from " + away:         desk.ExitUsage,
			},
			"results push": {
				kept + "--all --to " + below:         desk.ExitFailed,
				kept + "--all --to " + away:          desk.ExitFailed,
				kept + "nope --to " + dir + "/to.db": desk.ExitFailed,
			},
			"results rm":   {"nope": desk.ExitUsage, "r-1 --results " + away: desk.ExitFailed},
			"results show": {"nope": desk.ExitUsage, "latest --results " + away: desk.ExitFailed},
			"run": {
				"nope":                    desk.ExitUsage,
				absent + "/plan.yaml":     desk.ExitUsage,
				file:                      desk.ExitUsage,
				"quick --results " + away: desk.ExitFailed,
			},
			"selftest": {
				"--only nope": desk.ExitUsage, "--gates --loads nope": desk.ExitUsage,
				"--driver raw": desk.ExitUsage, "--results " + away: desk.ExitFailed,
			},
			"serve": {
				"nope grpc":                          desk.ExitUsage,
				"ledger grpc --db " + away:           desk.ExitFailed,
				"routeguide grpc --addr 192.0.2.1:1": desk.ExitFailed,
			},
			"serve-results": {
				"--token short": desk.ExitUsage, "--results " + absent: desk.ExitUsage,
				"--addr 192.0.2.1:1": desk.ExitFailed,
			},
			"up logging": {
				"--broker nope": desk.ExitUsage,
				"--broker none --db memory --addr 192.0.2.1:1": desk.ExitFailed,
			},
			"up messaging": {"--broker nope": desk.ExitUsage, "--nodes 0": desk.ExitUsage},
			"verify":       with(map[string]int{file: desk.ExitFailed}),
			"version":      {"nope": desk.ExitUsage},
		}, func(args ...string) (int, string) {
			both := new(clitest.Output)
			code := run(t.Context(), args, strings.NewReader(""), both, both, func(name string) string {
				return map[string]string{
					"WIRELAB_STORE": filepath.Join(dir, "results.db"), "HOME": dir,
					"PATH": os.Getenv("PATH"),
				}[name]
			})
			return code, both.String()
		})
}
