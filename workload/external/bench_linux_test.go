package external_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/workload/external"
	routeguide "wirelab/workload/routeguide/bind"
)

// responder is a null responder in a separate process.
func responder(b *testing.B, protocol string) served {
	b.Helper()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), serveVariable+"="+protocol)
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return served{address: strings.TrimSpace(address)}
}

func processTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// The generator's CPU per call of the compiled raw driver and of the described service, in turns against one null
// responder. Each is the median of its turns, and "ratio" is that of turns that are neighbours.
func BenchmarkRaw(b *testing.B) {
	for _, protocol := range []string{"http1-json", "grpc"} {
		b.Run(protocol, func(b *testing.B) {
			const slots, turns, calls = 50, 60, 5000
			cell, _ := cellOf(routeguide.Workload().Erase(), protocol)
			server := responder(b, protocol)
			to := wirelab.Dialing{Address: server.address, Connections: slots, Foreign: true}
			compiled, err := cell.DialRaw(b.Context(), to, slots, "GetFeature", "", 1)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = compiled.Close() }()
			described, err := foreign(b, cell).DialRaw(b.Context(), to, slots, "op", "", 1)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = described.Close() }()
			spend := func(lines wirelab.Lines) float64 {
				before := processTime(b)
				spin(b, lines, calls)
				return float64(processTime(b)-before) / calls
			}
			spin(b, compiled, 4*calls)
			spin(b, described, 4*calls)
			var each [2][]float64
			var ratios []float64
			for turn := range turns {
				var pair [2]float64
				for i := range 2 {
					which := (i + turn) % 2
					pair[which] = spend([]wirelab.Lines{compiled, described}[which])
					each[which] = append(each[which], pair[which])
				}
				ratios = append(ratios, pair[1]/pair[0])
			}
			b.ReportMetric(median(each[0]), "compiled-ns/call")
			b.ReportMetric(median(each[1]), "described-ns/call")
			b.ReportMetric(median(ratios), "ratio")
		})
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// foreign is the cell described: the requests are those of the compiled client.
func foreign(b *testing.B, cell wirelab.Cell) wirelab.Cell {
	b.Helper()
	calls := record(b, cell, "GetFeature", 256)
	f := files{}
	p := f.prepared(b, describe(b, f, cell, serve(b, cell), calls))
	text, err := json.Marshal(p)
	if err != nil {
		b.Fatal(err)
	}
	if p, err = external.ParsePrepared(text); err != nil {
		b.Fatal(err)
	}
	made, err := p.Cell("w")
	if err != nil {
		b.Fatal(err)
	}
	return made
}

// spin makes so many right calls.
func spin(b *testing.B, lines wirelab.Lines, calls int) {
	b.Helper()
	begun, over := 0, 0
	for slot := range lines.Slots() {
		lines.Begin(slot)
		begun++
	}
	ctx, cancel := context.WithTimeout(b.Context(), rigTime)
	defer cancel()
	for over < calls {
		err := lines.Turn(100*time.Millisecond, func(slot int, err error) {
			over++
			if err != nil {
				b.Fatal(err)
			}
			if begun < calls {
				begun++
				lines.Begin(slot)
			}
		})
		if err != nil || ctx.Err() != nil {
			b.Fatal(err, ctx.Err())
		}
	}
}
