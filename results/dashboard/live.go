package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"wirelab/results/store"
)

// How often streams look for changes, and the longest silence, after which they send something to show proxies and
// readers that they are alive.
const (
	newsEvery   = time.Second
	silentMost  = 15 * time.Second
	eventTime   = 10 * time.Second // to send one event to a slow reader
	reconnectMS = 3000
)

// news caches the store's last answer about running experiments. All streams read it, so that many readers cost the
// store no more than one.
type news struct {
	mu    sync.Mutex // guards the fields below; held during the query
	asked time.Time
	told  []store.Running
}

// nowRunning is the list of running experiments.
type nowRunning struct {
	Running []store.Running `json:"running"`
	At      time.Time       `json:"at"`
}

// running asks the store, unless the last answer is recent enough.
func (d *Dashboard) running(ctx context.Context) (nowRunning, error) {
	d.news.mu.Lock()
	defer d.news.mu.Unlock()
	if time.Since(d.news.asked) >= newsEvery*9/10 {
		all, err := d.config.Store.Running(ctx)
		if err != nil {
			return nowRunning{}, err
		}
		d.news.asked, d.news.told = time.Now(), all
	}
	return nowRunning{d.news.told, d.news.asked.UTC()}, nil
}

func (d *Dashboard) runningAPI(w http.ResponseWriter, r *http.Request) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	now, err := d.running(r.Context())
	if err != nil {
		return err
	}
	d.json(w, http.StatusOK, now)
	return nil
}

// stream sends the running experiments as server-sent events whenever they change, until the reader disconnects or
// the dashboard stops. Nothing is queued: a slow reader gets the latest state when it reads again.
func (d *Dashboard) stream(ending context.Context, w http.ResponseWriter, r *http.Request) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	release, err := d.take(r.Context(), d.open, "too many readers of news")
	if err != nil {
		return err
	}
	defer release()
	now, err := d.running(r.Context())
	if err != nil {
		return err
	}
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // no server, in a test: no deadline
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return nil
	}
	send := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(eventTime)) // as above
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	if !send(fmt.Sprintf("retry: %d\n\n", reconnectMS)) {
		return nil
	}
	tick := time.NewTicker(newsEvery)
	defer tick.Stop()
	var last []byte
	silent := time.Now()
	for {
		text, err := json.Marshal(d.describeRunning(now))
		switch {
		case err != nil:
			return nil // not reached: the value was JSON in the store
		case !bytes.Equal(text, last):
			if !send("event: running\ndata: " + string(text) + "\n\n") {
				return nil
			}
			last, silent = text, time.Now()
		case time.Since(silent) >= silentMost:
			if !send(": nothing new\n\n") {
				return nil
			}
			silent = time.Now()
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return nil
		case <-ending.Done():
			send("event: end\ndata: {}\n\n")
			return nil
		}
		if told, err := d.running(r.Context()); err == nil {
			now = told // else the last state remains; the store may come back
		}
	}
}
