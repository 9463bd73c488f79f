package tool

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/plan"
)

func h2load() Tool {
	return Tool{
		Name: "h2load", Untold: "it checks the HTTP status only", step: time.Second,
		Arrivals: plan.Constant,
		single:   func(r Request) bool { return !r.HTTP2 },
		refuses: func(r Request, l Load) string {
			switch {
			case r.SQL():
				return noSQL
			case !r.HTTP2 && l.Connections != l.InFlight:
				return onePerConnection(l)
			case l.InFlight%l.Connections != 0:
				return fmt.Sprintf("%d calls in flight do not spread evenly over %d connections", l.InFlight,
					l.Connections)
			}
			return ""
		},
		files: func(r Request) (map[string][]byte, error) { return map[string][]byte{"body": r.Body}, nil },
		args: func(r Request, l Load, at func(string) string) []string {
			args := []string{
				"-t" + strconv.Itoa(threads(l)), "-c" + strconv.Itoa(l.Connections),
				"-m" + strconv.Itoa(l.InFlight/l.Connections), "-D" + strconv.Itoa(int(l.For/time.Second)),
			}
			if l.Rate > 0 { // the rate is given for each of its clients
				args = append(args, "--rps", strconv.FormatFloat(l.Rate/float64(l.Connections), 'f', -1, 64))
			}
			if !r.HTTP2 {
				args = append(args, "--h1")
			}
			usual := http.MethodGet
			if len(r.Body) > 0 {
				args, usual = append(args, "-d", at("body")), http.MethodPost
			}
			if r.Method != usual {
				args = append(args, "-H", ":method: "+r.Method)
			}
			for _, h := range headers(r) {
				args = append(args, "-H", strings.ToLower(h.name)+": "+h.value)
			}
			return append(args, r.URL)
		},
	}
}
