package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"wirelab/broker"
	"wirelab/broker/brokertest"
	"wirelab/broker/kafka"
)

// TestContract runs against an in-memory cluster that speaks the protocol of Kafka, because Kafka itself cannot be
// started here.
func TestContract(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	brokertest.Run(t, func(t *testing.T) broker.Broker {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		b, err := kafka.Open(ctx, broker.Config{Addresses: cluster.ListenAddrs()})
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	if _, err := kafka.Open(
		t.Context(),
		broker.Config{Addresses: []string{"127.0.0.1:1"}, Variant: "quorum"},
	); err == nil {
		t.Error("Kafka has no kinds of topics")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := kafka.Open(ctx, broker.Config{Addresses: []string{"127.0.0.1:1"}}); err == nil {
		t.Error("no server, and no error")
	}
}
