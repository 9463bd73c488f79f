package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"wirelab/lab/control"
)

// stage is the client of the cluster's fault server: see [control.Fault].
type stage struct {
	url    string
	client *http.Client
}

// answerLimit is the maximum size of an answer, in bytes.
const answerLimit = 1 << 20

// faultTime limits how long a fault may take. useLimit limits a request for the broker's resource use.
const (
	faultTime = 2 * time.Minute
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

func (s *stage) do(ctx context.Context, d control.Fault) (control.Done, error) {
	ctx, cancel := context.WithTimeout(ctx, faultTime)
	defer cancel()
	asked, err := json.Marshal(d)
	if err != nil {
		return control.Done{}, err
	}
	var done control.Done
	if err := s.ask(ctx, http.MethodPost, "/do", asked, &done); err != nil {
		return done, err
	}
	if done.Error != "" {
		return done, fmt.Errorf("%s: %s", d.What, done.Error)
	}
	return done, nil
}

func (s *stage) use(ctx context.Context) (control.Use, error) {
	ctx, cancel := context.WithTimeout(ctx, useLimit)
	defer cancel()
	var use control.Use
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
		return fmt.Errorf("the fault server answered %s: %.200s", response.Status, text)
	}
	return json.Unmarshal(text, answer)
}
