package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"wirelab/lab/probe"
)

// cost is CPU for a message, in microseconds: of this process, which drives, and of the
// nodes, the busiest first, which is mostly the one that leads.
type cost struct {
	Driver float64   `json:"driver_us"`
	Nodes  []float64 `json:"nodes_us"`
}

func (c cost) total() float64 {
	sum := c.Driver
	for _, n := range c.Nodes {
		sum += n
	}
	return sum
}

func (c cost) String() string {
	if c.total() == 0 {
		return "–"
	}
	var nodes []string
	for _, n := range c.Nodes {
		nodes = append(nodes, fmt.Sprintf("%.0f", n))
	}
	return fmt.Sprintf("%.0f µs: driver %.0f, nodes %s", c.total(), c.Driver, strings.Join(nodes, " "))
}

// typical is the median of each part.
func typical(all []outcome) (middle cost) {
	part := func(of func(cost) float64) float64 {
		return median(values(all, func(o outcome) float64 { return of(o.Cost) }))
	}
	middle.Driver = part(func(c cost) float64 { return c.Driver })
	for i := range all[0].Cost.Nodes {
		middle.Nodes = append(middle.Nodes, part(func(c cost) float64 {
			if i < len(c.Nodes) {
				return c.Nodes[i]
			}
			return 0
		}))
	}
	return middle
}

// meter reads the CPU of this process and of a broker's.
type meter []int

func meterOf(r rival) meter { return append(meter{os.Getpid()}, r.PIDs()...) }

// read is seconds so far, in the order of the meter. A process that is gone has 0; that
// it is gone the publishers say.
func (m meter) read() reading {
	all := make(reading, len(m))
	for i, pid := range m {
		if used, err := probe.CPU(pid); err == nil {
			all[i] = used.Seconds()
		}
	}
	return all
}

type reading []float64

// since is the cost of so many messages from an earlier reading on.
func (r reading) since(before reading, messages int64) (c cost) {
	if messages <= 0 || len(r) == 0 {
		return c
	}
	of := func(i int) float64 { return max(0, r[i]-before[i]) * 1e6 / float64(messages) }
	c.Driver = of(0)
	for i := range r[1:] {
		c.Nodes = append(c.Nodes, of(i+1))
	}
	slices.SortFunc(c.Nodes, func(a, b float64) int { return cmp.Compare(b, a) })
	return c
}
