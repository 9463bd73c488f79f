package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
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
	unread := map[string]int{absent + "/x": exitUsage, file: exitUsage, "nope": exitUsage, "latest --results " + away: exitFailed}
	with := func(more map[string]int) map[string]int {
		for args, code := range unread {
			if _, own := more[args]; !own {
				more[args] = code
			}
		}
		return more
	}
	clitest.Fails(t, newRootCommand(newApp(cli.Terminal{}, nil, func(string) string { return "" })), map[string]map[string]int{
		"arrivals make": {below: exitFailed, "a b": exitUsage},
		"arrivals show": {absent: exitUsage, file: exitUsage},
		"audit":         {"": exitUsage, "--tool {target} --inject nope": exitUsage, "--tool nothing-to-call": exitUsage},
		"call":          {"nope": exitUsage, "routeguide.GetFeature --protocol grpc --target 127.0.0.1:1": exitFailed},
		"capacity": {
			"grpc " + get + "--slo nope":                      exitUsage,
			"grpc " + get + "--slo p99<1ms --results " + away: exitFailed,
		},
		"chaos logging": {"nope": exitUsage, "log-grpc --fault nope": exitUsage},
		"compare": {
			"grpc nope " + get: exitUsage,
			"grpc http1-json " + get + "--results " + away: exitFailed,
			"grpc " + get + "--results " + below:           exitFailed,
		},
		"curve": {
			"grpc " + get + "--rates nope":              exitUsage,
			"grpc " + get + "--to 1k --results " + away: exitFailed,
		},
		"db seed":   {"--accounts 0": exitUsage, "": exitUsage},
		"db start":  {"nope": exitUsage},
		"db status": {"nope": exitUsage},
		"db stop":   {"nope": exitUsage, "--keep --discard": exitUsage},
		"decide":    with(map[string]int{"latest --chaos " + absent: exitUsage}),
		"doctor":    {"--burst 1ms": exitUsage, "--results " + away: exitFailed, "--results " + below: exitFailed},
		"explain":   with(map[string]int{}),
		"load":      {"nope": exitUsage, "http://127.0.0.1:1/": exitFailed, "http://127.0.0.1:1/ --slo nope": exitUsage},
		"matrix":    {"nope": exitUsage},
		"own check": {absent: exitUsage, file: exitUsage},
		"own init":  {absent: exitUsage, "grpc://127.0.0.1:1": exitFailed},
		"presets":   {"nope": exitUsage},
		"relay": {
			"--network nope --to 127.0.0.1:1":                     exitUsage,
			"--network lan --to 127.0.0.1:1 --listen 192.0.2.1:1": exitFailed,
		},
		"replay": with(map[string]int{"latest --rounds -1": exitUsage}),
		"report": with(map[string]int{"latest --format nope": exitUsage}),
		"results check": with(map[string]int{
			"latest":                   exitUsage,
			"nope --fail-if p99>1ms":   exitUsage,
			"latest --results " + away: exitUsage,
		}),
		"results export": {"nope": exitUsage, "latest --results " + away: exitFailed},
		"results import": {absent: exitUsage, file: exitUsage},
		"results list":   {"--since nope": exitUsage, "--results " + absent: exitUsage, "--results " + away: exitFailed},
		"results name":   {"nope mine": exitUsage, "latest mine --results " + away: exitFailed},
		"results pull": {
			"--all --from " + absent: exitUsage,
			"--all --from " + away:   exitFailed,
			"--from " + away:         exitUsage,
		},
		"results push": {
			kept + "--all --to " + below:         exitFailed,
			kept + "--all --to " + away:          exitFailed,
			kept + "nope --to " + dir + "/to.db": exitFailed,
		},
		"results rm":   {"nope": exitUsage, "r-1 --results " + away: exitFailed},
		"results show": {"nope": exitUsage, "latest --results " + away: exitFailed},
		"run": {
			"nope":                    exitUsage,
			absent + "/plan.yaml":     exitUsage,
			file:                      exitUsage,
			"quick --results " + away: exitFailed,
		},
		"selftest": {"--only nope": exitUsage, "--gates --loads nope": exitUsage, "--driver raw": exitUsage, "--results " + away: exitFailed},
		"serve": {
			"nope grpc":                          exitUsage,
			"ledger grpc --db " + away:           exitFailed,
			"routeguide grpc --addr 192.0.2.1:1": exitFailed,
		},
		"serve-results": {"--token short": exitUsage, "--results " + absent: exitUsage, "--addr 192.0.2.1:1": exitFailed},
		"up logging":    {"--broker nope": exitUsage, "--broker none --db memory --addr 192.0.2.1:1": exitFailed},
		"up messaging":  {"--broker nope": exitUsage, "--nodes 0": exitUsage},
		"verify":        with(map[string]int{file: exitFailed}),
		"version":       {"nope": exitUsage},
	}, func(args ...string) (int, string) {
		both := new(clitest.Output)
		code := run(t.Context(), args, strings.NewReader(""), both, both, func(name string) string {
			return map[string]string{"WIRELAB_STORE": filepath.Join(dir, "results.db"), "HOME": dir, "PATH": os.Getenv("PATH")}[name]
		})
		return code, both.String()
	})
}
