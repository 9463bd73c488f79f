// Package factorial makes the plan of an experiment over every combination of transport, encoding, TLS and other
// factors. It knows what the protocols of a workload are made of, and must not know how an effect is computed.
package factorial

import (
	"fmt"
	"slices"
	"strings"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/plan"
	"wirelab/lab/stat"
	"wirelab/workload/catalog"
)

// usualWires and usualEncodings are the default levels, as far as the workload has them.
func usualWires() []string { return []string{"http1", "http2", "grpc"} }

func usualEncodings() []string { return []string{"json", "proto", "avro"} }

// Factors has the levels that the flags name.
type Factors struct {
	Transports, Encodings, TLS, Data, Drivers []string
	Connections                               []int
	Works                                     []wirelab.Work // their protocols and encodings give the known names
}

// cellsOf returns the usual cells of an operation with this wire, encoding and TLS. hole says why such a cell does not
// carry the operation.
func cellsOf(work wirelab.Work, operation string, w wire, encoding string,
	secure bool,
) (cells []wirelab.Cell, hole string) {
	for _, c := range work.Cells {
		p := c.Protocol
		if !c.Usual || !w.picks(p) || p.Encoding != encoding || p.Secure != secure {
			continue
		}
		if why, is := c.Holes[operation]; is {
			hole = why
			continue
		}
		cells = append(cells, c)
	}
	return cells, hole
}

// levels checks the given names and returns them. If there are none, it returns the usual ones that the workload has.
func levels(flag string, given, usual, known []string, has func(string) bool) ([]string, error) {
	if len(given) == 0 {
		return slices.DeleteFunc(slices.Clone(usual), func(name string) bool { return !has(name) }), nil
	}
	for i, name := range given {
		if !slices.Contains(known, name) {
			return nil, wirelab.UnknownName(flag, name, known)
		}
		if slices.Contains(given[:i], name) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s names %s twice", flag, name)
		}
	}
	return given, nil
}

// arms returns the arms of the factorial, the plainest first, and the names of the combinations that are left out
// because no cell carries them.
func (f *Factors) arms(work wirelab.Work, operation string) (arms []plan.Arm, left []string, err error) {
	protocols := protocolsOf(append(slices.Clone(f.Works), work))
	byName := map[string]wire{}
	var known []string
	for _, w := range wires(protocols) {
		byName[w.name] = w
		known = append(known, w.name)
	}
	has := func(w wire, encoding string) bool {
		for _, secure := range []bool{false, true} {
			if cells, _ := cellsOf(work, operation, w, encoding, secure); len(cells) > 0 {
				return true
			}
		}
		return false
	}
	codes, encodings := encodings(protocols)
	transports, err := levels("--transport", f.Transports, usualWires(), known, func(name string) bool {
		return slices.ContainsFunc(codes, func(e string) bool { return has(byName[name], encodings[e]) })
	})
	if err != nil {
		return nil, nil, err
	}
	codes, err = levels("--encoding", f.Encodings, usualEncodings(), codes, func(e string) bool {
		return slices.ContainsFunc(transports, func(name string) bool { return has(byName[name], encodings[e]) })
	})
	if err != nil {
		return nil, nil, err
	}
	tls, err := levels("--tls", f.TLS, []string{"off", "on"}, []string{"off", "on"}, func(string) bool { return true })
	if err != nil {
		return nil, nil, err
	}
	for _, name := range transports {
		for _, code := range codes {
			for _, secure := range tls {
				cells, hole := cellsOf(work, operation, byName[name], encodings[code], secure == "on")
				if len(cells) == 0 {
					text := fmt.Sprintf("%s with %s, TLS %s", name, code, secure)
					if hole != "" {
						text += " (" + hole + ")"
					}
					left = append(left, text)
					continue
				}
				if slices.Contains(f.Drivers, plan.DriverRaw) {
					if err := catalog.RawCarries(cells[0], operation); err != nil {
						left = append(left,
							fmt.Sprintf("%s with %s, TLS %s (%s)", name, code, secure, fault.Describe(err)))
						continue
					}
				}
				arms = append(arms, f.circumstances(cells[0].Protocol.Name)...)
			}
		}
	}
	return arms, left, nil
}

// circumstances returns the arms of one protocol: one for each data set, number of connections and driver.
func (f *Factors) circumstances(protocol string) []plan.Arm {
	arms := []plan.Arm{{Protocol: protocol}}
	split := func(n int, set func(arm *plan.Arm, i int)) {
		if n == 0 {
			return
		}
		var all []plan.Arm
		for i := range n {
			for _, arm := range arms {
				set(&arm, i)
				all = append(all, arm)
			}
		}
		arms = all
	}
	split(len(f.Data), func(arm *plan.Arm, i int) { arm.Data = f.Data[i] })
	split(len(f.Connections), func(arm *plan.Arm, i int) { arm.Connections = f.Connections[i] })
	split(len(f.Drivers), func(arm *plan.Arm, i int) {
		if f.Drivers[i] != plan.DriverClient {
			arm.Driver = f.Drivers[i]
		}
	})
	return arms
}

// effectsOf returns the most effects that a factorial can have: those of levels, and those of pairs of levels.
func (f *Factors) effectsOf(transports, encodings, tls int) int {
	steps := []int{transports - 1, encodings - 1, tls - 1, len(f.Connections) - 1, len(f.Data) - 1, len(f.Drivers) - 1}
	n := 0
	for i, a := range steps {
		n += max(a, 0)
		for _, b := range steps[:i] {
			n += max(a, 0) * max(b, 0)
		}
	}
	return n
}

// Plan completes the plan p, which has the settings of other flags, into a factorial's plan.
func (f *Factors) Plan(p plan.Plan, work wirelab.Work) (plan.Plan, []string, error) {
	arms, left, err := f.arms(work, p.Operation)
	if err != nil {
		return p, nil, err
	}
	switch {
	case len(arms) < 2:
		return p, nil, wirelab.Errorf(wirelab.InvalidArgument,
			"%s.%s has %d arms with these factors, and needs at least two; left out: %s",
			p.Workload, p.Operation, len(arms), strings.Join(left, "; "))
	case len(arms) > armsMax:
		return p, nil, wirelab.Errorf(wirelab.InvalidArgument,
			"these factors make %d arms, and an experiment has at most %d: name fewer levels, such as --encoding "+
				"json,proto or --tls off", len(arms), armsMax)
	}
	p.Arms = arms
	var transports, encodings, secure []string
	add := func(to *[]string, word string) {
		if !slices.Contains(*to, word) {
			*to = append(*to, word)
		}
	}
	for _, arm := range arms {
		for _, c := range work.Cells {
			if c.Protocol.Name == arm.Protocol {
				add(&transports, c.Protocol.Transport+c.Protocol.Framing)
				add(&encodings, c.Protocol.Encoding)
				add(&secure, fmt.Sprint(c.Protocol.Secure))
			}
		}
	}
	// With so many effects, fewer rounds than this could not prove any of them.
	needed := stat.RoundsForFamily(f.effectsOf(len(transports), len(encodings), len(secure))+6, stat.DefaultAlpha)
	if p.Rounds.Min == 0 {
		p.Rounds.Min = max(needed, stat.SequentialRounds)
		if p.Rounds.Max > 0 {
			p.Rounds.Min = min(p.Rounds.Min, p.Rounds.Max)
		}
	}
	return p, left, nil
}

// armsMax is how many arms a plan may have. Package plan checks it too, but does not say what to do about it.
const armsMax = 64
