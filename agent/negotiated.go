package agent

import (
	"crypto/tls"
	"slices"
	"strings"
	"sync"
)

// negotiated is which versions of TLS connections negotiated. The zero value has none.
type negotiated struct {
	mu       sync.Mutex
	versions []string
}

func (n *negotiated) add(state tls.ConnectionState) {
	version := strings.TrimPrefix(tls.VersionName(state.Version), "TLS ")
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.versions, version) {
		n.versions = append(n.versions, version)
	}
}

// TLS implements [Secured].
func (p *prepared) TLS() []string {
	p.tls.mu.Lock()
	defer p.tls.mu.Unlock()
	return slices.Clone(p.tls.versions)
}
