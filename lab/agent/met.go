package agent

import (
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"sync"

	"wirelab/lab/control"
)

// met collects what the connections of a load used: the addresses of a target, or the versions of TLS. It keeps each
// value once. The zero value is empty.
type met struct {
	mu  sync.Mutex
	all []string
}

func (m *met) add(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) < control.MetMost && !slices.Contains(m.all, what) {
		m.all = append(m.all, what)
	}
}

func (m *met) list() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// reach adds an address.
func (m *met) reach(at net.Addr) { m.add(at.String()) }

// secure adds the TLS version of a connection.
func (m *met) secure(state tls.ConnectionState) {
	m.add(strings.TrimPrefix(tls.VersionName(state.Version), "TLS "))
}

// Met implements [Meeter].
func (p *prepared) Met() []string { return p.reached.list() }

// Learnt implements [Learner].
func (p *prepared) Learnt() (all []string) {
	for _, c := range p.open {
		if one, ok := c.(Learner); ok {
			all = append(all, one.Learnt()...)
		}
	}
	return all
}

// TLS implements [Secured].
func (p *prepared) TLS() []string { return p.tls.list() }
