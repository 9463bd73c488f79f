package tool

import (
	"math"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/plan"
)

// grpcPrefix is the length of the prefix of a gRPC message: the compression flag and the length.
const grpcPrefix = 5

func ghz() Tool {
	return Tool{
		Name: "ghz", Untold: "it checks the gRPC status only", step: 100 * time.Millisecond,
		Arrivals: plan.Constant,
		single:   func(Request) bool { return false },
		refuses: func(r Request, l Load) string {
			switch {
			case r.SQL():
				return noSQL
			case l.Rate != math.Trunc(l.Rate):
				return "it accepts only whole calls per second"
			case !r.GRPC() || len(r.Body) < grpcPrefix:
				return "it calls gRPC only; use wrk or h2load"
			case len(r.Schema) == 0:
				return noSchema
			}
			return ""
		},
		files: func(r Request) (map[string][]byte, error) {
			return map[string][]byte{"message": r.Body[grpcPrefix:], "schema.protoset": r.Schema}, nil
		},
		args: func(r Request, l Load, at func(string) string) []string {
			host, path, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), "/")
			args := []string{ // without the templates a call costs a third
				"--insecure", "--protoset", at("schema.protoset"), "--call", path, "--binary-file", at("message"),
				"--disable-template-data", "--disable-template-functions", "-c", strconv.Itoa(l.InFlight),
				"--connections", strconv.Itoa(l.Connections), "-z", l.For.String(), "--duration-stop", "wait",
			}
			if l.Rate > 0 {
				args = append(args, "--rps", strconv.Itoa(int(math.Round(l.Rate))))
			}
			return append(args, host)
		},
	}
}
