package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// stage is where whoever started the broker does to it what is asked. It is a
// door of HTTP with JSON on the loopback, at a URL that nobody can guess:
//
//	POST URL/do   Deed -> Done    does it, and answers once all is as before
//	GET  URL/use       -> Use     what the broker's processes used so far
type stage struct {
	url    string
	client *http.Client
}

// Deed is what is to be done to a broker: one of [plan.Faults].
type Deed struct {
	What  string `json:"what"`
	Topic string `json:"topic"` // whose leader is meant
}

// Done is what was done.
type Done struct {
	Who   string    `json:"who"`
	Began time.Time `json:"began"`
	Over  time.Time `json:"over"` // when all was as before
	Error string    `json:"error,omitempty"`
}

// Use is what a broker's processes use, and used so far.
type Use struct {
	Written uint64 `json:"written"` // bytes to disk
	Network uint64 `json:"network"` // bytes over the network they share with the driver
	Memory  uint64 `json:"memory"`  // resident bytes now
	Disk    uint64 `json:"disk"`    // bytes in their directories now
}

// answerLimit is the most bytes of an answer.
const answerLimit = 1 << 20

// deedLimit is how long a deed may take, and useLimit how long asking what is used.
const (
	deedLimit = 2 * time.Minute
	useLimit  = 10 * time.Second
)

func newStage(url string) *stage {
	if url == "" {
		return nil
	}
	return &stage{url: url, client: &http.Client{Transport: &http.Transport{Proxy: nil}}}
}

func (s *stage) close() {
	if s != nil {
		s.client.CloseIdleConnections()
	}
}

func (s *stage) do(ctx context.Context, d Deed) (Done, error) {
	ctx, cancel := context.WithTimeout(ctx, deedLimit)
	defer cancel()
	asked, err := json.Marshal(d)
	if err != nil {
		return Done{}, err
	}
	var done Done
	if err := s.ask(ctx, http.MethodPost, "/do", asked, &done); err != nil {
		return done, err
	}
	if done.Error != "" {
		return done, fmt.Errorf("%s: %s", d.What, done.Error)
	}
	return done, nil
}

func (s *stage) use(ctx context.Context) (Use, error) {
	ctx, cancel := context.WithTimeout(ctx, useLimit)
	defer cancel()
	var use Use
	return use, s.ask(ctx, http.MethodGet, "/use", nil, &use)
}

func (s *stage) ask(ctx context.Context, method, path string, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the stage answered %s: %.200s", response.Status, text)
	}
	return json.Unmarshal(text, answer)
}
