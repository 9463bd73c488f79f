package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/endpoint"
)

// instant answers every publish at once, so that only the API is measured.
type instant struct{ broker.Broker }

func (instant) Publish(_ context.Context, run broker.Run, done func(broker.Verdict)) {
	done(broker.Verdict{Offset: 1 << 40, Count: run.Count, Time: 1_800_000_000_000_000_000, Term: 3, Index: 1 << 40})
}

// BenchmarkPublish publishes over loopback, by 16 callers, in each form.
func BenchmarkPublish(b *testing.B) {
	payload := bytes.Repeat([]byte("x"), 100)
	run := bytes.Repeat(brokertest.Messages(string(payload)), 1000)
	for _, c := range []struct {
		name, to, kind string
		body           []byte
		messages       int
	}{
		{"octets", "/v1/topics/t/messages", kindBytes, payload, 1},
		{"JSON", "/v1/topics/t/messages", kindJSON, fmt.Appendf(nil, `{"payload":%q}`, payload), 1},
		{"origin", "/publish", kindJSON, fmt.Appendf(nil, `{"topic":"t","payload":%q,"mode":0}`, payload), 1},
		{"runs", "/v1/topics/t/messages", kindProto, run, 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := brokertest.Memory()
			defer m.Close()
			api, err := rest.New(rest.Config{Broker: instant{m}})
			if err != nil {
				b.Fatal(err)
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			var served sync.WaitGroup
			served.Go(func() {
				if err := api.Serve(ctx, endpoint.Endpoint{Listener: listener}, false); err != nil {
					b.Error(err)
				}
			})
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
			url := "http://" + listener.Addr().String() + c.to
			b.SetParallelism(8)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					w, err := client.Post(url, c.kind, bytes.NewReader(c.body))
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := io.Copy(io.Discard, w.Body); err != nil || w.StatusCode != http.StatusOK {
						b.Errorf("%d, %v", w.StatusCode, err)
					}
					w.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N*c.messages)/b.Elapsed().Seconds(), "messages/s")
			b.StopTimer()
			client.CloseIdleConnections()
			cancel()
			served.Wait()
		})
	}
}
