package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"wirelab/broker/drivers"
	"wirelab/internal/affinity"
	"wirelab/internal/fault"
	"wirelab/lab/control"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// stage is the fault server: a driver asks it to inject faults into the nodes.
type stage struct {
	url     string
	server  *http.Server
	serving sync.WaitGroup
	failed  error // of serving; read once that is over
}

// faultBytes is the largest size of a request.
const faultBytes = 4 << 10

// Stage starts the fault server, if it does not run, and returns its URL. The URL is on the loopback and cannot be
// guessed: a program that knows it may kill the nodes.
func (s *Cluster) Stage() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != nil {
		return s.stage.url, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	base := "/" + rand.Text()
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+base+"/do", s.answerFault)
	mux.HandleFunc("GET "+base+"/use", s.answerUse)
	g := &stage{
		url:    "http://" + listener.Addr().String() + base,
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second},
	}
	g.serving.Go(func() { g.failed = g.server.Serve(listener) })
	s.stage = g
	return g.url, nil
}

// close closes the stage, having waited for a fault under way until ctx ends.
func (g *stage) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	err := g.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, g.server.Close())
	}
	g.serving.Wait()
	if !errors.Is(g.failed, http.ErrServerClosed) {
		err = errors.Join(err, g.failed)
	}
	return err
}

const closeLimit = 5 * time.Second

func (s *Cluster) answerFault(w http.ResponseWriter, r *http.Request) {
	var asked control.Fault
	if err := json.NewDecoder(io.LimitReader(r.Body, faultBytes)).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done, err := s.do(r.Context(), asked)
	if err != nil {
		done.Error = fault.Text(err)
	}
	answer(w, done)
}

func (s *Cluster) answerUse(w http.ResponseWriter, _ *http.Request) {
	use, err := s.Use()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, use)
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // who asked is gone
}

// CPU is what each node's processes used so far, by name.
func (s *Cluster) CPU() (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, a := range s.nodes {
		used, err := a.Used()
		if err != nil {
			return nil, err
		}
		all[a.Name] = used.CPU
	}
	return all, nil
}

// Use returns what the nodes used so far, and hold now. It is read on the nodes' cores, so that the driver loses no
// time.
func (s *Cluster) Use() (use control.Use, err error) {
	err = affinity.Place{CPUs: s.options.CPUs}.Do(func() (err error) {
		use, err = s.use()
		return err
	})
	return use, err
}

// Usage is the part of Use that a server reports: the memory. A broker's runtime is not asked.
func (s *Cluster) Usage(context.Context) (result.Usage, error) {
	used, err := s.Use()
	return result.Usage{ResidentBytes: used.Memory}, err
}

// flushes reports whether the nodes' writes reach the disk while a load runs. The kernel may keep writes for half a
// minute. They then reach the disk in another window, or never, and a count of bytes in this window says nothing about
// the broker.
func (s *Cluster) flushes() bool {
	h := s.Guarantee()
	return h.Sync == result.SyncFirst || s.options.Kind == drivers.Hermes && h.Persistent
}

func (s *Cluster) use() (control.Use, error) {
	network := probe.Loopback()
	if s.segment != nil {
		var err error
		if network, err = s.segment.Bytes(); err != nil {
			return control.Use{}, err
		}
	}
	use := control.Use{Network: network}
	if s.flushes() {
		use.Written = probe.WrittenAt(s.dir)
	}
	for _, a := range s.nodes {
		used, err := a.Used()
		if err != nil {
			return use, err
		}
		for _, p := range used.Living {
			use.Memory += probe.Resident(p.PID)
		}
		use.Disk += probe.Stored(a.Directory())
	}
	return use, nil
}
